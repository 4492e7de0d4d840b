/*
 * What a sample is the difference of: two readings of the counter, or of the core's cycle counter with the counter beside it.
 * Every loop is compiled for both; which one it is is a constant there, and costs nothing.
 */
#ifndef WK_STAMP_H
#define WK_STAMP_H

#include "counter.h"
#include "params.h"

enum wk_clock { WK_COUNTER, WK_CYCLES };

struct wk_stamp {
	uint64_t at;     /* the counter */
	uint64_t cycles; /* of the core; WK_CYCLES only */
};

#if defined(__aarch64__)
#define WK_HAS_CYCLES 1

/* A program may read PMCCNTR_EL0 only where the kernel lets it (`src/clock/cycles.rs`). */
static inline uint64_t wk_cycles(void)
{
	uint64_t reading;
	__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(reading) : : "memory");
	return reading;
}

static inline uint64_t wk_counter_at_once(void)
{
	uint64_t reading;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(reading) : : "memory");
	return reading;
}

/* The counter is read first at the beginning of a sample and last at its end: the cycles lie between its readings. */
static inline struct wk_stamp wk_stamp_in_cycles(bool is_end)
{
	struct wk_stamp stamp = {0, 0};
	__asm__ volatile("dsb ld\n\tisb" : : : "memory");
	if (is_end)
		stamp.cycles = wk_cycles();
	stamp.at = wk_counter_at_once();
	if (!is_end)
		stamp.cycles = wk_cycles();
	__asm__ volatile("isb" : : : "memory");
	return stamp;
}

/* One fence in front, as `wk_counter` has it. */
static inline struct wk_stamp wk_next_stamp_in_cycles(void)
{
	struct wk_stamp stamp;
	__asm__ volatile("isb" : : : "memory");
	stamp.cycles = wk_cycles();
	stamp.at = wk_counter_at_once();
	return stamp;
}
#else
#define WK_HAS_CYCLES 0
#endif

/* Fences on both sides: for a sample that begins and ends with a reading of its own. */
static inline struct wk_stamp wk_stamp_fenced(enum wk_clock clock, bool is_end)
{
#if WK_HAS_CYCLES
	if (clock == WK_CYCLES)
		return wk_stamp_in_cycles(is_end);
#endif
	(void)clock;
	(void)is_end;
	struct wk_stamp stamp = {wk_counter_fenced(), 0};
	return stamp;
}

static inline struct wk_stamp wk_sample_begin(enum wk_clock clock)
{
	return wk_stamp_fenced(clock, false);
}

static inline struct wk_stamp wk_sample_end(enum wk_clock clock)
{
	return wk_stamp_fenced(clock, true);
}

/* For loops in which the end of one sample is the start of the next. */
static inline struct wk_stamp wk_sample_next(enum wk_clock clock)
{
#if WK_HAS_CYCLES
	if (clock == WK_CYCLES)
		return wk_next_stamp_in_cycles();
#endif
	(void)clock;
	struct wk_stamp stamp = {wk_counter(), 0};
	return stamp;
}

/* How a run with WK_CYCLES counts time: in units that are shorter than a tick and than a cycle. */
struct wk_unit {
	uint64_t per_tick_log2;
	uint64_t per_cycle; /* in 2^-32; less than 2^36 */
};

/* Of a sample that is timed in cycles: a longer one is long enough for the counter, and its product would not fit. */
#define WK_MOST_CYCLES ((UINT64_C(1) << 28) - 1)

/*
 * The time between two stamps, in units. The cycles decide as far as the counter allows it: the time is more than the ticks
 * between its readings less one, and less than these and one more. So a core whose clock changes, or whose cycle counter stood
 * still while something else ran, makes a sample coarse and never wrong.
 */
static inline uint64_t wk_between(struct wk_unit unit, struct wk_stamp start, struct wk_stamp end)
{
	uint64_t ticks = end.at - start.at;
	uint64_t least = (ticks - (ticks != 0)) << unit.per_tick_log2;
	uint64_t most = (ticks + 1) << unit.per_tick_log2;
	if (end.cycles < start.cycles || end.cycles - start.cycles > WK_MOST_CYCLES)
		return ticks << unit.per_tick_log2;
	uint64_t product = (end.cycles - start.cycles) * unit.per_cycle;
	uint64_t units = (product >> 32) + ((product >> 31) & 1);
	return units < least ? least : units > most ? most : units;
}

/* Records a sample. Returns false, and records none, where the counter went backwards. */
static inline bool wk_record_between(struct wk_recorder *recorder, const struct wk_run *run, struct wk_stamp start,
				     struct wk_stamp end, enum wk_clock clock)
{
	if (clock == WK_COUNTER)
		return wk_record(recorder, start.at, end.at);
	if (__builtin_expect(end.at < start.at, 0)) {
		recorder->backwards++;
		return false;
	}
	struct wk_unit unit = {run->units_per_tick_log2, run->units_per_cycle};
	wk_record_ticks(recorder, wk_between(unit, start, end), end.at);
	return true;
}

#endif
