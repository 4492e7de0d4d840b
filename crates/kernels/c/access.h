/* One access of 8 bytes. Volatile, so that each access of the pattern is one access of the machine. */
#ifndef WK_ACCESS_H
#define WK_ACCESS_H

#include "params.h"

#define WK_ALWAYS_INLINE static inline __attribute__((always_inline))

/* Adds one at once for all observers. In assembler, as compilers may call a library for it on AArch64. */
WK_ALWAYS_INLINE void wk_add_atomically(volatile uint64_t *place)
{
#if defined(__x86_64__)
	__asm__ volatile("lock addq $1, %0" : "+m"(*place) : : "cc");
#elif defined(__aarch64__)
	uint64_t value;
	uint32_t failed;
	__asm__ volatile("1:\tldxr %0, [%2]\n\tadd %0, %0, #1\n\tstxr %w1, %0, [%2]\n\tcbnz %w1, 1b"
			 : "=&r"(value), "=&r"(failed)
			 : "r"(place)
			 : "memory");
#else
	(void)place;
#endif
}

/* A store of 8 bytes past the caches: MOVNTI, STNP. */
WK_ALWAYS_INLINE void wk_store_past_caches(volatile uint64_t *place)
{
#if defined(__x86_64__)
	__asm__ volatile("movnti %1, %0" : "=m"(*place) : "r"((uint64_t)(uintptr_t)place));
#elif defined(__aarch64__)
	__asm__ volatile("stnp %w1, %w1, [%0]" : : "r"(place), "r"((uint32_t)(uintptr_t)place) : "memory");
#else
	(void)place;
#endif
}

/* A store, then the line is written back and leaves all caches: CLFLUSH, DC CIVAC. */
WK_ALWAYS_INLINE void wk_store_and_flush(volatile uint64_t *place)
{
#if defined(__x86_64__)
	*place = (uint64_t)(uintptr_t)place;
	__asm__ volatile("clflush %0" : "+m"(*place));
#elif defined(__aarch64__)
	*place = (uint64_t)(uintptr_t)place;
	__asm__ volatile("dc civac, %0" : : "r"(place) : "memory");
#else
	(void)place;
#endif
}

/* Adds one atomically to the 8 bytes of which half lie at the end of the address's line of 64 bytes, and half on the next one. */
WK_ALWAYS_INLINE void wk_add_across_lines(unsigned char *address)
{
#if defined(__x86_64__)
	unsigned char *place = address + (60 - ((uintptr_t)address & 63));
	__asm__ volatile("lock addq $1, (%0)" : : "r"(place) : "cc", "memory");
#else
	(void)address;
#endif
}

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
	case WK_ATOMIC:
		wk_add_atomically(place);
		break;
	case WK_NON_TEMPORAL:
		wk_store_past_caches(place);
		break;
	case WK_FLUSH:
		wk_store_and_flush(place);
		break;
	case WK_SPLIT_LOCK:
		wk_add_across_lines(address);
		break;
	}
}

/* Calls `LOOP` with the operation as a constant, so that no loop chooses it access by access. */
#define WK_WITH_OPERATION(operation, LOOP)              \
	switch ((enum wk_operation)(operation)) {       \
	case WK_READ:                                   \
		LOOP(WK_READ);                          \
		break;                                  \
	case WK_WRITE:                                  \
		LOOP(WK_WRITE);                         \
		break;                                  \
	case WK_MODIFY:                                 \
		LOOP(WK_MODIFY);                        \
		break;                                  \
	case WK_PREFETCH:                               \
		LOOP(WK_PREFETCH);                      \
		break;                                  \
	case WK_ATOMIC:                                 \
		LOOP(WK_ATOMIC);                        \
		break;                                  \
	case WK_NON_TEMPORAL:                           \
		LOOP(WK_NON_TEMPORAL);                  \
		break;                                  \
	case WK_FLUSH:                                  \
		LOOP(WK_FLUSH);                         \
		break;                                  \
	case WK_SPLIT_LOCK:                             \
		LOOP(WK_SPLIT_LOCK);                    \
		break;                                  \
	}

#endif
