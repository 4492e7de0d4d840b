#include <stddef.h>
#include <stdio.h>

#include "waykeeper.h"

int main(void)
{
	printf("%zu %zu %zu %zu\n", offsetof(struct wk_header, claimed), offsetof(struct wk_header, names),
	       sizeof(struct wk_header), offsetof(struct wk_header, first_slot));
	printf("%zu %zu %zu %zu %zu\n", offsetof(struct wk_slot, thread), offsetof(struct wk_slot, in_use),
	       offsetof(struct wk_slot, address), offsetof(struct wk_slot, tail), sizeof(struct wk_slot));
	printf("%zu %zu %zu\n", offsetof(struct wk_entry, mark), offsetof(struct wk_entry, sequence), sizeof(struct wk_entry));
	return 0;
}
