/*
 * same_place - executes a procedure of several files, one after the other at the same address
 *
 * same_place N OFFSET FILE...: each file is mapped over the one before it, and `loop` of executions.c, which is at the
 * hexadecimal offset in all of them, is called with N.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const unsigned long turns = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	const unsigned long offset = argc > 2 ? strtoul(argv[2], NULL, 16) : 0;
	char *place = NULL;

	for (int i = 3; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		struct stat status;

		if (fd < 0 || fstat(fd, &status) < 0)
			return 1;
		place = mmap(place, (size_t)status.st_size, PROT_READ | PROT_EXEC,
		             MAP_PRIVATE | (place ? MAP_FIXED : 0), fd, 0);
		close(fd);
		if (place == MAP_FAILED)
			return 1;
		((void (*)(unsigned long))(uintptr_t)(place + offset))(turns);
	}
	puts("done");
	return 3;
}
