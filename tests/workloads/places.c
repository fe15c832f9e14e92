/*
 * places.c - places PLACE SECONDS [PROGRAM [ARGUMENT]...]: code that lies elsewhere than in a file that was mapped
 *
 * `spin` is copied: it calls nothing and refers to nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

#define CODE_SIZE      4096
#define HUGE_PAGE_SIZE (2U << 20)

typedef uint64_t spin_function(uint64_t value, uint64_t steps);

/* In a section of its own, so that linker and we know where it ends. */
static __attribute__((used, noinline, section("spin_code"))) uint64_t
spin(uint64_t value, uint64_t steps)
{
	return burn_steps(value, steps);
}
extern const char __start_spin_code[], __stop_spin_code[];

/* huge_text.c */
spin_function huge_spin;

extern char **environ;

static void
spin_at(const void *code, double seconds)
{
	double end = burn_clock() + seconds;
	spin_function *function;
	uint64_t value = 1;

	memcpy(&function, &code, sizeof(function));
	while (burn_clock() < end)
		value = function(value, STEPS_A_ROUND);
}

static int
copy_code(void *memory)
{
	size_t size = (size_t)(__stop_spin_code - __start_spin_code);

	if (memory == MAP_FAILED || size > CODE_SIZE)
		return -1;
	memcpy(memory, __start_spin_code, size);
	__builtin___clear_cache(memory, (char *)memory + size);
	return 0;
}

/* Writable and executable from the beginning. */
static int
place_mmap(double seconds, char **program)
{
	void *memory = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)program;
	if (copy_code(memory))
		return -1;
	spin_at(memory, seconds);
	return 0;
}

/* Written first, executable then. */
static int
place_mprotect(double seconds, char **program)
{
	void *memory = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)program;
	if (copy_code(memory) || mprotect(memory, CODE_SIZE, PROT_READ | PROT_EXEC))
		return -1;
	spin_at(memory, seconds);
	return 0;
}

static int
place_memfd(double seconds, char **program)
{
	int fd = memfd_create("made-here", MFD_CLOEXEC);

	(void)program;
	if (fd < 0 || ftruncate(fd, CODE_SIZE) ||
	    copy_code(mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)))
		return -1;
	spin_at(mmap(NULL, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0), seconds);
	return 0;
}

/* Run PROGRAM from memory: its file is read, not mapped. */
static int
place_fexecve(double seconds, char **program)
{
	int from = open(program[0], O_RDONLY | O_CLOEXEC), to = memfd_create("program", MFD_CLOEXEC);
	char buffer[65536];
	ssize_t got;

	(void)seconds;
	if (from < 0 || to < 0)
		return -1;
	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)got) != got)
			return -1;
	fexecve(to, program, environ);
	return -1;
}

/* Move the page of text to anonymous memory at the same place, as programs do that want huge pages. */
static int
place_huge(double seconds, char **program)
{
	void *copy = malloc(HUGE_PAGE_SIZE), *page;
	spin_function *function = huge_spin;

	(void)program;
	memcpy(&page, &function, sizeof(page));
	if (!copy)
		return -1;
	memcpy(copy, page, HUGE_PAGE_SIZE);
	if (mmap(page, HUGE_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
		return -1;
	madvise(page, HUGE_PAGE_SIZE, MADV_HUGEPAGE);
	memcpy(page, copy, HUGE_PAGE_SIZE);
	__builtin___clear_cache(page, (char *)page + HUGE_PAGE_SIZE);
	if (mprotect(page, HUGE_PAGE_SIZE, PROT_READ | PROT_EXEC))
		return -1;
	free(copy);
	spin_at(page, seconds);
	return 0;
}

static int
place_vdso(double seconds, char **program)
{
	double end = burn_clock() + seconds;
	struct timespec now;

	(void)program;
	while (burn_clock() < end)
		for (int i = 0; i < 10000; i++)
			clock_gettime(CLOCK_MONOTONIC, &now);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*go)(double seconds, char **program);
		int arguments; /* at least */
	} places[] = {
		{"mmap", place_mmap, 3},       {"mprotect", place_mprotect, 3}, {"memfd", place_memfd, 3},
		{"fexecve", place_fexecve, 4}, {"huge", place_huge, 3},         {"vdso", place_vdso, 3},
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (argc < places[i].arguments || strcmp(argv[1], places[i].name) != 0)
			continue;
		if (places[i].go(strtod(argv[2], NULL), argv + 3) == 0)
			return 0;
		fprintf(stderr, "places %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	fprintf(stderr, "usage: places mmap|mprotect|memfd|fexecve|huge|vdso SECONDS [PROGRAM [ARGUMENT]...]\n");
	return 2;
}
