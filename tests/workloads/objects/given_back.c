/*
 * given_back.c - pages of one object that are given back to the system and touched again, a hundred times a second
 *
 * Each touch is a page fault, as those of NUMA balancing are, on any machine. Between them, a million small objects a
 * second are made and end. It never ends by itself.
 *
 * With an argument a child of a child does so, with the object that the first process made: "waits": its parents wait
 * for it, and make and end objects, too; "daemon": they end. It prints its pid.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES   (4 << 20)
#define PAGE    4096
#define SMALL   1000
#define AT_ONCE 10000

static __attribute__((noinline)) char *
make_pages(void)
{
	char *pages = aligned_alloc(PAGE, BYTES);

	if (!pages)
		abort();
	return pages;
}

/* The process goes on in a child. */
static void
become_child(bool waits)
{
	const pid_t child = fork();

	if (child < 0)
		abort();
	if (child == 0)
		return;
	while (waits && waitpid(child, NULL, WNOHANG) == 0) {
		for (unsigned i = 0; i < SMALL; i++)
			free(calloc(1, BYTES / SMALL));
		usleep(10000);
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	static char *small[SMALL];
	char *volatile pages = make_pages();

	for (unsigned i = 0; i < 2 && argc > 1; i++) {
		become_child(strcmp(argv[1], "waits") == 0);
		small[i] = malloc(100);
	}
	if (argc > 1)
		dprintf(1, "%d\n", (int)getpid());
	for (unsigned i = 2; pages; i++) {
		free(small[i % SMALL]);
		small[i % SMALL] = malloc(16 + i % 300);
		if (i % AT_ONCE)
			continue;
		madvise(pages, BYTES, MADV_DONTNEED);
		for (unsigned page = 0; page < BYTES / PAGE; page++)
			pages[(size_t)page * PAGE] = 1;
		nanosleep(&pause, NULL);
	}
	return 1;
}
