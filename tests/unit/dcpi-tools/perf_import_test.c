/* Recordings laid out by hand become epochs: dcpi-tools/import/. */
#include "tests/unit/stream/perf_file_builder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/import/perf_import.h"
#include "profile/edges.h"
#include "profile/selection.h"
#include "tests/remove_tree.h"

/* Where begin_pipe() puts the sample_type of each attribute, and its flags. */
#define FIRST_TYPE  48
#define SECOND_TYPE 128
#define FLAGS       16 /* behind it */
#define FREQ        (UINT64_C(1) << 10)

struct perf_import_fixture {
	char directory[48];
	struct profile *profile;
	struct file_builder file;
	struct perf_import_report report;
	struct selection *selection;
};

static int
setup(void **state)
{
	const struct profile_options options = {.write = true};
	struct perf_import_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-import-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	assert_int_equal(profile_open(fixture->directory, &options, &fixture->profile), 0);
	begin_pipe(&fixture->file, false);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct perf_import_fixture *fixture = *state;

	selection_free(fixture->selection);
	profile_close(fixture->profile);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

static void
set_bits(struct file_builder *file, size_t at, uint64_t bits)
{
	uint64_t word;

	memcpy(&word, file->bytes + at, sizeof(word));
	word |= bits;
	memcpy(file->bytes + at, &word, sizeof(word));
}

static int
import(struct perf_import_fixture *fixture, const volatile sig_atomic_t *stop)
{
	const struct perf_import_request request = {
		.profile = fixture->profile,
		.fd = file_open(&fixture->file, fixture->file.size),
		.label = "test",
		.sums = true,
		.stop = stop,
	};
	int err = perf_import(&request, &fixture->report);

	close(request.fd);
	return err;
}

static void
import_whole(struct perf_import_fixture *fixture)
{
	static const volatile sig_atomic_t no_stop;
	const struct selection_request request = {.epoch = "test"};
	char why[256];

	assert_int_equal(import(fixture, &no_stop), 0);
	assert_int_equal(selection_read(fixture->profile, &request, &fixture->selection, why, sizeof(why)), 0);
	assert_int_equal(profile_check(fixture->profile, NULL, NULL), 0);
}

static uint64_t
count_of(const struct perf_import_fixture *fixture, const char *event, uint64_t offset)
{
	const struct selection *selection = fixture->selection;

	for (size_t i = 0; i < selection->count_count; i++)
		if (selection->counts[i].offset == offset &&
		    strcmp(selection->events[selection->counts[i].event].name, event) == 0)
			return selection->counts[i].count;
	return 0;
}

static void
samples_are_counted_by_event_and_place(void **state)
{
	struct perf_import_fixture *fixture = *state;

	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, 1000);
	put_sample(&fixture->file, 11, 0x400010, 2000);
	put_sample(&fixture->file, 21, 0x400010, 3000);
	put_sample(&fixture->file, 22, 0x900000, 4000); /* nothing is mapped there */
	import_whole(fixture);
	assert_int_equal(count_of(fixture, "cycles", 0x1010), 2);
	assert_int_equal(count_of(fixture, "instructions", 0x1010), 1);
	assert_int_equal(fixture->report.samples, 4);
	assert_int_equal(fixture->report.events[1].unknown[UNKNOWN_ADDRESS], 1);
	assert_int_equal(fixture->report.duration_ns, 3000);
	assert_int_equal(fixture->selection->event_count, 2); /* of fixed periods no sum is kept */
}

/* A recording of a machine of the other byte order. */
static void
the_byte_order_of_a_recording_does_not_matter(void **state)
{
	struct perf_import_fixture *fixture = *state;

	begin_pipe(&fixture->file, true);
	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, 1000);
	put_sample(&fixture->file, 22, 0x400020, 2000);
	import_whole(fixture);
	assert_int_equal(count_of(fixture, "cycles", 0x1010), 1);
	assert_int_equal(count_of(fixture, "instructions", 0x1020), 1);
	assert_string_equal(fixture->selection->images[0].image->path, "/bin/x");
	assert_int_equal(fixture->selection->images[0].image->inode, 777);
}

/* Their addresses are no addresses of the machine that was recorded. */
static void
samples_of_guests_and_hypervisors_are_unknown(void **state)
{
	static const uint8_t modes[] = {PERF_RECORD_MISC_GUEST_USER, PERF_RECORD_MISC_GUEST_KERNEL,
	                                PERF_RECORD_MISC_HYPERVISOR, PERF_RECORD_MISC_CPUMODE_UNKNOWN};
	struct perf_import_fixture *fixture = *state;

	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, 1000);
	for (size_t i = 0; i < sizeof(modes); i++) {
		put_sample(&fixture->file, 11, 0x400010, 2000);
		fixture->file.bytes[fixture->file.record + 4] = modes[i];
	}
	import_whole(fixture);
	assert_int_equal(count_of(fixture, "cycles", 0x1010), 1);
	assert_int_equal(fixture->report.events[0].samples, 5);
	assert_int_equal(fixture->report.events[0].unknown[UNKNOWN_GUEST], 3);
	assert_int_equal(fixture->report.events[0].unknown[UNKNOWN_MODE], 1);
}

/* The sample was taken before the program was mapped over by another, though it was written after that. */
static void
records_are_taken_in_the_order_of_time(void **state)
{
	struct perf_import_fixture *fixture = *state;

	put_mapping(&fixture->file, 0x400000, "/bin/x"); /* at 900 */
	put_sample(&fixture->file, 11, 0x400010, 5000);
	put_sample(&fixture->file, 11, 0x400010, 800);
	import_whole(fixture);
	assert_int_equal(count_of(fixture, "cycles", 0x1010), 1);
	assert_int_equal(fixture->report.events[0].unknown[UNKNOWN_PROCESS], 1);
	assert_int_equal(fixture->report.late, 0);
}

static void
samples_whose_period_varies_are_weighted_by_it(void **state)
{
	struct perf_import_fixture *fixture = *state;
	const struct selection_event *event;

	set_bits(&fixture->file, FIRST_TYPE + FLAGS, FREQ);
	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, 1000);
	put_sample(&fixture->file, 11, 0x400020, 2000);
	put_sample(&fixture->file, 11, 0x400010, 3000);
	import_whole(fixture);
	event = &fixture->selection->events[0];
	assert_int_equal(fixture->report.samples, 3);
	assert_int_equal(fixture->selection->event_count, 2); /* the sum of the first is no event of its own */
	assert_true(event->is_weighted);
	assert_int_equal(event->selected_taken, 3);
	assert_int_equal(event->period, 1000); /* their mean */
	assert_int_equal((uint64_t)event->selected_events, 3000);
	assert_int_equal(count_of(fixture, "cycles", 0x1010), 2);
	assert_int_equal(count_of(fixture, "cycles", 0x1020), 1);
}

/* The check of the database compares totals with counts. */
static void
sums_of_periods_that_are_no_periods_do_not_wrap(void **state)
{
	struct perf_import_fixture *fixture = *state;

	set_bits(&fixture->file, FIRST_TYPE + FLAGS, FREQ);
	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, UINT64_MAX);
	put_sample(&fixture->file, 11, 0x400020, UINT64_MAX - 1);
	put_sample(&fixture->file, 11, 0x10, UINT64_MAX); /* in no mapping */
	put_sample(&fixture->file, 11, 0x10, 2);
	import_whole(fixture);
	assert_int_equal(fixture->report.samples, 4);
}

struct branch {
	uint64_t from, to, flags;
};

static void
put_branch_sample(struct file_builder *file, const struct branch *branches, size_t count)
{
	put_sample(file, 11, 0x400010, 1000);
	put_number(file, count, 8);
	for (size_t i = 0; i < count; i++) {
		put_number(file, branches[i].from, 8);
		put_number(file, branches[i].to, 8);
		put_number(file, branches[i].flags, 8);
	}
	end_record(file);
}

static void
assert_edge(const struct profile_edge *edge, uint64_t from, uint64_t to, uint64_t count)
{
	assert_int_equal(edge->from, from);
	assert_int_equal(edge->to, to);
	assert_int_equal(edge->count, count);
}

/* Three branches, the latest first; between them two runs. One was executed and given up. */
static void
branch_stacks_are_edges_and_runs(void **state)
{
	static const struct branch branches[] = {
		{0x400120, 0x400200, 0}, {0x400500, 0x400600, 1 << 24}, {0x400180, 0x400100, 0},
		{0x400220, 0x400140, 0}, {0x400300, 0x7f0000001000, 0},
	};
	struct perf_import_fixture *fixture = *state;
	struct edge_set set;

	set_bits(&fixture->file, FIRST_TYPE, PERF_SAMPLE_BRANCH_STACK);
	set_bits(&fixture->file, SECOND_TYPE, PERF_SAMPLE_BRANCH_STACK);
	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_branch_sample(&fixture->file, branches, 5);
	put_branch_sample(&fixture->file, branches, 3);
	import_whole(fixture);
	assert_int_equal(edges_read(fixture->profile, 1, "branch-stacks", &set), 0);
	assert_int_equal(set.count, 3);
	assert_edge(&set.edges[0], 0x1120, 0x1200, 2);
	assert_edge(&set.edges[1], 0x1180, 0x1100, 2);
	assert_edge(&set.edges[2], 0x1220, 0x1140, 1);
	edge_set_fini(&set);
	assert_int_equal(edges_read(fixture->profile, 1, "branch-runs", &set), 0);
	assert_int_equal(set.count, 2);
	assert_edge(&set.edges[0], 0x1100, 0x1120, 2);
	assert_edge(&set.edges[1], 0x1140, 0x1180, 1);
	edge_set_fini(&set);
	assert_int_equal(count_of(fixture, "branch-stacks", 0x1120), 2);
	assert_int_equal(fixture->report.samples, 2);
}

static void
put_build_id(struct file_builder *file, const char *path)
{
	static const uint8_t build_id[24] = {0xab, 0xcd, 0xef};

	begin_record(file, 67, PERF_RECORD_MISC_USER);
	put_number(file, UINT32_MAX, 4);
	put_bytes(file, build_id, sizeof(build_id));
	put_text(file, path);
	end_record(file);
}

/* In a pipe they come last. */
static void
images_have_the_build_ids_that_come_behind_the_samples(void **state)
{
	struct perf_import_fixture *fixture = *state;
	const struct image *image;

	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, 1000);
	put_build_id(&fixture->file, "/bin/x");
	import_whole(fixture);
	image = fixture->selection->images[0].image;
	assert_int_equal(image->build_id_size, 20);
	assert_int_equal(image->build_id[0], 0xab);
	assert_string_equal(image->path, "/bin/x");
}

static void
a_recording_without_samples_is_no_epoch(void **state)
{
	static const volatile sig_atomic_t no_stop;
	struct perf_import_fixture *fixture = *state;
	struct profile_stats stats;

	put_mapping(&fixture->file, 0x400000, "/bin/x");
	assert_int_equal(import(fixture, &no_stop), 0);
	assert_int_equal(fixture->report.epoch.id, 0);
	assert_int_equal(profile_stats(fixture->profile, &stats), 0);
	assert_int_equal(stats.epochs, 0);
}

static void
what_is_told_to_stop_writes_nothing(void **state)
{
	static const volatile sig_atomic_t stop = SIGTERM;
	struct perf_import_fixture *fixture = *state;
	struct profile_stats stats;

	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, 1000);
	assert_int_equal(import(fixture, &stop), -EINTR);
	assert_int_equal(profile_stats(fixture->profile, &stats), 0);
	assert_int_equal(stats.epochs, 0);
}

static void
what_comes_before_the_damage_is_kept(void **state)
{
	static const volatile sig_atomic_t no_stop;
	struct perf_import_fixture *fixture = *state;
	size_t end;

	put_mapping(&fixture->file, 0x400000, "/bin/x");
	put_sample(&fixture->file, 11, 0x400010, 1000);
	end = fixture->file.size;
	put_number(&fixture->file, 0, 8);
	assert_int_equal(import(fixture, &no_stop), -DCPI_EDAMAGED);
	assert_int_equal(fixture->report.fault.offset, end);
	assert_int_equal(fixture->report.epoch.id, 1);
	assert_int_equal(fixture->report.samples, 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(samples_are_counted_by_event_and_place),
		TEST(the_byte_order_of_a_recording_does_not_matter),
		TEST(samples_of_guests_and_hypervisors_are_unknown),
		TEST(records_are_taken_in_the_order_of_time),
		TEST(samples_whose_period_varies_are_weighted_by_it),
		TEST(sums_of_periods_that_are_no_periods_do_not_wrap),
		TEST(branch_stacks_are_edges_and_runs),
		TEST(images_have_the_build_ids_that_come_behind_the_samples),
		TEST(a_recording_without_samples_is_no_epoch),
		TEST(what_is_told_to_stop_writes_nothing),
		TEST(what_comes_before_the_damage_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
