/*
 * capture_fuzz - what dcpi-capture does with a file: any bytes as an ELF file, samples all over it
 *
 * And what was captured of it is read as tools do, with the text that is there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code/capture.h"
#include "code/procedures.h"
#include "image/contents.h"
#include "profile/captured.h"
#include "tests/unit/code/flow_graph_check.h"

#define PLACES 64
#define LOOKS  64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct decoded_capture {
	struct captured_layout *layout;
	struct profile_symbol *symbols;
	size_t symbol_count;
	struct captured_block blocks[CAPTURED_PARCEL_MAX];
	uint8_t bytes[CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE];
	size_t block_count; /* of the first parcel */
};

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static int
keep(void *context, enum capture_part part, uint32_t block, const void *data, size_t size)
{
	uint32_t numbers[CAPTURED_PARCEL_MAX];
	struct decoded_capture *kept = context;
	int count;

	switch (part) {
	case CAPTURE_LAYOUT:
		require(!kept->layout);
		require(captured_layout_decode(data, size, &kept->layout) == 0);
		return 0;
	case CAPTURE_SYMBOLS:
		require(!kept->symbols);
		require(captured_symbols_decode(data, size, &kept->symbols, &kept->symbol_count) == 0);
		return 0;
	case CAPTURE_PARCEL:
		if (kept->block_count)
			return 0;
		count = captured_parcel_decode(data, size, numbers, kept->bytes);
		require(count > 0 && numbers[0] == block);
		for (int i = 0; i < count; i++)
			kept->blocks[i] =
				(struct captured_block){numbers[i], kept->bytes + (size_t)i * CAPTURED_BLOCK_SIZE};
		kept->block_count = (size_t)count;
		return 0;
	}
	return 0;
}

static void
read_code(const struct image_file *file, const struct symbol_table *table, const struct image_contents *contents)
{
	struct procedures *procedures = procedures_new(file, table, contents);

	for (size_t i = 0; procedures && i < symbol_table_size(table) && i < LOOKS; i++) {
		struct flow_graph *graph;

		if (procedures_graph(procedures, symbol_table_at(table, i), &graph))
			continue;
		require(flow_graph_fault(graph) == NULL);
		flow_graph_free(graph);
	}
	procedures_free(procedures);
}

static void
read_kept(const struct decoded_capture *kept)
{
	const struct captured_text text = {.blocks = (struct captured_block *)kept->blocks, .count = kept->block_count};
	struct image_contents *contents = NULL;
	struct symbol_table *table = NULL;
	struct image_file *file = NULL;

	if (!kept->layout || !kept->symbols)
		return;
	if (image_file_from_captured(kept->layout, &file) == 0 &&
	    symbol_table_from_captured(kept->symbols, kept->symbol_count, &table) == 0 &&
	    image_contents_from_captured(kept->layout, &text, &contents) == 0)
		read_code(file, table, contents);
	image_contents_free(contents);
	symbol_table_free(table);
	image_file_close(file);
}

static void
take(int fd, size_t size)
{
	static struct decoded_capture kept;
	static const struct image image = {.kind = IMAGE_USER, .path = "/x"};
	struct capture_place places[PLACES];
	struct capture_wish wish = {.places = places, .names = true};
	struct image_file *file;

	for (uint32_t i = 0; i < PLACES && (size_t)i * CAPTURED_BLOCK_SIZE < size; i++)
		places[wish.place_count++] = (struct capture_place){i, UINT64_MAX};
	if (image_file_open_descriptors(&image, fd, -1, &file))
		return;
	memset(&kept, 0, sizeof(kept));
	if (capture_take(file, &wish, keep, &kept) == 0)
		read_kept(&kept);
	free(kept.layout);
	free(kept.symbols);
	image_file_close(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size)
		take(fd, size);
	else
		close(fd);
	return 0;
}
