#include "locality/record_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "locality/record.h"
#include "profile/codec.h"

#define WORD       8u
#define CHUNKS_AT  (sizeof(struct locality_header) + LOCALITY_TEXT_BYTES)
#define CHUNK_HEAD offsetof(struct locality_chunk, words)
#define PIECE_MAX  LOCALITY_CHUNK_BYTES
#define READ_MAX   (UINT64_C(4) << 30) /* of an epoch, as files: a hostile database has more */
#define FILE_SIZE  (CHUNKS_AT + (size_t)LOCALITY_CHUNKS * LOCALITY_CHUNK_BYTES)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pieces are stored in this order");

/* ---- writing ---- */

struct rows_writing {
	struct memory_rows *rows;
	uint32_t record;
	size_t *stored;
};

/* `size`: a multiple of WORD, at most PIECE_MAX. */
static int
add_piece(const struct rows_writing *writing, uint64_t place, const uint8_t *piece, size_t size)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	uint8_t *bytes = malloc(size + 1);
	int err = bytes ? 0 : -ENOMEM;

	for (size_t i = 0; i < size && !err; i++)
		bytes[i % WORD * (size / WORD) + i / WORD] = piece[i];
	write_varint(&writer, writing->record);
	write_varint(&writer, place);
	if (!err) {
		write_bytes(&writer, bytes, size);
		err = writer.failed ? -ENOMEM : 0;
	}
	if (!err)
		err = memory_rows_add(writing->rows, MEMORY_PART_LOOPS, (uint32_t)writing->rows->count, writer.data,
		                      writer.size);
	if (!err)
		*writing->stored += writing->rows->rows[writing->rows->count - 1].size;
	writer_fini(&writer);
	free(bytes);
	return err;
}

static int
read_piece(int fd, uint64_t place, void *piece, size_t size)
{
	const ssize_t got = pread(fd, piece, size, (off_t)place);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EPROTO;
}

static int
add_texts(const struct rows_writing *writing, int fd, uint32_t bytes)
{
	const uint32_t all = (bytes + WORD - 1) / WORD * WORD;
	uint8_t *piece = malloc(PIECE_MAX);
	int err = piece ? 0 : -ENOMEM;

	for (uint32_t at = 0; at < all && !err; at += PIECE_MAX) {
		const size_t size = all - at < PIECE_MAX ? all - at : PIECE_MAX;

		err = read_piece(fd, sizeof(struct locality_header) + at, piece, size);
		if (!err)
			err = add_piece(writing, sizeof(struct locality_header) + at, piece, size);
	}
	free(piece);
	return err;
}

/* Up to *count chunks; it becomes how many there is room for. */
static int
add_chunks(const struct rows_writing *writing, int fd, uint32_t *count)
{
	struct locality_chunk *chunk = malloc(sizeof(*chunk));
	int err = chunk ? 0 : -ENOMEM;
	uint32_t i = 0;

	for (; i < *count && !err && *writing->stored < LOCALITY_ROWS_BYTES_MAX; i++) {
		const uint64_t place = CHUNKS_AT + (uint64_t)i * sizeof(*chunk);

		err = read_piece(fd, place, chunk, sizeof(*chunk));
		if (!err && chunk->used > LOCALITY_WORDS)
			chunk->used = 0; /* it was overwritten */
		if (!err && chunk->used)
			err = add_piece(writing, place, (const uint8_t *)chunk, CHUNK_HEAD + chunk->used * WORD);
	}
	*count = i;
	free(chunk);
	return err;
}

int
locality_rows_add(struct memory_rows *rows, int fd, uint32_t record, size_t *stored)
{
	const struct rows_writing writing = {rows, record, stored};
	struct locality_header header;
	uint32_t taken, count;
	int err = locality_header_read(fd, &header);

	if (err)
		return err;
	taken = header.taken < LOCALITY_CHUNKS ? header.taken : LOCALITY_CHUNKS;
	count = taken;
	err = add_texts(&writing, fd, header.text_bytes);
	if (!err)
		err = add_chunks(&writing, fd, &count);
	if (count < taken)
		header.taken = LOCALITY_CHUNKS + 1; /* full: the rest has no room */
	header.size = CHUNKS_AT + (uint64_t)count * LOCALITY_CHUNK_BYTES;
	/* last, for it has what was kept; a reader puts pieces where they belong */
	return err ? err : add_piece(&writing, 0, (const uint8_t *)&header, sizeof(header));
}

/* ---- reading ---- */

struct rows_reading {
	locality_rows_take *take;
	void *context;
	int fd; /* of the file that is put together */
	uint32_t record;
	uint64_t end;   /* of its last piece; 0: it has none yet */
	uint64_t bytes; /* of all records, as files */
};

/* The record is whole: make the next one's file empty. */
static int
end_record(struct rows_reading *reading)
{
	struct locality_record *record;
	int err;

	if (!reading->end)
		return 0;
	reading->bytes += reading->end;
	reading->end = 0;
	err = reading->bytes > READ_MAX ? -EPROTO : locality_record_read(reading->fd, &record);
	if (err)
		return err == -EAGAIN ? -EPROTO : err;
	err = reading->take(reading->context, record);
	if (!err && (ftruncate(reading->fd, 0) || ftruncate(reading->fd, FILE_SIZE)))
		err = -errno;
	return err;
}

/* The place of a row's piece in the file of *record, and its size; `reader` is before the piece. 0 or -DCPI_EDAMAGED.
 */
static int
decode_head(struct byte_reader *reader, uint32_t *record, uint64_t *place, size_t *size)
{
	*record = read_varint_u32(reader);
	*place = read_varint_below(reader, FILE_SIZE);
	*size = reader_left(reader);
	return reader->failed || *size % WORD || *size > PIECE_MAX || *size > FILE_SIZE - *place ? -DCPI_EDAMAGED : 0;
}

/* The piece as the file has it, which the caller frees. NULL: no memory. */
static uint8_t *
decode_piece(struct byte_reader *reader, size_t size)
{
	const uint8_t *bytes = read_bytes(reader, size);
	uint8_t *piece = malloc(size + 1);

	for (size_t i = 0; i < size && piece; i++)
		piece[i] = bytes[i % WORD * (size / WORD) + i / WORD];
	return piece;
}

static int
take_row(void *context, enum memory_part part, uint32_t number, const void *row, size_t row_size)
{
	struct rows_reading *reading = context;
	struct byte_reader reader;
	uint8_t *piece;
	uint32_t record;
	uint64_t place;
	size_t size;
	int err;

	(void)part;
	(void)number;
	reader_init(&reader, row, row_size);
	err = decode_head(&reader, &record, &place, &size);
	if (!err && record != reading->record)
		err = end_record(reading);
	if (err)
		return err;
	piece = decode_piece(&reader, size);
	if (!piece)
		return -ENOMEM;
	reading->record = record;
	if (pwrite(reading->fd, piece, size, (off_t)place) != (ssize_t)size)
		err = -ENOMEM;
	reading->end = place + size > reading->end ? place + size : reading->end;
	free(piece);
	return err;
}

int
locality_rows_read(struct profile *from, uint32_t epoch, locality_rows_take *take, void *context)
{
	struct rows_reading reading = {take, context, memfd_create("locality", MFD_CLOEXEC), 0, 0, 0};
	int err = reading.fd < 0 || ftruncate(reading.fd, FILE_SIZE) ? -errno : 0;

	if (!err)
		err = memory_rows_each(from, MEMORY_PART_LOOPS, epoch, take_row, &reading);
	if (!err)
		err = end_record(&reading);
	if (reading.fd >= 0)
		close(reading.fd);
	return err;
}

/* ---- builds ---- */

#define FOUND (-EEXIST) /* ends the walk */

/* Behind a build-id comes the loop's text, whose first words are its function, file and line. */
static bool
is_wanted_at(const struct locality_search *search, const uint8_t *build_id, const uint8_t *end)
{
	const size_t to_text = offsetof(struct locality_text, text) - offsetof(struct locality_text, build_id);
	const char *file, *line;
	char path[4096];

	if ((size_t)(end - build_id) <= to_text)
		return false;
	build_id += to_text;
	file = memchr(build_id, '\t', (size_t)(end - build_id));
	line = file ? memchr(file + 1, '\t', (size_t)((const char *)end - file - 1)) : NULL;
	/* the line ends before the piece does */
	if (!line || (size_t)(line - file) > sizeof(path) ||
	    !memchr(line + 1, '\t', (size_t)((const char *)end - line - 1)))
		return false;
	memcpy(path, file + 1, (size_t)(line - file - 1));
	path[line - file - 1] = '\0';
	return search->is_wanted(search->context, path, (uint32_t)strtoul(line + 1, NULL, 10));
}

/* Texts are searched for the build-id: one may have begun in the piece before. */
static bool
is_wanted_in(const struct locality_search *search, const uint8_t *piece, size_t size)
{
	const uint8_t *end = piece + size, *at = piece;

	while ((at = memmem(at, (size_t)(end - at), search->build_id, search->size))) {
		if (is_wanted_at(search, at, end))
			return true;
		at++;
	}
	return false;
}

static int
search_row(void *context, enum memory_part part, uint32_t number, const void *row, size_t row_size)
{
	const struct locality_search *search = context;
	struct byte_reader reader;
	uint8_t *piece;
	uint32_t record;
	uint64_t place;
	size_t size;
	bool is_found;
	int err;

	(void)part;
	(void)number;
	reader_init(&reader, row, row_size);
	err = decode_head(&reader, &record, &place, &size);
	if (err || place < sizeof(struct locality_header) || place >= CHUNKS_AT)
		return err;
	piece = decode_piece(&reader, size);
	is_found = piece && is_wanted_in(search, piece, size);
	err = !piece ? -ENOMEM : is_found ? FOUND : 0;
	free(piece);
	return err;
}

int
locality_rows_find(struct profile *from, const struct locality_search *search, uint32_t *epoch)
{
	struct locality_search searched = *search;
	uint32_t *epochs;
	size_t count;
	int err = memory_rows_epochs(from, MEMORY_PART_LOOPS, &epochs, &count);

	while (!err && count-- > 0) {
		err = memory_rows_each(from, MEMORY_PART_LOOPS, epochs[count], search_row, &searched);
		if (err == FOUND)
			*epoch = epochs[count];
	}
	free(epochs);
	return err == FOUND ? 0 : err ? err : -ENOENT;
}
