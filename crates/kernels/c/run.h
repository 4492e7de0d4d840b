/* How a loop finds out that its run is over. */
#ifndef WK_RUN_H
#define WK_RUN_H

#include "counter.h"
#include "params.h"

/*
 * Whether the run is over. A target asks only when `now` has reached `*next_look`, and between two samples: the flag's
 * cache line is cold by then, and loading it must not become a sample. Sets the next look.
 */
static inline bool wk_is_over(const struct wk_run *run, uint64_t now, uint64_t *next_look)
{
	if (now >= run->deadline || __atomic_load_n(run->stop, __ATOMIC_RELAXED) != 0)
		return true;
	uint64_t left = run->deadline - now;
	*next_look = now + (left < run->look_ticks ? left : run->look_ticks);
	return false;
}

/* For a neighbour, after some accesses: publishes their number and says whether the run is over. */
static inline bool wk_publish(const struct wk_run *run, uint64_t accesses)
{
	uint64_t before = __atomic_load_n(run->progress, __ATOMIC_RELAXED);
	__atomic_store_n(run->progress, before + accesses, __ATOMIC_RELAXED);
	uint64_t next_look;
	return wk_is_over(run, wk_counter(), &next_look);
}

#endif
