/*
 * symbols_bench.c - how long it takes to read the symbols of images, and to find one
 *
 * symbols_bench FILE...: for each the number of symbols, the milliseconds of the first and of the best of ten reads,
 * and the nanoseconds of a lookup, averaged over offsets in random order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/error.h"
#include "image/symbols.h"

#define READS   10
#define LOOKUPS 1000000

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int
read_symbols(const struct image *image, struct symbol_table **table)
{
	struct image_file *file;
	int err = image_file_open(image, &file);

	if (err)
		return err;
	err = symbol_table_from_file(file, table);
	image_file_close(file);
	return err;
}

static double
lookup_ns(const struct symbol_table *table, uint64_t size)
{
	uint64_t offset = 1;
	size_t found = 0;
	double start = now_ms();

	for (int i = 0; i < LOOKUPS; i++) {
		offset = offset * 6364136223846793005u + 1442695040888963407u;
		found += symbol_table_find(table, (offset >> 20) % size) != NULL;
	}
	return found ? (now_ms() - start) * 1e6 / LOOKUPS : 0;
}

static int
measure(const char *path)
{
	struct image image = {.kind = IMAGE_USER, .path = path};
	struct symbol_table *table = NULL;
	double first = 0, best = 0;
	struct stat status;

	if (stat(path, &status)) {
		perror(path);
		return 1;
	}
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	for (int i = 0; i < READS; i++) {
		double start = now_ms(), took;
		int err;

		symbol_table_free(table);
		err = read_symbols(&image, &table);
		if (err) {
			fprintf(stderr, "%s: %s\n", path, error_text(err));
			return 1;
		}
		took = now_ms() - start;
		if (i == 0)
			first = best = took;
		if (took < best)
			best = took;
	}
	printf("%8zu symbols  first %7.1f ms  best %7.1f ms  lookup %4.0f ns  %6.1f MB  %s\n", symbol_table_size(table),
	       first, best, lookup_ns(table, (uint64_t)status.st_size), (double)status.st_size / 1e6, path);
	symbol_table_free(table);
	return 0;
}

int
main(int count, char **paths)
{
	int failed = 0;

	for (int i = 1; i < count; i++)
		failed |= measure(paths[i]);
	return failed;
}
