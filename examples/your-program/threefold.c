/* One and the same piece of work, 2 ms in every 10 ms, that Waykeeper can see in three ways: it is marked, it is a function
 * of its own, and it is all that the program does from one sleep to the next. So the three can be held against each other:
 *   waykeeper run this-machine --passes markers -- ./threefold
 *   waykeeper run this-machine --begin work     -- ./threefold
 *   waykeeper run this-machine --passes period  -- ./threefold
 */
#define _GNU_SOURCE
#include <time.h>

#include "waykeeper.h"

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

__attribute__((noinline)) void work(void)
{
	wk_begin(0);
	long long end = now() + 2000000;
	while (now() < end)
		;
	wk_end(0);
}

int main(void)
{
	long long next = now();
	for (;;) {
		next += 10000000;
		struct timespec t = { next / 1000000000, next % 1000000000 };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
			;
		work();
	}
}
