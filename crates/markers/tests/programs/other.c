#include "waykeeper.h"

void other_end(uint32_t phase)
{
	wk_end(phase);
}
