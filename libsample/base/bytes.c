#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define VARINT_SIZE_MAX 10 /* bytes: seven bits each */

static uint64_t
read_be(struct byte_reader *reader, size_t size)
{
	const uint8_t *data = read_bytes(reader, size);
	uint64_t value = 0;

	for (size_t i = 0; data && i < size; i++)
		value = value << 8 | data[i];
	return value;
}

uint8_t
read_u8(struct byte_reader *reader)
{
	return (uint8_t)read_be(reader, 1);
}

uint16_t
read_u16_be(struct byte_reader *reader)
{
	return (uint16_t)read_be(reader, 2);
}

uint32_t
read_u32_be(struct byte_reader *reader)
{
	return (uint32_t)read_be(reader, 4);
}

uint64_t
read_u64_be(struct byte_reader *reader)
{
	return read_be(reader, 8);
}

uint64_t
read_varint(struct byte_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = read_u8(reader);

		if (reader->failed)
			return 0;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	reader->failed = true;
	return 0;
}

int64_t
read_sleb(struct byte_reader *reader)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = read_u8(reader);
		if (shift < 64) {
			value |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
		}
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

void
read_string(struct byte_reader *reader, char *text, size_t capacity)
{
	uint64_t size = read_varint(reader);
	const uint8_t *data;

	text[0] = '\0';
	if (size >= capacity) {
		reader->failed = true;
		return;
	}
	data = read_bytes(reader, size);
	if (!data)
		return;
	if (memchr(data, '\0', size)) {
		reader->failed = true;
		return;
	}
	memcpy(text, data, size);
	text[size] = '\0';
}

void
writer_fini(struct byte_writer *writer)
{
	free(writer->data);
	memset(writer, 0, sizeof(*writer));
}

void
writer_reset(struct byte_writer *writer)
{
	writer->size = 0;
	writer->failed = false;
}

static bool
writer_reserve(struct byte_writer *writer, size_t more)
{
	size_t capacity = writer->capacity ? writer->capacity : 64;
	uint8_t *data;

	if (writer->failed)
		return false;
	if (more <= writer->capacity - writer->size)
		return true;
	while (capacity - writer->size < more) {
		if (capacity > SIZE_MAX / 2) {
			writer->failed = true;
			return false;
		}
		capacity *= 2;
	}
	data = realloc(writer->data, capacity);
	if (!data) {
		writer->failed = true;
		return false;
	}
	writer->data = data;
	writer->capacity = capacity;
	return true;
}

void
write_bytes(struct byte_writer *writer, const void *data, size_t size)
{
	if (size == 0 || !writer_reserve(writer, size))
		return;
	memcpy(writer->data + writer->size, data, size);
	writer->size += size;
}

void
write_u8(struct byte_writer *writer, uint8_t value)
{
	write_bytes(writer, &value, 1);
}

void
write_varint(struct byte_writer *writer, uint64_t value)
{
	if (!writer_reserve(writer, VARINT_SIZE_MAX))
		return;
	for (; value >= 0x80; value >>= 7)
		writer->data[writer->size++] = (uint8_t)(value | 0x80);
	writer->data[writer->size++] = (uint8_t)value;
}

void
write_string(struct byte_writer *writer, const char *text)
{
	size_t size = strlen(text);

	write_varint(writer, size);
	write_bytes(writer, text, size);
}
