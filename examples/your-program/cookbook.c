/*
 * A cyclic task: every 10 ms it reads a buffer of 128 KiB in steps of 32 bytes. It is the real-time application of Intel's
 * recipe for caches that are split between cores, written anew with markers.
 *
 *     waykeeper markers c > waykeeper.h
 *     cc -O2 -o cookbook cookbook.c
 *     waykeeper run this-machine --core 3 -- ./cookbook
 *
 * `./cookbook [BYTES] [PERIOD_US] [PASSES]`: 131072 bytes, 10000 us, and passes without end by default. With passes, it
 * prints the buffer's address first.
 *
 * What differs from the listing in the recipe, which does not compile:
 *   - The load uses the index of the inner loop. With that of the outer one, a pass reads one address 4096 times.
 *   - The buffer is written first. Memory from malloc that was never written is one page of zeros, mapped 32 times: its reads
 *     would touch 64 cache lines instead of 2048.
 *   - The period is absolute. A relative sleep after each pass makes a period of 10 ms and the length of the pass.
 *   - Memory is locked, so that no page fault comes between.
 *   - The number of passes is no constant: a measurement decides how long it observes.
 *   - The load is a volatile read of C: it compiles for every processor.
 *   - There is a main function, and each function is declared before it is used.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "waykeeper.h"

#define STRIDE 32

uint32_t read_buffer(const volatile unsigned char *buffer, size_t bytes);

/* Tools that follow a program drop loads that nobody uses: hence the sum. */
__attribute__((noinline)) uint32_t read_buffer(const volatile unsigned char *buffer, size_t bytes)
{
	uint32_t sum = 0;
	for (size_t at = 0; at + 4 <= bytes; at += STRIDE)
		sum += *(const volatile uint32_t *)(buffer + at);
	return sum;
}

static void add_us(struct timespec *time, long us)
{
	time->tv_nsec += us % 1000000 * 1000;
	time->tv_sec += us / 1000000 + time->tv_nsec / 1000000000;
	time->tv_nsec %= 1000000000;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 0) : 128 * 1024;
	long period_us = argc > 2 ? strtol(argv[2], NULL, 0) : 10000;
	unsigned long passes = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	volatile uint32_t sum = 0;
	struct timespec next;
	unsigned char *buffer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (buffer == NULL) {
		fprintf(stderr, "no memory for %zu bytes\n", bytes);
		return 1;
	}
	memset(buffer, 1, bytes);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		fprintf(stderr, "memory is not locked: %s\n", strerror(errno));
	if (passes != 0) {
		printf("%p\n", (void *)buffer);
		fflush(stdout);
	}
	wk_name(0, "read");
	wk_open();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned long pass = 0; passes == 0 || pass < passes; pass++) {
		add_us(&next, period_us);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
		wk_begin(0);
		sum = read_buffer(buffer, bytes);
		wk_end(0);
	}
	(void)sum;
	free(buffer);
	return 0;
}
