#include "tests/unit/profile/fixture.h"

#include "profile/selection.h"

#define EPOCHS   3
#define IMAGES   12
#define CONTEXTS 40
#define OFFSETS  3

/* What the database holds: samples by epoch, image, context and offset; a third of them are 0. */
struct samples {
	uint64_t counts[EPOCHS][IMAGES][CONTEXTS][OFFSETS];
};

static const uint64_t offsets[OFFSETS] = {0x10, 0x1ff8, 0x5008};
static const uint64_t periods[EPOCHS] = {1000, 3000, 1000};
static char paths[IMAGES][16], labels[CONTEXTS][16];
static struct image images[IMAGES];
static struct context contexts[CONTEXTS];
static const struct image *image_list[IMAGES];
static const struct context *context_list[CONTEXTS];

static uint64_t
draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void
name_everything(void)
{
	for (unsigned i = 0; i < IMAGES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/lib/%u", i);
		images[i] = (struct image){.kind = IMAGE_USER, .inode = i + 1, .path = paths[i]};
		image_list[i] = &images[i];
	}
	for (unsigned i = 0; i < CONTEXTS; i++) {
		snprintf(labels[i], sizeof(labels[i]), "%s%u", i % 10 == 9 ? "odd" : "run", i);
		contexts[i] = (struct context){.comm = "x", .cgroup = "/", .label = labels[i]};
		context_list[i] = &contexts[i];
	}
}

static uint32_t
begin_numbered_epoch(struct profile *profile, unsigned number)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	uint32_t id;

	epoch->start_ns = epoch->end_ns = (100 + 100 * number) * SECOND_NS;
	epoch->cpu_count = 1;
	epoch->event_count = 1;
	snprintf(epoch->events[0].name, sizeof(epoch->events[0].name), "cpu-clock");
	epoch->events[0].period = periods[number];
	epoch->events[0].available = true;
	assert_int_equal(profile_begin_epoch(profile, epoch), 0);
	id = epoch->id;
	free(epoch);
	return id;
}

static void
flush_epoch(struct profile *profile, unsigned number, struct samples *samples, uint64_t *state)
{
	struct tally_entry *entries = calloc(IMAGES * CONTEXTS * OFFSETS, sizeof(*entries));
	struct slice slice = {
		.epoch = begin_numbered_epoch(profile, number),
		.start_ns = (100 + 100 * number) * SECOND_NS,
		.end_ns = (160 + 100 * number) * SECOND_NS,
		.event_count = 1,
		.events[0].lost = 1 + number,
	};
	struct profile_batch batch = {
		.entries = entries,
		.first_image = number ? IMAGES : 0,
		.image_count = number ? 0 : IMAGES,
		.images = image_list,
		.first_context = number ? CONTEXTS : 0,
		.context_count = number ? 0 : CONTEXTS,
		.contexts = context_list,
		.slice = &slice,
	};

	for (uint32_t image = 0; image < IMAGES; image++) {
		for (uint32_t context = 0; context < CONTEXTS; context++) {
			for (unsigned i = 0; i < OFFSETS; i++) {
				uint64_t count = draw(state) % 3 * (1 + draw(state) % 5);

				/* one label was not there in the last epoch */
				if (count == 0 || (number == EPOCHS - 1 && context == 5))
					continue;
				samples->counts[number][image][context][i] = count;
				slice.events[0].samples += count;
				entries[batch.entry_count++] = (struct tally_entry){
					.image = image, .context = context, .offset = offsets[i], .count = count};
			}
		}
	}
	assert_int_equal(profile_flush(profile, &batch), 0);
	free(entries);
}

struct sampled_profile {
	struct profile_fixture *fixture;
	struct samples samples;
	struct profile *profile;
};

static int
made_setup(void **state)
{
	struct sampled_profile *made = calloc(1, sizeof(*made));
	uint64_t random = 1997;
	void *fixture;

	if (fixture_setup(&fixture) < 0)
		return -1;
	made->fixture = fixture;
	name_everything();
	made->profile = open_writer(made->fixture->directory, 0);
	for (unsigned i = 0; i < EPOCHS; i++)
		flush_epoch(made->profile, i, &made->samples, &random);
	*state = made;
	return 0;
}

static int
made_teardown(void **state)
{
	struct sampled_profile *made = *state;
	void *fixture = made->fixture;

	profile_close(made->profile);
	free(made);
	return fixture_teardown(&fixture);
}

/* Samples of the labels that begin as `prefix` does and end as `suffix` does, at one place. */
static uint64_t
expected_count(const struct samples *samples, size_t image, size_t offset, const char *prefix, const char *suffix)
{
	uint64_t sum = 0;

	for (size_t context = 0; context < CONTEXTS; context++) {
		const char *label = labels[context];

		if (strncmp(label, prefix, strlen(prefix)) != 0 || strlen(label) < strlen(suffix) ||
		    strcmp(label + strlen(label) - strlen(suffix), suffix) != 0)
			continue;
		for (size_t epoch = 0; epoch < EPOCHS; epoch++)
			sum += samples->counts[epoch][image][context][offset];
	}
	return sum;
}

static void
assert_counts(const struct samples *samples, const struct selection *selection, const char *prefix, const char *suffix)
{
	size_t next = 0;

	assert_non_null(selection);
	for (size_t image = 0; image < IMAGES; image++) {
		for (size_t offset = 0; offset < OFFSETS; offset++) {
			uint64_t expected = expected_count(samples, image, offset, prefix, suffix);
			const struct selection_count *count = &selection->counts[next];

			if (expected == 0)
				continue;
			assert_true(next < selection->count_count);
			assert_string_equal(selection->images[count->image].image->path, paths[image]);
			assert_int_equal(count->offset, offsets[offset]);
			assert_int_equal(count->taken, expected);
			next++;
		}
	}
	assert_int_equal(next, selection->count_count);
}

static void
each_has_what_it_would_have_alone(void **state)
{
	const struct sampled_profile *made = *state;
	const struct selection_request requests[] = {
		{.epoch = "all", .label = "run*"},    {.epoch = "all", .label = "run1"},
		{.epoch = "all", .label = "odd*"},    {.epoch = "all", .label = "*5"},
		{.epoch = "all", .label = "nothing"}, {.epoch = "all", .label = "odd39"},
	};
	const struct selection_request *list[6];
	struct selection *selections[6];

	for (size_t i = 0; i < 6; i++)
		list[i] = &requests[i];
	assert_int_equal(selection_read_each(made->profile, list, 6, selections), 0);
	assert_counts(&made->samples, selections[0], "run", "");
	assert_counts(&made->samples, selections[1], "run1", "run1");
	assert_counts(&made->samples, selections[2], "odd", "");
	assert_counts(&made->samples, selections[3], "", "5");
	assert_null(selections[4]);
	assert_counts(&made->samples, selections[5], "odd39", "");
	for (size_t i = 0; i < 6; i++)
		selection_free(selections[i]);
}

/* One that wants everything lets nothing be skipped, also not for the other. */
static void
everything_may_be_among_them(void **state)
{
	const struct sampled_profile *made = *state;
	const struct selection_request one = {.epoch = "all", .label = "run21"}, all = {.epoch = "all"};
	const struct selection_request *const list[] = {&one, &all};
	struct selection *selections[2];

	assert_int_equal(selection_read_each(made->profile, list, 2, selections), 0);
	assert_counts(&made->samples, selections[0], "run21", "");
	assert_counts(&made->samples, selections[1], "", "");
	selection_free(selections[0]);
	selection_free(selections[1]);
	assert_int_equal(selection_read_each(made->profile, list, 0, selections), 0);
}

static void
contexts_far_apart_are_found(void **state)
{
	const struct sampled_profile *made = *state;
	const struct selection_request request = {.epoch = "all", .label = "*9"};
	struct selection *selection;
	char why[64];

	assert_int_equal(selection_read(made->profile, &request, &selection, why, sizeof(why)), 0);
	assert_counts(&made->samples, selection, "", "9");
	selection_free(selection);
}

static uint64_t
epoch_sum(const struct samples *samples, size_t epoch, size_t context)
{
	uint64_t sum = 0;

	for (size_t image = 0; image < IMAGES; image++)
		for (size_t i = 0; i < OFFSETS; i++)
			sum += samples->counts[epoch][image][context][i];
	return sum;
}

/* Label run5 has samples in the first two epochs, at 100 and at 200 s, of periods 1000 and 3000. */
static void
a_match_is_where_samples_are(void **state)
{
	const struct sampled_profile *made = *state;
	const struct selection_request request = {.epoch = "all", .label = "run5"};
	const struct selection_event *event;
	struct selection *selection;
	char why[64];

	assert_int_equal(selection_read(made->profile, &request, &selection, why, sizeof(why)), 0);
	event = &selection->events[0];
	assert_int_equal(selection->epoch_count, 2); /* the third has nothing of it */
	assert_int_equal(selection->match.first_epoch, 1);
	assert_int_equal(selection->match.last_epoch, 2);
	assert_int_equal(selection->match.start_ns, 100 * SECOND_NS);
	assert_int_equal(selection->match.end_ns, 260 * SECOND_NS);
	assert_int_equal(selection->match.covered_ns, 120 * SECOND_NS);
	assert_int_equal(event->matched.lost, 1 + 2);
	assert_int_equal(event->totals.lost, 1 + 2);
	assert_int_equal((uint64_t)event->selected_events,
	                 1000 * epoch_sum(&made->samples, 0, 5) + 3000 * epoch_sum(&made->samples, 1, 5));
	selection_free(selection);
}

static void
requests_of_one_scope_are_told(void **state)
{
	const struct selection_request all = {.epoch = "all"}, label = {.epoch = "all", .label = "x"}, none = {0},
				       late = {.epoch = "all", .since_ns = 1}, host = {.epoch = "all", .host = "web*"};

	(void)state;
	assert_true(selection_shares_scope(&all, &label));
	assert_true(selection_shares_scope(&none, &none));
	assert_false(selection_shares_scope(&all, &none));
	assert_false(selection_shares_scope(&all, &late));
	assert_false(selection_shares_scope(&all, &host));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_what_it_would_have_alone), cmocka_unit_test(everything_may_be_among_them),
		cmocka_unit_test(contexts_far_apart_are_found),      cmocka_unit_test(a_match_is_where_samples_are),
		cmocka_unit_test(requests_of_one_scope_are_told),
	};

	return cmocka_run_group_tests(tests, made_setup, made_teardown);
}
