/* Two source files, two threads: phase 1 is begun here and ended in other.c. */
#include <pthread.h>
#include <stdio.h>

#include "waykeeper.h"

void other_end(uint32_t phase);

static void *second(void *unused)
{
	(void)unused;
	for (int pass = 0; pass < 5; pass++) {
		wk_begin(2);
		wk_end(2);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	wk_name(1, "control");
	for (int pass = 0; pass < 100; pass++) {
		wk_begin(1);
		other_end(1);
	}
	pthread_create(&thread, NULL, second, NULL);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
