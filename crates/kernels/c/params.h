/*
 * The parameter blocks: one for the run, one for each kind of workload. Their Rust twins are in `src/params.rs`; a test
 * compares every offset. All numbers are 64 bits wide; times are in ticks of the counter.
 */
#ifndef WK_PARAMS_H
#define WK_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

/* When a run ends and, for a neighbour, where it says how far it is. */
struct wk_run {
	uint64_t deadline;    /* the reading at which the run ends */
	uint64_t look_ticks;  /* how often the stop flag is looked at */
	const uint32_t *stop; /* not 0: the run ends at the next look */
	uint64_t *progress;   /* accesses so far, on a line of its own; neighbours only */
	uint64_t units_per_tick_log2; /* stamp.h; 0 unless samples are timed in cycles, as the next one */
	uint64_t units_per_cycle;
};

/*
 * What an access does; the numbers are Rust's `Operation` in its order. The last four are instructions of x86-64 and, but for
 * the last, of AArch64; elsewhere they do nothing, and Rust refuses them.
 */
enum wk_operation { WK_READ, WK_WRITE, WK_MODIFY, WK_PREFETCH, WK_ATOMIC, WK_NON_TEMPORAL, WK_FLUSH, WK_SPLIT_LOCK };

struct wk_walk {
	unsigned char *data;
	uint64_t operation;
	uint64_t outer_count;
	uint64_t outer_stride;
	uint64_t inner_count;
	uint64_t inner_stride;
	uint64_t outer_at; /* the next outer iteration */
	uint64_t inner_at; /* the next inner iteration; a target always begins at 0 */
};

struct wk_chase {
	void *at; /* the place of the next load; a place holds the address of its successor */
	uint64_t batch;
};

struct wk_buffer {
	unsigned char *data;
	uint64_t operation;
	uint64_t bytes;
	uint64_t stride;
	uint64_t period_ticks;
	uint64_t period_fraction; /* of a tick, in 2^-64; on the grid only */
	uint64_t on_grid;         /* 0: a pass begins a period after the previous one; 1: at the next release */
	uint64_t next_ticks;      /* on the grid: the reading at which the next release is due, rounded down */
	uint64_t next_fraction;   /* of a tick, in 2^-64 */
};

struct wk_random {
	unsigned char *data;
	unsigned char *code; /* lines that begin with a return */
	uint64_t generator;
	uint64_t line_bytes;
	uint64_t data_lines;
	uint64_t data_accesses;
	uint64_t code_lines;
	uint64_t code_calls;
	uint64_t event_data_lines; /* they follow data_lines */
	uint64_t event_code_lines; /* they follow code_lines */
	uint64_t data_modifies;
	uint64_t random_counts; /* 0: as given; 1: drawn for each background, from 0 to twice as many */
	uint64_t event_stride_lines; /* from one line of the event to the next one */
};

/* What a tick loop does between two readings. */
enum wk_body { WK_NOTHING, WK_ADDS, WK_LOOP };

#define WK_MOST_ADDS 8192

struct wk_tick {
	uint64_t body;
	uint64_t amount; /* adds, at most WK_MOST_ADDS; or increments, at least 1 */
};

void wk_walk_target(const struct wk_run *run, struct wk_walk *walk, struct wk_recorder *recorder);
void wk_walk_neighbour(const struct wk_run *run, struct wk_walk *walk);
void wk_chase_target(const struct wk_run *run, struct wk_chase *chase, struct wk_recorder *recorder);
void wk_chase_neighbour(const struct wk_run *run, struct wk_chase *chase);
void wk_buffer_target(const struct wk_run *run, struct wk_buffer *buffer, struct wk_recorder *recorder);
void wk_buffer_neighbour(const struct wk_run *run, struct wk_buffer *buffer);
void wk_random_target(const struct wk_run *run, struct wk_random *random, struct wk_recorder *recorder);
void wk_random_neighbour(const struct wk_run *run, struct wk_random *random);
void wk_tick_target(const struct wk_run *run, struct wk_tick *tick, struct wk_recorder *recorder);
void wk_tick_neighbour(const struct wk_run *run, struct wk_tick *tick);

/* The same with samples timed by the cycle counter: AArch64 only. */
void wk_walk_target_in_cycles(const struct wk_run *run, struct wk_walk *walk, struct wk_recorder *recorder);
void wk_chase_target_in_cycles(const struct wk_run *run, struct wk_chase *chase, struct wk_recorder *recorder);
void wk_buffer_target_in_cycles(const struct wk_run *run, struct wk_buffer *buffer, struct wk_recorder *recorder);
void wk_random_target_in_cycles(const struct wk_run *run, struct wk_random *random, struct wk_recorder *recorder);
void wk_tick_target_in_cycles(const struct wk_run *run, struct wk_tick *tick, struct wk_recorder *recorder);

/*
 * One pass without any reading of the counter, for a loop that times it from outside: both loops of a walk, a batch of a
 * chase, a buffer once, the background and the event of `random`, the body of a tick.
 */
void wk_walk_pass(struct wk_walk *walk);
void wk_chase_pass(struct wk_chase *chase);
void wk_buffer_pass(struct wk_buffer *buffer);
void wk_random_pass(struct wk_random *random);
void wk_tick_pass(struct wk_tick *tick);

#endif
