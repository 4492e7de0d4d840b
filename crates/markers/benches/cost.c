#include <stdio.h>
#include <time.h>

#include "waykeeper.h"

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 8000;
	volatile uint64_t kept;
	if (!wk_open())
		return 1;
	double begun = now_ns();
	for (int pair = 0; pair < pairs; pair++) {
		wk_begin(0);
		wk_end(0);
	}
	double pair = (now_ns() - begun) / pairs;
	begun = now_ns();
	for (int reading = 0; reading < pairs; reading++) {
		kept = wk_now();
		kept = wk_now();
	}
	(void)kept;
	printf("%.2f %.2f\n", pair, (now_ns() - begun) / pairs);
	return 0;
}
