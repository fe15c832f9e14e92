/* What happens to the database under the flusher: deleted, damaged, old, full. */
#include "tests/unit/collectord/flusher_fixture.h"

#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"
#include "profile/profile.h"
#include "profile/profile_internal.h"

/* Images, contexts and the epoch are all brought to the new one; only what the old one had is gone. */
static void
a_deleted_database_is_followed_by_another_with_the_same_epoch(void **state)
{
	struct flusher_fixture *fixture = *state;
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
	struct flusher_fixture *fixture = *state;
	struct flush_job first = make_job(fixture, "/bin/a", 1, 7, 0), second;
	struct profile_stats stats;
	struct flush_result result;
	struct quarantined aside;

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
	assert_int_equal(profile_find_quarantined(fixture->directory, &aside), 1);
}

/* Again within a minute: it is not moved about, but what is sampled is kept. */
static void
what_is_damaged_again_at_once_waits(void **state)
{
	struct flusher_fixture *fixture = *state;
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
what_is_too_old_goes_after_a_flush(void **state)
{
	const struct retention_options options = {.max_age_ns = WAIT_NS};
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct profile_stats stats;
	struct flush_result result;

	flusher_set_retention(fixture->flusher, &options);
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
	struct flusher_fixture *fixture = *state;
	struct profile_stats stats;

	flusher_set_retention(fixture->flusher, &options);
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
make_large_job(struct flusher_fixture *fixture)
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
	struct flusher_fixture *fixture = *state;
	struct profile_stats stats;

	flusher_set_retention(fixture->flusher, &never);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_deleted_database_is_followed_by_another_with_the_same_epoch, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_damaged_database_is_put_aside_and_no_count_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_damaged_again_at_once_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_too_old_goes_after_a_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(a_clock_that_leapt_makes_nothing_old, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_database_loses_its_oldest_slices_only, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
