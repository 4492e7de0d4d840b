/* More markers than a ring holds, with nobody who reads them. */
#include "waykeeper.h"

int main(void)
{
	for (int pass = 0; pass < 10000; pass++) {
		wk_begin(0);
		wk_end(0);
	}
	return 0;
}
