/*
 * codec.h - what the encoders and decoders of this room share (for profile/ and salvage/)
 *
 * Every value begins with a format byte, so that it can change without a new schema; what a decoder does not know,
 * trailing bytes included, is refused.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_CODEC_H
#define DCPI_PROFILE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define FORMAT_1 1
#define FORMAT_2 2 /* of epochs and slices since schema 2, of symbols since 4 */
#define FORMAT_3 3 /* of epochs since schema 5 */
#define FORMAT_4 4 /* of epochs since schema 6 */

static inline void
read_format(struct byte_reader *reader)
{
	if (reader->at < reader->end && *reader->at == FORMAT_1)
		reader->at++;
	else
		reader->failed = true;
}

/* For a value that has changed: its format, FORMAT_1 up to `newest`. */
static inline unsigned
read_format_until(struct byte_reader *reader, unsigned newest)
{
	if (reader->at < reader->end && *reader->at >= FORMAT_1 && *reader->at <= newest)
		return *reader->at++;
	reader->failed = true;
	return newest;
}

/* Most numbers of a block have one byte or two: worth not calling for. */
static inline uint64_t
read_small(struct byte_reader *reader)
{
	const uint8_t *at = reader->at;

	if (at < reader->end && at[0] < 0x80) {
		reader->at = at + 1;
		return at[0];
	}
	if (reader->end - at >= 2 && at[1] < 0x80) {
		reader->at = at + 2;
		return (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
	}
	return read_varint(reader);
}

static inline uint64_t
read_varint_below(struct byte_reader *reader, uint64_t bound)
{
	uint64_t value = read_small(reader);

	if (value < bound)
		return value;
	reader->failed = true;
	return 0;
}

static inline uint32_t
read_varint_u32(struct byte_reader *reader)
{
	return (uint32_t)read_varint_below(reader, UINT64_C(1) << 32);
}

/* True when everything was read and nothing failed. */
static inline bool
reader_done(const struct byte_reader *reader)
{
	return !reader->failed && reader->at == reader->end;
}

/* Keys are big-endian, so that LMDB's order is that of the numbers. */
static inline void
put_be(uint8_t *data, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static inline uint64_t
add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * The end of a value as a zstd frame: a varint with the decompressed size, and the frame, up to the value's end. 0 or
 * -ENOMEM.
 */
int compressed_write(struct byte_writer *writer, const void *data, size_t size);

/* Decompress the rest of `reader`, behind the varint, into exactly `size` bytes. 0 or -DCPI_EDAMAGED. */
int compressed_read(struct byte_reader *reader, void *data, size_t size);

#endif
