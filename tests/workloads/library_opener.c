/*
 * library_opener.c - library_opener SECONDS LIBRARY: opens and closes LIBRARY all the time, and works inside it
 *
 * Each time it may be mapped somewhere else.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int
work_inside(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	uint64_t (*hash)(void);
	void *symbol;

	if (!library || !(symbol = dlsym(library, "heat_hash"))) {
		fprintf(stderr, "library_opener: %s\n", dlerror());
		return 1;
	}
	memcpy(&hash, &symbol, sizeof(hash));
	for (int i = 0; i < 20; i++)
		hash();
	return dlclose(library);
}

int
main(int argc, char **argv)
{
	time_t end;

	if (argc != 3) {
		fprintf(stderr, "usage: library_opener SECONDS LIBRARY\n");
		return 2;
	}
	end = time(NULL) + strtol(argv[1], NULL, 10);
	while (time(NULL) < end) {
		if (work_inside(argv[2]))
			return 1;
	}
	return 0;
}
