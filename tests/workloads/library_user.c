/* library_user.c - library_user SECONDS: its time goes to libheat.so, which it was linked with */
#include <stdlib.h>
#include <time.h>

#include "heat.h"

static volatile double sink;

int
main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);

	while (time(NULL) < end)
		sink = heat_relax() + (double)heat_hash();
	return 0;
}
