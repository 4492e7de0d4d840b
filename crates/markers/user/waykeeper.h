/*
 * Markers for Waykeeper, ABI 1: where a pass of your program begins and ends.
 *
 *     #include "waykeeper.h"
 *
 *     for (;;) {
 *         wait_for_the_next_period();
 *         wk_begin(0);
 *         control_step();
 *         wk_end(0);
 *     }
 *
 * Run the program with `waykeeper run ... -- ./program`. Without Waykeeper around it, the calls do nothing.
 *
 * A phase is a number from 0 to WK_PHASES - 1. Several phases may be open at once, and each thread has its own. A phase
 * that is already open begins anew; both cases are counted by Waykeeper as unbalanced markers.
 *
 * A call reads the counter of the processor and writes 16 bytes into a ring in shared memory, which Waykeeper reads from
 * another core. It makes no system call and takes no lock, except the first call of a thread, which maps that thread's
 * ring: call wk_open() before the first pass to have this done. Every fourth marker touches a cache line that was last
 * touched one ring ago (256 KiB by default). A marker that finds the ring full is dropped and counted.
 *
 * A child of fork() and a program that is started by exec() get rings of their own. A signal handler must not use markers
 * that interrupt a marker of the same thread.
 *
 * For C11, C++11 and later, with GCC or Clang on Linux; strict modes (`-std=c11`) need -D_GNU_SOURCE. Several source files of
 * a program may include it.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WAYKEEPER_H
#define WAYKEEPER_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_POPULATE
#error "waykeeper.h needs the names of Linux: compile with -D_GNU_SOURCE, or with -std=gnu11"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WK_ABI 1
#define WK_MAGIC UINT64_C(0x31534b52414d4b57) /* "WKMARKS1" in memory, little-endian */
#define WK_PHASES 64
#define WK_NAME_BYTES 32
#define WK_BEGIN UINT32_C(0x80000000)

/* What a time stamp counts. */
#define WK_CLOCK_COUNTER 1       /* TSC on x86-64, CNTVCT_EL0 on AArch64 */
#define WK_CLOCK_MONOTONIC_RAW 2 /* nanoseconds of CLOCK_MONOTONIC_RAW */

/* The first page of the shared memory. */
struct wk_header {
	uint64_t magic;
	uint32_t abi;
	uint32_t slots;      /* rings, one for each thread */
	uint32_t entries;    /* of a ring; a power of two */
	uint32_t slot_bytes; /* from one slot to the next */
	uint64_t first_slot; /* where the first slot lies; slots begin on pages */
	uint8_t reserved0[32];
	uint32_t claimed;    /* threads that asked for a slot; more than `slots` where some got none */
	uint8_t reserved1[60];
	uint8_t reserved2[896];
	char names[WK_PHASES][WK_NAME_BYTES]; /* of phases; a name ends with a null byte */
};

/* The first page of a slot. The ring follows, 4096 bytes after it. */
struct wk_slot {
	/* Written by the program. */
	uint64_t head; /* markers in the ring so far, those dropped not counted */
	uint64_t lost; /* markers dropped because the ring was full */
	uint32_t process;
	uint32_t thread;
	uint32_t clock;
	uint32_t in_use;
	uint64_t address; /* of this slot in the program's memory */
	uint8_t reserved0[24];
	/* Written by Waykeeper. */
	uint64_t tail; /* markers read so far */
	uint8_t reserved1[56];
};

struct wk_entry {
	uint64_t time;
	uint32_t mark;     /* a phase; with WK_BEGIN where it begins */
	uint32_t sequence; /* counts markers, those dropped too */
};

/* A thread's own state. */
struct wk_thread {
	struct wk_slot *slot; /* null: nothing is recorded */
	struct wk_entry *ring;
	const volatile uint32_t *epoch_now; /* reads 0 in a child of fork() */
	uint32_t epoch;                     /* 0 before the first call */
	uint32_t mask;
	uint64_t head;
	uint64_t known_tail;
	uint32_t sequence;
};

/* One definition for all source files of a program. */
__attribute__((weak)) __thread struct wk_thread wk_this_thread;
__attribute__((weak)) uint32_t wk_epoch_without_rings = 1;

static inline uint64_t wk_now(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32) | low;
#elif defined(__aarch64__)
	uint64_t reading;
	__asm__ volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(reading) : : "memory");
	return reading;
#else
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static inline uint32_t wk_clock(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	return WK_CLOCK_COUNTER;
#else
	return WK_CLOCK_MONOTONIC_RAW;
#endif
}

static inline int wk_is_header(int file)
{
	struct stat about;
	struct wk_header start;
	if (fstat(file, &about) != 0 || about.st_size < 4096)
		return 0;
	if (pread(file, &start, sizeof start, 0) != (ssize_t)sizeof start)
		return 0;
	return start.magic == WK_MAGIC && start.abi == WK_ABI && start.entries != 0 &&
	       (start.entries & (start.entries - 1)) == 0 &&
	       (uint64_t)about.st_size >= start.first_slot + (uint64_t)start.slots * start.slot_bytes;
}

/*
 * The file of the rings: WAYKEEPER_MARKERS is `FD:PATH`, an inherited descriptor, and a path for programs that closed
 * it. `own` is set where the file must be closed again.
 */
static inline int wk_open_rings(int *own)
{
	const char *place = getenv("WAYKEEPER_MARKERS");
	char *end;
	long file;
	*own = 0;
	if (place == NULL)
		return -1;
	file = strtol(place, &end, 10);
	if (end == place || *end != ':')
		return -1;
	if (wk_is_header((int)file))
		return (int)file;
	file = open(end + 1, O_RDWR | O_CLOEXEC);
	if (file >= 0 && wk_is_header((int)file)) {
		*own = 1;
		return (int)file;
	}
	if (file >= 0)
		close((int)file);
	return -1;
}

/* Maps a ring for the calling thread. True where there is one. The first marker of a thread does it otherwise. */
__attribute__((noinline, unused, cold)) static int wk_open(void)
{
	struct wk_thread *self = &wk_this_thread;
	struct wk_header *header;
	uint32_t *epoch;
	uint32_t number;
	int own, file;

	if (self->epoch != 0 && *self->epoch_now == self->epoch)
		return self->slot != NULL;
	memset(self, 0, sizeof *self);
	self->epoch = 1;
	self->epoch_now = &wk_epoch_without_rings;
	file = wk_open_rings(&own);
	if (file < 0)
		return 0;
	header = (struct wk_header *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	epoch = (uint32_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (header != MAP_FAILED && epoch != MAP_FAILED && madvise(epoch, 4096, 18 /* MADV_WIPEONFORK */) == 0) {
		number = __atomic_fetch_add(&header->claimed, 1, __ATOMIC_RELAXED);
		if (number < header->slots) {
			off_t place = (off_t)(header->first_slot + (uint64_t)number * header->slot_bytes);
			void *slot = mmap(NULL, header->slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, place);
			if (slot != MAP_FAILED) {
				self->ring = (struct wk_entry *)((char *)slot + 4096);
				self->mask = header->entries - 1;
				self->slot = (struct wk_slot *)slot;
				self->slot->process = (uint32_t)getpid();
				self->slot->thread = (uint32_t)syscall(SYS_gettid);
				self->slot->clock = wk_clock();
				self->slot->address = (uint64_t)(uintptr_t)slot;
				__atomic_store_n(&self->slot->in_use, 1, __ATOMIC_RELEASE);
				*epoch = 1;
				self->epoch_now = epoch;
			}
		}
	}
	if (header != MAP_FAILED)
		munmap(header, 4096);
	if (epoch != MAP_FAILED && self->slot == NULL)
		munmap(epoch, 4096);
	if (own)
		close(file);
	return self->slot != NULL;
}

/* The next entry of the ring; null where it is full. */
static inline struct wk_entry *wk_reserve(struct wk_thread *self, uint32_t mark)
{
	struct wk_slot *slot = self->slot;
	struct wk_entry *entry;
	uint32_t sequence = self->sequence++;
	if (self->head - self->known_tail > self->mask) {
		self->known_tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
		if (self->head - self->known_tail > self->mask) {
			__atomic_store_n(&slot->lost, slot->lost + 1, __ATOMIC_RELAXED);
			return NULL;
		}
	}
	entry = &self->ring[self->head & self->mask];
	entry->mark = mark;
	entry->sequence = sequence;
	return entry;
}

static inline void wk_publish(struct wk_thread *self, struct wk_entry *entry, uint64_t time)
{
	entry->time = time;
	__atomic_store_n(&self->slot->head, ++self->head, __ATOMIC_RELEASE);
}

static inline int wk_is_ready(struct wk_thread *self)
{
	if (__builtin_expect(self->epoch == 0 || *self->epoch_now != self->epoch, 0))
		return wk_open();
	return self->slot != NULL;
}

/* A pass of a phase begins. The counter is read as late as possible. */
static inline void wk_begin(uint32_t phase)
{
	struct wk_thread *self = &wk_this_thread;
	struct wk_entry *entry;
	if (!wk_is_ready(self))
		return;
	entry = wk_reserve(self, phase | WK_BEGIN);
	if (entry != NULL)
		wk_publish(self, entry, wk_now());
}

/* The pass ends. The counter is read first. */
static inline void wk_end(uint32_t phase)
{
	struct wk_thread *self = &wk_this_thread;
	struct wk_entry *entry;
	uint64_t now;
	if (!wk_is_ready(self))
		return;
	now = wk_now();
	entry = wk_reserve(self, phase);
	if (entry != NULL)
		wk_publish(self, entry, now);
}

/* Names a phase, for reports and for `--phase NAME`: at most 31 bytes. */
__attribute__((unused, cold)) static void wk_name(uint32_t phase, const char *name)
{
	struct wk_header *header;
	int own, file = phase < WK_PHASES ? wk_open_rings(&own) : -1;
	if (file < 0)
		return;
	header = (struct wk_header *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (header != MAP_FAILED) {
		strncpy(header->names[phase], name, WK_NAME_BYTES - 1);
		munmap(header, 4096);
	}
	if (own)
		close(file);
}

#ifdef __cplusplus
}
#endif

#endif
