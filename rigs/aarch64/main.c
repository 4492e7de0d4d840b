/*
 * Runs one C kernel on AArch64 and says where its memory lies; the twin of crates/kernels/examples/touch.rs.
 *
 *   touch [places] target|neighbour ACCESSES KIND NUMBER...
 *
 * KIND and its numbers: walk OPERATION OUTER_COUNT OUTER_STRIDE INNER_COUNT INNER_STRIDE;
 * chase BATCH STRIDE NEXT... (the permutation); buffer OPERATION BYTES STRIDE;
 * random STATE LINE_BYTES DATA_LINES DATA_ACCESSES CODE_LINES CODE_CALLS EVENT_DATA_LINES EVENT_CODE_LINES DATA_MODIFIES
 * RANDOM_COUNTS EVENT_STRIDE_LINES;
 * tick BODY AMOUNT. With `places` nothing is run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "counter.h"
#include "entry.h"
#include "params.h"

#define PAGE 4096
#define DATA_BYTES (64 * PAGE)
#define CODE_BYTES (16 * PAGE)
#define MOST_NUMBERS 1024
#define SLICE_TICKS 100000
#define RETURN 0xd65f03c0u

extern const uint32_t __start_wk_kernels[], __stop_wk_kernels[];

static _Alignas(PAGE) unsigned char data[DATA_BYTES];
static _Alignas(PAGE) uint32_t code[CODE_BYTES / 4];
static _Alignas(PAGE) struct wk_recorder recorder = {.min = UINT64_MAX, .excursion_above = UINT64_MAX};
static _Alignas(128) uint64_t progress;
static uint32_t stop;

static uint64_t number[MOST_NUMBERS];

static void run_kernel(const char *kind, bool as_target, uint64_t accesses)
{
	struct wk_walk walk = {data, number[0], number[1], number[2], number[3], number[4], 0, 0};
	struct wk_chase chase = {data, number[0]};
	/* Without a grid: a pass begins a period after the previous one. */
	struct wk_buffer buffer = {data, number[0], number[1], number[2], 100, 0, 0, 0, 0};
	struct wk_random random = {data, (unsigned char *)code, number[0], number[1], number[2], number[3],
				   number[4], number[5], number[6], number[7], number[8], number[9], number[10]};
	struct wk_tick tick = {number[0], number[1]};
	uint64_t samples = 0, per_sample = 1;
	while ((as_target ? samples * per_sample : progress) < accesses) {
		struct wk_run run = {wk_entry_now() + SLICE_TICKS, 1000000, &stop, &progress, 0, 0};
		if (!strcmp(kind, "walk")) {
			per_sample = walk.inner_count;
			as_target ? wk_walk_target(&run, &walk, &recorder) : wk_walk_neighbour(&run, &walk);
		} else if (!strcmp(kind, "chase")) {
			per_sample = chase.batch;
			as_target ? wk_chase_target(&run, &chase, &recorder) : wk_chase_neighbour(&run, &chase);
		} else if (!strcmp(kind, "buffer")) {
			as_target ? wk_buffer_target(&run, &buffer, &recorder) : wk_buffer_neighbour(&run, &buffer);
			per_sample = (buffer.bytes - 8) / buffer.stride + 1;
		} else if (!strcmp(kind, "random")) {
			per_sample = random.data_accesses + random.data_modifies + random.code_calls;
			as_target ? wk_random_target(&run, &random, &recorder) : wk_random_neighbour(&run, &random);
		} else if (!strcmp(kind, "tick")) {
			as_target ? wk_tick_target(&run, &tick, &recorder) : wk_tick_neighbour(&run, &tick);
		} else {
			fprintf(stderr, "%s is no kind of workload\n", kind);
			exit(2);
		}
		samples = recorder.overflow;
		for (unsigned bucket = 0; bucket < WK_BUCKETS; bucket++)
			samples += recorder.counts[bucket];
	}
}

static void lay_out(const char *kind, int numbers)
{
	for (unsigned i = 0; i < CODE_BYTES / 4; i++)
		code[i] = RETURN;
	mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC);
	wk_entry_publish_code((unsigned char *)code, CODE_BYTES);
	if (strcmp(kind, "chase") != 0)
		return;
	for (int place = 0; place < numbers - 2; place++)
		*(void **)(void *)(data + (uint64_t)place * number[1]) = data + number[2 + place] * number[1];
}

static void print_places(void)
{
	printf("data %lx %x\n", (unsigned long)data, DATA_BYTES);
	printf("code %lx %x\n", (unsigned long)code, CODE_BYTES);
	printf("recorder %lx %lx\n", (unsigned long)&recorder, sizeof recorder);
	printf("kernels %lx %lx\n", (unsigned long)__start_wk_kernels,
	       (unsigned long)__stop_wk_kernels - (unsigned long)__start_wk_kernels);
}

int main(int argc, char **argv)
{
	bool only_places = argc > 1 && !strcmp(argv[1], "places");
	char **argument = argv + 1 + only_places;
	int numbers = argc - 4 - only_places;
	if (numbers < 1 || numbers > MOST_NUMBERS) {
		fprintf(stderr, "usage: touch [places] target|neighbour ACCESSES KIND NUMBER...\n");
		return 2;
	}
	for (int i = 0; i < numbers; i++)
		number[i] = strtoull(argument[3 + i], 0, 10);
	print_places();
	if (only_places)
		return 0;
	lay_out(argument[2], numbers);
	run_kernel(argument[2], !strcmp(argument[0], "target"), strtoull(argument[1], 0, 10));
	for (const uint32_t *word = __start_wk_kernels; word < __stop_wk_kernels; word++)
		printf("word %lx %x\n", (unsigned long)word, *word);
	printf("recorded min %lx\nrecorded max %lx\nrecorded sum %lx\n", (unsigned long)recorder.min,
	       (unsigned long)recorder.max, (unsigned long)recorder.sum_low);
	for (unsigned bucket = 0; bucket < WK_BUCKETS; bucket++)
		if (recorder.counts[bucket])
			printf("count %x %lx\n", bucket, (unsigned long)recorder.counts[bucket]);
	return 0;
}
