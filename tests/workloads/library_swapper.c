/*
 * library_swapper.c - library_swapper SECONDS LIBRARY FUNCTION LIBRARY FUNCTION: opens the two in turn, works in each
 * and closes it before it opens the other
 *
 * Both get the same processor time. Says how often a library lay where the one before it had been.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 50

/* Where `function` of `library` was; NULL when it cannot be called. */
static void *
work_inside(const char *library, const char *function, double seconds)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
	void (*call)(double);

	if (handle)
		symbol = dlsym(handle, function);
	if (!symbol) {
		fprintf(stderr, "library_swapper: %s\n", dlerror());
		return NULL;
	}
	memcpy(&call, &symbol, sizeof(call));
	call(seconds);
	return dlclose(handle) ? NULL : symbol;
}

int
main(int argc, char **argv)
{
	unsigned int same = 0;
	void *before = NULL;

	if (argc != 6) {
		fprintf(stderr, "usage: library_swapper SECONDS LIBRARY FUNCTION LIBRARY FUNCTION\n");
		return 2;
	}
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int which = i % 2 * 2;
		void *now = work_inside(argv[2 + which], argv[3 + which], strtod(argv[1], NULL) / ROUNDS);

		if (!now)
			return 1;
		same += now == before;
		before = now;
	}
	printf("%u of %d\n", same, ROUNDS - 1);
	return 0;
}
