/* Dependent loads: each place holds the address of the next. A sample is one batch of loads. */
#include "access.h"
#include "run.h"
#include "stamp.h"

/* Loads between two looks of a neighbour at the counter: some microseconds where they miss the caches. */
#define NEIGHBOUR_CHUNK 256

WK_ALWAYS_INLINE void *follow(void *place, uint64_t loads)
{
	for (; loads != 0; loads--)
		place = *(void *volatile *)place;
	return place;
}

WK_ALWAYS_INLINE void target(const struct wk_run *run, struct wk_chase *chase, struct wk_recorder *recorder,
			     enum wk_clock clock)
{
	uint64_t next_look = 0;
	struct wk_stamp start, end;
	bool forwards;
	do {
		void *place = chase->at;
		uint64_t batch = chase->batch;
		start = wk_sample_begin(clock);
		place = follow(place, batch);
		end = wk_sample_end(clock);
		forwards = wk_record_between(recorder, run, start, end, clock);
		chase->at = place;
	} while ((forwards && end.at < next_look) || !wk_is_over(run, end.at, &next_look));
	wk_close_cluster(recorder);
}

void wk_chase_target(const struct wk_run *run, struct wk_chase *chase, struct wk_recorder *recorder)
{
	target(run, chase, recorder, WK_COUNTER);
}

#if WK_HAS_CYCLES
void wk_chase_target_in_cycles(const struct wk_run *run, struct wk_chase *chase, struct wk_recorder *recorder)
{
	target(run, chase, recorder, WK_CYCLES);
}
#endif

void wk_chase_pass(struct wk_chase *chase)
{
	chase->at = follow(chase->at, chase->batch);
}

void wk_chase_neighbour(const struct wk_run *run, struct wk_chase *chase)
{
	do {
		chase->at = follow(chase->at, NEIGHBOUR_CHUNK);
	} while (!wk_publish(run, NEIGHBOUR_CHUNK));
}
