/*
 * capture_bench.c - what it costs to take names and text of images, as dcpid has it done
 *
 * capture_bench FILE...: for each the processor time of dcpi-capture, median and most of seven runs: asked for the
 * names alone, and for names and code when 50 functions, evenly chosen by address, have samples; and the size of both
 * answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/capture_child.h"
#include "image/symbols.h"
#include "process/build_id.h"

#define RUNS   7
#define PLACES 50

struct cost {
	double median_ms, most_ms;
	size_t bytes;
};

static int
by_size(const void *a, const void *b)
{
	const double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

static int
measure(const char *program, const struct capture_request *request, struct cost *cost)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	double took_ms[RUNS];
	int err = capture_request_encode(request, &writer);

	for (int i = 0; !err && i < RUNS; i++) {
		struct capture_outcome outcome;

		capture_child_run(program, &writer, -1, &outcome);
		err = outcome.error;
		took_ms[i] = (double)outcome.cpu_ns / 1e6;
		cost->bytes = outcome.size;
		capture_outcome_fini(&outcome);
	}
	writer_fini(&writer);
	if (err)
		return err;
	qsort(took_ms, RUNS, sizeof(took_ms[0]), by_size);
	cost->median_ms = took_ms[RUNS / 2];
	cost->most_ms = took_ms[RUNS - 1];
	return 0;
}

/* Those come first, by address. */
static size_t
count_named(const struct symbol_table *table)
{
	size_t count = 0;

	while (count < symbol_table_size(table) && symbol_table_at(table, count)->name)
		count++;
	return count;
}

/* The first blocks of PLACES functions; a block that has two of them, once. */
static int
choose_places(const struct image *image, struct request_place places[PLACES], size_t *count)
{
	struct symbol_table *table;
	struct image_file *file;
	size_t named;
	int err = image_file_open(image, &file);

	if (err)
		return err;
	err = symbol_table_from_file(file, &table);
	image_file_close(file);
	if (err)
		return err;
	named = count_named(table);
	*count = 0;
	for (size_t i = 0; i < PLACES && named > 0; i++) {
		const uint64_t offset = symbol_table_at(table, i * named / PLACES)->offset;
		const uint32_t block = (uint32_t)(offset / CAPTURED_BLOCK_SIZE);

		if (*count > 0 && places[*count - 1].block == block)
			continue;
		places[(*count)++] = (struct request_place){block, UINT64_C(1) << (offset % CAPTURED_BLOCK_SIZE / 64)};
	}
	symbol_table_free(table);
	return 0;
}

static int
find_image(const char *path, struct image *image)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), size;

	if (fd < 0)
		return -errno;
	*image = (struct image){.kind = IMAGE_USER, .path = path};
	size = build_id_from_file(fd, image->build_id);
	close(fd);
	if (size < 0)
		return size;
	image->build_id_size = (uint8_t)size;
	return 0;
}

static int
measure_file(const char *program, const char *path)
{
	struct request_place places[PLACES];
	struct capture_request request = {.names = true};
	struct cost names, all;
	size_t count;
	int err = find_image(path, &request.image);

	if (!err)
		err = measure(program, &request, &names);
	if (!err)
		err = choose_places(&request.image, places, &count);
	if (err)
		return err;
	request.places = places;
	request.place_count = count;
	err = measure(program, &request, &all);
	if (err)
		return err;
	printf("names %6.1f ms (%6.1f at most, %7.1f KiB)  with code of %2zu places %6.1f ms (%6.1f at most, %7.1f "
	       "KiB)  "
	       "%s\n",
	       names.median_ms, names.most_ms, (double)names.bytes / 1024, count, all.median_ms, all.most_ms,
	       (double)all.bytes / 1024, path);
	return 0;
}

int
main(int count, char **paths)
{
	char program[PATH_MAX];
	int failed = 0, err = capture_child_find(program);

	if (err) {
		fprintf(stderr, "%s: %s\n", program, error_text(err));
		return 1;
	}
	for (int i = 1; i < count; i++) {
		err = measure_file(program, paths[i]);
		if (err)
			fprintf(stderr, "%s: %s\n", paths[i], error_text(err));
		failed |= err != 0;
	}
	return failed;
}
