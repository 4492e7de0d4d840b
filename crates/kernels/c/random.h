/* The generator of `workload/src/random.rs`: Marsaglia's xorshift64*. */
#ifndef WK_RANDOM_H
#define WK_RANDOM_H

#include <stdint.h>

static inline uint64_t wk_next(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* A number below `bound`, which is at most 2^32. */
static inline uint64_t wk_below(uint64_t *state, uint64_t bound)
{
	return ((wk_next(state) >> 32) * bound) >> 32;
}

#endif
