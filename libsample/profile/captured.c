/* Values of captured images. dcpi-capture links this file, so it uses nothing of the store: see captured_store.c. */
#include "profile/captured.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/codec.h"
#include "unwind/table.h"

#define FLAG        1u /* of a segment: executable; of a section: code */
#define MACHINE_END 65536

/* FORMAT_1 has neither sizes nor code without a name. */
static bool
is_format_1(const struct profile_symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (symbols[i].size || !symbols[i].name)
			return false;
	return true;
}

int
captured_symbols_encode(const struct profile_symbol *symbols, size_t count, struct byte_writer *writer)
{
	struct byte_writer text = BYTE_WRITER_INIT;
	const bool is_old = is_format_1(symbols, count);
	uint64_t before = 0;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		const char *name = symbols[i].name ? symbols[i].name : "";

		if (symbols[i].offset < before)
			err = -EINVAL;
		write_varint(&text, symbols[i].offset - before);
		if (!is_old)
			write_varint(&text, symbols[i].size);
		write_bytes(&text, name, strlen(name) + 1);
		before = symbols[i].offset;
		if (!err && text.size > CAPTURED_SYMBOLS_TEXT_MAX)
			err = -EFBIG;
	}
	write_u8(writer, is_old ? FORMAT_1 : FORMAT_2);
	if (!err)
		err = text.failed ? -ENOMEM : compressed_write(writer, text.data, text.size);
	writer_fini(&text);
	return err;
}

/* Split `text` into `capacity` symbols at most; how many, or -DCPI_EDAMAGED. Names point into the text. */
static int
split_text(const char *text, size_t size, bool is_old, struct profile_symbol *symbols, size_t capacity, size_t *count)
{
	struct byte_reader reader;
	uint64_t offset = 0;

	reader_init(&reader, text, size);
	for (*count = 0; !reader.failed && reader_left(&reader) > 0; ++*count) {
		uint64_t distance = read_varint(&reader), length = is_old ? 0 : read_varint(&reader);
		const uint8_t *end = reader.failed ? NULL : memchr(reader.at, '\0', reader_left(&reader));

		if (!end || *count == capacity || distance > UINT64_MAX - offset)
			return -DCPI_EDAMAGED;
		offset += distance;
		symbols[*count].offset = offset;
		symbols[*count].size = length;
		symbols[*count].name = is_old || *reader.at ? (const char *)reader.at : NULL;
		reader.at = end + 1;
	}
	return reader.failed ? -DCPI_EDAMAGED : 0;
}

int
captured_symbols_decode(const void *data, size_t size, struct profile_symbol **symbols, size_t *count)
{
	struct profile_symbol *list = NULL;
	size_t text_size, capacity = 0;
	struct byte_reader reader;
	bool is_old;
	char *text;
	int err;

	reader_init(&reader, data, size);
	is_old = read_format_until(&reader, FORMAT_2) == FORMAT_1;
	/* bounded: a damaged value must not ask for all memory */
	text_size = (size_t)read_varint_below(&reader, CAPTURED_SYMBOLS_TEXT_MAX + 1);
	if (reader.failed)
		return -DCPI_EDAMAGED;
	text = malloc(text_size ? text_size : 1);
	if (!text)
		return -ENOMEM;
	err = compressed_read(&reader, text, text_size);
	if (err)
		goto out;
	/* Each symbol ends with a NUL (and a distance of 0 is one, too): this bounds their number. */
	for (const char *at = text; at < text + text_size; at++)
		capacity += *at == '\0';
	list = malloc(capacity * sizeof(*list) + text_size + 1);
	err = -ENOMEM;
	if (!list)
		goto out;
	memcpy(list + capacity, text, text_size);
	err = split_text((char *)(list + capacity), text_size, is_old, list, capacity, count);
out:
	free(text);
	if (err)
		free(list);
	else
		*symbols = list;
	return err;
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

int
captured_layout_decode(const void *data, size_t size, struct captured_layout **layout)
{
	/* with room for the most there can be */
	struct captured_layout *made = calloc(1, sizeof(*made) + CAPTURED_SEGMENTS_MAX * sizeof(*made->segments) +
	                                                 CAPTURED_SECTIONS_MAX * sizeof(*made->sections));
	struct byte_reader reader;
	uint64_t end = 0;

	if (!made)
		return -ENOMEM;
	made->segments = (struct captured_segment *)(made + 1);
	made->sections = (struct captured_section *)(made->segments + CAPTURED_SEGMENTS_MAX);
	reader_init(&reader, data, size);
	read_format(&reader);
	made->machine = (uint16_t)read_varint_below(&reader, MACHINE_END);
	made->segment_count = (size_t)read_varint_below(&reader, CAPTURED_SEGMENTS_MAX + 1);
	for (size_t i = 0; i < made->segment_count; i++) {
		struct captured_segment *segment = &made->segments[i];

		segment->offset = read_varint(&reader);
		segment->address = read_varint(&reader);
		segment->size = read_varint(&reader);
		segment->executable = read_varint_below(&reader, FLAG + 1);
		reader.failed |=
			segment->size > UINT64_MAX - segment->offset || segment->size > UINT64_MAX - segment->address;
	}
	made->section_count = (size_t)read_varint_below(&reader, CAPTURED_SECTIONS_MAX + 1);
	for (size_t i = 0; i < made->section_count; i++) {
		struct captured_section *section = &made->sections[i];

		section->address = read_varint(&reader);
		section->size = read_varint(&reader);
		section->is_code = read_varint_below(&reader, FLAG + 1);
		reader.failed |= section->address < end || section->size > UINT64_MAX - section->address;
		end = section->address + section->size;
	}
	if (!reader_done(&reader)) {
		free(made);
		return -DCPI_EDAMAGED;
	}
	*layout = made;
	return 0;
}

int
captured_unwind_encode(const void *bytes, size_t size, struct byte_writer *writer)
{
	if (size > CAPTURED_UNWIND_MAX)
		return -EFBIG;
	write_u8(writer, FORMAT_1);
	return compressed_write(writer, bytes, size);
}

int
captured_unwind_decode(const void *data, size_t size, struct unwind_table **table)
{
	struct byte_reader reader;
	size_t bytes_size;
	uint8_t *bytes;
	int err;

	reader_init(&reader, data, size);
	read_format(&reader);
	bytes_size = (size_t)read_varint_below(&reader, CAPTURED_UNWIND_MAX + 1);
	if (reader.failed)
		return -DCPI_EDAMAGED;
	bytes = malloc(bytes_size ? bytes_size : 1);
	if (!bytes)
		return -ENOMEM;
	err = compressed_read(&reader, bytes, bytes_size);
	if (!err)
		err = unwind_table_load(bytes, bytes_size, table);
	free(bytes);
	return err == -EBADMSG ? -DCPI_EDAMAGED : err;
}

int
captured_parcel_encode(const struct captured_block *blocks, size_t count, struct byte_writer *writer)
{
	uint64_t next = 0;
	uint8_t *bytes;
	int err;

	if (count == 0 || count > CAPTURED_PARCEL_MAX)
		return -EINVAL;
	write_u8(writer, FORMAT_1);
	write_varint(writer, count);
	for (size_t i = 0; i < count; i++) {
		if (blocks[i].number < next || blocks[i].number >= CAPTURED_BLOCK_UNWIND)
			return -EINVAL;
		write_varint(writer, blocks[i].number - next);
		next = (uint64_t)blocks[i].number + 1;
	}
	/* The text of all blocks in one frame: neighbours compress better together. */
	bytes = malloc(count * CAPTURED_BLOCK_SIZE);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		memcpy(bytes + i * CAPTURED_BLOCK_SIZE, blocks[i].bytes, CAPTURED_BLOCK_SIZE);
	err = compressed_write(writer, bytes, count * CAPTURED_BLOCK_SIZE);
	free(bytes);
	return err;
}

/* Read the blocks' numbers, ascending. How many, or -DCPI_EDAMAGED. */
static int
read_parcel_blocks(struct byte_reader *reader, uint32_t blocks[CAPTURED_PARCEL_MAX])
{
	size_t count;
	uint64_t next = 0;

	read_format(reader);
	count = (size_t)read_varint_below(reader, CAPTURED_PARCEL_MAX + 1);
	for (size_t i = 0; i < count; i++) {
		next += read_varint_u32(reader);
		if (next >= CAPTURED_BLOCK_UNWIND)
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
	return read_parcel_blocks(&reader, blocks);
}

int
captured_parcel_decode(const void *data, size_t size, uint32_t blocks[CAPTURED_PARCEL_MAX],
                       uint8_t bytes[CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE])
{
	struct byte_reader reader;
	int count, err;

	reader_init(&reader, data, size);
	count = read_parcel_blocks(&reader, blocks);
	if (count < 0)
		return count;
	if (read_varint_below(&reader, SIZE_MAX) != (uint64_t)count * CAPTURED_BLOCK_SIZE)
		return -DCPI_EDAMAGED;
	err = compressed_read(&reader, bytes, (size_t)count * CAPTURED_BLOCK_SIZE);
	return err ? err : count;
}
