/*
 * Read the counter in a loop and keep statistics. A sample is one pass: from one reading to the next, the recording of
 * the sample before it included. There is one reading in a pass, and it also decides when to look at the stop flag.
 */
#include "access.h"
#include "run.h"
#include "sled.h"
#include "stamp.h"

/* Passes between two looks of a neighbour at the counter. */
#define NEIGHBOUR_CHUNK 64

WK_ALWAYS_INLINE void run_body(enum wk_body body, uint64_t amount)
{
	if (body == WK_ADDS)
		wk_run_adds(amount);
	else if (body == WK_LOOP)
		wk_run_increments(amount);
}

WK_ALWAYS_INLINE void target(const struct wk_run *run, uint64_t amount, struct wk_recorder *recorder, enum wk_body body,
			     enum wk_clock clock)
{
	uint64_t next_look = 0;
	struct wk_stamp start = wk_sample_next(clock);
	for (;;) {
		run_body(body, amount);
		struct wk_stamp now = wk_sample_next(clock);
		bool forwards = wk_record_between(recorder, run, start, now, clock);
		start = now;
		if (__builtin_expect(!forwards || now.at >= next_look, 0)) {
			if (wk_is_over(run, now.at, &next_look))
				break;
			start = wk_sample_next(clock);
		}
	}
	wk_close_cluster(recorder);
}

WK_ALWAYS_INLINE void target_with_body(const struct wk_run *run, struct wk_tick *tick, struct wk_recorder *recorder,
				       enum wk_clock clock)
{
	switch ((enum wk_body)tick->body) {
	case WK_NOTHING:
		target(run, tick->amount, recorder, WK_NOTHING, clock);
		break;
	case WK_ADDS:
		target(run, tick->amount, recorder, WK_ADDS, clock);
		break;
	case WK_LOOP:
		target(run, tick->amount, recorder, WK_LOOP, clock);
		break;
	}
}

WK_ALWAYS_INLINE void neighbour(const struct wk_run *run, uint64_t amount, enum wk_body body)
{
	do {
		for (unsigned pass = 0; pass < NEIGHBOUR_CHUNK; pass++) {
			run_body(body, amount);
			wk_counter();
		}
	} while (!wk_publish(run, NEIGHBOUR_CHUNK));
}

void wk_tick_pass(struct wk_tick *tick)
{
	switch ((enum wk_body)tick->body) {
	case WK_NOTHING:
		break;
	case WK_ADDS:
		run_body(WK_ADDS, tick->amount);
		break;
	case WK_LOOP:
		run_body(WK_LOOP, tick->amount);
		break;
	}
}

void wk_tick_target(const struct wk_run *run, struct wk_tick *tick, struct wk_recorder *recorder)
{
	target_with_body(run, tick, recorder, WK_COUNTER);
}

#if WK_HAS_CYCLES
void wk_tick_target_in_cycles(const struct wk_run *run, struct wk_tick *tick, struct wk_recorder *recorder)
{
	target_with_body(run, tick, recorder, WK_CYCLES);
}
#endif

void wk_tick_neighbour(const struct wk_run *run, struct wk_tick *tick)
{
	switch ((enum wk_body)tick->body) {
	case WK_NOTHING:
		neighbour(run, tick->amount, WK_NOTHING);
		break;
	case WK_ADDS:
		neighbour(run, tick->amount, WK_ADDS);
		break;
	case WK_LOOP:
		neighbour(run, tick->amount, WK_LOOP);
		break;
	}
}
