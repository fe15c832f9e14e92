/* opener.c - opens a library of C++ where nothing else of C++ is, uses it, closes it, and opens it again: opener
 * LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < 3; i++) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL),
		     *found = library ? dlsym(library, "use_operators") : NULL;
		int (*use)(void);

		if (!found) {
			fprintf(stderr, "opener: %s\n", dlerror());
			return 2;
		}
		memcpy(&use, &found, sizeof(use));
		printf("%d\n", use());
		dlclose(library);
	}
	return 0;
}
