/* The values of captured images: see captured.h. */
#include "profile/captured.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/compressed.h"
#include "profile/symbol_blob.h"

#define FLAG        1u /* of a segment: executable; of a section: code */
#define MACHINE_END 65536

int
captured_symbols_encode(const struct profile_symbol *symbols, size_t count, struct byte_writer *writer)
{
	return symbol_blob_encode(symbols, count, writer);
}

int
captured_layout_encode(const struct captured_layout *layout, struct byte_writer *writer)
{
	if (layout->segment_count > CAPTURED_SEGMENTS_MAX || layout->section_count > CAPTURED_SECTIONS_MAX)
		return -E2BIG;
	write_u8(writer, FORMAT_1);
	write_varint(writer, layout->machine);
	write_varint(writer, layout->segment_count);
	for (size_t i = 0; i < layout->segment_count; i++) {
		const struct captured_segment *segment = &layout->segments[i];

		write_varint(writer, segment->offset);
		write_varint(writer, segment->address);
		write_varint(writer, segment->size);
		write_varint(writer, segment->executable ? FLAG : 0);
	}
	write_varint(writer, layout->section_count);
	for (size_t i = 0; i < layout->section_count; i++) {
		const struct captured_section *section = &layout->sections[i];

		write_varint(writer, section->address);
		write_varint(writer, section->size);
		write_varint(writer, section->is_code ? FLAG : 0);
	}
	return writer->failed ? -ENOMEM : 0;
}

static void
read_segments(struct byte_reader *reader, struct captured_layout *layout)
{
	for (size_t i = 0; i < layout->segment_count; i++) {
		struct captured_segment *segment = &layout->segments[i];

		segment->offset = read_varint(reader);
		segment->address = read_varint(reader);
		segment->size = read_varint(reader);
		segment->executable = read_varint_below(reader, FLAG + 1);
		reader->failed |=
			segment->size > UINT64_MAX - segment->offset || segment->size > UINT64_MAX - segment->address;
	}
}

static void
read_sections(struct byte_reader *reader, struct captured_layout *layout)
{
	uint64_t end = 0;

	for (size_t i = 0; i < layout->section_count; i++) {
		struct captured_section *section = &layout->sections[i];

		section->address = read_varint(reader);
		section->size = read_varint(reader);
		section->is_code = read_varint_below(reader, FLAG + 1);
		if (section->address < end || section->size > UINT64_MAX - section->address)
			reader->failed = true;
		end = section->address + section->size;
	}
}

/* An empty one with room for the most there can be. */
static struct captured_layout *
layout_new(void)
{
	struct captured_layout *layout =
		calloc(1, sizeof(*layout) + CAPTURED_SEGMENTS_MAX * sizeof(struct captured_segment) +
	                          CAPTURED_SECTIONS_MAX * sizeof(struct captured_section));

	if (!layout)
		return NULL;
	layout->segments = (struct captured_segment *)(layout + 1);
	layout->sections = (struct captured_section *)(layout->segments + CAPTURED_SEGMENTS_MAX);
	return layout;
}

int
captured_layout_decode(const void *data, size_t size, struct captured_layout **layout)
{
	struct captured_layout *made = layout_new();
	struct byte_reader reader;

	if (!made)
		return -ENOMEM;
	reader_init(&reader, data, size);
	read_format(&reader);
	made->machine = (uint16_t)read_varint_below(&reader, MACHINE_END);
	made->segment_count = (size_t)read_varint_below(&reader, CAPTURED_SEGMENTS_MAX + 1);
	read_segments(&reader, made);
	made->section_count = (size_t)read_varint_below(&reader, CAPTURED_SECTIONS_MAX + 1);
	read_sections(&reader, made);
	if (!reader_done(&reader)) {
		free(made);
		return -DCPI_EDAMAGED;
	}
	*layout = made;
	return 0;
}

/* The text of all blocks, one behind the other: neighbours compress better together. */
static int
write_text(const struct captured_block *blocks, size_t count, struct byte_writer *writer)
{
	uint8_t *bytes = malloc(count * CAPTURED_BLOCK_SIZE);
	int err;

	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		memcpy(bytes + i * CAPTURED_BLOCK_SIZE, blocks[i].bytes, CAPTURED_BLOCK_SIZE);
	err = compressed_write(writer, bytes, count * CAPTURED_BLOCK_SIZE);
	free(bytes);
	return err;
}

int
captured_parcel_encode(const struct captured_block *blocks, size_t count, struct byte_writer *writer)
{
	uint64_t next = 0;

	if (count == 0 || count > CAPTURED_PARCEL_MAX)
		return -EINVAL;
	write_u8(writer, FORMAT_1);
	write_varint(writer, count);
	for (size_t i = 0; i < count; i++) {
		if (blocks[i].number < next || blocks[i].number == CAPTURED_BLOCK_NONE)
			return -EINVAL;
		write_varint(writer, blocks[i].number - next);
		next = (uint64_t)blocks[i].number + 1;
	}
	return write_text(blocks, count, writer);
}

/* The numbers, ascending; the reader stands behind them. How many, or -DCPI_EDAMAGED. */
static int
read_numbers(struct byte_reader *reader, uint32_t blocks[CAPTURED_PARCEL_MAX])
{
	size_t count;
	uint64_t next = 0;

	read_format(reader);
	count = (size_t)read_varint_below(reader, CAPTURED_PARCEL_MAX + 1);
	for (size_t i = 0; i < count; i++) {
		next += read_varint_u32(reader);
		if (next >= CAPTURED_BLOCK_NONE)
			reader->failed = true;
		blocks[i] = (uint32_t)next++;
	}
	return reader->failed || count == 0 ? -DCPI_EDAMAGED : (int)count;
}

int
captured_parcel_blocks(const void *data, size_t size, uint32_t blocks[CAPTURED_PARCEL_MAX])
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	return read_numbers(&reader, blocks);
}

int
captured_parcel_decode(const void *data, size_t size, uint32_t blocks[CAPTURED_PARCEL_MAX],
                       uint8_t bytes[CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE])
{
	struct byte_reader reader;
	int count, err;

	reader_init(&reader, data, size);
	count = read_numbers(&reader, blocks);
	if (count < 0)
		return count;
	if (compressed_size(&reader, SIZE_MAX - 1) != (size_t)count * CAPTURED_BLOCK_SIZE)
		return -DCPI_EDAMAGED;
	err = compressed_read(&reader, bytes, (size_t)count * CAPTURED_BLOCK_SIZE);
	return err ? err : count;
}
