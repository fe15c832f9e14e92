#include "tests/unit/collectord/flusher_fixture.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"

static void
a_job_is_written_and_comes_back_empty(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result result = flush(fixture, &job);
	struct profile_stats stats;

	assert_true(result.done);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.entries, 1);
	assert_ptr_equal(result.job.tally, job.tally);
	assert_int_equal(tally_size(result.job.tally), 0);
	assert_int_equal(result.job.slice.id, 1);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.images, 1);
	assert_int_equal(stats.blocks, 1);
	tally_free(result.job.tally);
}

static void
only_what_is_new_goes_with_the_second_job(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job first = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result result = flush(fixture, &first);
	struct flush_job second = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	struct profile_stats stats;

	tally_free(result.job.tally);
	result = flush(fixture, &second);
	assert_true(result.done);
	assert_int_equal(result.job.slice.id, 1);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.contexts, 1);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	tally_free(result.job.tally);
}

static void
a_second_job_has_to_wait(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job first = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_job second = make_job(fixture, "/bin/b", 2, 5, 0);
	struct flush_result result;

	assert_int_equal(flusher_submit(fixture->flusher, &first, fixture->images, fixture->contexts, NULL), 0);
	/* also when it has been written already, until its result is taken */
	assert_int_equal(flusher_submit(fixture->flusher, &second, fixture->images, fixture->contexts, NULL), -EBUSY);
	assert_int_equal(flusher_wait(fixture->flusher, WAIT_NS), 0);
	assert_true(flusher_result(fixture->flusher, &result));
	tally_free(result.job.tally);
	tally_free(second.tally);
}

/* An epoch that is not there makes the write fail; once it is there, the same job goes through. */
static void
a_job_that_fails_is_kept_and_tried_again(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct epoch epoch = fixture->epoch;
	struct flush_result result;
	struct profile_stats stats;

	job.slice.epoch = fixture->epoch.id + 1;
	result = flush(fixture, &job);
	assert_false(result.done);
	assert_int_not_equal(result.error, 0);
	assert_int_equal(result.failures, 1);

	assert_int_equal(flusher_call(fixture->flusher, begin_epoch, &epoch), 0);
	do
		assert_int_equal(flusher_wait(fixture->flusher, WAIT_NS), 0);
	while (!flusher_result(fixture->flusher, &result) || !result.done);
	assert_int_equal(result.error, 0);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.slices, 1);
	tally_free(result.job.tally);
}

static int
has_symbols(struct profile *profile, void *context)
{
	return profile_has_symbols(profile, *(uint32_t *)context);
}

static void
count_message(void *context, enum log_level level, const char *message)
{
	(void)level;
	(void)message;
	++*(unsigned *)context;
}

/* Without a free descriptor nobody can read /proc/kallsyms. */
static void
the_kernel_gets_its_names_later_when_they_cannot_be_had_at_once(void **state)
{
	struct flusher_fixture *fixture = *state;
	const struct image kernel = {.kind = IMAGE_KERNEL, .path = "[kernel]"};
	struct flush_job first, second;
	struct flush_result result;
	struct rlimit before, none = {0};
	unsigned messages = 0;
	const struct log log = {.hook = count_message, .context = &messages, .limit = LOG_LEVEL_INFO};
	uint32_t number;

	if (geteuid() != 0)
		skip_because("only root sees the addresses of the kernel's functions");
	flusher_free(fixture->flusher);
	fixture->flusher = flusher_new(&(struct flusher_options){.profile = fixture->profile, .log = &log});
	assert_int_equal(image_table_intern(fixture->images, &kernel, &number), 0);
	first = make_job(fixture, "/bin/a", 1, 7, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(flusher_submit(fixture->flusher, &first, fixture->images, fixture->contexts, NULL), 0);
	while (!flusher_result(fixture->flusher, &result))
		usleep(1000); /* no poll(2) without descriptors */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(result.error, 0);
	assert_int_equal(flusher_call(fixture->flusher, has_symbols, &number), false);
	assert_int_equal(messages, 1);

	second = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	tally_free(result.job.tally);
	result = flush(fixture, &second);
	assert_int_equal(flusher_call(fixture->flusher, has_symbols, &number), true);
	assert_int_equal(messages, 1);
	tally_free(result.job.tally);
}

static void
freeing_writes_the_job_under_way(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct profile_stats stats;

	assert_int_equal(flusher_submit(fixture->flusher, &job, fixture->images, fixture->contexts, NULL), 0);
	flusher_free(fixture->flusher);
	fixture->flusher = NULL;
	assert_int_equal(profile_stats(fixture->profile, &stats), 0);
	assert_int_equal(stats.slices, 1);
}

static void
a_thread_that_waits_for_its_disk_is_alive(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result result;

	assert_true(flusher_is_alive(fixture->flusher));
	job.slice.epoch = fixture->epoch.id + 1; /* fails until it is there */
	result = flush(fixture, &job);
	assert_false(result.done);
	assert_true(flusher_is_alive(fixture->flusher));
}

/* Waits for a byte in the pipe, and says with another one that it does. */
static int
wait_for_word(struct profile *profile, void *context)
{
	const int *pipes = context;
	char word = 'w';

	(void)profile;
	if (write(pipes[1], &word, 1) != 1 || read(pipes[2], &word, 1) != 1)
		return -EIO;
	return 42;
}

static void
what_is_posted_runs_while_nobody_waits_and_jobs_go_after_it(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result flushed;
	int pipes[4], result = 0;
	char word = 'g';

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	assert_false(flusher_posted(fixture->flusher, &result));
	assert_int_equal(flusher_post(fixture->flusher, wait_for_word, pipes), 0);
	assert_int_equal(read(pipes[0], &word, 1), 1); /* it runs */
	assert_int_equal(flusher_post(fixture->flusher, wait_for_word, pipes), -EBUSY);
	assert_int_equal(flusher_submit(fixture->flusher, &job, fixture->images, fixture->contexts, NULL), 0);
	assert_false(flusher_posted(fixture->flusher, &result));
	assert_int_equal(flusher_wait(fixture->flusher, 20000000), -ETIMEDOUT);
	assert_int_equal(write(pipes[3], &word, 1), 1);
	do {
		assert_int_equal(flusher_wait(fixture->flusher, WAIT_NS), 0);
	} while (!flusher_result(fixture->flusher, &flushed));
	assert_true(flushed.done);
	assert_true(flusher_posted(fixture->flusher, &result));
	assert_int_equal(result, 42);
	assert_false(flusher_posted(fixture->flusher, &result)); /* once */
	tally_free(flushed.job.tally);
	for (int i = 0; i < 4; i++)
		close(pipes[i]);
}

/* A job with tables of its own is the session's last: the flusher frees them, and the next job counts from 0. */
static void
a_session_ends_with_the_job_that_has_its_tables(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result result = flush(fixture, &job);
	struct profile_stats stats;

	tally_free(result.job.tally);
	job = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	job.images = fixture->images;
	job.contexts = fixture->contexts;
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	result = flush(fixture, &job);
	assert_int_equal(result.error, 0);
	assert_null(result.job.images);
	tally_free(result.job.tally);
	job = make_job(fixture, "/bin/b", 2, 1, result.job.slice.id);
	result = flush(fixture, &job);
	assert_int_equal(result.error, 0);
	tally_free(result.job.tally);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.contexts, 1);
	assert_int_equal(stats.blocks, 2);
}

#define TABLE_IMAGES 1000
#define KEPT_EVERY   8

/* Fill the session's table with 3 MB of images; among them lies what stays. */
static void
fill_images(struct flusher_fixture *fixture, void *kept[TABLE_IMAGES / KEPT_EVERY])
{
	char path[3000];
	struct image image = {.kind = IMAGE_USER, .path = path};
	uint32_t number;

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (size_t i = 0; i < TABLE_IMAGES; i++) {
		image.inode = 100 + i;
		assert_int_equal(image_table_intern(fixture->images, &image, &number), 0);
		if (i % KEPT_EVERY == 0)
			kept[i / KEPT_EVERY] = malloc(16);
	}
}

static void
what_a_session_knew_is_given_back_at_its_end(void **state)
{
	struct flusher_fixture *fixture = *state;
	void *kept[TABLE_IMAGES / KEPT_EVERY];
	struct machine_memory before, after;
	struct flush_result result;
	struct flush_job job;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip_because("the sanitizer has an allocator of its own");
#endif
	fill_images(fixture, kept);
	job = make_job(fixture, "/bin/a", 1, 7, 0);
	result = flush(fixture, &job);
	tally_free(result.job.tally);
	job = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	job.images = fixture->images;
	job.contexts = fixture->contexts;
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	machine_memory(&before);
	result = flush(fixture, &job);
	machine_memory(&after);
	assert_int_equal(result.error, 0);
	tally_free(result.job.tally);
	assert_true(before.own_bytes >= after.own_bytes + (1 << 20));
	for (size_t i = 0; i < TABLE_IMAGES / KEPT_EVERY; i++)
		free(kept[i]);
}

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
	assert_int_equal(flusher_submit(fixture->flusher, &job, fixture->images, fixture->contexts, NULL), 0);
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
		cmocka_unit_test_setup_teardown(a_job_is_written_and_comes_back_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(only_what_is_new_goes_with_the_second_job, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_job_has_to_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(a_job_that_fails_is_kept_and_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(the_kernel_gets_its_names_later_when_they_cannot_be_had_at_once, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(freeing_writes_the_job_under_way, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_waits_for_its_disk_is_alive, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_posted_runs_while_nobody_waits_and_jobs_go_after_it, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_session_ends_with_the_job_that_has_its_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_session_knew_is_given_back_at_its_end, setup, teardown),
		cmocka_unit_test_setup_teardown(an_epoch_on_a_disk_that_hangs_begins_when_it_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(an_epoch_on_a_disk_that_hangs_and_then_fails_begins_with_the_next_job,
	                                        setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
