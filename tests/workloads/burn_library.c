/* burn_library.c - a library with one function, called BURN: made twice, the two have the same layout */
#include "burn.h"

void BURN(double seconds);

void
BURN(double seconds)
{
	burn(seconds, 1);
}
