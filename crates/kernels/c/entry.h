/* The inline parts as functions, for Rust: the same code that the loops contain. */
#ifndef WK_ENTRY_H
#define WK_ENTRY_H

#include "recorder.h"
#include "stamp.h"

uint64_t wk_entry_now(void);
/* The ticks that a loop of so many readings takes, as in the tick loop but with nothing recorded. */
uint64_t wk_entry_readings(uint64_t times);
bool wk_entry_record(struct wk_recorder *recorder, uint64_t start, uint64_t end);
uint64_t wk_entry_bucket(uint64_t ticks);
void wk_entry_random(uint64_t *state, uint64_t bound, uint64_t *below);
uint64_t wk_entry_between(const struct wk_unit *unit, const struct wk_stamp *start, const struct wk_stamp *end);
#if WK_HAS_CYCLES
void wk_entry_stamp(struct wk_stamp *stamp);
#endif
void wk_entry_publish_code(const unsigned char *start, uint64_t bytes);

/* A field of a struct that Rust also declares. */
struct wk_field {
	const char *name;
	uint64_t offset;
	uint64_t bytes;
};

/* Every field of every shared struct, then the size of each; ends with a null name. */
extern const struct wk_field wk_layout[];

#endif
