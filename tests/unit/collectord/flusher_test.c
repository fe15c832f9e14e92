#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/flusher.h"
#include "profile/aside.h"
#include "profile/handle.h"
#include "collectord/machine.h"

#define WAIT_NS UINT64_C(20000000000)

struct fixture {
	char directory[64];
	struct profile *profile;
	struct image_table *images;
	struct context_table *contexts;
	struct flusher *flusher;
	struct epoch epoch;
};

static int
begin_epoch(struct profile *profile, void *context)
{
	return profile_begin_epoch(profile, context);
}

static int
setup(void **state)
{
	const struct profile_options options = {.write = true, .size_limit = 16 << 20};
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/flusher_test.XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	if (profile_open(fixture->directory, &options, &fixture->profile))
		return -1;
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	fixture->flusher = flusher_new(fixture->profile, NULL, NULL);
	fixture->epoch.start_ns = 1000;
	fixture->epoch.event_count = 1;
	snprintf(fixture->epoch.events[0].name, EVENT_NAME_SIZE, "cpu-clock");
	fixture->epoch.events[0].available = true;
	*state = fixture;
	return flusher_call(fixture->flusher, begin_epoch, &fixture->epoch);
}

static int
teardown(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	flusher_free(fixture->flusher);
	profile_close(fixture->profile);
	context_table_free(fixture->contexts);
	image_table_free(fixture->images);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	free(fixture);
	return system(command);
}

/* A job with `count` samples of one new image. */
static struct flush_job
make_job(struct fixture *fixture, const char *path, uint64_t inode, uint64_t count, uint32_t slice)
{
	const struct image image = {.kind = IMAGE_USER, .inode = inode, .path = path};
	const struct context context = {.comm = "test", .cgroup = "/", .label = ""};
	struct sample_key key = {.offset = 0x1234};
	struct flush_job job = {
		.tally = tally_new(16),
		.slice = {.id = slice, .epoch = fixture->epoch.id, .start_ns = 1000, .end_ns = 2000, .event_count = 1},
	};

	assert_int_equal(image_table_intern(fixture->images, &image, &key.image), 0);
	assert_int_equal(context_table_intern(fixture->contexts, &context, &key.context), 0);
	assert_int_equal(tally_add(job.tally, &key, count), 0);
	job.slice.events[0].samples = count;
	return job;
}

static struct flush_result
flush(struct fixture *fixture, const struct flush_job *job)
{
	struct flush_result result;

	assert_int_equal(flusher_submit(fixture->flusher, job, fixture->images, fixture->contexts), 0);
	assert_int_equal(flusher_wait(fixture->flusher, WAIT_NS), 0);
	assert_true(flusher_result(fixture->flusher, &result));
	return result;
}

static int
check(struct profile *profile, void *context)
{
	(void)context;
	return (int)profile_check(profile, NULL, NULL);
}

static int
count_blocks(struct profile *profile, void *context)
{
	struct profile_stats *stats = context;

	return profile_stats(profile, stats);
}

static void
a_job_is_written_and_comes_back_empty(void **state)
{
	struct fixture *fixture = *state;
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
	struct fixture *fixture = *state;
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
	struct fixture *fixture = *state;
	struct flush_job first = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_job second = make_job(fixture, "/bin/b", 2, 5, 0);
	struct flush_result result;

	assert_int_equal(flusher_submit(fixture->flusher, &first, fixture->images, fixture->contexts), 0);
	/* also when it has been written already, until its result is taken */
	assert_int_equal(flusher_submit(fixture->flusher, &second, fixture->images, fixture->contexts), -EBUSY);
	assert_int_equal(flusher_wait(fixture->flusher, WAIT_NS), 0);
	assert_true(flusher_result(fixture->flusher, &result));
	tally_free(result.job.tally);
	tally_free(second.tally);
}

/* An epoch that is not there makes the write fail; once it is there, the same job goes through. */
static void
a_job_that_fails_is_kept_and_tried_again(void **state)
{
	struct fixture *fixture = *state;
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
	struct fixture *fixture = *state;
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
	fixture->flusher = flusher_new(fixture->profile, NULL, &log);
	assert_int_equal(image_table_intern(fixture->images, &kernel, &number), 0);
	first = make_job(fixture, "/bin/a", 1, 7, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(flusher_submit(fixture->flusher, &first, fixture->images, fixture->contexts), 0);
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
	struct fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct profile_stats stats;

	assert_int_equal(flusher_submit(fixture->flusher, &job, fixture->images, fixture->contexts), 0);
	flusher_free(fixture->flusher);
	fixture->flusher = NULL;
	assert_int_equal(profile_stats(fixture->profile, &stats), 0);
	assert_int_equal(stats.slices, 1);
}

/* Images, contexts and the epoch are all brought to the new one; only what the old one had is gone. */
static void
a_deleted_database_is_followed_by_another_with_the_same_epoch(void **state)
{
	struct fixture *fixture = *state;
	struct flush_job first = make_job(fixture, "/bin/a", 1, 7, 0), second;
	struct profile_stats stats;
	struct flush_result result;
	char command[128];

	fixture->epoch.start_ns = 500;
	snprintf(fixture->epoch.label, sizeof(fixture->epoch.label), "kept");
	assert_int_equal(flusher_begin_epoch(fixture->flusher, &fixture->epoch), 0);
	assert_int_equal(fixture->epoch.id, 2);
	first.slice.epoch = 2;
	result = flush(fixture, &first);
	assert_true(result.done);
	assert_false(result.moved);
	tally_free(result.job.tally);
	second = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);

	snprintf(command, sizeof(command), "rm %s/*", fixture->directory);
	assert_int_equal(system(command), 0);
	result = flush(fixture, &second);
	assert_true(result.done);
	assert_true(result.moved);
	assert_int_equal(result.job.slice.epoch, 1);
	assert_int_equal(result.job.slice.id, 1);
	tally_free(result.job.tally);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.epochs, 1);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.blocks, 1);

	second = make_job(fixture, "/bin/a", 1, 3, result.job.slice.id);
	second.slice.epoch = result.job.slice.epoch;
	result = flush(fixture, &second);
	assert_true(result.done);
	assert_false(result.moved);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	tally_free(result.job.tally);
}

/* The record of the epoch, as no version writes it. */
static int
damage_epoch(struct profile *profile, void *context)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	MDB_txn *txn;
	int err;

	write_u8(&writer, 0xff);
	err = store_begin(&profile->store, true, &txn);
	if (!err)
		err = store_end(&profile->store, txn,
		                store_put(&profile->store, txn, TABLE_EPOCHS, *(uint32_t *)context, &writer));
	writer_fini(&writer);
	return err;
}

/* What the job holds goes to a new one, with all that it refers to. */
static void
a_damaged_database_is_put_aside_and_no_count_is_lost(void **state)
{
	struct fixture *fixture = *state;
	struct flush_job first = make_job(fixture, "/bin/a", 1, 7, 0), second;
	struct profile_stats stats;
	struct flush_result result;
	struct aside aside;

	assert_int_equal(flusher_begin_epoch(fixture->flusher, &fixture->epoch), 0);
	first.slice.epoch = fixture->epoch.id;
	result = flush(fixture, &first);
	tally_free(result.job.tally);
	second = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);

	assert_int_equal(flusher_call(fixture->flusher, damage_epoch, &fixture->epoch.id), 0);
	result = flush(fixture, &second);
	assert_true(result.done);
	assert_true(result.moved);
	tally_free(result.job.tally);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.epochs, 1);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.blocks, 1);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	assert_int_equal(profile_find_aside(fixture->directory, &aside), 1);
}

/* Again within a minute: it is not moved about, but what is sampled is kept. */
static void
what_is_damaged_again_at_once_waits(void **state)
{
	struct fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result result;

	assert_int_equal(flusher_begin_epoch(fixture->flusher, &fixture->epoch), 0);
	job.slice.epoch = fixture->epoch.id;
	assert_int_equal(flusher_call(fixture->flusher, damage_epoch, &fixture->epoch.id), 0);
	result = flush(fixture, &job);
	assert_true(result.done);
	tally_free(result.job.tally);
	assert_int_equal(flusher_call(fixture->flusher, damage_epoch, &result.job.slice.epoch), 0);
	job = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	job.slice.epoch = result.job.slice.epoch;
	result = flush(fixture, &job);
	assert_false(result.done);
	assert_int_equal(result.error, -DCPI_EDAMAGED);
}

static void
a_thread_that_waits_for_its_disk_is_alive(void **state)
{
	struct fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result result;

	assert_true(flusher_is_alive(fixture->flusher));
	job.slice.epoch = fixture->epoch.id + 1; /* fails until it is there */
	result = flush(fixture, &job);
	assert_false(result.done);
	assert_true(flusher_is_alive(fixture->flusher));
}

static void
what_is_too_old_goes_after_a_flush(void **state)
{
	const struct retention_options options = {.max_age_ns = WAIT_NS};
	struct fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct profile_stats stats;
	struct flush_result result;

	flusher_retain(fixture->flusher, &options);
	result = flush(fixture, &job);
	tally_free(result.job.tally);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.slices, 1); /* the newest stays, however old */
	job = make_job(fixture, "/bin/a", 1, 7, 0);
	/* after an hour of collecting the clock is believed */
	job.slice.end_ns = machine_clock_ns(CLOCK_REALTIME);
	job.slice.start_ns = job.slice.end_ns - UINT64_C(3700000000000);
	result = flush(fixture, &job);
	tally_free(result.job.tally);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.slices, 1);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
}

/* The clock stands in 2038, say, and the last flush was this year. */
static void
a_clock_that_leapt_makes_nothing_old(void **state)
{
	const struct retention_options options = {.max_age_ns = WAIT_NS};
	struct fixture *fixture = *state;
	struct profile_stats stats;

	flusher_retain(fixture->flusher, &options);
	for (int i = 0; i < 2; i++) {
		struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
		struct flush_result result = flush(fixture, &job);

		tally_free(result.job.tally);
	}
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.slices, 2);
}

static int
make_small(struct profile *profile, void *context)
{
	(void)context;
	return profile_set_size_limit(profile, 512 << 10);
}

/* A job of 500 blocks, about 15 KiB of the database. */
static struct flush_job
make_large_job(struct fixture *fixture)
{
	struct flush_job job = make_job(fixture, "/bin/a", 1, 1, 0);
	struct sample_key key = {0};

	tally_free(job.tally);
	job.tally = tally_new(1024);
	for (key.offset = 0; key.offset < 500 * 4096; key.offset += 4096)
		assert_int_equal(tally_add(job.tally, &key, 1), 0);
	job.slice.events[0].samples = 500;
	return job;
}

static void
a_full_database_loses_its_oldest_slices_only(void **state)
{
	const struct retention_options never = {.blocks_max = 100};
	struct fixture *fixture = *state;
	struct profile_stats stats;

	flusher_retain(fixture->flusher, &never);
	assert_int_equal(flusher_call(fixture->flusher, make_small, NULL), 0);
	for (int i = 0; i < 60; i++) {
		struct flush_job job = make_large_job(fixture);
		struct flush_result result = flush(fixture, &job);

		assert_int_equal(result.error, 0);
		assert_true(result.done);
		tally_free(result.job.tally);
	}
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_in_range(stats.slices, 5, 40);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
}

/* A job with tables of its own is the session's last: the flusher frees them, and the next job counts from 0. */
static void
a_session_ends_with_the_job_that_has_its_tables(void **state)
{
	struct fixture *fixture = *state;
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
fill_images(struct fixture *fixture, void *kept[TABLE_IMAGES / KEPT_EVERY])
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
	struct fixture *fixture = *state;
	void *kept[TABLE_IMAGES / KEPT_EVERY];
	struct machine_memory before, after;
	struct flush_result result;
	struct flush_job job;

#ifdef __SANITIZE_ADDRESS__
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
	struct fixture *fixture = *state;
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
	assert_int_equal(flusher_submit(fixture->flusher, &job, fixture->images, fixture->contexts), 0);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_job_is_written_and_comes_back_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(only_what_is_new_goes_with_the_second_job, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_job_has_to_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(a_job_that_fails_is_kept_and_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_clock_that_leapt_makes_nothing_old, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_database_is_put_aside_and_no_count_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_damaged_again_at_once_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(a_deleted_database_is_followed_by_another_with_the_same_epoch, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_waits_for_its_disk_is_alive, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_too_old_goes_after_a_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_database_loses_its_oldest_slices_only, setup, teardown),
		cmocka_unit_test_setup_teardown(the_kernel_gets_its_names_later_when_they_cannot_be_had_at_once, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(freeing_writes_the_job_under_way, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session_ends_with_the_job_that_has_its_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_session_knew_is_given_back_at_its_end, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_posted_runs_while_nobody_waits_and_jobs_go_after_it, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
