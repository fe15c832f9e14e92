#include "code/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "code/procedures.h"
#include "image/contents.h"

#define STEP      16u                   /* bytes between places where a procedure is looked for */
#define PART_MAX  ((uint64_t)1 << 20)   /* bytes of a procedure that is taken as a whole */
#define GRAPH_MAX ((uint64_t)256 << 10) /* and of one whose tables are looked for */
#define TABLE_MAX 2048u                 /* bytes of a table that are taken for sure: 512 entries of four bytes */
#define MARKS_MAX ((size_t)1 << 20)

struct capture {
	const struct capture_wish *wish;
	const struct image_file *file;
	struct symbol_table *symbols;
	struct image_contents *contents; /* NULL: of another kind of machine */
	struct procedures *procedures;   /* likewise */
	bool *is_done;                   /* by number of the symbol */
	uint32_t *marks;                 /* blocks to be taken, in any order, some more than once */
	size_t mark_count, mark_capacity;
	int err; /* of marking in observe_data(), which cannot return it */
	struct flow_source source;
};

static int
mark_block(struct capture *capture, uint64_t number)
{
	uint32_t *marks;

	if (number >= CAPTURED_BLOCK_UNWIND || capture->mark_count == MARKS_MAX)
		return 0;
	if (capture->mark_count > 0 && capture->marks[capture->mark_count - 1] == number)
		return 0;
	marks = array_grow(capture->marks, &capture->mark_capacity, capture->mark_count + 1, sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	capture->marks = marks;
	marks[capture->mark_count++] = (uint32_t)number;
	return 0;
}

/* Mark the blocks of `size` bytes from ELF address `address` on. */
static int
mark_addresses(struct capture *capture, uint64_t address, uint64_t size)
{
	uint64_t offset;

	if (!size || image_file_offset(capture->file, address, &offset) || size > UINT64_MAX - offset)
		return 0;
	for (uint64_t block = offset / CAPTURED_BLOCK_SIZE; block <= (offset + size - 1) / CAPTURED_BLOCK_SIZE;
	     block++) {
		int err = mark_block(capture, block);

		if (err)
			return err;
	}
	return 0;
}

static const uint8_t *
observe_data(void *argument, uint64_t address, size_t *size)
{
	struct capture *capture = argument;
	const uint8_t *data = capture->source.data(capture->source.argument, address, size);

	if (data && !capture->err)
		capture->err = mark_addresses(capture, address, *size < TABLE_MAX ? *size : TABLE_MAX);
	return data;
}

static bool
observe_returns(void *argument, uint64_t address)
{
	const struct capture *capture = argument;

	return capture->source.returns(capture->source.argument, address);
}

/*
 * Readers need the data that the flow graph is made from: make it, and mark the data that it asks for. `list` is as
 * procedures_decode_parts() left it.
 */
static int
mark_tables(struct capture *capture, const struct code_part *parts, size_t count, struct instruction_list *list)
{
	struct flow_source source;
	struct flow_graph *graph;
	int err;

	capture->source = procedures_source(capture->procedures, parts, count);
	source = capture->source;
	source.argument = capture;
	source.data = observe_data;
	source.returns = observe_returns;
	err = procedures_graph_from(capture->procedures, list, &source, &graph);
	if (!err)
		flow_graph_free(graph);
	if (capture->err)
		return capture->err;
	return err == -ENOMEM ? err : 0;
}

static int
mark_procedure(struct capture *capture, const struct symbol *symbol)
{
	struct instruction_list list = {0};
	struct code_part parts[FLOW_PARTS_MAX];
	const int count = procedures_decode_parts(capture->procedures, symbol, parts, &list);
	uint64_t sum = 0;
	int err = count == -ENOMEM ? count : 0;

	for (int i = 0; i < count && !err; i++) {
		sum += parts[i].size;
		if (parts[i].size <= PART_MAX)
			err = mark_addresses(capture, parts[i].address, parts[i].size);
	}
	if (count > 0 && !err && sum <= GRAPH_MAX)
		return mark_tables(capture, parts, (size_t)count, &list);
	instruction_list_free(&list);
	return err;
}

static int
mark_granule(struct capture *capture, uint64_t offset)
{
	int err = 0;

	for (uint64_t at = offset; at < offset + CAPTURE_GRANULE && !err; at += STEP) {
		const struct symbol *symbol = symbol_table_find(capture->symbols, at);
		size_t number;

		if (!symbol)
			continue;
		number = (size_t)(symbol - symbol_table_at(capture->symbols, 0));
		if (!capture->is_done[number])
			err = mark_procedure(capture, symbol);
		capture->is_done[number] = true;
	}
	return err;
}

static int
mark_place(struct capture *capture, const struct capture_place *place)
{
	const uint64_t start = (uint64_t)place->block * CAPTURED_BLOCK_SIZE;
	int err = mark_block(capture, place->block);

	if (!capture->procedures)
		return err;
	for (unsigned i = 0; i < CAPTURED_BLOCK_SIZE / CAPTURE_GRANULE && !err; i++)
		if (place->granules >> i & 1)
			err = mark_granule(capture, start + i * CAPTURE_GRANULE);
	return err;
}

/* Mark all of a small image. */
static int
mark_whole(struct capture *capture, const struct captured_layout *layout)
{
	uint64_t sum = 0;
	int err = 0;

	for (size_t i = 0; i < layout->section_count; i++)
		sum += layout->sections[i].size < CAPTURE_WHOLE_MAX ? layout->sections[i].size : CAPTURE_WHOLE_MAX + 1;
	for (size_t i = 0; i < layout->section_count && sum <= CAPTURE_WHOLE_MAX && !err; i++)
		err = mark_addresses(capture, layout->sections[i].address, layout->sections[i].size);
	return err;
}

/* Sort the marks; remove duplicates, blocks that are known, and those past CAPTURE_BLOCKS_MAX. */
static void
sort_marks(struct capture *capture)
{
	const struct capture_wish *wish = capture->wish;
	size_t kept = 0;

	if (capture->mark_count)
		qsort(capture->marks, capture->mark_count, sizeof(*capture->marks), array_compare_u32);
	for (size_t i = 0; i < capture->mark_count && kept < CAPTURE_BLOCKS_MAX; i++) {
		const uint32_t number = capture->marks[i];

		if (kept > 0 && capture->marks[kept - 1] == number)
			continue;
		if (wish->known_count &&
		    bsearch(&number, wish->known, wish->known_count, sizeof(*wish->known), array_compare_u32))
			continue;
		capture->marks[kept++] = number;
	}
	capture->mark_count = kept;
}

static int
put_value(struct byte_writer *value, int err, enum capture_part part, uint32_t block, capture_put *put, void *context)
{
	if (!err)
		err = value->size > CAPTURED_VALUE_MAX ? -EFBIG : put(context, part, block, value->data, value->size);
	writer_fini(value);
	return err;
}

static int
put_names(const struct capture *capture, const struct captured_layout *layout, capture_put *put, void *context)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	struct profile_symbol *symbols;
	size_t count;
	int err;

	err = put_value(&value, captured_layout_encode(layout, &value), CAPTURE_LAYOUT, 0, put, context);
	if (err)
		return err;
	err = image_contents_capture_symbols(capture->symbols, &symbols, &count);
	if (err)
		return err;
	err = captured_symbols_encode(symbols, count, &value);
	free(symbols);
	return put_value(&value, err, CAPTURE_SYMBOLS, 0, put, context);
}

/* Up to CAPTURED_PARCEL_MAX marked blocks from marks[*next] on, as one value. */
static int
put_parcel(const struct capture *capture, size_t *next, uint8_t *bytes, capture_put *put, void *context)
{
	struct captured_block blocks[CAPTURED_PARCEL_MAX];
	struct byte_writer value = BYTE_WRITER_INIT;
	size_t count = 0;

	for (; *next < capture->mark_count && count < CAPTURED_PARCEL_MAX; ++*next) {
		uint8_t *to = bytes + count * CAPTURED_BLOCK_SIZE;

		if (image_contents_capture_block(capture->file, capture->contents, capture->marks[*next], to))
			blocks[count++] = (struct captured_block){capture->marks[*next], to};
	}
	if (count == 0)
		return 0;
	return put_value(&value, captured_parcel_encode(blocks, count, &value), CAPTURE_PARCEL, blocks[0].number, put,
	                 context);
}

static int
put_text(const struct capture *capture, capture_put *put, void *context)
{
	uint8_t *bytes = malloc((size_t)CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE);
	size_t next = 0;
	int err = bytes ? 0 : -ENOMEM;

	while (!err && next < capture->mark_count)
		err = put_parcel(capture, &next, bytes, put, context);
	free(bytes);
	return err;
}

static int
mark_all(struct capture *capture, const struct captured_layout *layout)
{
	int err;

	capture->is_done = calloc(symbol_table_size(capture->symbols) + 1, sizeof(*capture->is_done));
	if (!capture->is_done)
		return -ENOMEM;
	for (size_t i = 0; i < capture->wish->place_count; i++) {
		err = mark_place(capture, &capture->wish->places[i]);
		if (err)
			return err;
	}
	err = mark_whole(capture, layout);
	if (err)
		return err;
	sort_marks(capture);
	return 0;
}

/* An image of another architecture, or of 32 bits, has names and no text. */
static int
open_code(struct capture *capture)
{
	int err = image_contents_new(capture->file, &capture->contents);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (capture->wish->place_count == 0)
		return 0; /* no procedure is wanted */
	capture->procedures = procedures_new(capture->file, capture->symbols, capture->contents);
	return capture->procedures || errno == ENOTSUP ? 0 : -errno;
}

static int
take(struct capture *capture, capture_put *put, void *context)
{
	struct captured_layout *layout;
	int err = image_contents_capture_layout(capture->file, capture->contents, &layout);

	if (err)
		return err == -E2BIG ? -DCPI_EDAMAGED : err;
	if (capture->wish->names) {
		err = put_names(capture, layout, put, context);
		if (err)
			goto out;
	}
	if (capture->contents) {
		err = mark_all(capture, layout);
		if (err)
			goto out;
		err = put_text(capture, put, context);
	}
out:
	free(layout);
	return err;
}

int
capture_take(struct image_file *file, const struct capture_wish *wish, capture_put *put, void *context)
{
	struct capture capture = {.wish = wish, .file = file};
	int err = symbol_table_from_file(file, &capture.symbols);

	if (err)
		goto out;
	err = open_code(&capture);
	if (err)
		goto out;
	err = take(&capture, put, context);
out:
	procedures_free(capture.procedures);
	image_contents_free(capture.contents);
	symbol_table_free(capture.symbols);
	free(capture.is_done);
	free(capture.marks);
	return err;
}
