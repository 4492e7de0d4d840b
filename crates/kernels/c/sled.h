/*
 * A straight line of WK_MOST_ADDS dependent adds of 4 bytes each, entered so many adds before its end. The way back is
 * in a register, so that no call touches the stack. The line itself is in sled.c.
 */
#ifndef WK_SLED_H
#define WK_SLED_H

#include <stdint.h>

extern const unsigned char wk_sled_end[] __attribute__((visibility("hidden")));

static inline void wk_run_adds(uint64_t amount)
{
	const unsigned char *entry = wk_sled_end - 4 * amount;
#if defined(__x86_64__)
	uint64_t sum = 0, one = 1;
	__asm__ volatile("leaq 1f(%%rip), %%r11\n\tjmp *%[entry]\n1:"
			 : "+a"(sum)
			 : "d"(one), [entry] "r"(entry)
			 : "r11", "cc");
#elif defined(__arm__)
	register uint32_t sum __asm__("r2") = 0;
	register uint32_t one __asm__("r3") = 1;
	__asm__ volatile("adr r12, 1f\n\tbx %[entry]\n1:" : "+r"(sum) : "r"(one), [entry] "r"(entry) : "r12");
#else
	register uint64_t sum __asm__("x9") = 0;
	register uint64_t one __asm__("x10") = 1;
	__asm__ volatile("adr x11, 1f\n\tbr %[entry]\n1:" : "+r"(sum) : "r"(one), [entry] "r"(entry) : "x11");
#endif
}

/* A loop of that many dependent increments, at least 1; 12 bytes of code or less. */
static inline void wk_run_increments(uint64_t amount)
{
	uint64_t up_to_zero = 0 - amount;
#if defined(__x86_64__)
	__asm__ volatile("1:\n\taddq $1, %0\n\tjne 1b" : "+r"(up_to_zero) : : "cc");
#elif defined(__arm__)
	/* Two words: the carry out of the upper one ends the loop. */
	__asm__ volatile("1:\n\tadds %Q0, %Q0, #1\n\tadcs %R0, %R0, #0\n\tbcc 1b" : "+r"(up_to_zero) : : "cc");
#else
	__asm__ volatile("1:\n\tadds %0, %0, #1\n\tb.ne 1b" : "+r"(up_to_zero) : : "cc");
#endif
}

#endif
