/*
 * Read the counter in a loop and keep statistics. A sample is one pass: from one reading to the next, the recording of
 * the sample before it included. There is one reading in a pass, and it also decides when to look at the stop flag.
 */
#include "access.h"
#include "run.h"
#include "sled.h"

/* Passes between two looks of a neighbour at the counter. */
#define NEIGHBOUR_CHUNK 64

WK_ALWAYS_INLINE void run_body(enum wk_body body, uint64_t amount)
{
	if (body == WK_ADDS)
		wk_run_adds(amount);
	else if (body == WK_LOOP)
		wk_run_increments(amount);
}

WK_ALWAYS_INLINE void target(const struct wk_run *run, uint64_t amount, struct wk_recorder *recorder, enum wk_body body)
{
	uint64_t next_look = 0, start = wk_counter();
	for (;;) {
		run_body(body, amount);
		uint64_t now = wk_counter();
		bool forwards = wk_record(recorder, start, now);
		start = now;
		if (__builtin_expect(!forwards || now >= next_look, 0)) {
			if (wk_is_over(run, now, &next_look))
				break;
			start = wk_counter();
		}
	}
	wk_close_cluster(recorder);
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
	switch ((enum wk_body)tick->body) {
	case WK_NOTHING:
		target(run, tick->amount, recorder, WK_NOTHING);
		break;
	case WK_ADDS:
		target(run, tick->amount, recorder, WK_ADDS);
		break;
	case WK_LOOP:
		target(run, tick->amount, recorder, WK_LOOP);
		break;
	}
}

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
