/* Collecting when memory ends: what has no room is dropped and counted, and collecting goes on. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collectord/collection.h"
#include "collectord/machine.h"
#include "profile/selection.h"
#include "tests/remove_tree.h"
#include "tests/unit/test.h"

#define PATIENCE_NS UINT64_C(20000000000)

static bool memory_ends;
static unsigned refused;

int __real_tally_add(struct tally *tally, const struct sample_key *key, uint64_t count);
int __wrap_tally_add(struct tally *tally, const struct sample_key *key, uint64_t count);

/* A table that cannot grow for the next key; tally_test.c shows that it says so. */
int
__wrap_tally_add(struct tally *tally, const struct sample_key *key, uint64_t count)
{
	refused += memory_ends;
	return memory_ends ? -ENOMEM : __real_tally_add(tally, key, count);
}

static struct collection *
start(struct config *config)
{
	struct collection *collection;
	char why[512];
	int err;

	dcpid_config_default(config);
	snprintf(config->database, sizeof(config->database), "/tmp/dcpi-starved.XXXXXX");
	assert_non_null(mkdtemp(config->database));
	config->ring_pages = 1; /* soon half full */
	config->event_count = 1;
	config->events[0] = (struct event_spec){.name = "cpu-clock", .rate = 1000, .user = true, .kernel = true};
	config->stacks.rate = 0;
	err = collection_open(config, NULL, &collection, why, sizeof(why));
	if (err == -EACCES || err == -EPERM || err == -ENOSYS)
		skip_because(why);
	assert_int_equal(err, 0);
	assert_int_equal(collection_start(collection, "", why, sizeof(why)), 0);
	return collection;
}

static struct collection_view
view_of(const struct collection *collection)
{
	struct collection_view view;

	collection_view(collection, &view);
	return view;
}

static void
work_and_drain(struct collection *collection)
{
	const uint64_t start_ns = machine_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	volatile unsigned spin = 0;

	while (machine_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns < 5000000)
		spin++;
	assert_int_equal(collection_drain(collection), 0);
	assert_true(collection_is_healthy(collection));
}

static struct slice_event
totals_written(const struct config *config)
{
	const struct selection_request request = {.epoch = "all"};
	const struct profile_options options = {.write = false};
	struct selection *selection;
	struct profile *profile;
	struct slice_event totals;
	char why[512];

	assert_int_equal(profile_open(config->database, &options, &profile), 0);
	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	totals = selection->events[0].totals;
	selection_free(selection);
	profile_close(profile);
	return totals;
}

static void
samples_without_memory_are_dropped_and_counted_and_the_next_ones_are_not(void **state)
{
	struct config config;
	struct collection *collection = start(&config);
	struct collection_view starved, view;
	struct slice_event written;

	(void)state;
	work_and_drain(collection);
	memory_ends = true;
	for (int i = 0; i < 4000 && view_of(collection).dropped < 20; i++)
		work_and_drain(collection);
	memory_ends = false;
	starved = view_of(collection);
	assert_true(refused > 0);
	assert_true(starved.dropped >= 20);
	assert_int_equal(starved.flush_error, 0);

	for (int i = 0; i < 4000 && view_of(collection).samples < starved.samples + 20; i++)
		work_and_drain(collection);
	collection_stop(collection);
	assert_int_equal(collection_commit(collection, PATIENCE_NS), 0);
	view = view_of(collection);
	assert_true(view.samples >= starved.samples + 20);
	assert_int_equal(view.dropped, starved.dropped);
	assert_false(view.stalled);
	collection_close(collection);
	written = totals_written(&config);
	assert_int_equal(written.samples, view.samples);
	assert_int_equal(written.dropped, view.dropped);
	remove_tree(config.database);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_without_memory_are_dropped_and_counted_and_the_next_ones_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
