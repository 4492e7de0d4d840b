/*
 * The counter that every sample is the difference of: TSC on x86-64, CNTVCT_EL0 on AArch64, and on ARMv7 the one that
 * counter_armv7.h has.
 */
#ifndef WK_COUNTER_H
#define WK_COUNTER_H

#include <stdint.h>

#if defined(__arm__)
#include "counter_armv7.h"
#endif

/*
 * One fence in front: everything before has been done when the counter is read. What follows may start while the
 * counter is still being read, so this is for loops in which the end of one sample is the start of the next: the sum
 * of the samples is the time that passed, whatever overlaps the reading itself.
 * x86-64: LFENCE waits for all earlier instructions (Intel SDM, RDTSC: "if software requires RDTSC to be executed only
 * after all previous instructions have executed and all previous loads are globally visible, it can execute LFENCE
 * immediately before RDTSC"). AArch64: without ISB the counter may be read early (Arm ARM D11.1.2).
 */
static inline uint64_t wk_counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32) | low;
#elif defined(__aarch64__)
	uint64_t reading;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(reading) : : "memory");
	return reading;
#elif defined(__arm__)
	return wk_counter_armv7();
#else
#error "the kernels know the counters of x86-64, AArch64 and ARMv7"
#endif
}

/*
 * Fences on both sides: for a sample that begins and ends with a reading of its own. On AArch64 an ISB does not wait
 * for loads that are still on their way, hence DSB LD. ARMv7 has no DSB for loads alone: there, stores are waited for too.
 * Elsewhere they may still sit in the store buffer.
 */
static inline uint64_t wk_counter_fenced(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32) | low;
#elif defined(__arm__)
	uint64_t reading;
	__asm__ volatile("dsb" : : : "memory");
	reading = wk_counter_armv7();
	__asm__ volatile("isb" : : : "memory");
	return reading;
#else
	uint64_t reading;
	__asm__ volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(reading) : : "memory");
	return reading;
#endif
}

#endif
