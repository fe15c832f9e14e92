#include "tests/unit/collectord/collection_site.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "collectord/collection_internal.h"

static void
a_new_epoch_begins_with_nothing(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct collection_view view;
	struct profile *profile;
	uint64_t first;

	needs_perf_events(site);
	work_for(100000000);
	assert_int_equal(collection_begin_epoch(site->collection, "second", site->why, sizeof(site->why)), 0);
	view = view_of(site);
	assert_int_equal(view.epoch->id, 2);
	assert_string_equal(view.epoch->label, "second");
	first = view.samples -
	        view.totals.events[0].samples; /* a busy machine may have drained some of the second, too */
	assert_true(first >= 20);
	work_for(100000000);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	view = view_of(site);
	assert_true(view.totals.events[0].samples >= 20);
	assert_int_equal(view.samples, first + view.totals.events[0].samples);
	selection = read_back(site, &profile);
	assert_int_equal(selection->epoch_count, 2);
	assert_int_equal(selection->slice_count, 2);
	selection_free(selection);
	profile_close(profile);
}

static void
other_events_begin_an_epoch_and_lose_nothing(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct profile *profile;
	struct config config;
	uint64_t ticket = 0;

	needs_perf_events(site);
	config = site->config;
	config.event_count = 2;
	config.events[1] = (struct event_spec){.name = "page-faults", .period = 1, .user = true, .kernel = true};
	assert_true(collection_must_reopen(site->collection, &config));
	work_for(100000000);
	assert_int_equal(collection_request_commit(site->collection, &ticket), 0);
	assert_int_equal(collection_reconfigure(site->collection, &config, site->why, sizeof(site->why)), 0);
	assert_true(collection_committed(site->collection) >= ticket); /* who waits for it must not wait for ever */
	assert_int_equal(view_of(site).epoch->id, 2);
	assert_int_equal(view_of(site).epoch->event_count, 3); /* and the sum of the clock */
	assert_string_equal(view_of(site).epoch->label, "first");
	assert_true(view_of(site).samples >= 20);
	work_for(100000000);
	collection_stop(site->collection);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	selection = read_back(site, &profile);
	assert_int_equal(selection->epoch_count, 2);
	assert_int_equal(selection->event_count, 2);
	assert_true(selection->events[0].totals.samples > 40);
	selection_free(selection);
	profile_close(profile);
}

static void
another_interval_begins_no_epoch(void **state)
{
	struct site *site = *state;
	struct config config;

	needs_perf_events(site);
	config = site->config;
	config.flush_interval_ns = 1000000000;
	config.log_limit = LOG_LEVEL_DEBUG;
	assert_false(collection_must_reopen(site->collection, &config));
	assert_int_equal(collection_reconfigure(site->collection, &config, site->why, sizeof(site->why)), 0);
	assert_int_equal(view_of(site).epoch->id, 1);
	assert_int_equal(view_of(site).config->flush_interval_ns, 1000000000);
}

static void
a_configuration_that_cannot_be_opened_leaves_the_old_one(void **state)
{
	struct site *site = *state;
	struct config config;

	needs_perf_events(site);
	config = site->config;
	snprintf(config.events[0].name, sizeof(config.events[0].name), "no-such-event");
	assert_int_not_equal(collection_reconfigure(site->collection, &config, site->why, sizeof(site->why)), 0);
	assert_non_null(strstr(site->why, "no-such-event"));
	work_for(100000000);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	assert_int_equal(view_of(site).epoch->id, 1);
	assert_true(view_of(site).samples >= 20);
}

static void
a_second_one_on_the_database_is_told_who_has_it(void **state)
{
	struct site *site = *state;
	struct collection *second;
	char expected[512];

	needs_perf_events(site);
	assert_int_equal(collection_open(&site->config, NULL, &second, site->why, sizeof(site->why)), -DCPI_ERUNNING);
	assert_null(second);
	snprintf(expected, sizeof(expected), "%.100s: another dcpid uses this database (process %d)",
	         site->config.database, (int)getpid());
	assert_string_equal(site->why, expected);
}

/* As under a farm of compilers, only sooner: each flush ends the session. */
static void
tables_that_are_too_large_are_begun_anew(void **state)
{
	struct site *site = *state;
	struct selection *selection;
	struct profile *profile;
	uint64_t samples, ours = 0;

	needs_perf_events(site);
	site->collection->tables_limit = 1;
	for (int i = 0; i < 4; i++) {
		const uint64_t sessions = view_of(site).sessions;

		work_for(50000000);
		assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
		/* what is in the tables by now is of the next session: on a busy machine that may be something */
		assert_true(view_of(site).sessions > sessions);
	}
	collection_stop(site->collection);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	samples = view_of(site).samples;
	selection = read_back(site, &profile);
	assert_int_equal(selection->events[0].totals.samples, samples);
	for (size_t i = 0; i < selection->count_count; i++)
		if (strstr(selection->images[selection->counts[i].image].image->path, "collection_test"))
			ours += selection->counts[i].count;
	assert_true(ours >= 5); /* of about 200 */
	selection_free(selection);
	profile_close(profile);
}

static void
compacting_loses_nothing_and_begins_no_epoch(void **state)
{
	struct site *site = *state;
	struct compaction compaction;
	struct selection *selection;
	struct profile *profile;
	uint64_t samples;
	int err = -1;

	needs_perf_events(site);
	work_for(100000000);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	assert_int_equal(collection_compact(site->collection), 0);
	assert_true(collection_is_compacting(site->collection));
	assert_int_equal(collection_compact(site->collection), -EBUSY);
	assert_int_equal(collection_begin_epoch(site->collection, "", site->why, sizeof(site->why)), -EBUSY);
	while (!collection_compacted(site->collection, &compaction, &err)) {
		flusher_wait(collection_flusher(site->collection), 10000000);
		assert_int_equal(collection_drain(site->collection), 0);
	}
	assert_int_equal(err, 0);
	assert_false(collection_is_compacting(site->collection));
	assert_int_equal(view_of(site).profile.file_bytes, compaction.after_bytes);
	work_for(100000000);
	assert_int_equal(collection_begin_epoch(site->collection, "second", site->why, sizeof(site->why)), 0);
	collection_stop(site->collection);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	samples = view_of(site).samples;
	selection = read_back(site, &profile);
	assert_int_equal(selection->epoch_count, 2);
	assert_int_equal(selection->events[0].totals.samples, samples);
	selection_free(selection);
	profile_close(profile);
}

static void
a_plan_waits_for_the_end_of_a_compaction(void **state)
{
	struct site *site = *state;

	needs_perf_events(site);
	site->collection->plan_reason = "the number of CPUs changed";
	site->collection->plan_due_ns = 1;
	site->collection->is_compacting = true;
	collection_look(site->collection);
	assert_non_null(site->collection->plan_reason);
	site->collection->is_compacting = false;
	collection_look(site->collection);
	assert_null(site->collection->plan_reason);
}

/* What the epoch was begun with says nothing of CPUs that went or came since. */
static void
processor_time_is_of_the_cpus_that_were_sampled(void **state)
{
	struct site *site = *state;
	uint64_t begin_ns, elapsed_ns;

	needs_perf_events(site);
	begin_ns = site->collection->taken_monotonic_ns;
	site->collection->epoch.cpu_count = 1000;
	work_for(100000000);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	elapsed_ns = machine_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	assert_true(view_of(site).overhead.cpu_ns > 0);
	assert_true(view_of(site).overhead.cpu_ns <= 2 * view_of(site).cpu_count * elapsed_ns);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(a_new_epoch_begins_with_nothing),
		SITE_TEST(other_events_begin_an_epoch_and_lose_nothing),
		SITE_TEST(another_interval_begins_no_epoch),
		SITE_TEST(a_configuration_that_cannot_be_opened_leaves_the_old_one),
		SITE_TEST(a_second_one_on_the_database_is_told_who_has_it),
		SITE_TEST(tables_that_are_too_large_are_begun_anew),
		SITE_TEST(compacting_loses_nothing_and_begins_no_epoch),
		SITE_TEST(a_plan_waits_for_the_end_of_a_compaction),
		SITE_TEST(processor_time_is_of_the_cpus_that_were_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
