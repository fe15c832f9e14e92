#include "profile/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/error.h"

#define COMPRESSION_LEVEL 3

int
compressed_write(struct byte_writer *writer, const void *data, size_t size)
{
	size_t bound = ZSTD_compressBound(size);
	void *frame = malloc(bound);
	size_t length;

	if (!frame)
		return -ENOMEM;
	length = ZSTD_compress(frame, bound, data, size, COMPRESSION_LEVEL);
	if (!ZSTD_isError(length)) {
		write_varint(writer, size);
		write_bytes(writer, frame, length);
	}
	free(frame);
	return ZSTD_isError(length) || writer->failed ? -ENOMEM : 0;
}

int
compressed_read(struct byte_reader *reader, void *data, size_t size)
{
	size_t result;

	if (reader->failed)
		return -DCPI_EDAMAGED;
	/* zstd decompresses all frames that follow: together they must fill the data exactly. */
	result = ZSTD_decompress(data, size, reader->at, reader_left(reader));
	return !ZSTD_isError(result) && result == size ? 0 : -DCPI_EDAMAGED;
}
