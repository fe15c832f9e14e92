#include "tests/unit/test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/flush_retention.h"
#include "collectord/machine.h"
#include "profile/compact.h"
#include "profile/profile.h"
#include "profile/profile_internal.h"

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define LIMIT     (UINT64_C(1) << 20)

struct flush_retention_fixture {
	char directory[64];
	struct profile *profile;
	uint32_t newest;
};

static void
add_slice(struct flush_retention_fixture *fixture, uint64_t start_ns, uint64_t end_ns)
{
	struct slice slice = {.epoch = 1, .start_ns = start_ns, .end_ns = end_ns, .event_count = 1};
	struct profile_batch batch = {.slice = &slice};

	assert_int_equal(profile_flush(fixture->profile, &batch), 0);
	fixture->newest = slice.id;
}

/* A slice of five hours ago, and one of the last two: the clock is believed. */
static int
setup(void **state)
{
	const struct profile_options options = {.write = true, .size_limit = 16 << 20};
	const uint64_t now_ns = machine_clock_ns(CLOCK_REALTIME);
	struct flush_retention_fixture *fixture = calloc(1, sizeof(*fixture));
	struct epoch epoch = {.start_ns = 1000, .event_count = 1};

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/flush_retention_test.XXXXXX");
	if (!mkdtemp(fixture->directory) || profile_open(fixture->directory, &options, &fixture->profile) ||
	    profile_begin_epoch(fixture->profile, &epoch))
		return -1;
	add_slice(fixture, now_ns - 5 * HOUR_NS, now_ns - 4 * HOUR_NS);
	add_slice(fixture, now_ns - 2 * HOUR_NS, now_ns);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct flush_retention_fixture *fixture = *state;
	char command[128];

	profile_close(fixture->profile);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	free(fixture);
	return system(command);
}

static uint64_t
slices(const struct flush_retention_fixture *fixture)
{
	struct profile_stats stats;

	assert_int_equal(profile_stats(fixture->profile, &stats), 0);
	return stats.slices;
}

static bool
step(struct flush_retention_fixture *fixture, struct flush_retention *retention, uint64_t max_age_ns, uint32_t slice,
     uint64_t used_bytes)
{
	const struct retention_options options = {.max_age_ns = max_age_ns, .size_limit = LIMIT};

	return flush_retention_step(retention, fixture->profile, &options, slice, used_bytes, NULL);
}

/* With nothing left to do; what is older than three hours is then too old, without a line in the log. */
static struct flush_retention
rest(struct flush_retention_fixture *fixture)
{
	struct flush_retention retention = {0};

	while (step(fixture, &retention, 24 * HOUR_NS, fixture->newest, 0))
		;
	assert_true(retention.is_done);
	assert_int_equal(slices(fixture), 2);
	return retention;
}

static void
nothing_is_looked_at_for_a_minute_after_there_was_nothing(void **state)
{
	struct flush_retention retention = rest(*state);

	assert_false(step(*state, &retention, 3 * HOUR_NS, 2, LIMIT));
	assert_int_equal(slices(*state), 2);
}

static void
after_a_minute_it_looks_again(void **state)
{
	struct flush_retention retention = rest(*state);

	retention.done_ns -= FLUSH_RETENTION_REST_NS;
	assert_true(step(*state, &retention, 3 * HOUR_NS, 2, 0));
	assert_int_equal(slices(*state), 1);
}

static void
a_slice_that_begins_makes_it_look(void **state)
{
	struct flush_retention retention = rest(*state);

	assert_true(step(*state, &retention, 3 * HOUR_NS, 3, 0));
	assert_int_equal(slices(*state), 1);
}

static void
more_in_use_than_may_be_makes_it_look(void **state)
{
	struct flush_retention retention = rest(*state);

	assert_true(step(*state, &retention, 3 * HOUR_NS, 2, LIMIT + 1));
	assert_int_equal(slices(*state), 1);
}

static void
as_long_as_there_was_something_it_looks(void **state)
{
	struct flush_retention retention = rest(*state);

	retention.is_done = false;
	assert_true(step(*state, &retention, 3 * HOUR_NS, 2, 0));
	assert_false(retention.is_done);
}

struct logged_lines {
	unsigned count;
	char last[512];
};

static void
note_line(void *context, enum log_level level, const char *message)
{
	struct logged_lines *logged = context;

	(void)level;
	logged->count++;
	snprintf(logged->last, sizeof(logged->last), "%s", message);
}

/* Until it rests; each round as after a minute. */
static void
retain_within(struct flush_retention_fixture *fixture, struct flush_retention *retention, uint64_t size_limit,
              const struct log *log)
{
	const struct retention_options options = {.size_limit = size_limit};

	do
		retention->done_ns = 0;
	while (flush_retention_step(retention, fixture->profile, &options, fixture->newest, size_limit + 1, log));
}

/* Once, until there is room or it is released. */
static void
at_the_limit_it_is_said_what_is_kept(void **state)
{
	struct flush_retention_fixture *fixture = *state;
	struct logged_lines logged = {0};
	const struct log log = {.hook = note_line, .context = &logged, .limit = LOG_LEVEL_INFO};
	struct flush_retention retention = {0};

	assert_int_equal(profile_keep_epoch(fixture->profile, 1, true), 0);
	retain_within(fixture, &retention, 1, &log);
	retain_within(fixture, &retention, 1, &log);
	assert_int_equal(slices(fixture), 2);
	assert_int_equal(logged.count, 1);
	assert_string_equal(logged.last,
	                    "the database is at its limit, and what is left in it is kept (1 epoch: dcpictl "
	                    "keep): release some (dcpictl keep --release EPOCH), or raise size_limit_mib");
	retain_within(fixture, &retention, 16 << 20, &log);
	retain_within(fixture, &retention, 1, &log);
	assert_int_equal(logged.count, 2);

	assert_int_equal(profile_keep_epoch(fixture->profile, 1, false), 0);
	retain_within(fixture, &retention, 1, &log);
	assert_int_equal(slices(fixture), 1);
	assert_int_equal(logged.count, 2);
}

#define KEYS_MAX 500

/* A slice of its own with `keys` samples, each in another block. */
static struct profile_batch
make_batch(size_t keys, struct slice *slice)
{
	static const struct image image = {.kind = IMAGE_USER, .inode = 1, .path = "/bin/a"};
	static const struct context context = {.comm = "a", .cgroup = "/", .label = ""};
	static const struct image *const images[] = {&image};
	static const struct context *const contexts[] = {&context};
	static struct tally_entry entries[KEYS_MAX];

	for (size_t i = 0; i < keys; i++)
		entries[i] = (struct tally_entry){.offset = i * 4096, .count = 1};
	*slice = (struct slice){
		.epoch = 1,
		.start_ns = machine_clock_ns(CLOCK_REALTIME),
		.end_ns = machine_clock_ns(CLOCK_REALTIME),
		.event_count = 1,
		.events[0].samples = keys,
	};
	return (struct profile_batch){
		.entries = entries,
		.entry_count = keys,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = contexts,
		.slice = slice,
	};
}

/* Images and contexts come with the first batch only. */
static void
without_names(struct profile_batch *batch)
{
	batch->first_image = batch->image_count;
	batch->first_context = batch->context_count;
	batch->image_count = batch->context_count = 0;
}

/* Another process that sees the database as it is now until it is killed. */
static pid_t
start_stuck_reader(const char *directory)
{
	const struct profile_options options = {.write = false};
	struct profile *profile;
	int ready[2];
	MDB_txn *txn;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a test fails */
		if (profile_open(directory, &options, &profile) || store_begin(&profile->store, false, &txn) ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* A database of 1 MiB, half full. */
static void
make_small(struct flush_retention_fixture *fixture, size_t keys)
{
	const struct retention_options options = {.size_limit = LIMIT};
	struct profile_batch batch;
	struct profile_stats stats;
	struct slice slice;

	assert_int_equal(profile_set_size_limit(fixture->profile, LIMIT), 0);
	batch = make_batch(keys, &slice);
	assert_int_equal(flush_retention_write(fixture->profile, &batch, &options, NULL), 0);
	do {
		batch = make_batch(keys, &slice);
		without_names(&batch);
		assert_int_equal(flush_retention_write(fixture->profile, &batch, &options, NULL), 0);
		assert_int_equal(profile_stats(fixture->profile, &stats), 0);
	} while (stats.used_bytes < LIMIT / 2);
}

/* Each flush takes so much of what is left that it is gone before the reader is known to be stuck. */
static void
no_flush_fails_for_a_reader_that_is_stuck(void **state)
{
	const struct retention_options options = {.size_limit = LIMIT};
	struct flush_retention_fixture *fixture = *state;
	const size_t keys[] = {10, 60, 150, 300, KEYS_MAX};
	struct profile_batch batch;
	struct slice slice;
	pid_t reader;

	make_small(fixture, 100);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		reader = start_stuck_reader(fixture->directory);
		for (unsigned flush = 0; flush < 40; flush++) {
			batch = make_batch(keys[i], &slice);
			without_names(&batch);
			assert_int_equal(flush_retention_write(fixture->profile, &batch, &options, NULL), 0);
		}
		kill(reader, SIGKILL);
		waitpid(reader, NULL, 0);
	}
	assert_int_equal(profile_check(fixture->profile, NULL, NULL), 0);
}

/* LMDB may find out at the very end that there is no room; nothing of it is on the disk then. */
static void
a_flush_without_room_leaves_no_doubt_whether_it_was_written(void **state)
{
	struct flush_retention_fixture *fixture = *state;
	struct profile_batch batch;
	struct slice slice;
	pid_t reader;
	int err;

	make_small(fixture, 10);
	for (size_t keys = 1; keys < 40; keys += 6) {
		reader = start_stuck_reader(fixture->directory);
		do {
			batch = make_batch(keys, &slice);
			without_names(&batch);
			err = profile_flush(fixture->profile, &batch);
		} while (!err);
		assert_int_equal(err, -DCPI_EFULL);
		assert_int_equal(profile_cut_reader_off(fixture->profile, true), 1);
		kill(reader, SIGKILL);
		waitpid(reader, NULL, 0);
		while (slices(fixture) > 10)
			assert_int_equal(
				profile_drop_old(fixture->profile, &(struct retention_options){.size_limit = 1}, 0), 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_looked_at_for_a_minute_after_there_was_nothing, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(after_a_minute_it_looks_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_slice_that_begins_makes_it_look, setup, teardown),
		cmocka_unit_test_setup_teardown(more_in_use_than_may_be_makes_it_look, setup, teardown),
		cmocka_unit_test_setup_teardown(as_long_as_there_was_something_it_looks, setup, teardown),
		cmocka_unit_test_setup_teardown(at_the_limit_it_is_said_what_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(no_flush_fails_for_a_reader_that_is_stuck, setup, teardown),
		cmocka_unit_test_setup_teardown(a_flush_without_room_leaves_no_doubt_whether_it_was_written, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
