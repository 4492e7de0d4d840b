/* A daemon's habit: closes all descriptors and changes its directory. */
#include <unistd.h>

#include "waykeeper.h"

int main(void)
{
	for (int file = 3; file < 256; file++)
		close(file);
	if (chdir("/") != 0)
		return 1;
	wk_begin(0);
	wk_end(0);
	return 0;
}
