#include "profile/symbol_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "profile/codec.h"

#define COMPRESSION_LEVEL 3

static int
compress_text(const struct byte_writer *text, struct byte_writer *writer)
{
	size_t bound = ZSTD_compressBound(text->size);
	void *frame = malloc(bound);
	size_t size;

	if (!frame)
		return -ENOMEM;
	size = ZSTD_compress(frame, bound, text->data, text->size, COMPRESSION_LEVEL);
	if (!ZSTD_isError(size)) {
		write_u8(writer, FORMAT_1);
		write_varint(writer, text->size);
		write_bytes(writer, frame, size);
	}
	free(frame);
	return ZSTD_isError(size) || writer->failed ? -ENOMEM : 0;
}

int
symbol_blob_encode(const struct profile_symbol *symbols, size_t count, struct byte_writer *writer)
{
	struct byte_writer text = BYTE_WRITER_INIT;
	uint64_t before = 0;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		if (symbols[i].offset < before)
			err = -EINVAL;
		write_varint(&text, symbols[i].offset - before);
		write_bytes(&text, symbols[i].name, strlen(symbols[i].name) + 1);
		before = symbols[i].offset;
		if (!err && text.size > SYMBOL_TEXT_MAX)
			err = -EFBIG;
	}
	if (!err)
		err = text.failed ? -ENOMEM : compress_text(&text, writer);
	writer_fini(&text);
	return err;
}

/* The text of a value, `*text_size` bytes for free(), or NULL with *err set. */
static char *
decompress_text(const void *data, size_t size, size_t *text_size, int *err)
{
	struct byte_reader reader;
	size_t result;
	char *text;

	reader_init(&reader, data, size);
	read_format(&reader);
	*text_size = read_varint_below(&reader, SYMBOL_TEXT_MAX + 1);
	*err = -DCPI_EDAMAGED;
	if (reader.failed)
		return NULL;
	text = malloc(*text_size ? *text_size : 1);
	if (!text) {
		*err = -ENOMEM;
		return NULL;
	}
	/* Frames behind the first one would be decompressed, too; all must fill the text exactly. */
	result = ZSTD_decompress(text, *text_size, reader.at, reader_left(&reader));
	if (!ZSTD_isError(result) && result == *text_size)
		return text;
	free(text);
	return NULL;
}

static size_t
count_nuls(const char *text, size_t size)
{
	size_t count = 0;

	for (const char *at = text; at < text + size; at++)
		count += *at == '\0';
	return count;
}

/* Split `text` into `capacity` symbols at most; how many, or -DCPI_EDAMAGED. Names point into the text. */
static int
split_text(const char *text, size_t size, struct profile_symbol *symbols, size_t capacity, size_t *count)
{
	struct byte_reader reader;
	uint64_t offset = 0;

	reader_init(&reader, text, size);
	for (*count = 0; !reader.failed && reader_left(&reader) > 0; ++*count) {
		uint64_t distance = read_varint(&reader);
		const uint8_t *end = reader.failed ? NULL : memchr(reader.at, '\0', reader_left(&reader));

		if (!end || *count == capacity || distance > UINT64_MAX - offset)
			return -DCPI_EDAMAGED;
		offset += distance;
		symbols[*count].offset = offset;
		symbols[*count].name = (const char *)reader.at;
		reader.at = end + 1;
	}
	return reader.failed ? -DCPI_EDAMAGED : 0;
}

int
symbol_blob_decode(const void *data, size_t size, struct profile_symbol **symbols, size_t *count)
{
	struct profile_symbol *list = NULL;
	size_t text_size, capacity;
	char *text;
	int err;

	text = decompress_text(data, size, &text_size, &err);
	if (!text)
		return err;
	/* A name ends with a NUL, and a distance of 0 is one: at most so many symbols. */
	capacity = count_nuls(text, text_size);
	list = malloc(capacity * sizeof(*list) + text_size + 1);
	err = list ? 0 : -ENOMEM;
	if (!err) {
		char *copy = (char *)(list + capacity);

		memcpy(copy, text, text_size);
		err = split_text(copy, text_size, list, capacity, count);
	}
	free(text);
	if (err) {
		free(list);
		return err;
	}
	*symbols = list;
	return 0;
}
