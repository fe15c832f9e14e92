/*
 * bytes.h - bounded reading and writing of byte strings
 *
 * A reader never leaves its buffer: a read past the end returns 0 (or NULL) and sets `failed`, and so does every later
 * read. So a decoder reads all its fields first and checks `failed` once. A writer grows on the heap; when memory ends,
 * it sets `failed` in this way. "be" is big-endian (database keys: byte order is key order); "native" is this machine's
 * (perf rings); everything else on disk is a varint (LEB128, at most 10 bytes).
 * Thread rule: one thread per reader or writer.
 */
#ifndef DCPI_BASE_BYTES_H
#define DCPI_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline void
reader_init(struct byte_reader *reader, const void *data, size_t size)
{
	reader->at = data;
	reader->end = reader->at + size;
	reader->failed = false;
}

/* Bytes that have not been read. */
static inline size_t
reader_left(const struct byte_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

/* `size` bytes inside the reader's buffer, or NULL and failed. */
static inline const uint8_t *
read_bytes(struct byte_reader *reader, size_t size)
{
	const uint8_t *data = reader->at;

	if (reader->failed || size > reader_left(reader)) {
		reader->failed = true;
		reader->at = reader->end;
		return NULL;
	}
	reader->at += size;
	return data;
}

/* `size` bytes into `value`; zeros when they are not there. */
static inline void
read_native(struct byte_reader *reader, void *value, size_t size)
{
	const uint8_t *data = read_bytes(reader, size);

	if (data)
		memcpy(value, data, size);
	else
		memset(value, 0, size);
}

/* Inline, because the records of perf consist of these. */
static inline uint16_t
read_u16_native(struct byte_reader *reader)
{
	uint16_t value;

	read_native(reader, &value, sizeof(value));
	return value;
}

static inline uint32_t
read_u32_native(struct byte_reader *reader)
{
	uint32_t value;

	read_native(reader, &value, sizeof(value));
	return value;
}

static inline uint64_t
read_u64_native(struct byte_reader *reader)
{
	uint64_t value;

	read_native(reader, &value, sizeof(value));
	return value;
}

uint8_t read_u8(struct byte_reader *reader);
uint16_t read_u16_be(struct byte_reader *reader);
uint32_t read_u32_be(struct byte_reader *reader);
uint64_t read_u64_be(struct byte_reader *reader);
uint64_t read_varint(struct byte_reader *reader); /* fails on one that does not fit 64 bits */
int64_t read_sleb(struct byte_reader *reader);    /* DWARF's signed LEB128; bits beyond 64 are dropped */

/*
 * A varint length and that many bytes, copied into `text` (of `capacity` bytes, at least 1) with a NUL behind.
 * Fails, with an empty string, when the length is `capacity` or more or when a NUL is inside.
 */
void read_string(struct byte_reader *reader, char *text, size_t capacity);

/* Zigzag encoding, for varints of numbers of either sign: small numbers for small distances. */
static inline uint64_t
zigzag(uint64_t distance)
{
	return distance << 1 ^ (distance >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t
unzigzag(uint64_t folded)
{
	return folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0);
}

struct byte_writer {
	uint8_t *data; /* NULL until the first write; owned by the writer */
	size_t size;
	size_t capacity;
	bool failed; /* memory ran out; what was written is not whole */
};

#define BYTE_WRITER_INIT                                                                                               \
	{                                                                                                              \
		0                                                                                                      \
	}

void writer_fini(struct byte_writer *writer);
void writer_reset(struct byte_writer *writer); /* empties it and keeps its memory */
void write_u8(struct byte_writer *writer, uint8_t value);
void write_varint(struct byte_writer *writer, uint64_t value);
void write_bytes(struct byte_writer *writer, const void *data, size_t size);
void write_string(struct byte_writer *writer, const char *text); /* as read_string() reads it */

#endif
