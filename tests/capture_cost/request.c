/*
 * request - what dcpid would write to dcpi-capture about a file: its names, and the code of some functions
 *
 * request FILE PLACES >REQUEST
 *
 * The places are the first bytes of PLACES functions, evenly chosen by address. FILE is absolute and no link.
 * tests/system/capture_cost.sh counts what dcpi-capture executes to answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/protocol.h"
#include "image/symbols.h"
#include "process/build_id.h"

#define PLACES_MAX 64

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

/* A block that has two of them is there once. */
static int
choose_places(const struct image *image, size_t wanted, struct request_place places[PLACES_MAX], size_t *count)
{
	struct symbol_table *table;
	struct image_file *file;
	size_t named = 0;
	int err = image_file_open(image, &file);

	if (err)
		return err;
	err = symbol_table_from_file(file, &table);
	image_file_close(file);
	if (err)
		return err;
	while (named < symbol_table_size(table) && symbol_table_at(table, named)->name)
		named++;
	for (size_t i = 0; i < wanted && named > 0; i++) {
		const uint64_t offset = symbol_table_at(table, i * named / wanted)->offset;
		const uint32_t block = (uint32_t)(offset / CAPTURED_BLOCK_SIZE);

		if (*count == 0 || places[*count - 1].block != block)
			places[(*count)++] =
				(struct request_place){block, UINT64_C(1) << (offset % CAPTURED_BLOCK_SIZE / 64)};
	}
	symbol_table_free(table);
	return 0;
}

int
main(int count, char **arguments)
{
	const size_t wanted = count == 3 ? strtoul(arguments[2], NULL, 10) : PLACES_MAX + 1;
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct request_place places[PLACES_MAX];
	struct capture_request request = {.names = true, .places = places};
	int err;

	if (wanted > PLACES_MAX) {
		fprintf(stderr, "usage: request FILE PLACES\n");
		return EXIT_FAILURE;
	}
	err = find_image(arguments[1], &request.image);
	if (!err)
		err = choose_places(&request.image, wanted, places, &request.place_count);
	if (!err)
		err = capture_request_encode(&request, &writer);
	if (!err && fwrite(writer.data, 1, writer.size, stdout) != writer.size)
		err = -EIO;
	writer_fini(&writer);
	if (err)
		fprintf(stderr, "request: %s: %s\n", arguments[1], error_text(err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
