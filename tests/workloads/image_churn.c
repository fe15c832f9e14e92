/*
 * image_churn.c - image_churn SECONDS DIRECTORY LIBRARY [CPU_SECONDS]: images that nobody has seen before, all the time
 *
 * As a farm of compilers makes them: each round writes LIBRARY to a new file in DIRECTORY under a new build-id, opens
 * it, works in its function burn_a() for CPU_SECONDS (0.005), closes and removes it. Every fourth round the image is
 * this program itself, under another build-id and name, and so a command that nobody has seen either. Says how many of
 * both there were.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define BUILD_ID_SIZE  20
#define PROGRAM_ROUNDS 4

struct program_bytes {
	char *data;
	size_t size;
	char *build_id; /* in data */
};

/* Header and name of the note that holds a build-id of 20 bytes, on a little-endian machine. */
static const char note[16] = "\4\0\0\0\x14\0\0\0\3\0\0\0GNU";

static int
read_image(const char *path, struct program_bytes *image)
{
	FILE *file = fopen(path, "re");
	char *found;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) <= 0 || fseek(file, 0, SEEK_SET))
		return -1;
	image->size = (size_t)size;
	image->data = malloc(image->size);
	if (!image->data || fread(image->data, 1, image->size, file) != image->size)
		return -1;
	fclose(file);
	found = memmem(image->data, image->size, note, sizeof(note));
	if (!found || (size_t)(image->data + image->size - found) < sizeof(note) + BUILD_ID_SIZE)
		return -1;
	image->build_id = found + sizeof(note);
	return 0;
}

/* Not what it was in another run either: a database may know those. */
static int
write_image(const struct program_bytes *image, uint64_t run, uint64_t round, const char *path)
{
	FILE *file;
	size_t written;
	int closed;

	memcpy(image->build_id, &run, sizeof(run));
	memcpy(image->build_id + sizeof(run), &round, sizeof(round));
	file = fopen(path, "we");
	if (!file)
		return -1;
	written = fwrite(image->data, 1, image->size, file);
	closed = fclose(file);
	return written == image->size && closed == 0 && chmod(path, 0755) == 0 ? 0 : -1;
}

static int
work_in_library(const char *path, double seconds)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
	void (*work)(double);

	symbol = library ? dlsym(library, "burn_a") : NULL;
	if (!symbol) {
		fprintf(stderr, "image_churn: %s\n", dlerror());
		return -1;
	}
	memcpy(&work, &symbol, sizeof(work));
	work(seconds);
	return dlclose(library);
}

static int
work_in_program(char *path, char *seconds)
{
	char *const arguments[] = {path, "--burn", seconds, NULL};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execv(path, arguments);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static uint64_t
clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int
do_round(const char *directory, struct program_bytes *library, struct program_bytes *program, uint64_t run,
         uint64_t round, char *seconds)
{
	const bool is_program = round % PROGRAM_ROUNDS == 0;
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%s-%llu", directory, is_program ? "churn" : "lib", (unsigned long long)round);
	err = write_image(is_program ? program : library, run, round, path);
	if (!err)
		err = is_program ? work_in_program(path, seconds) : work_in_library(path, strtod(seconds, NULL));
	unlink(path);
	return err;
}

int
main(int argc, char **argv)
{
	const uint64_t run = clock_ns(CLOCK_REALTIME), begin_ns = clock_ns(CLOCK_MONOTONIC);
	struct program_bytes library, program;
	char normal[] = "0.005", *seconds = normal;
	uint64_t round = 0;

	if (argc == 3 && strcmp(argv[1], "--burn") == 0) {
		burn(strtod(argv[2], NULL), 1);
		return 0;
	}
	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: image_churn SECONDS DIRECTORY LIBRARY [CPU_SECONDS]\n");
		return 2;
	}
	if (argc == 5)
		seconds = argv[4];
	if (read_image(argv[3], &library) || read_image("/proc/self/exe", &program)) {
		fprintf(stderr, "image_churn: no image with a build-id of 20 bytes\n");
		return 1;
	}
	while (clock_ns(CLOCK_MONOTONIC) - begin_ns < strtoull(argv[1], NULL, 10) * 1000000000u) {
		if (do_round(argv[2], &library, &program, run, ++round, seconds)) {
			perror("image_churn");
			return 1;
		}
	}
	printf("%llu images\n", (unsigned long long)round);
	return 0;
}
