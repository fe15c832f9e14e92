/*
 * given_back.c - pages of one object that are given back to the system and touched again, a hundred times a second
 *
 * Each touch is a page fault, as those of NUMA balancing are, on any machine. Between them, a million small objects a
 * second are made and end. It never ends by itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

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

int
main(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	static char *small[SMALL];
	char *volatile pages = make_pages();

	for (unsigned i = 0; pages; i++) {
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
