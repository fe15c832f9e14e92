#include "tests/unit/profile/raw.h"

#include <errno.h>

#include "profile/catalog.h"

static const struct context contexts[] = {
	{.comm = "a", .cgroup = "/", .label = "run.10"}, {.comm = "a", .cgroup = "/x", .label = "run.9"},
	{.comm = "b", .cgroup = "/", .label = "run.9"},  {.comm = "b", .cgroup = "/", .label = "Other"},
	{.comm = "b", .cgroup = "/", .label = ""},
};
#define CONTEXTS (sizeof(contexts) / sizeof(contexts[0]))

/* Epochs 1 and 2, called "first" and "second", on host alpha, with a sample in each context. */
static int
database_setup(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct context *list[CONTEXTS];
	struct tally_entry entries[CONTEXTS];
	struct slice slice = {.start_ns = 1, .end_ns = 2, .event_count = 1, .events[0].samples = CONTEXTS};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = CONTEXTS,
		.image_count = 1,
		.images = two_images,
		.context_count = CONTEXTS,
		.contexts = list,
		.slice = &slice,
	};
	const struct profile_fixture *fixture;
	struct profile *profile;

	if (fixture_setup(state) < 0)
		return -1;
	fixture = *state;
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		list[i] = &contexts[i];
		entries[i] = (struct tally_entry){.context = i, .count = 1};
	}
	profile = open_writer(fixture->directory, 0);
	slice.epoch = begin_epoch(profile, 1, "first", names, 1);
	assert_int_equal(profile_flush(profile, &batch), 0);
	begin_epoch(profile, 2, "second", names, 1);
	profile_close(profile);
	return 0;
}

static void
assert_labels(void **state, const struct selection_request *request, const char *expected)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_reader(fixture->directory);
	char text[256] = "", why[256], **labels;
	size_t count, used = 0;

	assert_int_equal(catalog_labels(profile, request, &labels, &count, why, sizeof(why)), 0);
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", labels[i]);
	assert_string_equal(text, expected);
	catalog_free_labels(labels, count);
	profile_close(profile);
}

static void
labels_are_listed_once_in_the_order_of_their_numbers(void **state)
{
	assert_labels(state, &(struct selection_request){.label = "*"}, "Other run.9 run.10");
	assert_labels(state, &(struct selection_request){.label = "run*"}, "run.9 run.10");
	assert_labels(state, &(struct selection_request){0}, "Other run.9 run.10");
}

static void
only_those_of_contexts_that_match(void **state)
{
	assert_labels(state, &(struct selection_request){.label = "*", .comm = "b"}, "Other run.9");
	assert_labels(state, &(struct selection_request){.label = "run*", .cgroup = "/x"}, "run.9");
	assert_labels(state, &(struct selection_request){.label = ""}, "");
}

static void
what_there_is_not_is_said(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct selection_request request = {.label = "walk*"};
	struct profile *profile = open_reader(fixture->directory);
	char why[256], **labels;
	uint32_t *ids;
	size_t count;

	assert_int_equal(catalog_labels(profile, &request, &labels, &count, why, sizeof(why)), -DCPI_ENOSELECTION);
	assert_string_equal(why, "no label matches walk*; there are run.10, run.9, Other");
	assert_int_equal(catalog_choose_epochs(profile, &(struct selection_request){.epoch = "7"}, &ids, &count, why,
	                                       sizeof(why)),
	                 -DCPI_ENOSELECTION);
	assert_null(ids);
	assert_int_equal(catalog_choose_epochs(profile, &(struct selection_request){.epoch = "latest-x"}, &ids, &count,
	                                       why, sizeof(why)),
	                 -EINVAL);
	profile_close(profile);
}

static void
epochs_are_listed_by_number(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_reader(fixture->directory);
	char why[256];
	uint32_t *ids;
	size_t count;

	assert_int_equal(catalog_choose_epochs(profile, &(struct selection_request){.epoch = "all"}, &ids, &count, why,
	                                       sizeof(why)),
	                 0);
	assert_int_equal(count, 2);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 2);
	free(ids);
	assert_int_equal(catalog_choose_epochs(profile, &(struct selection_request){.epoch = "second"}, &ids, &count,
	                                       why, sizeof(why)),
	                 0);
	assert_int_equal(count, 1);
	assert_int_equal(ids[0], 2);
	free(ids);
	profile_close(profile);
}

/* Each of them ends its reading: the version that it saw is given up, and the next sees the newest. */
static void
epochs_are_summarized_again_and_again(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_reader(fixture->directory);
	struct epoch_summary *epochs;
	size_t count;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(catalog_read_epochs(profile, &epochs, &count), 0);
		assert_int_equal(count, 2);
		assert_string_equal(epochs[0].label, "first");
		assert_string_equal(epochs[1].label, "second");
		assert_string_equal(epochs[1].host, "alpha");
		assert_false(epochs[0].is_kept);
		free(epochs);
	}
	profile_close(profile);
}

/* ---- which epochs, when the database has those of several hosts ---- */

static const struct tally_entry one_sample[] = {{.offset = 0x1000, .count = 5, .image = 0}};

/* Epochs 1 and 3 of alpha, 2 and 4 of beta, each with 5 samples. */
static struct profile *
four_epochs(const struct profile_fixture *fixture)
{
	static const char *const names[] = {"cpu-clock"}, *const hosts[] = {"alpha", "beta"};
	struct profile *profile = open_writer(fixture->directory, 0);

	for (uint64_t i = 0; i < 4; i++) {
		uint32_t slice = 0, epoch;

		epoch = begin_epoch_of(profile, hosts[i % 2], (100 + i) * SECOND_NS, "", names, 1);
		assert_int_equal(flush_entries(profile, epoch, 1, &slice, i == 0, one_sample, 1), 0);
	}
	return profile;
}

static void
assert_epochs(struct profile *profile, const char *epoch, const char *host, uint32_t first, size_t count)
{
	const struct selection_request request = {.epoch = epoch, .host = host};
	struct selection *selection = NULL;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	assert_int_equal(selection->epoch_count, count);
	assert_int_equal(selection->epochs[0].id, first);
	assert_int_equal(selection->counts[0].count, 5 * count);
	selection_free(selection);
}

static void
assert_refused(struct profile *profile, const char *epoch, const char *host, const char *sentence)
{
	const struct selection_request request = {.epoch = epoch, .host = host};
	struct selection *selection = NULL;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), -DCPI_ENOSELECTION);
	assert_string_equal(why, sentence);
}

static void
the_latest_epoch_is_the_latest_of_the_host(void **state)
{
	struct profile *profile = four_epochs(*state);

	assert_epochs(profile, NULL, NULL, 4, 1);
	assert_epochs(profile, NULL, "alpha", 3, 1);
	assert_epochs(profile, "latest-1", "alpha", 1, 1);
	profile_close(profile);
}

/* One more epoch of alpha, with 5 samples. */
static void
one_more(struct profile *profile, bool is_imported, bool continues)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	uint32_t slice = 0;

	epoch->start_ns = epoch->end_ns = 200 * SECOND_NS;
	snprintf(epoch->host, sizeof(epoch->host), "alpha");
	epoch->is_imported = is_imported;
	epoch->continues = continues;
	epoch->event_count = 1;
	snprintf(epoch->events[0].name, sizeof(epoch->events[0].name), "cpu-clock");
	epoch->events[0].period = 1000;
	epoch->events[0].available = true;
	assert_int_equal(profile_begin_epoch(profile, epoch), 0);
	assert_int_equal(flush_entries(profile, epoch->id, 1, &slice, false, one_sample, 1), 0);
	free(epoch);
}

static void
an_import_is_none_of_the_latest_epochs(void **state)
{
	struct profile *profile = four_epochs(*state);

	one_more(profile, true, false);
	assert_epochs(profile, NULL, NULL, 4, 1);
	assert_epochs(profile, "latest", "alpha", 3, 1);
	assert_epochs(profile, "all", "alpha", 1, 3);
	profile_close(profile);
}

/* dcpid changed its rates twice since it began with epoch 4. */
static void
the_latest_is_all_that_continues_it(void **state)
{
	struct profile *profile = four_epochs(*state);

	one_more(profile, false, true);
	one_more(profile, true, false); /* an import between them */
	one_more(profile, false, true);
	assert_epochs(profile, NULL, NULL, 4, 3);
	assert_epochs(profile, "latest-1", NULL, 3, 1);
	profile_close(profile);
}

static void
all_epochs_are_all_of_the_hosts_that_match(void **state)
{
	struct profile *profile = four_epochs(*state);

	assert_epochs(profile, "all", "alpha", 1, 2);
	assert_epochs(profile, "all", "b*", 2, 2);
	assert_epochs(profile, "all", "*a", 1, 4);
	profile_close(profile);
}

static void
what_no_host_matches_is_told_with_the_hosts_there_are(void **state)
{
	struct profile *profile = four_epochs(*state);

	assert_refused(profile, NULL, "gamma", "no epoch is of a host that matches 'gamma'; there are alpha, beta");
	assert_refused(profile, "2", "alpha", "there is no epoch 2; there are 1, 3");
	profile_close(profile);
}

static void
a_list_of_epochs_is_of_the_host_too(void **state)
{
	struct profile *profile = four_epochs(*state);
	uint32_t *ids;
	char why[256];
	size_t count;

	assert_int_equal(catalog_choose_epochs(profile, &(struct selection_request){.epoch = "all", .host = "beta"},
	                                       &ids, &count, why, sizeof(why)),
	                 0);
	assert_int_equal(count, 2);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[1], 4);
	free(ids);
	profile_close(profile);
}

/* Epochs are searched by their numbers, so an order that is none must not come that far. */
static void
epochs_out_of_order_are_damage(void **state)
{
	const struct profile_fixture *fixture = *state;
	uint8_t copy[4096];
	MDB_val key, value;
	MDB_cursor *cursor;
	struct profile *profile;
	uint32_t *ids;
	size_t count;
	struct raw raw;
	char why[256];

	raw_open(&raw, fixture->directory);
	assert_int_equal(mdb_cursor_open(raw.txn, raw_table(&raw, "epochs"), &cursor), 0);
	assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
	assert_in_range(value.mv_size, 1, sizeof(copy));
	memcpy(copy, value.mv_data, value.mv_size);
	raw_put(&raw, "epochs", NUMBER_KEY(1), 4, copy, value.mv_size); /* the page is the transaction's own now */
	assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
	assert_memory_equal(key.mv_data, NUMBER_KEY(1), 4);
	((uint8_t *)key.mv_data)[3] = 9;
	mdb_cursor_close(cursor);
	raw_close(&raw);
	profile = open_reader(fixture->directory);
	assert_int_equal(catalog_choose_epochs(profile, &(struct selection_request){.epoch = "all"}, &ids, &count, why,
	                                       sizeof(why)),
	                 -DCPI_EDAMAGED);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_listed_once_in_the_order_of_their_numbers),
		cmocka_unit_test(only_those_of_contexts_that_match),
		cmocka_unit_test(what_there_is_not_is_said),
		cmocka_unit_test(epochs_are_listed_by_number),
		cmocka_unit_test(epochs_are_summarized_again_and_again),
		cmocka_unit_test(epochs_out_of_order_are_damage), /* the last: the database is damaged by it */
	};
	const struct CMUnitTest hosts[] = {
		CASE(the_latest_epoch_is_the_latest_of_the_host),
		CASE(an_import_is_none_of_the_latest_epochs),
		CASE(the_latest_is_all_that_continues_it),
		CASE(all_epochs_are_all_of_the_hosts_that_match),
		CASE(what_no_host_matches_is_told_with_the_hosts_there_are),
		CASE(a_list_of_epochs_is_of_the_host_too),
	};

	return cmocka_run_group_tests(tests, database_setup, fixture_teardown) +
	       cmocka_run_group_tests(hosts, NULL, NULL);
}
