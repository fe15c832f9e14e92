#include "tests/unit/profile/fixture.h"

#include "dcpi-tools/common/profile_set.h"

#define ARGUMENTS_MAX 16

static const struct context contexts[] = {
	{.comm = "wave5", .cgroup = "/", .label = "run.10"}, {.comm = "wave5", .cgroup = "/", .label = "run.2"},
	{.comm = "make", .cgroup = "/", .label = "run.2"},   {.comm = "make", .cgroup = "/", .label = "other"},
	{.comm = "make", .cgroup = "/", .label = ""},
};

/* Epoch `epoch` has `count` samples in each context, times its number from 1. */
static void
fill_epoch(struct profile *profile, uint32_t epoch, uint64_t count, bool first)
{
	static const struct context *const all[] = {&contexts[0], &contexts[1], &contexts[2], &contexts[3],
	                                            &contexts[4]};
	struct tally_entry entries[5];
	struct slice slice = {
		.epoch = epoch,
		.start_ns = epoch * 1000 * SECOND_NS,
		.end_ns = (epoch * 1000 + 100) * SECOND_NS,
		.event_count = 1,
		.events[0].samples = 15 * count,
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = 5,
		.first_image = first ? 0 : 1,
		.image_count = first,
		.images = two_images,
		.first_context = first ? 0 : 5,
		.context_count = first ? 5 : 0,
		.contexts = all,
		.slice = &slice,
	};

	for (uint32_t i = 0; i < 5; i++)
		entries[i] = (struct tally_entry){.context = i, .offset = 0x1130, .count = count * (i + 1)};
	assert_int_equal(profile_flush(profile, &batch), 0);
}

/* Epochs 1 and 2, with 1 and 10 samples for the first context. */
static int
database_setup(void **state)
{
	struct profile_fixture *fixture;
	struct profile *profile;

	if (fixture_setup(state) < 0)
		return -1;
	fixture = *state;
	profile = open_writer(fixture->directory, 0);
	begin_clock_epoch(profile);
	fill_epoch(profile, 1, 1, true);
	begin_clock_epoch(profile);
	fill_epoch(profile, 2, 10, false);
	profile_close(profile);
	return 0;
}

/* "run.2=5 run.10=1", by set. */
struct seen_sets {
	char text[512];
	size_t next;
};

static int
see(void *context, const struct profile_set_visit *visit)
{
	struct seen_sets *seen = context;
	size_t used = strlen(seen->text);

	assert_int_equal(visit->index, seen->next++);
	assert_non_null(visit->symbolizer);
	snprintf(seen->text + used, sizeof(seen->text) - used, "%s%s=%llu", used ? " " : "", visit->set->title,
	         (unsigned long long)visit->selection->events[0].selected);
	selection_free(visit->selection);
	return 0;
}

static error_t
parse_argument(int key, char *text, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case ARGP_KEY_ARG:
		profile_sets_argument(state->input, text, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What the blank-separated `options` name, in the fixture's database; an exit status. @ stands for its directory. */
static int
name_sets(const struct profile_fixture *fixture, const char *options, size_t least, size_t most, struct seen_sets *seen)
{
	static const struct argp_child children[] = {{&profile_sets_options, 0, NULL, 0}, {0}};
	static const struct argp argp = {.parser = parse_argument, .children = children};
	char *copy = strdup(options), *save = NULL, *arguments[ARGUMENTS_MAX + 1] = {(char *)"test"};
	struct profile_sets sets;
	int count = 1, status;

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		arguments[count++] = strcmp(word, "@") == 0 ? (char *)fixture->directory : word;
	setenv("DCPI_DB", fixture->directory, 1);
	memset(seen, 0, sizeof(*seen));
	profile_sets_init(&sets);
	assert_int_equal(argp_parse(&argp, count, arguments, ARGP_NO_EXIT | ARGP_NO_ERRS, NULL, &sets), 0);
	status = profile_sets_read(&sets, least, most, see, seen);
	profile_sets_fini(&sets);
	free(copy);
	return status;
}

static void
assert_sets(void **state, const char *options, const char *expected)
{
	struct seen_sets seen;

	assert_int_equal(name_sets(*state, options, 1, 8, &seen), 0);
	assert_string_equal(seen.text, expected);
}

static void
each_label_that_a_pattern_matches_is_a_set_over_all_epochs(void **state)
{
	assert_sets(state, "--label run.*", "run.2=55 run.10=11");
}

static void
labels_that_are_named_keep_their_order(void **state)
{
	assert_sets(state, "--label run.2 --label other", "run.2=55 other=44");
	assert_sets(state, "--label other --label run.*", "other=44 run.2=55 run.10=11");
	assert_sets(state, "--label run.* --label other", "run.2=55 run.10=11 other=44");
}

static void
what_is_given_once_is_asked_of_all(void **state)
{
	assert_sets(state, "--label run.2 --label run.10 --epoch 2", "run.2=50 run.10=10");
	assert_sets(state, "--label run.2 --label other --comm make", "run.2=33 other=44");
}

static void
each_epoch_is_a_set(void **state)
{
	assert_sets(state, "--epoch all", "epoch 1=15 epoch 2=150");
	assert_sets(state, "--epoch 2 --epoch 1 --label run.2", "epoch 2=50 epoch 1=5");
	assert_sets(state, "--epoch all --label run.2", "epoch 1=5 epoch 2=50");
}

static void
a_set_of_labels_that_has_no_samples_is_no_set(void **state)
{
	assert_sets(state, "--label * --comm wave5", "run.2=22 run.10=11");
	assert_sets(state, "--label run.2 --epoch all --comm make", "epoch 1=3 epoch 2=30");
}

static void
each_stretch_of_time_is_a_set(void **state)
{
	assert_sets(state, "--since @1000 --until @1500 --since @2000", "since @1000 until @1500=15 since @2000=150");
	assert_sets(state, "--until @1500 --since @2000 --until @3000 --label run.2",
	            "until @1500=5 since @2000 until @3000=50");
}

static void
each_group_is_one_set_however_much_it_matches(void **state)
{
	assert_sets(state, "--set --label run.* --set --label other --epoch 1", "run.*=66 other, epoch 1=4");
	assert_sets(state, "--comm make --set --label run.2 --set --set --epoch 1",
	            "run.2=33 everything=120 epoch 1=12");
}

static void
a_database_without_an_option_is_a_set(void **state)
{
	const struct profile_fixture *fixture = *state;
	char expected[256];
	struct seen_sets seen;

	snprintf(expected, sizeof(expected), "%s=150 %s=150", fixture->directory, fixture->directory);
	assert_int_equal(name_sets(fixture, "@ @", 2, 2, &seen), 0);
	assert_string_equal(seen.text, expected);
	assert_int_equal(name_sets(fixture, "@ --label run.*", 2, 2, &seen), 0); /* where the labels are */
	assert_string_equal(seen.text, "run.2=55 run.10=11");
}

static void
too_few_and_too_many_are_refused(void **state)
{
	struct seen_sets seen;

	assert_int_equal(name_sets(*state, "", 2, 8, &seen), STATUS_USAGE);
	assert_int_equal(name_sets(*state, "--label run.2", 2, 8, &seen), STATUS_USAGE);
	assert_int_equal(name_sets(*state, "--label *", 2, 2, &seen), STATUS_USAGE);
	assert_string_equal(seen.text, "");
	assert_int_equal(name_sets(*state, "--label nothing*", 2, 2, &seen), STATUS_EMPTY);
}

/* A label is a text, whatever it looks like. */
static void
labels_that_look_like_patterns_match_themselves_only(void **state)
{
	static const struct context strange = {.comm = "x", .cgroup = "/", .label = "run.[0-9]*"};
	static const struct context *const added[] = {&strange};
	const struct profile_fixture *fixture = *state;
	const struct tally_entry entry = {.offset = 0x1130, .count = 7};
	struct profile *profile = open_writer(fixture->directory, 0);
	struct slice slice = {
		.epoch = begin_clock_epoch(profile),
		.start_ns = 3000 * SECOND_NS,
		.end_ns = 3100 * SECOND_NS,
		.event_count = 1,
		.events[0].samples = 7,
	};
	struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.image_count = 1,
		.images = two_images,
		.context_count = 1,
		.contexts = added,
		.slice = &slice,
	};

	assert_int_equal(profile_flush(profile, &batch), 0);
	profile_close(profile);
	assert_sets(state, "--label run*", "run.2=55 run.10=11 run.[0-9]*=7");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_label_that_a_pattern_matches_is_a_set_over_all_epochs),
		cmocka_unit_test(labels_that_are_named_keep_their_order),
		cmocka_unit_test(what_is_given_once_is_asked_of_all),
		cmocka_unit_test(each_epoch_is_a_set),
		cmocka_unit_test(a_set_of_labels_that_has_no_samples_is_no_set),
		cmocka_unit_test(each_stretch_of_time_is_a_set),
		cmocka_unit_test(each_group_is_one_set_however_much_it_matches),
		cmocka_unit_test(a_database_without_an_option_is_a_set),
		cmocka_unit_test(too_few_and_too_many_are_refused),
		cmocka_unit_test(labels_that_look_like_patterns_match_themselves_only),
	};

	return cmocka_run_group_tests(tests, database_setup, fixture_teardown);
}
