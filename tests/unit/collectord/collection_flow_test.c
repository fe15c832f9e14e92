/* From the rings into the database, and when it cannot be written. */
#include "tests/unit/collectord/collection_site.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static void
what_was_sampled_is_in_the_database_after_a_commit(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct profile *profile;
	uint64_t samples;

	needs_perf_events(site);
	work_for(200000000);
	collection_stop(site->collection);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	samples = view_of(site).samples;
	assert_true(samples >= 50); /* 1000 a second on the CPU that worked, and what the others did */
	selection = read_back(site, &profile);
	assert_int_equal(selection->epoch_count, 1);
	assert_string_equal(selection->epochs[0].label, "first");
	assert_int_equal(selection->event_count, 1);
	assert_int_equal(selection->events[0].totals.samples, samples);
	selection_free(selection);
	profile_close(profile);
}

/* It read the kernel's symbols, for one: that was before it counted, and is no slice's. */
static void
what_the_start_took_is_the_first_epochs(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct profile *profile;
	uint64_t start_ns;

	needs_perf_events(site);
	start_ns = view_of(site).overhead.start_ns;
	assert_true(start_ns > 0);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	assert_true(view_of(site).overhead.start_ns >= start_ns);
	assert_int_equal(collection_begin_epoch(site->collection, "second", site->why, sizeof(site->why)), 0);
	assert_true(view_of(site).overhead.start_ns < start_ns);
	selection = read_back(site, &profile);
	assert_true(selection->epochs[0].start_cpu_ns >= start_ns);
	assert_int_equal(selection->overhead.start_ns, selection->epochs[0].start_cpu_ns);
	selection_free(selection);
	profile_close(profile);
}

static void
a_ticket_is_served_by_the_flusher(void **state)
{
	struct site *site = *state;
	uint64_t ticket = 0;

	needs_perf_events(site);
	assert_int_equal(collection_request_commit(site->collection, &ticket), 0);
	assert_int_equal(ticket, 1);
	assert_int_equal(flusher_wait(collection_flusher(site->collection), PATIENCE_NS), 0);
	assert_true(collection_settle(site->collection));
	assert_int_equal(collection_committed(site->collection), ticket);
	assert_int_equal(view_of(site).flush_error, 0);
	assert_int_not_equal(view_of(site).flush_time_ns, 0);
}

static void
slices_follow_each_other_without_a_gap(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct profile *profile;
	struct config config;

	needs_perf_events(site);
	config = site->config;
	config.slice_ns = 1; /* every flush is a slice */
	assert_int_equal(collection_reconfigure(site->collection, &config, site->why, sizeof(site->why)), 0);
	for (int i = 0; i < 3; i++) {
		work_for(30000000);
		assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	}
	selection = read_back(site, &profile);
	assert_int_equal(selection->slice_count, 3);
	assert_int_equal(selection->covered_ns, selection->end_ns - selection->start_ns);
	assert_true(selection->overhead.daemon_ns > 60000000); /* we are the daemon, and worked for 90 ms */
	selection_free(selection);
	profile_close(profile);
}

static void
flushes_within_a_slice_add_up(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct profile *profile;

	needs_perf_events(site);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	assert_int_equal(view_of(site).slice, 1);
	selection = read_back(site, &profile);
	assert_int_equal(selection->slice_count, 1);
	selection_free(selection);
	profile_close(profile);
}

/* A tally of one key is full at once; each further key has to wait for a flush. */
static void
a_tally_too_small_is_flushed_and_not_lost(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct profile *profile;
	struct config config;
	uint64_t samples;

	needs_perf_events(site);
	config = site->config;
	config.tally_limit = 1;
	assert_int_equal(collection_reconfigure(site->collection, &config, site->why, sizeof(site->why)), 0);
	for (int i = 0; i < 20; i++) {
		work_for(10000000);
		assert_int_equal(collection_drain(site->collection), 0);
	}
	collection_stop(site->collection);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	assert_int_equal(view_of(site).lost, 0);
	samples = view_of(site).samples;
	assert_true(samples >= 50);
	selection = read_back(site, &profile);
	assert_int_equal(selection->events[0].totals.samples, samples);
	selection_free(selection);
	profile_close(profile);
}

static void
limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Hand over what there is, and let it fail. */
static void
flush_in_vain(struct site *site)
{
	do {
		assert_int_equal(collection_drain(site->collection), 0);
		collection_flush(site->collection);
		assert_int_equal(flusher_wait(collection_flusher(site->collection), PATIENCE_NS), 0);
		assert_true(collection_settle(site->collection));
	} while (!view_of(site).flush_error);
	assert_int_equal(view_of(site).flush_error, -EFBIG);
}

/* One key fits. What has no room is dropped and counted, and the rest is there when writing succeeds again. */
static void
a_collection_that_cannot_write_keeps_what_fits_and_counts_what_it_drops(void **state)
{
	struct site *site = *state;
	struct collection_view view;
	struct selection *selection;
	struct profile *profile;
	struct config config;

	needs_perf_events(site);
	config = site->config;
	config.tally_limit = 1;
	assert_int_equal(collection_reconfigure(site->collection, &config, site->why, sizeof(site->why)), 0);
	limit_file_size(1);
	flush_in_vain(site);
	for (int i = 0; i < 2000 && view_of(site).dropped < 20; i++) {
		work_for(10000000);
		assert_int_equal(collection_drain(site->collection), 0);
	}
	view = view_of(site);
	limit_file_size(RLIM_INFINITY);
	assert_true(view.stalled);
	assert_true(view.kept >= 1);
	assert_true(view.trouble_since_ns > 0);
	assert_true(view.trouble_dropped >= 20);
	assert_true(collection_is_healthy(site->collection));

	collection_stop(site->collection);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	view = view_of(site);
	assert_int_equal(view.kept, 0);
	assert_int_equal(view.trouble_since_ns, 0);
	selection = read_back(site, &profile);
	assert_int_equal(selection->events[0].totals.samples, view.samples);
	assert_int_equal(selection->events[0].totals.dropped, view.dropped);
	assert_int_equal(selection->events[0].totals.lost, 0);
	selection_free(selection);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(what_was_sampled_is_in_the_database_after_a_commit),
		SITE_TEST(what_the_start_took_is_the_first_epochs),
		SITE_TEST(a_ticket_is_served_by_the_flusher),
		SITE_TEST(slices_follow_each_other_without_a_gap),
		SITE_TEST(flushes_within_a_slice_add_up),
		SITE_TEST(a_tally_too_small_is_flushed_and_not_lost),
		SITE_TEST(a_collection_that_cannot_write_keeps_what_fits_and_counts_what_it_drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
