/*
 * The counters of ARMv7. Which of them a program can read depends on the core and on the kernel, so Rust chooses one
 * before the first reading (`src/clock/armv7.rs`).
 */
#ifndef WK_COUNTER_ARMV7_H
#define WK_COUNTER_ARMV7_H

#include <stdint.h>

enum wk_counter_kind {
	WK_GENERIC_TIMER, /* CNTVCT, where the core has the generic timer and the kernel lets programs read it */
	WK_GLOBAL_TIMER,  /* the global timer of a Cortex-A9 MPCore, mapped from its peripherals */
	WK_KERNEL_CLOCK   /* a function that asks the kernel: anywhere, and slow */
};

struct wk_counter_choice {
	enum wk_counter_kind kind;
	const volatile uint32_t *global_timer; /* the lower word; the upper one follows */
	uint64_t (*kernel_clock)(void);
};

extern struct wk_counter_choice wk_counter_choice;

/* One fence in front, as in counter.h. */
static inline uint64_t wk_counter_armv7(void)
{
	__asm__ volatile("isb" : : : "memory");
	if (wk_counter_choice.kind == WK_GENERIC_TIMER) {
		uint64_t reading;
		__asm__ volatile("mrrc p15, 1, %Q0, %R0, c14" : "=r"(reading) : : "memory");
		return reading;
	}
	if (wk_counter_choice.kind == WK_KERNEL_CLOCK)
		return wk_counter_choice.kernel_clock();
	/* Cortex-A9 MPCore TRM 4.4.1: upper, lower, and the upper again, until it did not change. */
	const volatile uint32_t *words = wk_counter_choice.global_timer;
	uint32_t high, low;
	do {
		high = words[1];
		low = words[0];
	} while (words[1] != high);
	return ((uint64_t)high << 32) | low;
}

#endif
