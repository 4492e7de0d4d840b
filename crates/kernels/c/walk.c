/* Two nested affine loops. A sample is one inner loop. */
#include "access.h"
#include "run.h"
#include "stamp.h"

/* Accesses between two looks of a neighbour at the counter: a few microseconds when they miss the first-level cache. */
#define NEIGHBOUR_CHUNK 1024

WK_ALWAYS_INLINE void inner_loop(unsigned char *address, uint64_t count, uint64_t stride, enum wk_operation operation)
{
	for (; count != 0; count--, address += stride)
		wk_access(address, operation);
}

WK_ALWAYS_INLINE void next_outer(struct wk_walk *walk)
{
	walk->inner_at = 0;
	walk->outer_at = walk->outer_at + 1 == walk->outer_count ? 0 : walk->outer_at + 1;
}

WK_ALWAYS_INLINE void target(const struct wk_run *run, struct wk_walk *walk, struct wk_recorder *recorder,
			     enum wk_operation operation, enum wk_clock clock)
{
	uint64_t next_look = 0;
	struct wk_stamp start, end;
	bool forwards;
	do {
		unsigned char *address = walk->data + walk->outer_at * walk->outer_stride;
		uint64_t count = walk->inner_count, stride = walk->inner_stride;
		start = wk_sample_begin(clock);
		inner_loop(address, count, stride, operation);
		end = wk_sample_end(clock);
		forwards = wk_record_between(recorder, run, start, end, clock);
		next_outer(walk);
	} while ((forwards && end.at < next_look) || !wk_is_over(run, end.at, &next_look));
	wk_close_cluster(recorder);
}

WK_ALWAYS_INLINE void neighbour(const struct wk_run *run, struct wk_walk *walk, enum wk_operation operation)
{
	do {
		uint64_t left = NEIGHBOUR_CHUNK;
		while (left != 0) {
			uint64_t count = walk->inner_count - walk->inner_at;
			if (count > left)
				count = left;
			unsigned char *address = walk->data + walk->outer_at * walk->outer_stride +
						 walk->inner_at * walk->inner_stride;
			inner_loop(address, count, walk->inner_stride, operation);
			left -= count;
			walk->inner_at += count;
			if (walk->inner_at == walk->inner_count)
				next_outer(walk);
		}
	} while (!wk_publish(run, NEIGHBOUR_CHUNK));
}

WK_ALWAYS_INLINE void pass(const struct wk_walk *walk, enum wk_operation operation)
{
	unsigned char *address = walk->data;
	for (uint64_t left = walk->outer_count; left != 0; left--, address += walk->outer_stride)
		inner_loop(address, walk->inner_count, walk->inner_stride, operation);
}

void wk_walk_pass(struct wk_walk *walk)
{
#define PASS(operation) pass(walk, operation)
	WK_WITH_OPERATION(walk->operation, PASS)
}

void wk_walk_target(const struct wk_run *run, struct wk_walk *walk, struct wk_recorder *recorder)
{
	walk->inner_at = 0;
#define TARGET(operation) target(run, walk, recorder, operation, WK_COUNTER)
	WK_WITH_OPERATION(walk->operation, TARGET)
}

#if WK_HAS_CYCLES
void wk_walk_target_in_cycles(const struct wk_run *run, struct wk_walk *walk, struct wk_recorder *recorder)
{
	walk->inner_at = 0;
#define TARGET_IN_CYCLES(operation) target(run, walk, recorder, operation, WK_CYCLES)
	WK_WITH_OPERATION(walk->operation, TARGET_IN_CYCLES)
}
#endif

void wk_walk_neighbour(const struct wk_run *run, struct wk_walk *walk)
{
#define NEIGHBOUR(operation) neighbour(run, walk, operation)
	WK_WITH_OPERATION(walk->operation, NEIGHBOUR)
}
