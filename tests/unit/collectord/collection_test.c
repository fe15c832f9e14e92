/* From the rings into the database, and when it cannot be written. */
#include <errno.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/collection.h"
#include "collectord/collection_internal.h"
#include "collectord/machine.h"
#include "profile/selection.h"

#include "tests/unit/test.h"

#define PATIENCE_NS UINT64_C(20000000000)

struct collection_site {
	struct config config;
	struct collection *collection;
	char why[512];
	int err; /* why there is no collection */
};

static int
open_site(void **state)
{
	struct collection_site *site = calloc(1, sizeof(*site));

	dcpid_config_default(&site->config);
	snprintf(site->config.database, sizeof(site->config.database), "/tmp/dcpi-collection.XXXXXX");
	if (!mkdtemp(site->config.database))
		return -1;
	site->config.ring_pages = 16;
	site->config.sideband_pages = 64;
	site->config.event_count = 1;
	site->config.events[0] = (struct event_spec){.name = "cpu-clock", .rate = 1000, .user = true, .kernel = true};
	site->config.stacks.rate = 0;
	site->err = collection_open(&site->config, NULL, &site->collection, site->why, sizeof(site->why));
	if (!site->err)
		site->err = collection_start(site->collection, "first", site->why, sizeof(site->why));
	*state = site;
	return 0;
}

static int
close_site(void **state)
{
	static const char *const files[] = {"data.mdb", "lock.mdb", "dcpid.lock", "readers.lock"};
	struct collection_site *site = *state;
	char path[PATH_MAX + 16];

	collection_close(site->collection);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", site->config.database, files[i]);
		unlink(path);
	}
	rmdir(site->config.database);
	free(site);
	return 0;
}

#define needs_perf_events(site)                                                                                        \
	do {                                                                                                           \
		if ((site)->err == -EACCES || (site)->err == -EPERM || (site)->err == -ENOSYS)                         \
			skip_because((site)->why);                                                                     \
		assert_int_equal((site)->err, 0);                                                                      \
	} while (0)

static struct collection_view
view_of(const struct collection_site *site)
{
	struct collection_view view;

	collection_view(site->collection, &view);
	return view;
}

/* Use processor time in user mode: the clock, which is a system call, is read only after each 10,000 additions. */
static void
work_for(uint64_t duration_ns)
{
	const uint64_t start_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	volatile unsigned spin = 0;

	while (machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns < duration_ns)
		for (unsigned i = 0; i < 10000; i++)
			spin++;
}

static void
count_complaint(void *context, const char *text)
{
	print_error("%s\n", text);
	++*(unsigned *)context;
}

/* Close the collection and read what it wrote: all epochs. */
static struct selection *
read_back(struct collection_site *site, struct profile **profile)
{
	const struct selection_request request = {.epoch = "all"};
	const struct profile_options options = {.write = false};
	struct selection *selection;
	unsigned complaints = 0;

	collection_close(site->collection);
	site->collection = NULL;
	assert_int_equal(profile_open(site->config.database, &options, profile), 0);
	assert_int_equal(profile_check(*profile, count_complaint, &complaints), 0);
	assert_int_equal(selection_read(*profile, &request, &selection, site->why, sizeof(site->why)), 0);
	return selection;
}

#define SITE_TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)

static void
what_was_sampled_is_in_the_database_after_a_commit(void **state)
{
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;
	uint64_t ticket = 0;

	needs_perf_events(site);
	assert_int_equal(collection_request_commit(site->collection, &ticket), 0);
	assert_int_equal(ticket, 1);
	assert_int_equal(flusher_wait(collection_flusher(site->collection), PATIENCE_NS), 0);
	assert_true(collection_take_result(site->collection));
	assert_int_equal(collection_committed(site->collection), ticket);
	assert_int_equal(view_of(site).flush_error, 0);
	assert_int_not_equal(view_of(site).flush_time_ns, 0);
}

static void
slices_follow_each_other_without_a_gap(void **state)
{
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;
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
call_stacks_are_samples_of_an_event_of_their_own(void **state)
{
	struct collection_site *site = *state;
	struct selection *selection;
	struct profile *profile;
	uint64_t samples;

	needs_perf_events(site);
	collection_close(site->collection);
	site->config.stacks.rate = 500;
	site->config.overhead_limit_ppm = 200000;
	assert_int_equal(collection_open(&site->config, NULL, &site->collection, site->why, sizeof(site->why)), 0);
	assert_int_equal(collection_start(site->collection, "stacks", site->why, sizeof(site->why)), 0);
	work_for(200000000);
	collection_stop(site->collection);
	assert_int_equal(collection_commit(site->collection, PATIENCE_NS), 0);
	samples = view_of(site).samples;
	selection = read_back(site, &profile);
	assert_int_equal(selection->event_count, 2);
	assert_string_equal(selection->events[1].name, "cpu-clock.stacks");
	assert_true(selection->events[1].totals.samples >= 50);
	assert_int_equal(selection->events[0].totals.samples + selection->events[1].totals.samples, samples);
	selection_free(selection);
	profile_close(profile);
}

static void
a_tally_too_small_is_flushed_and_not_lost(void **state)
{
	struct collection_site *site = *state;
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
flush_in_vain(struct collection_site *site)
{
	do {
		assert_int_equal(collection_drain(site->collection), 0);
		collection_flush(site->collection);
		assert_int_equal(flusher_wait(collection_flusher(site->collection), PATIENCE_NS), 0);
		assert_true(collection_take_result(site->collection));
	} while (!view_of(site).flush_error);
	assert_int_equal(view_of(site).flush_error, -EFBIG);
}

/* One key fits. What has no room is dropped and counted, and the rest is there when writing succeeds again. */
static void
a_collection_that_cannot_write_keeps_what_fits_and_counts_what_it_drops(void **state)
{
	struct collection_site *site = *state;
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

static void
a_new_epoch_begins_with_nothing(void **state)
{
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;
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
	assert_true(collection_committed(site->collection) >= ticket); /* its waiter must not wait for ever */
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
	struct collection_site *site = *state;
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
a_flush_is_due_for_what_is_new_and_once_a_minute(void **state)
{
	struct collection_site *site = *state;
	struct collection *collection = site->collection;
	struct capturer *capturer = collection->capturer;
	struct code_namer *namer = collection->namer;
	struct image packaged = {.kind = IMAGE_USER, .path = "/usr/bin/seen-last"};
	uint32_t number;

	needs_perf_events(site);
	assert_int_equal(collection_commit(collection, PATIENCE_NS), 0);
	collection->capturer = NULL; /* may expect one */
	collection->namer = NULL;
	collection->unidentified = 0;
	assert_false(collection_flush_is_due(collection));
	collection->taken_monotonic_ns -= 10000000000;
	assert_int_equal(
		image_table_intern((struct image_table *)sampler_images(collection->sampler), &packaged, &number), 0);
	assert_int_equal(number + 1, image_table_count(sampler_images(collection->sampler))); /* it is new */
	assert_false(collection_flush_is_due(collection));
	collection->unidentified = 1;
	assert_true(collection_flush_is_due(collection));
	collection->unidentified = 0;
	collection->budget_watch.over = 1;
	assert_true(collection_flush_is_due(collection));
	collection->budget_watch.over = 0;
	collection->config.flush_interval_ns = 9000000000; /* is kept */
	assert_true(collection_flush_is_due(collection));
	collection->config.flush_interval_ns = 10000000000;
	collection->slice_begin_ns = collection->taken_monotonic_ns; /* which ends in the rest */
	collection->config.slice_ns = 15000000000;
	assert_true(collection_flush_is_due(collection));
	collection->config.slice_ns = 16000000000; /* the next timer is nearer to its end */
	assert_false(collection_flush_is_due(collection));
	collection->config.slice_ns = 600000000000;
	collection->taken_monotonic_ns -= 44000000000;
	assert_false(collection_flush_is_due(collection));
	collection->taken_monotonic_ns -= 2000000000; /* the next timer would come after more than a minute */
	assert_true(collection_flush_is_due(collection));
	collection->capturer = capturer;
	collection->namer = namer;
}

static void
however_many_ask_for_a_refresh_there_is_one_flush_in_an_interval(void **state)
{
	struct collection_site *site = *state;
	struct collection *collection = site->collection;
	uint64_t first, second;

	needs_perf_events(site);
	assert_int_equal(collection_commit(collection, PATIENCE_NS), 0);
	assert_int_equal(collection_request_refresh(collection, &first), 0);
	assert_int_equal(first, 0); /* nothing to wait for */
	collection->taken_monotonic_ns -= 10000000000;
	assert_int_equal(collection_request_refresh(collection, &first), 0);
	assert_true(first > collection_committed(collection) || !collection_is_busy(collection));
	assert_int_equal(collection_request_refresh(collection, &second), 0);
	assert_true(second == first || second == 0); /* the same flush, or that one is done */
	assert_true(collection->submitted == first);
	assert_int_equal(collection_commit(collection, PATIENCE_NS), 0);
	collection->flush_error = -ENOSPC; /* is not tried again sooner for it */
	assert_int_equal(collection_request_refresh(collection, &first), -ENOSPC);
	collection->flush_error = 0;
	collection->is_compacting = true;
	assert_int_equal(collection_request_refresh(collection, &first), -EBUSY);
	collection->is_compacting = false;
}

static void
a_configuration_that_cannot_be_opened_leaves_the_old_one(void **state)
{
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;
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
	struct collection_site *site = *state;

	needs_perf_events(site);
	site->collection->plan_reason = "the number of CPUs changed";
	site->collection->plan_due_ns = 1;
	site->collection->is_compacting = true;
	collection_poll_machine(site->collection);
	assert_non_null(site->collection->plan_reason);
	site->collection->is_compacting = false;
	collection_poll_machine(site->collection);
	assert_null(site->collection->plan_reason);
}

/* What the epoch was begun with says nothing of CPUs that went or came since. */
static void
processor_time_is_of_the_cpus_that_were_sampled(void **state)
{
	struct collection_site *site = *state;
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

static struct epoch
epoch_of(const char *first, const char *second)
{
	struct epoch epoch = {.event_count = 2};

	snprintf(epoch.events[0].name, EVENT_NAME_SIZE, "%s", first);
	snprintf(epoch.events[1].name, EVENT_NAME_SIZE, "%s", second);
	epoch.events[0].available = epoch.events[1].available = true;
	return epoch;
}

static void
counts_of_epochs_add_up_by_name(void **state)
{
	const struct epoch first = epoch_of("cycles", "page-faults"), second = epoch_of("page-faults", "cpu-clock");
	const struct slice_event a[] = {{.samples = 10, .lost = 1, .throttled = 2}, {.samples = 20}};
	struct slice_event b[] = {{.samples = 300, .lost = 5, .dropped = 6}, {.samples = 4000}};
	struct collection_past totals = {0};

	(void)state;
	b[0].unknown[UNKNOWN_GUEST] = 7;
	assert_int_equal(collection_past_reserve(&totals, &first), 0);
	collection_past_add(&totals, &first, a);
	assert_int_equal(collection_past_reserve(&totals, &second), 0);
	collection_past_add(&totals, &second, b);
	assert_int_equal(totals.event_count, 3);
	assert_string_equal(totals.events[0].name, "cycles");
	assert_int_equal(totals.events[0].counts.samples, 10);
	assert_int_equal(totals.events[0].counts.lost, 1);
	assert_int_equal(totals.events[0].counts.throttled, 2);
	assert_string_equal(totals.events[1].name, "page-faults");
	assert_int_equal(totals.events[1].counts.samples, 320);
	assert_int_equal(totals.events[1].counts.lost, 5);
	assert_int_equal(totals.events[1].counts.dropped, 6);
	assert_int_equal(totals.events[1].counts.unknown[UNKNOWN_GUEST], 7);
	assert_string_equal(totals.events[2].name, "cpu-clock");
	assert_int_equal(totals.events[2].counts.samples, 4000);
	collection_past_fini(&totals);
}

static void
events_that_became_the_same_are_one(void **state)
{
	const struct epoch epoch = epoch_of("cpu-clock", "cpu-clock");
	const struct slice_event counts[] = {{.samples = 3}, {.samples = 4}};
	struct collection_past totals = {0};

	(void)state;
	assert_int_equal(collection_past_reserve(&totals, &epoch), 0);
	collection_past_add(&totals, &epoch, counts);
	assert_int_equal(totals.event_count, 1);
	assert_int_equal(totals.events[0].counts.samples, 7);
	collection_past_fini(&totals);
}

static void
an_event_that_is_not_available_has_no_place(void **state)
{
	struct epoch epoch = epoch_of("cpu-clock", "cache-misses");
	const struct slice_event counts[] = {{.samples = 3}, {0}};
	struct collection_past totals = {0};

	(void)state;
	epoch.events[1].available = false;
	assert_int_equal(collection_past_reserve(&totals, &epoch), 0);
	collection_past_add(&totals, &epoch, counts);
	assert_int_equal(totals.event_count, 1);
	assert_string_equal(totals.events[0].name, "cpu-clock");
	collection_past_fini(&totals);
}

static void
assert_event(const struct event *event, const char *expected)
{
	char text[512];

	collection_announce_event(event, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void
an_event_is_said_with_how_often_and_how_precisely(void **state)
{
	const struct event event = {
		.name = "cycles",
		.requested = "cycles",
		.encoding = {.unit = "cycles"},
		.period = 2000003,
		.precise = 2,
		.available = true,
		.user = true,
		.kernel = true,
	};

	(void)state;
	assert_event(&event, "cycles: a sample every 2000003 cycles, precise level 2");
}

static void
a_fallback_is_said_with_its_reason(void **state)
{
	const struct event event = {
		.name = "cpu-clock",
		.requested = "cycles",
		.note = "no hardware counters here",
		.encoding = {.unit = "ns"},
		.period = 4000000,
		.rate = 250,
		.available = true,
		.user = true,
		.kernel = true,
	};

	(void)state;
	assert_event(&event, "cpu-clock: 250 samples/s per CPU; stands in for cycles: no hardware counters here");
}

static void
an_absence_is_said_by_the_name_that_was_asked_for(void **state)
{
	struct event event = {.name = "", .requested = "cache-misses", .user = true, .kernel = true};

	(void)state;
	assert_event(&event, "cache-misses: not available here");
	snprintf(event.note, sizeof(event.note), "no PMU");
	assert_event(&event, "cache-misses: not available here; no PMU");
}

static void
a_mode_that_is_left_out_is_said(void **state)
{
	struct event event = {
		.name = "page-faults", .requested = "page-faults", .rate = 5, .available = true, .user = true};

	(void)state;
	assert_event(&event, "page-faults: 5 samples/s per CPU, user mode only");
	event.user = false;
	event.kernel = true;
	assert_event(&event, "page-faults: 5 samples/s per CPU, kernel mode only");
}

static void
a_configuration_is_said_before_the_machine_was_asked(void **state)
{
	const struct event_spec spec = {.name = "cycles", .period = 1000, .precise = 3, .user = true, .kernel = true};
	char text[256];

	(void)state;
	collection_announce_spec(&spec, text, sizeof(text));
	assert_string_equal(text, "cycles: a sample every 1000 events, precise level 3 or less");
}

/* ---- the log ---- */

struct lines {
	char text[2048];
};

static void
keep_line(void *context, enum log_level level, const char *message)
{
	struct lines *lines = context;
	size_t used = strlen(lines->text);

	snprintf(lines->text + used, sizeof(lines->text) - used, "%d %s\n", (int)level, message);
}

static void
the_log_names_epoch_events_and_what_is_not_counted(void **state)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct lines lines = {""};
	const struct log log = {.hook = keep_line, .context = &lines, .limit = LOG_LEVEL_DEBUG};
	char *warning;

	(void)state;
	epoch->id = 3;
	epoch->cpu_count = 2;
	snprintf(epoch->label, sizeof(epoch->label), "nightly");
	epoch->event_count = 2;
	epoch->events[0] = (struct event){.name = "cpu-clock",
	                                  .requested = "cycles",
	                                  .note = "a timer",
	                                  .rate = 250,
	                                  .available = true,
	                                  .user = true,
	                                  .kernel = true};
	epoch->events[1] = (struct event){.name = "page-faults",
	                                  .requested = "page-faults",
	                                  .encoding = {.unit = "events"},
	                                  .period = 7,
	                                  .available = true,
	                                  .user = true,
	                                  .kernel = true};
	collection_announce_epoch(&log, "/var/lib/dcpi", epoch);
	collection_announce_events(&log, epoch);
	warning = strstr(lines.text, "4 this is a pid namespace"); /* depends on where this test runs */
	if (warning)
		*warning = '\0';
	assert_string_equal(lines.text, "6 epoch 3 \"nightly\" in /var/lib/dcpi\n"
	                                "6 2 events on 2 CPUs:\n"
	                                "5 cpu-clock: 250 samples/s per CPU; stands in for cycles: a timer\n"
	                                "6 page-faults: a sample every 7 events\n"
	                                "6 time in which a CPU is idle is not counted\n");
	free(epoch);
}

static void
a_counter_is_said_with_its_period_and_what_that_makes(void **state)
{
	const struct event event = {
		.name = "cycles",
		.requested = "cycles",
		.encoding = {.unit = "cycles"},
		.period = 2000003,
		.rate = 1500,
		.available = true,
		.user = true,
		.kernel = true,
	};

	(void)state;
	assert_event(&event, "cycles: a sample every 2000003 cycles, 1500 samples/s per CPU");
}

static void
what_is_left_to_be_chosen_is_said_so(void **state)
{
	const struct event_spec spec = {.name = "cache-misses", .user = true, .kernel = true};
	char text[256];

	(void)state;
	collection_announce_spec(&spec, text, sizeof(text));
	assert_string_equal(text, "cache-misses: as often as the limit allows");
}

/* 1000 * (16 + 4) us are 2 % of a second. */
static void
what_is_to_cost_more_than_the_limit_is_said(void **state)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct lines lines = {""};
	const struct log log = {.hook = keep_line, .context = &lines, .limit = LOG_LEVEL_DEBUG};

	(void)state;
	epoch->event_count = 1;
	epoch->events[0] = (struct event){.available = true, .rate = 1000, .cost_ns = 16000};
	collection_announce_overhead(&log, epoch, 20000);
	assert_string_equal(lines.text, "");
	collection_announce_overhead(&log, epoch, 10000);
	assert_string_equal(lines.text, "5 sampling is to cost 2.00 % of the machine at full load, more than "
	                                "overhead_limit (1 %): periods and rates that are configured hold\n");
	free(epoch);
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
		SITE_TEST(call_stacks_are_samples_of_an_event_of_their_own),
		SITE_TEST(a_tally_too_small_is_flushed_and_not_lost),
		SITE_TEST(a_collection_that_cannot_write_keeps_what_fits_and_counts_what_it_drops),
		SITE_TEST(a_new_epoch_begins_with_nothing),
		SITE_TEST(other_events_begin_an_epoch_and_lose_nothing),
		SITE_TEST(another_interval_begins_no_epoch),
		SITE_TEST(a_flush_is_due_for_what_is_new_and_once_a_minute),
		SITE_TEST(however_many_ask_for_a_refresh_there_is_one_flush_in_an_interval),
		SITE_TEST(a_configuration_that_cannot_be_opened_leaves_the_old_one),
		SITE_TEST(a_second_one_on_the_database_is_told_who_has_it),
		SITE_TEST(tables_that_are_too_large_are_begun_anew),
		SITE_TEST(compacting_loses_nothing_and_begins_no_epoch),
		SITE_TEST(a_plan_waits_for_the_end_of_a_compaction),
		SITE_TEST(processor_time_is_of_the_cpus_that_were_sampled),
		cmocka_unit_test(counts_of_epochs_add_up_by_name),
		cmocka_unit_test(events_that_became_the_same_are_one),
		cmocka_unit_test(an_event_that_is_not_available_has_no_place),
		cmocka_unit_test(an_event_is_said_with_how_often_and_how_precisely),
		cmocka_unit_test(a_fallback_is_said_with_its_reason),
		cmocka_unit_test(an_absence_is_said_by_the_name_that_was_asked_for),
		cmocka_unit_test(a_mode_that_is_left_out_is_said),
		cmocka_unit_test(a_configuration_is_said_before_the_machine_was_asked),
		cmocka_unit_test(the_log_names_epoch_events_and_what_is_not_counted),
		cmocka_unit_test(a_counter_is_said_with_its_period_and_what_that_makes),
		cmocka_unit_test(what_is_left_to_be_chosen_is_said_so),
		cmocka_unit_test(what_is_to_cost_more_than_the_limit_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
