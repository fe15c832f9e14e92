#include "profile/symbol_blob.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/compressed.h"

/* Does it take the newer format, with sizes and code without a name? */
static bool
is_plain(const struct profile_symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (symbols[i].size || !symbols[i].name)
			return false;
	return true;
}

int
symbol_blob_encode(const struct profile_symbol *symbols, size_t count, struct byte_writer *writer)
{
	struct byte_writer text = BYTE_WRITER_INIT;
	const bool plain = is_plain(symbols, count);
	uint64_t before = 0;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		const char *name = symbols[i].name ? symbols[i].name : "";

		if (symbols[i].offset < before)
			err = -EINVAL;
		write_varint(&text, symbols[i].offset - before);
		if (!plain)
			write_varint(&text, symbols[i].size);
		write_bytes(&text, name, strlen(name) + 1);
		before = symbols[i].offset;
		if (!err && text.size > SYMBOL_TEXT_MAX)
			err = -EFBIG;
	}
	write_u8(writer, plain ? FORMAT_1 : FORMAT_2);
	if (!err)
		err = text.failed ? -ENOMEM : compressed_write(writer, text.data, text.size);
	writer_fini(&text);
	return err;
}

/* The text of a value, `*text_size` bytes for free(), or NULL with *err set. */
static char *
decompress_text(const void *data, size_t size, size_t *text_size, bool *plain, int *err)
{
	struct byte_reader reader;
	char *text;

	reader_init(&reader, data, size);
	*plain = read_format_until(&reader, FORMAT_2) == FORMAT_1;
	*text_size = compressed_size(&reader, SYMBOL_TEXT_MAX);
	*err = -DCPI_EDAMAGED;
	if (reader.failed)
		return NULL;
	text = malloc(*text_size ? *text_size : 1);
	*err = text ? compressed_read(&reader, text, *text_size) : -ENOMEM;
	if (!*err)
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
split_text(const char *text, size_t size, bool plain, struct profile_symbol *symbols, size_t capacity, size_t *count)
{
	struct byte_reader reader;
	uint64_t offset = 0;

	reader_init(&reader, text, size);
	for (*count = 0; !reader.failed && reader_left(&reader) > 0; ++*count) {
		uint64_t distance = read_varint(&reader), length = plain ? 0 : read_varint(&reader);
		const uint8_t *end = reader.failed ? NULL : memchr(reader.at, '\0', reader_left(&reader));

		if (!end || *count == capacity || distance > UINT64_MAX - offset)
			return -DCPI_EDAMAGED;
		offset += distance;
		symbols[*count].offset = offset;
		symbols[*count].size = length;
		symbols[*count].name = plain || *reader.at ? (const char *)reader.at : NULL;
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
	bool plain;
	int err;

	text = decompress_text(data, size, &text_size, &plain, &err);
	if (!text)
		return err;
	/* A name ends with a NUL, and a distance of 0 is one: at most so many symbols. */
	capacity = count_nuls(text, text_size);
	list = malloc(capacity * sizeof(*list) + text_size + 1);
	err = list ? 0 : -ENOMEM;
	if (!err) {
		char *copy = (char *)(list + capacity);

		memcpy(copy, text, text_size);
		err = split_text(copy, text_size, plain, list, capacity, count);
	}
	free(text);
	if (err) {
		free(list);
		return err;
	}
	*symbols = list;
	return 0;
}
