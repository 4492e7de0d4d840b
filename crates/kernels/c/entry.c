#include "entry.h"

#include "counter.h"
#include "random.h"

uint64_t wk_entry_now(void)
{
	return wk_counter_fenced();
}

uint64_t wk_entry_readings(uint64_t times)
{
	uint64_t start = wk_counter();
	for (; times != 0; times--)
		wk_counter();
	return wk_counter() - start;
}

bool wk_entry_record(struct wk_recorder *recorder, uint64_t start, uint64_t end)
{
	return wk_record(recorder, start, end);
}

uint64_t wk_entry_bucket(uint64_t ticks)
{
	return wk_bucket(ticks);
}

void wk_entry_random(uint64_t *state, uint64_t bound, uint64_t *below)
{
	*below = wk_below(state, bound);
}

uint64_t wk_entry_between(const struct wk_unit *unit, const struct wk_stamp *start, const struct wk_stamp *end)
{
	return wk_between(*unit, *start, *end);
}

#if WK_HAS_CYCLES
void wk_entry_stamp(struct wk_stamp *stamp)
{
	*stamp = wk_sample_begin(WK_CYCLES);
}
#endif

#if defined(__arm__)
struct wk_counter_choice wk_counter_choice;

void wk_entry_choose_counter(uint32_t kind, const volatile uint32_t *global_timer, uint64_t (*kernel_clock)(void))
{
	wk_counter_choice.global_timer = global_timer;
	wk_counter_choice.kernel_clock = kernel_clock;
	wk_counter_choice.kind = (enum wk_counter_kind)kind;
}
#endif

/*
 * Makes code that was just written visible to instruction fetch (Arm ARM B2.4.4); x86-64 does that by itself, and on
 * ARMv7 the kernel does it: cache maintenance is privileged there.
 */
void wk_entry_publish_code(const unsigned char *start, uint64_t bytes)
{
#if defined(__aarch64__)
	uint64_t type;
	__asm__ volatile("mrs %0, ctr_el0" : "=r"(type));
	uint64_t data_line = UINT64_C(4) << ((type >> 16) & 15), code_line = UINT64_C(4) << (type & 15);
	uint64_t from = (uint64_t)(uintptr_t)start, to = from + bytes;
	for (uint64_t line = from & ~(data_line - 1); line < to; line += data_line)
		__asm__ volatile("dc cvau, %0" : : "r"(line) : "memory");
	__asm__ volatile("dsb ish" : : : "memory");
	for (uint64_t line = from & ~(code_line - 1); line < to; line += code_line)
		__asm__ volatile("ic ivau, %0" : : "r"(line) : "memory");
	__asm__ volatile("dsb ish\n\tisb" : : : "memory");
#elif defined(__arm__)
	/* cacheflush(start, end, 0): __ARM_NR_cacheflush of the kernel's arch/arm/include/uapi/asm/unistd.h. */
	register uintptr_t from __asm__("r0") = (uintptr_t)start;
	register uintptr_t to __asm__("r1") = (uintptr_t)start + (uintptr_t)bytes;
	register uint32_t none __asm__("r2") = 0;
	register uint32_t number __asm__("r7") = 0x0f0002;
	__asm__ volatile("svc 0" : "+r"(from) : "r"(to), "r"(none), "r"(number) : "memory");
#else
	(void)start;
	(void)bytes;
#endif
}
