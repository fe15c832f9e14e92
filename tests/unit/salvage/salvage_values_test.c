/* Tests of salvage/salvage.h: text of images, and times of labels. */
#include "tests/unit/profile/raw.h"
#include "tests/unit/profile/slice_writer.h"

#include "profile/captured.h"
#include "salvage/salvage.h"

#define LIBC 2 /* the database's number */

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
run_under(struct profile *profile, const char *label)
{
	const struct selection_request request = {.label = label};
	struct selection *selection = NULL;
	struct selection_run run;
	char why[256] = "";

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	run = selection->run;
	selection_free(selection);
	return run;
}

static void
assert_run(const struct selection_run *run, uint64_t begin_s, uint64_t end_s, uint64_t elapsed_s)
{
	assert_true(run->is_known);
	assert_int_equal(run->begin_ns, TIME(begin_s));
	assert_int_equal(run->end_ns, TIME(end_s));
	assert_int_equal(run->elapsed_ns, TIME(elapsed_s));
}

static void
a_salvaged_database_keeps_its_text(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const uint8_t page_of_a[CAPTURED_BLOCK_SIZE] = {'a', 'b'};
	struct writer writer = make_writer(fixture->directory);
	const struct captured_block block = {3, page_of_a};
	struct byte_writer parcel = BYTE_WRITER_INIT;
	struct captured_value value = {.block = block.number};
	const struct captured captured = {.parcels = &value, .parcel_count = 1};
	struct salvage_result result;
	struct captured_text text;
	struct profile *profile;
	uint32_t number;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	assert_int_equal(captured_parcel_encode(&block, 1, &parcel), 0);
	value.data = parcel.data;
	value.size = parcel.size;
	assert_int_equal(profile_put_captured(writer.profile, LIBC, &captured, 0), 0);
	writer_fini(&parcel);
	profile_close(writer.profile);
	assert_int_equal(profile_salvage(fixture->directory, fixture->other, NULL, &result), 0);
	assert_int_equal(result.text.kept, 1);
	assert_int_equal(result.text.expected, 1);
	profile = open_reader(fixture->other);
	assert_clean(profile);
	assert_int_equal(profile_find_image(profile, &libc_image, &number), 0);
	assert_int_equal(profile_get_text(profile, number, &text), 0);
	assert_int_equal(text.count, 1);
	assert_memory_equal(text.blocks[0].bytes, page_of_a, CAPTURED_BLOCK_SIZE);
	captured_text_fini(&text);
	profile_close(profile);
}

static void
times_are_salvaged(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct salvage_result result;
	struct selection_run run;
	uint32_t slice = 0;

	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){7, 0}, "run.1", START_S + 2, 8);
	flush(&writer, &slice, START_S, START_S + 10, (uint64_t[]){0, 7}, "run.2", START_S + 2, 3);
	profile_close(writer.profile);
	/* of a slice that is lost */
	raw_put_once(fixture->directory, "label_times", "\0\0\0\x9run.1", 9, "\1\5\4\1", 4);
	assert_int_equal(profile_salvage(fixture->directory, fixture->other, NULL, &result), 0);
	assert_int_equal(result.label_times.kept, 2);
	assert_int_equal(result.label_times.expected, 3);
	writer.profile = open_reader(fixture->other);
	run = run_under(writer.profile, "run.1");
	assert_run(&run, START_S + 2, START_S + 10, 8);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_salvaged_database_keeps_its_text),
		CASE(times_are_salvaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
