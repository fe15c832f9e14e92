/*
 * code_maker MODE SECONDS [DIRECTORY] - a compiler at run time in small: it makes three loops in memory without a file,
 * runs them for so long, 60, 30 and 10 % of the time, and tells what they are:
 *
 * map   in DIRECTORY/perf-PID.map (/tmp)
 * late  in that map, but after it ran half of the time
 * reuse in that map; after half of the time three others lie where they were, and the map says so
 * dump  in DIRECTORY/jit-PID.dump, which it maps, as perf wants it
 * none  to nobody
 * calls to nobody; it makes two functions with frame pointers instead, `outer` and `inner`, which main() calls in this
 *       order, and inner calls back called_back(): half of the time is inner's, half called_back()'s
 *
 * Its loops are called `hot loop`, `warm loop` and `cold loop`, the others `hot after` and so on.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOOPS    3
#define APART    8192 /* bytes from one loop to the next */
#define PER_TURN 1000 /* iterations of one of a hundred parts */

/*
 * text counts its argument down. outer(count, called, inner) keeps a frame pointer, and calls inner(count, called),
 * which keeps one, counts down, and calls called(count).
 */
#if defined(__x86_64__)
static const uint8_t text[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
static const uint8_t outer_text[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd2, 0x5d, 0xc3};
static const uint8_t inner_text[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48,
                                     0xff, 0xc8, 0x75, 0xfb, 0xff, 0xd6, 0x5d, 0xc3};
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
static const uint8_t text[] = {0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
static const uint8_t outer_text[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x40, 0x00,
                                     0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
static const uint8_t inner_text[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xe9, 0x03, 0x00,
                                     0xaa, 0x29, 0x05, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0x20, 0x00,
                                     0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
#define MACHINE EM_AARCH64
#endif

static const char *const names[LOOPS] = {"hot", "warm", "cold"};
static const unsigned parts[LOOPS] = {60, 30, 10};

struct dump_header {
	uint32_t magic, version, size, machine, unused, pid;
	uint64_t time, flags;
};

struct dump_load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, code_size, index;
};

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Memory for LOOPS functions, to be written. */
static uint8_t *
new_code(void)
{
	uint8_t *code = mmap(NULL, (size_t)LOOPS * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		die("mmap");
	return code;
}

static void
finish_code(uint8_t *code)
{
	if (mprotect(code, (size_t)LOOPS * APART, PROT_READ | PROT_EXEC) != 0)
		die("mprotect");
	__builtin___clear_cache((char *)code, (char *)code + LOOPS * APART);
}

static uint8_t *
make_code(void)
{
	uint8_t *code = new_code();

	for (unsigned i = 0; i < LOOPS; i++)
		memcpy(code + i * APART, text, sizeof(text));
	finish_code(code);
	return code;
}

static __attribute__((noinline)) void
called_back(uint64_t count)
{
	for (; count; count--)
		__asm__ volatile("" : "+r"(count));
}

static void
run_calls(uint64_t until_ns)
{
	uint8_t *code = new_code(), *outer = code, *inner = code + APART;

	memcpy(outer, outer_text, sizeof(outer_text));
	memcpy(inner, inner_text, sizeof(inner_text));
	finish_code(code);
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
		((void (*)(uint64_t, void (*)(uint64_t), const uint8_t *))(uintptr_t)outer)(100000, called_back, inner);
}

static void
tell_map(const char *directory, const uint8_t *code, const char *word)
{
	char path[4096];
	FILE *map;

	snprintf(path, sizeof(path), "%s/perf-%d.map", directory, (int)getpid());
	map = fopen(path, "a");
	if (!map)
		die(path);
	for (unsigned i = 0; i < LOOPS; i++)
		fprintf(map, "%lx %zx %s %s\n", (unsigned long)(code + i * APART), sizeof(text), names[i], word);
	fclose(map);
}

static void
tell_dump(const char *directory, const uint8_t *code)
{
	const uint32_t pid = (uint32_t)getpid();
	struct dump_header header = {0x4a695444, 1, sizeof(header), MACHINE, 0, pid, now_ns(CLOCK_MONOTONIC), 0};
	char path[4096], name[32];
	FILE *dump;

	snprintf(path, sizeof(path), "%s/jit-%u.dump", directory, pid);
	dump = fopen(path, "w+");
	if (!dump || fwrite(&header, sizeof(header), 1, dump) != 1 || fflush(dump) != 0)
		die(path);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		die(path);
	for (unsigned i = 0; i < LOOPS; i++) {
		const uint64_t address = (uint64_t)(code + i * APART);
		const size_t name_size = (size_t)snprintf(name, sizeof(name), "%s loop", names[i]) + 1;
		const struct dump_load load = {0,
		                               (uint32_t)(sizeof(load) + name_size + sizeof(text)),
		                               now_ns(CLOCK_MONOTONIC),
		                               pid,
		                               pid,
		                               address,
		                               address,
		                               sizeof(text),
		                               i};

		fwrite(&load, sizeof(load), 1, dump);
		fwrite(name, name_size, 1, dump);
		fwrite(text, sizeof(text), 1, dump);
	}
	fclose(dump);
}

static void
run(const uint8_t *code, uint64_t until_ns)
{
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
		for (unsigned i = 0; i < LOOPS; i++)
			((void (*)(uint64_t))(uintptr_t)(code + i * APART))((uint64_t)parts[i] * PER_TURN);
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *directory = argc > 3 ? argv[3] : "/tmp";
	const uint64_t end_ns = (uint64_t)(atof(argc > 2 ? argv[2] : "0") * 1e9);
	const uint8_t *code;

	if (strcmp(mode, "calls") == 0) {
		run_calls(end_ns);
		return 0;
	}
	code = make_code();
	if (strcmp(mode, "map") == 0 || strcmp(mode, "reuse") == 0)
		tell_map(directory, code, "loop");
	else if (strcmp(mode, "dump") == 0)
		tell_dump(directory, code);
	run(code, end_ns / 2);
	if (strcmp(mode, "late") == 0)
		tell_map(directory, code, "loop");
	else if (strcmp(mode, "reuse") == 0)
		tell_map(directory, code, "after");
	run(code, end_ns);
	return 0;
}
