/*
 * locality_rows_fuzz - records of loops in a database that any rows are in
 *
 * The input is a list of rows: the kind (one byte), its length (two bytes), and what is in the row. The kind says of
 * which record it is and whether it is a piece of the header, of texts, of a chunk, or no piece at all.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locality/record.h"
#include "locality/record_rows.h"
#include "profile/codec.h"
#include "profile/profile_internal.h"
#include "tests/fuzz/touch_record.h"
#include "tests/remove_tree.h"

#define WORD     8u
#define REFS_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profile *profile;
static struct epoch epoch;
static struct slice slice;
static char directory[] = "/tmp/dcpi-fuzz-XXXXXX";

static void
clean_up(void)
{
	profile_close(profile);
	remove_tree(directory);
}

static void
open_once(void)
{
	const struct profile_options options = {.write = true};
	struct profile_batch batch = {.slice = &slice};

	if (profile)
		return;
	require(mkdtemp(directory) != NULL);
	require(profile_open(directory, &options, &profile) == 0);
	require(mdb_env_set_flags(profile->store.env, MDB_NOSYNC, 1) == 0);
	epoch.start_ns = slice.start_ns = UINT64_C(1000000000000000000);
	slice.end_ns = slice.start_ns + 1;
	require(profile_begin_epoch(profile, &epoch) == 0);
	slice.epoch = epoch.id;
	require(profile_flush(profile, &batch) == 0);
	atexit(clean_up);
}

/* The piece of a record that a row has by its kind: where it is in the file, and its bytes. */
static size_t
make_piece(unsigned kind, const uint8_t *given, size_t size, uint8_t *piece, uint64_t *place)
{
	const uint64_t chunks_at = sizeof(struct locality_header) + LOCALITY_TEXT_BYTES;
	struct locality_header header = {.magic = LOCALITY_MAGIC};
	size_t whole = (size + WORD - 1) / WORD * WORD;

	memset(piece, 0, LOCALITY_CHUNK_BYTES);
	memcpy(piece, given, size);
	switch (kind & 3) {
	case 0:
		memcpy((char *)&header + sizeof(header.magic), given,
		       size < sizeof(header) - sizeof(header.magic) ? size : sizeof(header) - sizeof(header.magic));
		memcpy(piece, &header, sizeof(header));
		*place = 0;
		whole = sizeof(header);
		break;
	case 1:
		*place = sizeof(header) + (kind >> 6) * WORD;
		break;
	default:
		*place = chunks_at + (uint64_t)(kind >> 6) * LOCALITY_CHUNK_BYTES;
	}
	return whole;
}

/* The row at `reader`; false: there is no further one. */
static bool
add_row(struct byte_reader *reader, struct memory_rows *rows)
{
	static uint8_t piece[LOCALITY_CHUNK_BYTES], bytes[LOCALITY_CHUNK_BYTES];
	const unsigned kind = read_u8(reader), low = read_u8(reader), high = read_u8(reader);
	const size_t left = reader_left(reader), asked = low | high << 8, size = asked < left ? asked : left;
	const uint8_t *given = read_bytes(reader, size);
	struct byte_writer row = BYTE_WRITER_INIT;

	if (reader->failed)
		return false;
	if ((kind & 3) == 3) {
		write_bytes(&row, given, size);
	} else {
		uint64_t place;
		const size_t whole = make_piece(kind, given, size, piece, &place);

		for (size_t i = 0; i < whole; i++)
			bytes[i % WORD * (whole / WORD) + i / WORD] = piece[i];
		write_varint(&row, kind >> 2 & 3);
		write_varint(&row, place);
		write_bytes(&row, bytes, whole);
	}
	require(!row.failed);
	require(memory_rows_add(rows, MEMORY_PART_LOOPS, (uint32_t)rows->count, row.data ? row.data : given,
	                        row.size) == 0);
	writer_fini(&row);
	return true;
}

/* In the place of those before. */
static void
store_rows(const struct memory_rows *rows)
{
	MDB_txn *txn;

	require(mdb_txn_begin(profile->store.env, NULL, 0, &txn) == 0);
	require(mdb_drop(txn, profile->store.tables[TABLE_MEMORY], 0) == 0);
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct memory_row_key number = {slice.id, MEMORY_PART_LOOPS, i};
		uint8_t encoded[MEMORY_ROW_KEY_SIZE];
		MDB_val key = {sizeof(encoded), encoded}, value = {rows->rows[i].size, rows->rows[i].value};

		memory_row_key_encode(&number, encoded);
		require(mdb_put(txn, profile->store.tables[TABLE_MEMORY], &key, &value, 0) == 0);
	}
	require(mdb_txn_commit(txn) == 0);
}

static int
begin(void *context, uint32_t tid, uint64_t skipped, bool is_first)
{
	(void)context;
	(void)tid;
	(void)skipped;
	(void)is_first;
	return 0;
}

static int
refer(void *context, size_t loop, uint32_t reference, uint64_t address)
{
	uint32_t *count = context;

	(void)loop;
	(void)reference;
	(void)address;
	return ++*count < REFS_MAX ? 0 : -1;
}

static int
take_record(void *context, struct locality_record *record)
{
	uint32_t count = 0;
	const struct locality_visitor visitor = {.begin = begin, .refer = refer, .context = &count};

	(void)context;
	(void)locality_record_visit(record, &visitor);
	locality_record_free(record);
	return 0;
}

static bool
is_wanted(const void *context, const char *file, uint32_t line)
{
	(void)context;
	return strlen(file) == line;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t build_id[2] = {0xaa, 0xbb};
	const struct locality_search search = {.build_id = build_id, .size = sizeof(build_id), .is_wanted = is_wanted};
	struct memory_rows rows = {NULL, 0, 0};
	struct byte_reader reader;
	uint32_t found;

	open_once();
	reader_init(&reader, data, size);
	while (add_row(&reader, &rows))
		;
	store_rows(&rows);
	(void)locality_rows_read(profile, epoch.id, take_record, NULL);
	if (locality_rows_find(profile, &search, &found) == 0)
		require(found == epoch.id);
	memory_rows_fini(&rows);
	return 0;
}
