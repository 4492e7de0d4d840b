/* One access of 8 bytes. Volatile, so that each access of the pattern is one access of the machine. */
#ifndef WK_ACCESS_H
#define WK_ACCESS_H

#include "params.h"

#define WK_ALWAYS_INLINE static inline __attribute__((always_inline))

/* `operation` is a constant wherever this is inlined into a loop. */
WK_ALWAYS_INLINE void wk_access(unsigned char *address, enum wk_operation operation)
{
	volatile uint64_t *place = (volatile uint64_t *)(void *)address;
	switch (operation) {
	case WK_READ:
		(void)*place;
		break;
	case WK_WRITE:
		/* The address: never 0, as some cores write lines of zeros back more cheaply. */
		*place = (uint64_t)(uintptr_t)address;
		break;
	case WK_MODIFY:
		*place = *place + 1;
		break;
	case WK_PREFETCH:
		/* PREFETCHT0 and PRFM PLDL1KEEP */
		__builtin_prefetch(address, 0, 3);
		break;
	}
}

#endif
