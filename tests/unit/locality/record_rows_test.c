/* Tests of locality/record_rows.h: what is written of a record is read again, within bounds; hostile rows are refused.
 */
#include "tests/unit/profile/slice_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "locality/record_rows.h"

#define CHUNKS_AT (sizeof(struct locality_header) + LOCALITY_TEXT_BYTES)
#define BUILD     "\xaa\xbb\xcc"
#define TEXT      "add\t/src/add.c\t12\t1\ta\t0\nRi\t8\t13\ta"

/* A file of a program that ended: one loop, and so many chunks of as many references each. */
static int
make_record(uint32_t pid, uint32_t chunks, uint32_t touches, bool is_random)
{
	struct locality_header header = {.magic = LOCALITY_MAGIC, .pid = pid, .taken = chunks};
	struct locality_text text = {.bytes = (sizeof(text) + sizeof(TEXT) + 7) / 8 * 8, .build_id_size = 3};
	struct locality_chunk *chunk = calloc(1, sizeof(*chunk));
	const int fd = memfd_create("record", MFD_CLOEXEC);

	header.text_bytes = text.bytes;
	memcpy(text.build_id, BUILD, 3);
	assert_non_null(chunk);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &text, sizeof(text), sizeof(header)), sizeof(text));
	assert_int_equal(pwrite(fd, TEXT, sizeof(TEXT), sizeof(header) + sizeof(text)), sizeof(TEXT));
	srandom(1);
	for (uint32_t i = 0; i < chunks; i++) {
		chunk->number = i + 1;
		chunk->tid = pid;
		chunk->used = 2 * touches;
		for (uint32_t k = 0; k < touches; k++) {
			chunk->words[2 * k] = locality_event_word(LOCALITY_TOUCH, 0, 0);
			chunk->words[2 * k + 1] =
				is_random ? (uint64_t)random() << 31 ^ (uint64_t)random() : i * 1000 + k;
		}
		assert_int_equal(pwrite(fd, chunk, sizeof(*chunk), (off_t)(CHUNKS_AT + i * sizeof(*chunk))),
		                 sizeof(*chunk));
	}
	assert_int_equal(ftruncate(fd, CHUNKS_AT + (size_t)LOCALITY_CHUNKS * sizeof(*chunk)), 0);
	free(chunk);
	return fd;
}

static void
flush_rows(struct writer *writer, const struct memory_rows *rows)
{
	struct slice slice = {.epoch = writer->epoch, .start_ns = START_NS, .end_ns = START_NS + 1, .event_count = 1};
	const struct profile_batch batch = {.slice = &slice, .rows = rows->rows, .row_count = rows->count};

	assert_int_equal(profile_flush(writer->profile, &batch), 0);
}

/* The records of an epoch as text: "77:3 " has the process 77, and three references. */
struct rows_seen {
	char text[128];
	uint64_t count, sum;
	bool is_full;
};

static int
count_reference(void *context, size_t loop, uint32_t reference, uint64_t address)
{
	struct rows_seen *seen = context;

	(void)loop;
	(void)reference;
	seen->count++;
	seen->sum += address;
	return 0;
}

static int
see_burst(void *context, uint32_t tid, uint64_t skipped, bool is_first)
{
	(void)context;
	(void)tid;
	(void)skipped;
	(void)is_first;
	return 0;
}

static int
see_record(void *context, struct locality_record *record)
{
	struct rows_seen *seen = context;
	const struct locality_visitor visitor = {.begin = see_burst, .refer = count_reference, .context = seen};
	const size_t length = strlen(seen->text);

	seen->count = seen->sum = 0;
	seen->is_full = locality_record_is_full(record);
	assert_int_equal(locality_record_visit(record, &visitor), 0);
	snprintf(seen->text + length, sizeof(seen->text) - length, "%u:%u ", locality_record_pid(record),
	         (unsigned)seen->count);
	locality_record_free(record);
	return 0;
}

static void
records_of_a_run_are_read_again(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const int first = make_record(77, 2, 3, false), second = make_record(78, 1, 4, false);
	struct memory_rows rows = {NULL, 0, 0};
	struct rows_seen seen = {{0}, 0, 0, false};
	size_t stored = 0;

	assert_int_equal(locality_rows_read(writer.profile, writer.epoch, see_record, &seen), -ENOENT);
	assert_int_equal(locality_rows_add(&rows, first, 0, &stored), 0);
	assert_int_equal(locality_rows_add(&rows, second, 1, &stored), 0);
	flush_rows(&writer, &rows);
	assert_int_equal(locality_rows_read(writer.profile, writer.epoch, see_record, &seen), 0);
	assert_string_equal(seen.text, "77:6 78:4 ");
	assert_int_equal(seen.sum, 0 + 1 + 2 + 3);
	assert_false(seen.is_full);
	assert_clean(writer.profile);
	memory_rows_fini(&rows);
	profile_close(writer.profile);
	close(first);
	close(second);
}

/* Random addresses do not compress: 512 chunks of some 60 KiB do not fit, and a process of the run behind it has none.
 */
static void
what_is_stored_of_a_run_is_bounded(void **state)
{
	const int fd = make_record(77, LOCALITY_CHUNKS, 4000, true);
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct memory_rows rows = {NULL, 0, 0};
	struct rows_seen seen = {{0}, 0, 0, false};
	size_t stored = 0;

	assert_int_equal(locality_rows_add(&rows, fd, 0, &stored), 0);
	assert_in_range(stored, LOCALITY_ROWS_BYTES_MAX, LOCALITY_ROWS_BYTES_MAX + 2 * LOCALITY_CHUNK_BYTES);
	flush_rows(&writer, &rows);
	assert_int_equal(locality_rows_read(writer.profile, writer.epoch, see_record, &seen), 0);
	assert_true(seen.is_full);
	assert_int_equal(seen.count % 4000, 0);
	assert_in_range(seen.count, 500000, 2000000);
	memory_rows_fini(&rows);
	assert_int_equal(locality_rows_add(&rows, fd, 1, &stored), 0);
	assert_int_equal(rows.count, 2); /* texts and header */
	memory_rows_fini(&rows);
	profile_close(writer.profile);
	close(fd);
}

static bool
is_line_12(const void *context, const char *file, uint32_t line)
{
	return strcmp(file, context) == 0 && line == 12;
}

/* The newest epoch with a loop of that build, whose file and line are asked for. */
static void
loops_are_found_by_their_build(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const int fd = make_record(77, 1, 1, false);
	struct memory_rows rows = {NULL, 0, 0};
	struct locality_search search = {(const uint8_t *)BUILD, 3, is_line_12, "/src/add.c"};
	static const char *const names[] = {"cpu-clock"};
	const uint32_t first = writer.epoch;
	uint32_t epoch = 0;
	size_t stored = 0;

	assert_int_equal(locality_rows_find(writer.profile, &search, &epoch), -ENOENT);
	assert_int_equal(locality_rows_add(&rows, fd, 0, &stored), 0);
	flush_rows(&writer, &rows);
	assert_int_equal(locality_rows_find(writer.profile, &search, &epoch), 0);
	assert_int_equal(epoch, first);
	writer.epoch = begin_epoch(writer.profile, START_NS + 2, "", names, 1);
	flush_rows(&writer, &rows);
	assert_int_equal(locality_rows_find(writer.profile, &search, &epoch), 0);
	assert_int_equal(epoch, writer.epoch);
	search.context = "/src/other.c";
	assert_int_equal(locality_rows_find(writer.profile, &search, &epoch), -ENOENT);
	search = (struct locality_search){(const uint8_t *)"\xaa\xbb\xcd", 3, is_line_12, "/src/add.c"};
	assert_int_equal(locality_rows_find(writer.profile, &search, &epoch), -ENOENT);
	memory_rows_fini(&rows);
	profile_close(writer.profile);
	close(fd);
}

/* Rows that no writer of ours makes: what they say is refused, or no record. */
static void
hostile_rows_are_refused(void **state)
{
	static const struct {
		const char *row;
		size_t size;
		int err;
	} hostile[] = {
		{"", 0, -DCPI_EDAMAGED},
		{"\0\0", 2, 0},                                                /* an empty piece: no record */
		{"\0\0\1\2\3", 5, -DCPI_EDAMAGED},                             /* no whole words */
		{"\0\xff\xff\xff\xff\xf\0\0\0\0\0\0\0\0", 14, -DCPI_EDAMAGED}, /* behind every file's end */
		{"\0\0\0\0\0\0\0\0\0\0", 10, -EPROTO},                         /* a header without a magic number */
	};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	static const char *const names[] = {"cpu-clock"};

	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		struct memory_rows rows = {NULL, 0, 0};
		struct rows_seen seen = {{0}, 0, 0, false};

		writer.epoch = begin_epoch(writer.profile, START_NS + i, "", names, 1);
		assert_int_equal(memory_rows_add(&rows, MEMORY_PART_LOOPS, 0, hostile[i].row, hostile[i].size), 0);
		flush_rows(&writer, &rows);
		assert_int_equal(locality_rows_read(writer.profile, writer.epoch, see_record, &seen), hostile[i].err);
		assert_string_equal(seen.text, "");
		memory_rows_fini(&rows);
	}
	profile_close(writer.profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(records_of_a_run_are_read_again),
		CASE(what_is_stored_of_a_run_is_bounded),
		CASE(loops_are_found_by_their_build),
		CASE(hostile_rows_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
