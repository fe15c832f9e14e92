/* The flusher on a disk that hangs. */
#include "tests/unit/collectord/flusher_fixture.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

/* A disk that does not answer until it is told to, and then perhaps with an error. */
static atomic_bool disk_hangs;
static atomic_int disk_error;

/* In the place of the C library's, for LMDB. */
int
fdatasync(int fd)
{
	const struct timespec moment = {.tv_nsec = 10000000};
	int error;

	while (disk_hangs)
		nanosleep(&moment, NULL);
	error = atomic_exchange(&disk_error, 0);
	if (!error)
		return fsync(fd);
	errno = error;
	return -1;
}

static int
count_epochs(struct profile *profile, void *context)
{
	struct profile_stats stats;
	int err = profile_stats(profile, &stats);

	*(uint64_t *)context = stats.epochs;
	return err;
}

/* Begin another epoch on a disk that hangs, and write a job when it does no more: it belongs to that epoch. */
static void
begin_on_a_hanging_disk(struct flusher_fixture *fixture, int error)
{
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct epoch late = fixture->epoch;
	struct flush_result result;
	uint64_t epochs;

	disk_hangs = true;
	assert_int_equal(flusher_begin_epoch(fixture->flusher, &late), -EINPROGRESS);
	assert_true(flusher_is_alive(fixture->flusher)); /* no reason to be killed */
	assert_int_equal(flusher_submit(fixture->flusher, &job, fixture->images, fixture->contexts), 0);
	disk_error = error;
	disk_hangs = false;
	do {
		assert_int_equal(flusher_wait(fixture->flusher, WAIT_NS), 0);
		assert_true(flusher_result(fixture->flusher, &result));
	} while (!result.done);
	assert_true(result.moved);
	assert_int_not_equal(result.job.slice.epoch, fixture->epoch.id);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	assert_int_equal(flusher_call(fixture->flusher, count_epochs, &epochs), 0);
	assert_int_equal(epochs, 2);
	tally_free(result.job.tally);
	/* The next job goes on with it, and is nothing new. */
	fixture->epoch.id = result.job.slice.epoch;
	job = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	result = flush(fixture, &job);
	assert_true(result.done);
	assert_false(result.moved);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	tally_free(result.job.tally);
}

static void
an_epoch_on_a_disk_that_hangs_begins_when_it_answers(void **state)
{
	begin_on_a_hanging_disk(*state, 0);
}

static void
an_epoch_on_a_disk_that_hangs_and_then_fails_begins_with_the_next_job(void **state)
{
	begin_on_a_hanging_disk(*state, EIO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_epoch_on_a_disk_that_hangs_begins_when_it_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(an_epoch_on_a_disk_that_hangs_and_then_fails_begins_with_the_next_job,
	                                        setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
