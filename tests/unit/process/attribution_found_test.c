/* What /proc said comes late: records were applied meanwhile. */
#include "process/attribution.h"

#include "tests/unit/process/story.h"

static void
find(struct story *story, uint64_t at, uint32_t pid, const char *comm)
{
	const struct found_process found = {.pid = pid, .time_ns = at * MS, .comm = comm};

	assert_int_equal(attribution_found_process(story->attribution, &found), 0);
}

static void
find_mapping(struct story *story, const char *path, uint64_t inode, uint64_t start, uint64_t length)
{
	const struct record_mmap mmap = {
		.path = path, .device_major = 8, .device_minor = 1, .inode = inode, .start = start, .length = length};

	attribution_found_mapping(story->attribution, &mmap);
}

/* All that is found of one process. */
static void
find_whole(struct story *story, uint64_t at, uint32_t pid, const char *comm, const char *path, uint64_t start)
{
	attribution_found_begin(story->attribution, false);
	find(story, at, pid, comm);
	find_mapping(story, path, 77, start, 0x2000);
	attribution_found_end(story->attribution, false);
}

static struct record
sample_at(uint64_t at, uint32_t pid, uint64_t address)
{
	struct record record = {.type = RECORD_SAMPLE, .mode = CPU_MODE_USER, .pid = pid, .tid = pid, .time = at * MS};

	record.sample.address = address;
	return record;
}

static void
what_was_mapped_since_lies_over_what_is_found(void **state)
{
	struct story *story = *state;

	story_map(story, 20, 42, "/lib/new.so", 1, 0x401000, 0x1000, 0);
	find_whole(story, 10, 42, "program", "/bin/program", 0x400000);
	assert_sample(story, 30, 42, 0x400010, "/bin/program", 0x10);
	assert_sample(story, 30, 42, 0x401010, "/lib/new.so", 0x10);
	assert_comm(story, 30, 42, 0x401010, "program");
}

static void
what_was_mapped_before_gives_way_to_what_is_found(void **state)
{
	struct story *story = *state;

	story_map(story, 5, 42, "/lib/old.so", 1, 0x401000, 0x1000, 0);
	story_map(story, 5, 42, "/lib/old.so", 1, 0x501000, 0x1000, 0);
	find_whole(story, 10, 42, "program", "/bin/program", 0x400000);
	assert_sample(story, 30, 42, 0x401010, "/bin/program", 0x1010);
	assert_unknown(story, 30, 42, 0x501010, UNKNOWN_ADDRESS);
}

static void
of_a_program_that_was_executed_since_nothing_is_found(void **state)
{
	struct story *story = *state;

	story_exec(story, 20, 42, "next");
	story_map(story, 20, 42, "/bin/next", 1, 0x500000, 0x1000, 0);
	find_whole(story, 10, 42, "before", "/bin/before", 0x400000);
	assert_sample(story, 30, 42, 0x500010, "/bin/next", 0x10);
	assert_comm(story, 30, 42, 0x500010, "next");
	assert_unknown(story, 30, 42, 0x400010, UNKNOWN_ADDRESS);
}

/* The number was given again before the reading of the process that had it was told. */
static void
of_a_process_that_began_since_nothing_is_found(void **state)
{
	struct story *story = *state;

	story_exec(story, 1, 1, "init");
	story_fork(story, 20, 1, 42);
	find_whole(story, 10, 42, "before", "/bin/before", 0x400000);
	assert_unknown(story, 30, 42, 0x400010, UNKNOWN_ADDRESS);
}

static void
a_process_that_ended_since_stays_so_and_has_its_late_samples(void **state)
{
	struct story *story = *state;

	story_rename(story, 5, 42, 42, "program");
	story_exit(story, 20, 42, 42);
	find_whole(story, 10, 42, "program", "/bin/program", 0x400000);
	assert_sample(story, 15, 42, 0x400010, "/bin/program", 0x10);
	attribution_expire(story->attribution, 5000 * MS);
	assert_int_equal(story_stats(story).processes, 0);
}

/* The next reader reports it again, from the beginning. */
static void
a_process_that_was_told_by_half_is_told_again(void **state)
{
	struct story *story = *state;

	attribution_found_begin(story->attribution, true);
	find(story, 10, 42, "program");
	find_mapping(story, "/bin/program", 77, 0x400000, 0x1000);
	attribution_found_process_end(story->attribution);
	find(story, 20, 42, "program");
	find_mapping(story, "/bin/program", 77, 0x400000, 0x1000);
	find_mapping(story, "/lib/library.so", 78, 0x500000, 0x1000);
	attribution_found_end(story->attribution, true);
	assert_sample(story, 30, 42, 0x400010, "/bin/program", 0x10);
	assert_sample(story, 30, 42, 0x500010, "/lib/library.so", 0x10);
}

static void
a_sample_waits_only_for_what_is_being_read(void **state)
{
	struct story *story = *state;
	const struct record record = sample_at(15, 42, 0x400010);
	struct sample_key key;

	assert_false(attribution_awaits(story->attribution, &record, UNKNOWN_PROCESS));
	attribution_found_begin(story->attribution, true);
	assert_true(attribution_awaits(story->attribution, &record, UNKNOWN_PROCESS));
	assert_true(attribution_awaits(story->attribution, &record, UNKNOWN_ADDRESS));
	assert_false(attribution_awaits(story->attribution, &record, UNKNOWN_NAMESPACE));
	find(story, 20, 42, "program");
	find_mapping(story, "/bin/program", 77, 0x400000, 0x1000);
	attribution_found_end(story->attribution, true);
	assert_false(attribution_awaits(story->attribution, &record, UNKNOWN_PROCESS));
	assert_int_equal(attribution_sample_late(story->attribution, &record, &key), 0);
	assert_string_equal(image_table_get(story->images, key.image)->path, "/bin/program");
}

/* Two programs may lie at one address. */
static void
a_sample_that_waited_is_not_that_of_the_program_after(void **state)
{
	struct story *story = *state;
	const struct record record = sample_at(15, 42, 0x400010);
	struct sample_key key;

	story_exec(story, 20, 42, "next");
	story_map(story, 20, 42, "/bin/next", 1, 0x400000, 0x1000, 0);
	assert_int_equal(attribution_sample_late(story->attribution, &record, &key), 1 + UNKNOWN_RECORDS);
}

/* In the maps of its moment, whatever the process has mapped or executed since, and after its end. */
static void
a_sample_that_is_looked_up_later_has_the_maps_of_its_moment(void **state)
{
	struct story *story = *state;
	const struct record record = sample_at(15, 42, 0x400010), elsewhere = sample_at(15, 42, 0x900000);
	struct attribution_moment moment = {.context = 7};
	struct sample_key key;

	assert_null(attribution_share_space(story->attribution, 43));
	story_exec(story, 10, 42, "program");
	story_map(story, 10, 42, "/bin/program", 77, 0x400000, 0x1000, 0);
	moment.space = attribution_share_space(story->attribution, 42);
	assert_non_null(moment.space);
	story_map(story, 20, 42, "/lib/over.so", 78, 0x400000, 0x1000, 0);
	assert_int_equal(attribution_sample_then(story->attribution, &moment, &record, &key), 0);
	assert_string_equal(image_table_get(story->images, key.image)->path, "/bin/program");
	assert_int_equal(key.offset, 0x10);
	assert_int_equal(key.context, 7);
	story_exec(story, 30, 42, "next");
	story_exit(story, 40, 42, 42);
	assert_int_equal(attribution_sample_then(story->attribution, &moment, &record, &key), 0);
	assert_string_equal(image_table_get(story->images, key.image)->path, "/bin/program");
	assert_int_equal(attribution_sample_then(story->attribution, &moment, &elsewhere, &key), 1 + UNKNOWN_ADDRESS);
	address_space_release(moment.space);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(what_was_mapped_since_lies_over_what_is_found),
		STORY_TEST(what_was_mapped_before_gives_way_to_what_is_found),
		STORY_TEST(of_a_program_that_was_executed_since_nothing_is_found),
		STORY_TEST(of_a_process_that_began_since_nothing_is_found),
		STORY_TEST(a_process_that_ended_since_stays_so_and_has_its_late_samples),
		STORY_TEST(a_process_that_was_told_by_half_is_told_again),
		STORY_TEST(a_sample_waits_only_for_what_is_being_read),
		STORY_TEST(a_sample_that_waited_is_not_that_of_the_program_after),
		STORY_TEST(a_sample_that_is_looked_up_later_has_the_maps_of_its_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
