/* Dependent loads: each place holds the address of the next. A sample is one batch of loads. */
#include "access.h"
#include "run.h"

/* Loads between two looks of a neighbour at the counter: some microseconds where they miss the caches. */
#define NEIGHBOUR_CHUNK 256

WK_ALWAYS_INLINE void *follow(void *place, uint64_t loads)
{
	for (; loads != 0; loads--)
		place = *(void *volatile *)place;
	return place;
}

void wk_chase_target(const struct wk_run *run, struct wk_chase *chase, struct wk_recorder *recorder)
{
	uint64_t next_look = 0, start, end;
	bool forwards;
	do {
		void *place = chase->at;
		uint64_t batch = chase->batch;
		start = wk_counter_fenced();
		place = follow(place, batch);
		end = wk_counter_fenced();
		forwards = wk_record(recorder, start, end);
		chase->at = place;
	} while ((forwards && end < next_look) || !wk_is_over(run, end, &next_look));
	wk_close_cluster(recorder);
}

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
