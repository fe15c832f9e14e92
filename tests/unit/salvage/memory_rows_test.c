/* Tests of profile/memory_rows.h: what is written, what moves and goes with its slice, what else may lie there. */
#include "tests/unit/profile/raw.h"
#include "tests/unit/profile/slice_writer.h"

#include <errno.h>

#include "profile/memory_rows.h"
#include "profile/merge_database.h"
#include "salvage/salvage.h"

#define TIME(seconds) ((seconds)*SECOND_NS)
#define HOUR_S        3600
#define DAY_S         (24 * HOUR_S)
#define START_S       (1000 * DAY_S) /* midnight */

static const struct context one_context = {.comm = "wave5", .cgroup = "/", .label = "run.1"};
static const struct context *const contexts[] = {&one_context};

/* A profile of one object, with so many accesses; and with texts of two rows, most of which nothing refers to. */
static void
make_profile(struct memory_profile *profile, size_t accesses)
{
	char text[1001];

	assert_int_equal(memory_profile_init(profile), 0);
	profile->source = memory_profile_add_text(profile, "test");
	profile->totals.nodes = 2;
	*memory_profile_add_process(profile) = (struct memory_process){.pid = 1};
	*memory_profile_add_thread(profile) = (struct memory_thread){0, 1};
	*memory_profile_add_object(profile) = (struct memory_object){.address = 0x1000,
	                                                             .size = 4096,
	                                                             .died_ns = MEMORY_ALIVE,
	                                                             .site = MEMORY_NOTHING,
	                                                             .name = memory_profile_add_text(profile, "table"),
	                                                             .thread = MEMORY_NOTHING};
	for (size_t i = 0; i < accesses; i++)
		*memory_profile_add_access(profile) =
			(struct memory_access){.time_ns = i, .offset = i % 4096, .place = MEMORY_NOTHING, .weight = 1};
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%0*d", (int)sizeof(text) - 1, i);
		assert_int_not_equal(memory_profile_add_text(profile, text), MEMORY_NOTHING);
	}
}

/* Into a new slice, a sample, and a memory profile of so many accesses (0: none). */
static uint32_t
flush(struct writer *writer, uint64_t start_s, size_t accesses)
{
	static const struct tally_entry entry = {.offset = 0x1000, .count = 1};
	struct memory_rows rows = {NULL, 0, 0};
	struct memory_profile profile;
	struct slice slice = {.epoch = writer->epoch, .start_ns = TIME(start_s), .end_ns = TIME(start_s + 600)};
	struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.first_image = writer->known ? 2 : 0,
		.image_count = writer->known ? 0 : 2,
		.images = two_images,
		.first_context = writer->known ? 1 : 0,
		.context_count = writer->known ? 0 : 1,
		.contexts = contexts,
		.slice = &slice,
	};

	slice.event_count = 1;
	slice.events[0].samples = 1;
	if (accesses) {
		make_profile(&profile, accesses);
		assert_int_equal(memory_rows_make(&profile, &rows), 0);
		memory_profile_fini(&profile);
		batch.rows = rows.rows;
		batch.row_count = rows.count;
	}
	assert_int_equal(profile_flush(writer->profile, &batch), 0);
	memory_rows_fini(&rows);
	writer->known = true;
	return slice.id;
}

/* How many accesses the profile of epoch *epoch has; -errno. */
static int64_t
accesses_of(struct profile *from, uint32_t epoch)
{
	struct memory_profile profile;
	int err = memory_rows_read(from, &epoch, &profile);
	const int64_t count = err ? err : (int64_t)profile.access_count;

	memory_profile_fini(&profile);
	return count;
}

static uint32_t
begin_another(struct writer *writer, uint64_t start_s)
{
	static const char *const names[] = {"cpu-clock"};

	writer->epoch = begin_epoch(writer->profile, TIME(start_s), "", names, 1);
	return writer->epoch;
}

static void
the_newest_profile_or_that_of_an_epoch_is_read(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct memory_profile profile;
	uint32_t first = writer.epoch, second, third, epoch = 0;

	assert_int_equal(accesses_of(writer.profile, 0), -ENOENT);
	flush(&writer, START_S, 20000);
	second = begin_another(&writer, START_S + 600);
	flush(&writer, START_S + 600, 7);
	third = begin_another(&writer, START_S + 1200);
	flush(&writer, START_S + 1200, 0);
	assert_int_equal(accesses_of(writer.profile, 0), 7);
	assert_int_equal(accesses_of(writer.profile, first), 20000);
	assert_int_equal(accesses_of(writer.profile, second), 7);
	assert_int_equal(accesses_of(writer.profile, third), -ENOENT);
	assert_int_equal(memory_rows_read(writer.profile, &epoch, &profile), 0);
	assert_int_equal(epoch, second);
	assert_string_equal(memory_object_name(&profile, &profile.objects[0]), "table");
	memory_profile_fini(&profile);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

static void
rows_stay_when_slices_are_merged(void **state)
{
	static const struct retention_options options = {
		.hour_after_ns = TIME(HOUR_S), .day_after_ns = TIME(DAY_S), .blocks_max = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	int result;

	for (uint64_t i = 0; i < 7; i++)
		flush(&writer, START_S + 600 * i, i == 3 ? 50 : 0);
	while ((result = profile_merge_slices(writer.profile, &options, TIME(START_S + 2 * DAY_S))) > 0)
		;
	assert_int_equal(result, 0);
	assert_int_equal(accesses_of(writer.profile, 0), 50);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

static void
rows_are_dropped_with_their_slice(void **state)
{
	const struct retention_options options = {.max_age_ns = TIME(DAY_S), .blocks_max = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct raw_entry entry;
	struct raw raw;

	flush(&writer, START_S, 50);
	flush(&writer, START_S + 600, 0);
	flush(&writer, START_S + 1200, 0);
	while (profile_drop_old(writer.profile, &options, TIME(START_S + DAY_S + 700)) > 0)
		assert_clean(writer.profile);
	assert_int_equal(accesses_of(writer.profile, 0), -ENOENT);
	assert_clean(writer.profile);
	profile_close(writer.profile);
	raw_open(&raw, fixture->directory);
	assert_false(raw_entry_at(&raw, "memory", 0, &entry));
	raw_close(&raw);
}

static void
rows_are_copied_with_their_epoch(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct database_merge_options plain = {0};
	struct writer from, to = make_writer(fixture->directory);
	struct database_merge adoption;

	from = (struct writer){.profile = open_writer(fixture->other, 0)};
	from.epoch = begin_epoch_of(from.profile, "beta", TIME(START_S), "", (const char *const[]){"cpu-clock"}, 1);
	flush(&to, START_S, 3);
	flush(&from, START_S, 20000);
	assert_int_equal(profile_merge_database(to.profile, from.profile, &plain, &adoption), 0);
	assert_int_equal(accesses_of(to.profile, to.epoch), 3);
	assert_int_equal(accesses_of(to.profile, adoption.first), 20000);
	assert_clean(to.profile);
	profile_close(to.profile);
	profile_close(from.profile);
}

static void
rows_are_salvaged(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct salvage_result result;
	struct profile *saved;

	flush(&writer, START_S, 20000);
	profile_close(writer.profile);
	assert_int_equal(profile_salvage(fixture->directory, fixture->other, NULL, &result), 0);
	assert_true(result.memory.kept > 0);
	assert_int_equal(result.memory.kept, result.memory.expected);
	saved = open_reader(fixture->other);
	assert_int_equal(accesses_of(saved, 0), 20000);
	profile_close(saved);
}

/* Numbers count on from row to row: without one, others would be what they are not. */
static void
a_profile_without_one_of_its_rows_is_damaged(void **state)
{
	static const char first_texts[] = "\0\0\0\x1\x1\0\0\0\0";
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);

	flush(&writer, START_S, 10);
	profile_close(writer.profile);
	raw_delete_once(fixture->directory, "memory", first_texts, MEMORY_ROW_KEY_SIZE);
	writer.profile = open_reader(fixture->directory);
	assert_int_equal(accesses_of(writer.profile, 0), -DCPI_EDAMAGED);
	profile_close(writer.profile);
}

static void
an_older_database_has_no_rows(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct raw raw;

	flush(&writer, START_S, 0);
	profile_close(writer.profile);
	raw_open(&raw, fixture->directory);
	raw_put(&raw, "meta", "schema", 6, "\1\10", 2);
	assert_int_equal(mdb_drop(raw.txn, raw_table(&raw, "memory"), 1), 0);
	raw_close(&raw);
	writer.profile = open_reader(fixture->directory);
	assert_int_equal(accesses_of(writer.profile, 0), -ENOENT);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

static void
what_is_wrong_with_rows_is_complained_of(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct {
		const char *key;
		size_t size;
	} wrong[] = {
		{"\0\0\0\x1\0\0\0\0", 8},      /* too short */
		{"\0\0\0\x1\x63\0\0\0\0", 9},  /* no such part */
		{"\0\0\0\x1\x07\0\0\0\x9", 9}, /* its value is no frame */
	};
	struct writer writer = make_writer(fixture->directory);

	flush(&writer, START_S, 10);
	profile_close(writer.profile);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		raw_put_once(fixture->directory, "memory", wrong[i].key, wrong[i].size, "\1\5\4\1", 4);
		writer.profile = open_reader(fixture->directory);
		assert_int_equal(profile_check(writer.profile, NULL, NULL), 1);
		if (i > 0) /* the first one is before those of the slice */
			assert_int_equal(accesses_of(writer.profile, 0), -DCPI_EDAMAGED);
		profile_close(writer.profile);
		raw_delete_once(fixture->directory, "memory", wrong[i].key, wrong[i].size);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_newest_profile_or_that_of_an_epoch_is_read),
		CASE(rows_stay_when_slices_are_merged),
		CASE(rows_are_dropped_with_their_slice),
		CASE(rows_are_copied_with_their_epoch),
		CASE(rows_are_salvaged),
		CASE(a_profile_without_one_of_its_rows_is_damaged),
		CASE(an_older_database_has_no_rows),
		CASE(what_is_wrong_with_rows_is_complained_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
