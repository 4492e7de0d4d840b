#include "recorder.h"

void wk_close_cluster(struct wk_recorder *recorder)
{
	if (!recorder->cluster_is_open)
		return;
	recorder->cluster_is_open = 0;
	if (recorder->cluster_max < WK_OVERFLOW_FROM)
		recorder->cluster_counts[wk_bucket(recorder->cluster_max)]++;
	else
		recorder->cluster_overflow++;
}

/*
 * Dead-time declustering: counted from the cluster's first excursion, so that there is at most one cluster in every
 * gap. A reading before the cluster's start (the counter went backwards in between) says nothing about the distance
 * and opens a new cluster.
 */
static void record_excursion(struct wk_recorder *recorder, uint64_t ticks, uint64_t end)
{
	recorder->excursions++;
	bool same_cluster = recorder->cluster_is_open && end >= recorder->cluster_start &&
			    end - recorder->cluster_start <= recorder->cluster_gap;
	if (!same_cluster) {
		wk_close_cluster(recorder);
		recorder->cluster_is_open = 1;
		recorder->cluster_start = end;
		recorder->cluster_max = ticks;
	} else if (ticks > recorder->cluster_max) {
		recorder->cluster_max = ticks;
	}
}

void wk_record_remarkable(struct wk_recorder *recorder, uint64_t ticks, uint64_t end)
{
	bool is_first = recorder->min > recorder->max;
	if (ticks < recorder->min)
		recorder->min = ticks;
	if (is_first || ticks > recorder->max) {
		recorder->max = ticks;
		recorder->max_at = end;
	}
	uint64_t above = recorder->max < recorder->excursion_above ? recorder->max : recorder->excursion_above;
	recorder->attention_above = above < WK_OVERFLOW_FROM ? above : WK_OVERFLOW_FROM - 1;

	if (ticks > recorder->excursion_above)
		record_excursion(recorder, ticks, end);
	if (ticks < WK_OVERFLOW_FROM) {
		wk_count(recorder, ticks);
	} else {
		recorder->overflow++;
		wk_add_to_sum(recorder, ticks);
	}
}
