/* Tests of profile/label_times.h, and of what a selection says of it. */
#include "tests/unit/profile/raw.h"
#include "tests/unit/profile/slice_writer.h"

#include <errno.h>

#include "profile/label_times.h"
#include "profile/merge_database.h"

#define TIME(seconds) ((seconds)*SECOND_NS)
#define HOUR_S        3600
#define DAY_S         (24 * HOUR_S)
#define START_S       (1000 * DAY_S) /* midnight */

static const struct context one_context = {.comm = "wave5", .cgroup = "/", .label = "run.1"};
static const struct context two_context = {.comm = "wave5", .cgroup = "/", .label = "run.2"};
static const struct context *const contexts[] = {&one_context, &two_context};

/*
 * Into slice *slice (0: a new one, from `start_s` on) so many samples of each label; and the time of a label, which
 * began at `begin_s` (0: no time).
 */
static void
flush(struct writer *writer, uint32_t *slice, uint64_t start_s, uint64_t end_s, const uint64_t samples[2],
      const char *label, uint64_t begin_s, uint64_t elapsed_s)
{
	const struct profile_label_time time = {label, TIME(begin_s), TIME(begin_s + elapsed_s), TIME(elapsed_s)};
	struct tally_entry entries[2];
	struct slice more = {.id = *slice, .epoch = writer->epoch, .start_ns = TIME(start_s), .end_ns = TIME(end_s)};
	struct profile_batch batch = {
		.entries = entries,
		.first_image = writer->known ? 2 : 0,
		.image_count = writer->known ? 0 : 2,
		.images = two_images,
		.first_context = writer->known ? 2 : 0,
		.context_count = writer->known ? 0 : 2,
		.contexts = contexts,
		.slice = &more,
		.times = &time,
		.time_count = begin_s > 0,
	};

	more.event_count = 1;
	for (uint32_t i = 0; i < 2; i++) {
		if (samples[i] == 0)
			continue;
		entries[batch.entry_count++] =
			(struct tally_entry){.offset = 0x1000, .count = samples[i], .context = i};
		more.events[0].samples += samples[i];
	}
	assert_int_equal(profile_flush(writer->profile, &batch), 0);
	writer->known = true;
	*slice = more.id;
}

static struct selection_run
run_of(struct profile *profile, const struct selection_request *request)
{
	struct selection *selection = NULL;
	struct selection_run run;
	char why[256] = "";

	assert_int_equal(selection_read(profile, request, &selection, why, sizeof(why)), 0);
	run = selection->run;
	selection_free(selection);
	return run;
}

static struct selection_run
run_under(struct profile *profile, const char *label)
{
	return run_of(profile, &(struct selection_request){.label = label});
}

static void
assert_run(const struct selection_run *run, uint64_t begin_s, uint64_t end_s, uint64_t elapsed_s)
{
	assert_true(run->is_known);
	assert_int_equal(run->begin_ns, TIME(begin_s));
	assert_int_equal(run->end_ns, TIME(end_s));
	assert_int_equal(run->elapsed_ns, TIME(elapsed_s));
}

/* ---- as bytes ---- */

static void
a_time_is_read_as_it_was_written(void **state)
{
	const struct profile_label_time time = {"", TIME(1795270000), TIME(1795270300), TIME(7)};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_label_time read;

	(void)state;
	label_time_encode(&time, &writer);
	assert_int_equal(label_time_decode(writer.data, writer.size, &read), 0);
	assert_int_equal(read.begin_ns, time.begin_ns);
	assert_int_equal(read.end_ns, time.end_ns);
	assert_int_equal(read.elapsed_ns, time.elapsed_ns);
	for (size_t size = 0; size < writer.size; size++)
		assert_int_equal(label_time_decode(writer.data, size, &read), -DCPI_EDAMAGED);
	write_u8(&writer, 0);
	assert_int_equal(label_time_decode(writer.data, writer.size, &read), -DCPI_EDAMAGED);
	writer_fini(&writer);
}

static void
a_time_that_cannot_be_is_damage(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_label_time time = {"", 5, 9, 0}, read;

	(void)state;
	label_time_encode(&time, &writer);
	assert_int_equal(label_time_decode(writer.data, writer.size, &read), -DCPI_EDAMAGED);
	writer_reset(&writer);
	write_u8(&writer, 1);
	write_varint(&writer, UINT64_MAX - 1);
	write_varint(&writer, 2); /* its end lies past all time */
	write_varint(&writer, 1);
	assert_int_equal(label_time_decode(writer.data, writer.size, &read), -DCPI_EDAMAGED);
	assert_int_equal(label_time_decode("\2\5\4\1", 4, &read), -DCPI_EDAMAGED); /* of another format */
	writer_fini(&writer);
}

static void
a_key_is_a_slice_and_a_label(void **state)
{
	uint8_t data[LABEL_TIMES_KEY_MAX + 1];
	struct label_times_key key;
	char longest[RECORD_LABEL_SIZE + 10];

	(void)state;
	assert_int_equal(label_times_key_encode(0x01020304, "run.1", data), 9);
	assert_memory_equal(data, "\1\2\3\4run.1", 9);
	assert_int_equal(label_times_key_decode(data, 9, &key), 0);
	assert_int_equal(key.slice, 0x01020304);
	assert_string_equal(key.label, "run.1");
	assert_int_equal(label_times_key_encode(1, "", data), 0);
	for (size_t size = 0; size < LABEL_TIMES_KEY_MIN; size++)
		assert_int_equal(label_times_key_decode("\1\2\3\4run.1", size, &key), -DCPI_EDAMAGED);
	assert_int_equal(label_times_key_decode("\1\2\3\4r\0n", 7, &key), -DCPI_EDAMAGED);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(label_times_key_encode(1, longest, data), LABEL_TIMES_KEY_MAX);
	assert_int_equal(label_times_key_decode(data, LABEL_TIMES_KEY_MAX, &key), 0);
	assert_int_equal(strlen(key.label), RECORD_LABEL_SIZE - 1); /* as in a context */
	data[LABEL_TIMES_KEY_MAX] = 'x';
	assert_int_equal(label_times_key_decode(data, sizeof(data), &key), -DCPI_EDAMAGED);
}

/* ---- selected ---- */

/* Two runs in one slice of ten minutes: each has its own time, however often it was flushed. */
static void
a_label_has_the_time_of_its_runs_and_not_of_its_slice(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct selection_run run;
	uint32_t slice = 0;

	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){7, 0}, "run.1", START_S + 2, 8);
	flush(&writer, &slice, START_S + 10, START_S + 600, (uint64_t[]){3, 0}, "run.1", START_S + 10, 4);
	flush(&writer, &slice, START_S + 10, START_S + 600, (uint64_t[]){0, 5}, "run.2", START_S + 20, 1);
	run = run_under(writer.profile, "run.1");
	assert_run(&run, START_S + 2, START_S + 14, 12);
	run = run_under(writer.profile, "run.2");
	assert_run(&run, START_S + 20, START_S + 21, 1);
	run = run_under(writer.profile, "run.*"); /* one after another or not: their times add up */
	assert_run(&run, START_S + 2, START_S + 21, 13);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

static void
several_labels_are_read_in_one_pass(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct selection_request one = {.label = "run.1"}, two = {.label = "run.2"}, none = {.label = "walk"};
	const struct selection_request all = {.epoch = "all"};
	const struct selection_request *const requests[] = {&one, &none, &two, &all};
	struct writer writer = make_writer(fixture->directory);
	struct selection *selections[4];
	uint32_t slice = 0;

	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){7, 1}, "run.1", START_S + 2, 8);
	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){0, 1}, "run.2", START_S + 3, 5);
	assert_int_equal(selection_read_each(writer.profile, requests, 4, selections), 0);
	assert_run(&selections[0]->run, START_S + 2, START_S + 10, 8);
	assert_null(selections[1]);
	assert_run(&selections[2]->run, START_S + 3, START_S + 8, 5);
	assert_false(selections[3]->run.is_known); /* it is of no label */
	assert_int_equal(selections[3]->run.elapsed_ns, 0);
	for (size_t i = 0; i < 4; i++)
		selection_free(selections[i]);
	profile_close(writer.profile);
}

/* Also where it slept: a slice that has nothing of it but time. */
static void
a_run_over_several_slices_is_counted_once(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const struct selection_request late = {.label = "run.1", .since_ns = TIME(START_S + 650)};
	uint32_t slices[3] = {0};
	struct selection_run run;

	flush(&writer, &slices[0], START_S, START_S + 600, (uint64_t[]){7, 0}, "run.1", START_S + 590, 10);
	flush(&writer, &slices[1], START_S + 600, START_S + 1200, (uint64_t[]){0, 1}, "run.1", START_S + 600, 600);
	flush(&writer, &slices[2], START_S + 1200, START_S + 1800, (uint64_t[]){2, 0}, "run.1", START_S + 1200, 3);
	run = run_under(writer.profile, "run.1");
	assert_run(&run, START_S + 590, START_S + 1203, 613);
	run = run_of(writer.profile, &late); /* slices are taken whole */
	assert_run(&run, START_S + 600, START_S + 1203, 603);
	profile_close(writer.profile);
}

static void
an_epoch_that_does_not_know_makes_the_time_unknown(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const names[] = {"cpu-clock"};
	struct writer writer = make_writer(fixture->directory);
	uint32_t slice = 0, older = 0;
	struct selection_run run;

	flush(&writer, &older, START_S, START_S + 600, (uint64_t[]){7, 9}, NULL, 0, 0);
	writer.epoch = begin_epoch(writer.profile, TIME(START_S + 600), "", names, 1);
	flush(&writer, &slice, START_S + 600, START_S + 1200, (uint64_t[]){7, 0}, "run.1", START_S + 600, 5);
	run = run_under(writer.profile, "run.1");
	assert_false(run.is_known);
	run = run_under(writer.profile, "run.2");
	assert_false(run.is_known);
	run = run_of(writer.profile, &(struct selection_request){.label = "run.1", .epoch = "latest"});
	assert_run(&run, START_S + 600, START_S + 605, 5);
	profile_close(writer.profile);
}

static void
times_without_a_label_or_a_length_are_passed_by(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	uint32_t slice = 0;

	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){7, 0}, "", START_S, 5);
	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){7, 0}, "run.1", START_S, 0);
	assert_false(run_under(writer.profile, "run.1").is_known);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

/* ---- with their slices ---- */

/* Six slices become one: between any two steps the time is the same, and so it is at the end. */
static void
times_are_merged_with_their_slices(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	uint32_t slice;
	struct selection_run run;
	int result;

	for (uint64_t i = 0; i < 7; i++) {
		slice = 0;
		flush(&writer, &slice, START_S + 600 * i, START_S + 600 * (i + 1), (uint64_t[]){1, 1}, "run.1",
		      START_S + 600 * i + 100, 50 + i);
		flush(&writer, &slice, START_S + 600 * i, START_S + 600 * (i + 1), (uint64_t[]){1, 1}, "run.2",
		      START_S + 600 * i, 600);
	}
	while ((result = profile_merge_slices(writer.profile, &merge_options, TIME(START_S + 2 * DAY_S))) > 0)
		assert_clean(writer.profile);
	assert_int_equal(result, 0);
	assert_int_equal(slice_count(writer.profile), 2);
	run = run_under(writer.profile, "run.1");
	assert_run(&run, START_S + 100, START_S + 3600 + 156, 7 * 50 + 21);
	run = run_under(writer.profile, "run.2");
	assert_run(&run, START_S, START_S + 4200, 4200);
	run = run_of(writer.profile, &(struct selection_request){.label = "run.1", .until_ns = TIME(START_S + 1)});
	assert_run(&run, START_S + 100, START_S + 3000 + 155, 6 * 50 + 15);
	profile_close(writer.profile);
}

static void
times_are_dropped_with_their_slices(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const struct retention_options options = {.max_age_ns = TIME(DAY_S), .blocks_max = 1};
	uint32_t first = 0, second = 0, third = 0;
	struct selection_run run;
	struct raw_entry entry;
	struct raw raw;

	flush(&writer, &first, START_S, START_S + 600, (uint64_t[]){1, 1}, "run.1", START_S + 10, 590);
	flush(&writer, &first, START_S, START_S + 600, (uint64_t[]){0, 1}, "run.2", START_S + 10, 5);
	flush(&writer, &second, START_S + 600, START_S + 1200, (uint64_t[]){1, 0}, "run.1", START_S + 600, 7);
	flush(&writer, &third, START_S + 1200, START_S + 1800, (uint64_t[]){1, 0}, NULL, 0, 0);
	while (profile_drop_old(writer.profile, &options, TIME(START_S + DAY_S + 700)) > 0)
		assert_clean(writer.profile);
	assert_int_equal(slice_count(writer.profile), 2);
	run = run_under(writer.profile, "run.1");
	assert_run(&run, START_S + 600, START_S + 607, 7);
	profile_close(writer.profile);
	raw_open(&raw, fixture->directory);
	assert_true(raw_entry_at(&raw, "label_times", 0, &entry));
	assert_int_equal(entry.key[3], second);
	free(entry.key);
	free(entry.value);
	assert_false(raw_entry_at(&raw, "label_times", 1, &entry));
	raw_close(&raw);
}

static void
times_are_adopted_with_their_slices_and_once(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct database_merge_options plain = {0};
	struct writer from, to = make_writer(fixture->directory);
	uint32_t own = 0, slice = 0;
	struct database_merge adoption;
	struct selection_run run;

	from = (struct writer){.profile = open_writer(fixture->other, 0)};
	from.epoch = begin_epoch_of(from.profile, "beta", TIME(START_S), "", (const char *const[]){"cpu-clock"}, 1);
	flush(&to, &own, START_S, START_S + 600, (uint64_t[]){1, 0}, "run.1", START_S + 1, 2);
	flush(&from, &slice, START_S, START_S + 600, (uint64_t[]){1, 1}, "run.1", START_S + 100, 30);
	assert_int_equal(profile_merge_database(to.profile, from.profile, &plain, &adoption), 0);
	assert_int_equal(profile_merge_database(to.profile, from.profile, &plain, &adoption), 0);
	run = run_under(to.profile, "run.1");
	assert_run(&run, START_S + 1, START_S + 130, 32);
	run = run_of(to.profile, &(struct selection_request){.label = "run.1", .host = "beta"});
	assert_run(&run, START_S + 100, START_S + 130, 30);
	flush(&from, &slice, START_S, START_S + 700, (uint64_t[]){1, 1}, "run.1", START_S + 600, 10);
	assert_int_equal(profile_merge_database(to.profile, from.profile, &plain, &adoption), 0);
	assert_int_equal(adoption.updated, 1);
	run = run_under(to.profile, "run.1");
	assert_run(&run, START_S + 1, START_S + 610, 42);
	assert_clean(to.profile);
	profile_close(to.profile);
	profile_close(from.profile);
}

/* ---- what else may lie there ---- */

static void
an_older_database_has_no_times(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	uint32_t slice = 0;
	struct raw raw;

	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){7, 0}, NULL, 0, 0);
	profile_close(writer.profile);
	raw_open(&raw, fixture->directory);
	raw_put(&raw, "meta", "schema", 6, "\1\6", 2);
	assert_int_equal(mdb_drop(raw.txn, raw_table(&raw, "label_times"), 1), 0);
	raw_close(&raw);
	writer.profile = open_reader(fixture->directory);
	assert_false(run_under(writer.profile, "run.1").is_known);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

static void
what_is_wrong_with_times_is_complained_of(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct {
		const char *key;
		size_t size;
		const char *value;
	} wrong[] = {
		{"\0\0\0\x1", 4, "\1\5\4\1"},      /* no label */
		{"\0\0\0\x9run.1", 9, "\1\5\4\1"}, /* no such slice */
		{"\0\0\0\x1run.3", 9, "\1\5\4\0"}, /* of no length */
	};
	struct writer writer = make_writer(fixture->directory);
	uint32_t slice = 0;

	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){7, 0}, "run.1", START_S + 2, 8);
	profile_close(writer.profile);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		raw_put_once(fixture->directory, "label_times", wrong[i].key, wrong[i].size, wrong[i].value, 4);
		writer.profile = open_reader(fixture->directory);
		assert_int_equal(profile_check(writer.profile, NULL, NULL), 1);
		profile_close(writer.profile);
		raw_delete_once(fixture->directory, "label_times", wrong[i].key, wrong[i].size);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_is_read_as_it_was_written),
		cmocka_unit_test(a_time_that_cannot_be_is_damage),
		cmocka_unit_test(a_key_is_a_slice_and_a_label),
		CASE(a_label_has_the_time_of_its_runs_and_not_of_its_slice),
		CASE(several_labels_are_read_in_one_pass),
		CASE(a_run_over_several_slices_is_counted_once),
		CASE(an_epoch_that_does_not_know_makes_the_time_unknown),
		CASE(times_without_a_label_or_a_length_are_passed_by),
		CASE(times_are_merged_with_their_slices),
		CASE(times_are_dropped_with_their_slices),
		CASE(times_are_adopted_with_their_slices_and_once),
		CASE(an_older_database_has_no_times),
		CASE(what_is_wrong_with_times_is_complained_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
