/*
 * A buffer that is walked once every period. A sample is one pass. On the grid, passes begin at releases: times that are a
 * whole number of periods apart, however late a pass is.
 */
#include "access.h"
#include "run.h"
#include "stamp.h"

WK_ALWAYS_INLINE void walk_once(const struct wk_buffer *buffer, uint64_t count, enum wk_operation operation)
{
	unsigned char *data = buffer->data;
	uint64_t stride = buffer->stride;
	for (uint64_t left = count; left != 0; left--, data += stride)
		wk_access(data, operation);
}

/* A switch around the loop: one pass takes long enough that choosing the operation once does not count. */
static uint64_t pass(const struct wk_buffer *buffer)
{
	uint64_t count = (buffer->bytes - 8) / buffer->stride + 1;
#define WALK_ONCE(operation) walk_once(buffer, count, operation)
	WK_WITH_OPERATION(buffer->operation, WALK_ONCE)
	return count;
}

/*
 * Spins until one period after `*previous`, then makes that reading the new `*previous`; after an overrun it does not
 * wait. Returns true where the run ended instead.
 */
static bool wait_for_period(const struct wk_run *run, const struct wk_buffer *buffer, uint64_t *previous)
{
	uint64_t next_look = 0, now = wk_counter();
	while (now - *previous < buffer->period_ticks) {
		if (now >= next_look && wk_is_over(run, now, &next_look))
			return true;
		now = wk_counter();
	}
	*previous = now;
	return wk_is_over(run, now, &next_look);
}

/* The next release is one period later. */
WK_ALWAYS_INLINE void go_past_release(struct wk_buffer *buffer)
{
	buffer->next_fraction += buffer->period_fraction;
	uint64_t carry = buffer->next_fraction < buffer->period_fraction;
	buffer->next_ticks += buffer->period_ticks + carry;
}

/*
 * Spins until the next release; those that are past already are skipped, and added to `*missed`. Returns true where the run
 * ended instead.
 */
static bool wait_for_release(const struct wk_run *run, struct wk_buffer *buffer, uint64_t *missed)
{
	uint64_t next_look = 0, now = wk_counter();
	for (; now > buffer->next_ticks; ++*missed)
		go_past_release(buffer);
	while (now < buffer->next_ticks) {
		if (now >= next_look && wk_is_over(run, now, &next_look))
			return true;
		now = wk_counter();
	}
	go_past_release(buffer);
	return wk_is_over(run, now, &next_look);
}

WK_ALWAYS_INLINE void timed_pass(const struct wk_run *run, struct wk_buffer *buffer, struct wk_recorder *recorder,
				 enum wk_clock clock)
{
	struct wk_stamp start = wk_sample_begin(clock);
	pass(buffer);
	wk_record_between(recorder, run, start, wk_sample_end(clock), clock);
}

WK_ALWAYS_INLINE void target_on_grid(const struct wk_run *run, struct wk_buffer *buffer, struct wk_recorder *recorder,
				     enum wk_clock clock)
{
	while (!wait_for_release(run, buffer, &recorder->missed_periods))
		timed_pass(run, buffer, recorder, clock);
}

WK_ALWAYS_INLINE void target_by_period(const struct wk_run *run, struct wk_buffer *buffer,
				       struct wk_recorder *recorder, enum wk_clock clock)
{
	uint64_t previous = wk_counter(), before = previous;
	while (!wait_for_period(run, buffer, &previous)) {
		if (__builtin_expect(previous - before >= 2 * buffer->period_ticks, 0))
			recorder->missed_periods += (previous - before) / buffer->period_ticks - 1;
		before = previous;
		timed_pass(run, buffer, recorder, clock);
	}
}

WK_ALWAYS_INLINE void target(const struct wk_run *run, struct wk_buffer *buffer, struct wk_recorder *recorder,
			     enum wk_clock clock)
{
	if (buffer->on_grid)
		target_on_grid(run, buffer, recorder, clock);
	else
		target_by_period(run, buffer, recorder, clock);
	wk_close_cluster(recorder);
}

static void buffer_neighbour_on_grid(const struct wk_run *run, struct wk_buffer *buffer)
{
	uint64_t missed = 0;
	while (!wait_for_release(run, buffer, &missed)) {
		if (wk_publish(run, pass(buffer)))
			break;
	}
}

void wk_buffer_pass(struct wk_buffer *buffer)
{
	pass(buffer);
}

void wk_buffer_target(const struct wk_run *run, struct wk_buffer *buffer, struct wk_recorder *recorder)
{
	target(run, buffer, recorder, WK_COUNTER);
}

#if WK_HAS_CYCLES
void wk_buffer_target_in_cycles(const struct wk_run *run, struct wk_buffer *buffer, struct wk_recorder *recorder)
{
	target(run, buffer, recorder, WK_CYCLES);
}
#endif

void wk_buffer_neighbour(const struct wk_run *run, struct wk_buffer *buffer)
{
	if (buffer->on_grid) {
		buffer_neighbour_on_grid(run, buffer);
		return;
	}
	uint64_t previous = wk_counter();
	while (!wait_for_period(run, buffer, &previous)) {
		if (wk_publish(run, pass(buffer)))
			break;
	}
}
