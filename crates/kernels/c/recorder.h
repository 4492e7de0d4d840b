/*
 * What a timed loop writes into. The layout is that of `workload/src/recorder.rs`; a test compares every offset.
 *
 * A quiet sample loads and stores the first header line and one line of `counts`, nothing else. The second header line
 * and `cluster_counts` are touched only by a sample that is remarkable: a new minimum or maximum, an excursion, an
 * overflow, or a counter that went backwards.
 */
#ifndef WK_RECORDER_H
#define WK_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WK_LINE_BYTES 64
#define WK_SUB_BUCKETS 256
#define WK_SUB_BUCKETS_HALF_MAGNITUDE 7
#define WK_OVERFLOW_FROM (UINT64_C(1) << 36)
#define WK_BUCKETS 3840

struct wk_recorder {
	/* First line: read by every sample; a quiet one writes only the sum. */
	uint64_t min;             /* UINT64_MAX while there is no sample */
	uint64_t max;             /* 0 while there is no sample */
	uint64_t max_at;          /* the reading that ended the maximum */
	uint64_t sum_low;         /* of all samples, 128 bits in two words */
	uint64_t sum_high;
	uint64_t attention_above; /* the least of max, excursion_above and WK_OVERFLOW_FROM - 1 */
	uint64_t excursion_above; /* a sample above is an excursion */
	uint64_t cluster_gap;     /* excursions that end within this of the cluster's first belong to it */

	/* Second line: touched by remarkable samples only. */
	uint64_t overflow;         /* samples of WK_OVERFLOW_FROM ticks or more: in min, max and sum, in no bucket */
	uint64_t backwards;        /* pairs of readings of which the second was smaller: no samples */
	uint64_t excursions;
	uint64_t cluster_overflow; /* finished clusters whose maximum is in no bucket */
	uint64_t cluster_is_open;
	uint64_t cluster_start;    /* the reading that ended the open cluster's first excursion */
	uint64_t cluster_max;
	uint64_t missed_periods;   /* releases that a periodic loop came too late for */

	uint64_t counts[WK_BUCKETS];         /* of all samples below WK_OVERFLOW_FROM */
	uint64_t cluster_counts[WK_BUCKETS]; /* of the maxima of finished clusters */
};

_Static_assert(offsetof(struct wk_recorder, overflow) == WK_LINE_BYTES, "the quiet part of the header is one line");
_Static_assert(offsetof(struct wk_recorder, counts) == 2 * WK_LINE_BYTES, "the header is two lines");
_Static_assert(WK_BUCKETS == (36 - 8 + 2) << WK_SUB_BUCKETS_HALF_MAGNITUDE, "buckets up to WK_OVERFLOW_FROM");

/* The bucket of a value below WK_OVERFLOW_FROM: HdrHistogram's countsArrayIndex for two significant digits. */
static inline uint64_t wk_bucket(uint64_t ticks)
{
	unsigned doubling = 56u - (unsigned)__builtin_clzll(ticks | (WK_SUB_BUCKETS - 1));
	return ((uint64_t)doubling << WK_SUB_BUCKETS_HALF_MAGNITUDE) + (ticks >> doubling);
}

static inline void wk_add_to_sum(struct wk_recorder *recorder, uint64_t ticks)
{
	recorder->sum_low += ticks;
	if (__builtin_expect(recorder->sum_low < ticks, 0))
		recorder->sum_high++;
}

/* Counts a sample below WK_OVERFLOW_FROM. */
static inline void wk_count(struct wk_recorder *recorder, uint64_t ticks)
{
	wk_add_to_sum(recorder, ticks);
	recorder->counts[wk_bucket(ticks)]++;
}

/* Records a new minimum or maximum, an excursion or an overflow. */
void wk_record_remarkable(struct wk_recorder *recorder, uint64_t ticks, uint64_t end);

/* Records a sample that ended at the reading `end`. */
static inline void wk_record_ticks(struct wk_recorder *recorder, uint64_t ticks, uint64_t end)
{
	if (__builtin_expect(ticks > recorder->attention_above || ticks < recorder->min, 0))
		wk_record_remarkable(recorder, ticks, end);
	else
		wk_count(recorder, ticks);
}

/* Records a pair of readings. Returns false, and records no sample, where the counter went backwards. */
static inline bool wk_record(struct wk_recorder *recorder, uint64_t start, uint64_t end)
{
	if (__builtin_expect(end < start, 0)) {
		recorder->backwards++;
		return false;
	}
	wk_record_ticks(recorder, end - start, end);
	return true;
}

/* Counts the maximum of the open cluster, if there is one. */
void wk_close_cluster(struct wk_recorder *recorder);

#endif
