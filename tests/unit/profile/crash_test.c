#include "tests/unit/profile/fixture.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "profile/selection.h"

#define KEYS  300
#define KILLS 25

/*
 * Add one to each of KEYS counts, again and again, a byte into `acknowledged` after each flush that succeeded. The
 * first flush makes a slice, the others merge into its blocks.
 */
static void
flush_forever(const char *directory, int acknowledged)
{
	static struct tally_entry entries[KEYS];
	const struct profile_options options = {.write = true};
	struct slice slice = {.start_ns = 1, .end_ns = 2, .event_count = 1, .events[0].samples = KEYS};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = KEYS,
		.image_count = 2,
		.images = two_images,
		.context_count = 2,
		.contexts = two_contexts,
		.slice = &slice,
	};
	struct epoch epoch = {.event_count = 1, .events[0].name = "cpu-clock"};
	struct profile *profile;

	for (size_t i = 0; i < KEYS; i++)
		entries[i] = (struct tally_entry){.offset = i * 1000, .count = 1};
	if (profile_open(directory, &options, &profile) || profile_begin_epoch(profile, &epoch))
		_exit(1);
	slice.epoch = epoch.id;
	for (;;) {
		if (profile_flush(profile, &batch) || write(acknowledged, "x", 1) != 1)
			_exit(1);
		batch.first_image = batch.first_context = 2;
		batch.image_count = batch.context_count = 0;
	}
}

static void
sleep_microseconds(long microseconds)
{
	const struct timespec time = {.tv_nsec = microseconds * 1000};

	nanosleep(&time, NULL);
}

/* Kill a flushing process after its first flush and then some; how many flushes it could report. */
static uint64_t
kill_while_flushing(const char *directory, long microseconds)
{
	char bytes[512];
	uint64_t acknowledged = 0;
	int pipe_ends[2], status;
	ssize_t size;
	pid_t child;

	assert_int_equal(pipe(pipe_ends), 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test fails */
		close(pipe_ends[0]);
		flush_forever(directory, pipe_ends[1]);
	}
	close(pipe_ends[1]);
	size = read(pipe_ends[0], bytes, 1);
	assert_int_equal(size, 1);
	acknowledged++;
	sleep_microseconds(microseconds);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	while ((size = read(pipe_ends[0], bytes, sizeof(bytes))) > 0)
		acknowledged += (uint64_t)size;
	close(pipe_ends[0]);
	return acknowledged;
}

/* All keys have one count, which is returned. */
static uint64_t
assert_all_equal(const char *directory)
{
	struct profile *profile = open_reader(directory);
	struct selection *selection = NULL;
	uint64_t count;
	char why[256];

	assert_int_equal(profile_check(profile, NULL, NULL), 0);
	assert_int_equal(
		selection_read(profile, &(struct selection_request){.epoch = "all"}, &selection, why, sizeof(why)), 0);
	assert_int_equal(selection->count_count, KEYS);
	count = selection->counts[0].count;
	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(selection->counts[i].count, count);
	assert_int_equal(selection->events[0].totals.samples, count * KEYS);
	selection_free(selection);
	profile_close(profile);
	return count;
}

static void
a_kill_at_any_moment_loses_no_flush_and_tears_none(void **state)
{
	const struct profile_fixture *fixture = *state;
	uint64_t before = 0;

	srand(1997);
	for (int i = 0; i < KILLS; i++) {
		uint64_t acknowledged = kill_while_flushing(fixture->directory, rand() % 20000);
		uint64_t count = assert_all_equal(fixture->directory);

		/* The last one may have been written and not reported. */
		assert_in_range(count - before, acknowledged, acknowledged + 1);
		before = count;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_kill_at_any_moment_loses_no_flush_and_tears_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
