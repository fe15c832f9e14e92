/*
 * given_back.c - pages of one object that are given back to the system and touched again, a hundred times a second
 *
 * Each touch is a page fault, as those of NUMA balancing are, on any machine. Between them, a million small objects a
 * second are made and end. It never ends by itself.
 *
 * With an argument a child of a child does so, with the object that the first process made: "waits": its parents wait
 * for it; "daemon": they end. It prints its pid. It also touches pages that it maps where make_ended() was, which the
 * child had from the first process and ended, and where its waiting parent has make_later(), made after the fork.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES   (4 << 20)
#define PAGE    4096
#define SMALL   1000
#define AT_ONCE 10000

static char *ended, *later; /* objects that the last child does not have */

static inline __attribute__((always_inline)) char *
get_pages(void)
{
	char *pages = aligned_alloc(PAGE, BYTES);

	if (!pages)
		abort();
	return pages;
}

static __attribute__((noinline)) char *
make_pages(void)
{
	char *pages = get_pages();

	__asm__ volatile("" : "+r"(pages));
	return pages;
}

static __attribute__((noinline)) char *
make_ended(void)
{
	char *pages = get_pages();

	__asm__ volatile("" : "+r"(pages));
	return pages;
}

static __attribute__((noinline)) char *
make_later(void)
{
	char *pages = get_pages();

	__asm__ volatile("" : "+r"(pages));
	return pages;
}

/* What is mapped there is not the tracker's business. */
static void
map_without_tracker(char *address)
{
	if (syscall(SYS_mmap, address, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    -1)
		abort();
}

/* The process goes on in a child, and tells it where its next object is. */
static void
become_child(bool waits)
{
	int ends[2];
	pid_t child;

	if (pipe(ends) || (child = fork()) < 0)
		abort();
	if (child == 0) {
		if (read(ends[0], &later, sizeof(later)) != sizeof(later))
			abort();
		return;
	}
	later = make_later();
	if (write(ends[1], &later, sizeof(later)) != sizeof(later))
		abort();
	if (waits)
		waitpid(child, NULL, 0);
	_exit(0);
}

static void
become_grandchild(bool waits)
{
	ended = make_ended();
	become_child(waits);
	free(ended);
	become_child(waits);
	map_without_tracker(ended);
	if (later != ended)
		map_without_tracker(later);
	dprintf(1, "%d\n", (int)getpid());
}

static void
touch_again(char *pages)
{
	madvise(pages, BYTES, MADV_DONTNEED);
	for (unsigned page = 0; page < BYTES / PAGE; page++)
		((volatile char *)pages)[(size_t)page * PAGE] = 1;
}

int
main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	static char *small[SMALL];
	char *volatile pages = make_pages();

	if (argc > 1)
		become_grandchild(strcmp(argv[1], "waits") == 0);
	for (unsigned i = 0; pages; i++) {
		free(small[i % SMALL]);
		small[i % SMALL] = malloc(16 + i % 300);
		if (i % AT_ONCE)
			continue;
		touch_again(pages);
		if (ended)
			touch_again(ended);
		if (later != ended)
			touch_again(later);
		nanosleep(&pause, NULL);
	}
	return 1;
}
