/* Random reads, changes and calls in the background, then an event, which is the sample. */
#include "random.h"

#include "access.h"
#include "run.h"
#include "stamp.h"

WK_ALWAYS_INLINE void read_line(const struct wk_random *random, uint64_t line)
{
	wk_access(random->data + line * random->line_bytes, WK_READ);
}

WK_ALWAYS_INLINE void call_line(const struct wk_random *random, uint64_t line)
{
	void (*code)(void) = (void (*)(void))(uintptr_t)(random->code + line * random->line_bytes);
	code();
}

/* As many as given, or a number of which they are the mean. */
WK_ALWAYS_INLINE uint64_t drawn(const struct wk_random *random, uint64_t *generator, uint64_t count)
{
	return random->random_counts ? wk_below(generator, 2 * count + 1) : count;
}

static void background(struct wk_random *random)
{
	uint64_t generator = random->generator;
	uint64_t data_accesses = drawn(random, &generator, random->data_accesses);
	uint64_t data_modifies = drawn(random, &generator, random->data_modifies);
	uint64_t code_calls = drawn(random, &generator, random->code_calls);
	for (uint64_t left = data_accesses; left != 0; left--)
		read_line(random, wk_below(&generator, random->data_lines));
	for (uint64_t left = data_modifies; left != 0; left--)
		wk_access(random->data + wk_below(&generator, random->data_lines) * random->line_bytes, WK_MODIFY);
	for (uint64_t left = code_calls; left != 0; left--)
		call_line(random, wk_below(&generator, random->code_lines));
	random->generator = generator;
}

static void event(const struct wk_random *random)
{
	for (uint64_t line = 0; line < random->event_code_lines; line++)
		call_line(random, random->code_lines + line * random->event_stride_lines);
	for (uint64_t line = 0; line < random->event_data_lines; line++)
		read_line(random, random->data_lines + line * random->event_stride_lines);
}

WK_ALWAYS_INLINE void target(const struct wk_run *run, struct wk_random *random, struct wk_recorder *recorder,
			     enum wk_clock clock)
{
	uint64_t next_look = 0;
	struct wk_stamp start, end;
	bool forwards;
	do {
		background(random);
		start = wk_sample_begin(clock);
		event(random);
		end = wk_sample_end(clock);
		forwards = wk_record_between(recorder, run, start, end, clock);
	} while ((forwards && end.at < next_look) || !wk_is_over(run, end.at, &next_look));
	wk_close_cluster(recorder);
}

void wk_random_target(const struct wk_run *run, struct wk_random *random, struct wk_recorder *recorder)
{
	target(run, random, recorder, WK_COUNTER);
}

#if WK_HAS_CYCLES
void wk_random_target_in_cycles(const struct wk_run *run, struct wk_random *random, struct wk_recorder *recorder)
{
	target(run, random, recorder, WK_CYCLES);
}
#endif

void wk_random_pass(struct wk_random *random)
{
	background(random);
	event(random);
}

void wk_random_neighbour(const struct wk_run *run, struct wk_random *random)
{
	uint64_t accesses = random->data_accesses + random->data_modifies + random->code_calls +
			    random->event_data_lines + random->event_code_lines;
	do {
		background(random);
		event(random);
	} while (!wk_publish(run, accesses));
}
