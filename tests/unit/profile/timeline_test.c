#include "tests/unit/profile/fixture.h"

#include "profile/timeline.h"

static const struct image program = {.kind = IMAGE_USER, .inode = 1, .path = "/bin/program"};
static const struct image library = {.kind = IMAGE_USER, .inode = 2, .path = "/lib/library"};
static const struct image rebuilt = {.kind = IMAGE_USER, .inode = 3, .path = "/lib/library"};
static const struct context build_context = {.comm = "make", .cgroup = "/build", .label = ""};
static const struct context server_context = {.comm = "server", .cgroup = "/service", .label = "run"};

/* Begin an epoch of one event with this period, and flush `entries` as its only slice, a minute from `start_s` on. */
static void
write_epoch(struct profile *profile, uint64_t period, uint64_t start_s, const struct tally_entry *entries, size_t count)
{
	static const struct image *const images[] = {&program, &library, &rebuilt};
	static const struct context *const contexts[] = {&build_context, &server_context};
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct slice slice = {
		.start_ns = start_s * SECOND_NS,
		.end_ns = (start_s + 60) * SECOND_NS,
		.event_count = 1,
		.events[0] = {.samples = 5, .unknown[UNKNOWN_ADDRESS] = 5},
	};
	const bool is_first = start_s == 200;
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = count,
		.first_image = is_first ? 0 : 3,
		.image_count = is_first ? 3 : 0,
		.images = images,
		.first_context = is_first ? 0 : 2,
		.context_count = is_first ? 2 : 0,
		.contexts = contexts,
		.slice = &slice,
	};

	for (size_t i = 0; i < count; i++)
		slice.events[0].samples += entries[i].count;
	epoch->start_ns = epoch->end_ns = slice.start_ns;
	epoch->cpu_count = 4;
	epoch->event_count = 1;
	snprintf(epoch->events[0].name, sizeof(epoch->events[0].name), "cycles");
	snprintf(epoch->events[0].encoding.unit, sizeof(epoch->events[0].encoding.unit), "cycles");
	epoch->events[0].period = period;
	epoch->events[0].available = true;
	assert_int_equal(profile_begin_epoch(profile, epoch), 0);
	slice.epoch = epoch->id;
	assert_int_equal(profile_flush(profile, &batch), 0);
	free(epoch);
}

/* The second epoch is older than the first, as an import is. */
static struct profile *
write_two_epochs(const struct profile_fixture *fixture)
{
	static const struct tally_entry newer[] = {
		{.image = 0, .context = 0, .offset = 0x10, .count = 3},
		{.image = 0, .context = 1, .offset = 0x5010, .count = 4},
		{.image = 1, .context = 0, .offset = 0x10, .count = 1},
		{.image = 2, .context = 0, .offset = 0x10, .count = 2},
	};
	static const struct tally_entry older[] = {{.image = 2, .context = 1, .offset = 0x10, .count = 100}};
	struct profile *profile = open_writer(fixture->directory, 0);

	write_epoch(profile, 1000, 200, newer, sizeof(newer) / sizeof(newer[0]));
	write_epoch(profile, 10, 100, older, 1);
	return profile;
}

static void
slices_are_in_the_order_of_time_and_names_are_one_series(void **state)
{
	struct profile *profile = write_two_epochs(*state);
	const struct selection_request all = {.epoch = "all"};
	const struct timeline_request request = {.selection = &all, .key = TIMELINE_IMAGE};
	struct timeline timeline;
	char why[256];

	assert_int_equal(timeline_read(profile, &request, &timeline, why, sizeof(why)), 0);
	assert_string_equal(timeline.event, "cycles");
	assert_int_equal(timeline.slice_count, 2);
	assert_int_equal(timeline.slices[0].start_ns / SECOND_NS, 100);
	assert_int_equal(timeline.slices[1].start_ns / SECOND_NS, 200);
	assert_int_equal((int)timeline.slices[0].events, 1050);  /* 105 samples of 10 */
	assert_int_equal((int)timeline.slices[1].events, 15000); /* 15 of 1000 */
	assert_int_equal((int)timeline.slices[1].unknown, 5000);
	assert_int_equal(timeline.slices[1].cpu_count, 4);
	assert_int_equal(timeline.series_count, 2);
	assert_string_equal(timeline.series[0].name, "/bin/program");
	assert_int_equal((int)timeline.series[0].events, 7000);
	assert_string_equal(timeline.series[1].name, "/lib/library");
	assert_int_equal((int)timeline.series[1].events, 4000);
	assert_int_equal(timeline.cell_count, 3);
	assert_int_equal(timeline.cells[0].slice, 0);
	assert_int_equal(timeline.cells[0].series, 1);
	assert_int_equal((int)timeline.cells[0].events, 1000);
	assert_int_equal((int)timeline.cells[1].events, 7000);
	assert_int_equal((int)timeline.cells[2].events, 3000);
	timeline_fini(&timeline);
	profile_close(profile);
}

static void
contexts_restrict_series_and_not_totals(void **state)
{
	struct profile *profile = write_two_epochs(*state);
	const struct selection_request server = {.epoch = "1", .comm = "serv*"};
	const struct timeline_request request = {.selection = &server, .event = "cycles", .key = TIMELINE_CGROUP};
	struct timeline timeline;
	char why[256];

	assert_int_equal(timeline_read(profile, &request, &timeline, why, sizeof(why)), 0);
	assert_int_equal(timeline.slice_count, 1);
	assert_int_equal((int)timeline.slices[0].events, 15000);
	assert_int_equal(timeline.series_count, 1);
	assert_string_equal(timeline.series[0].name, "/service");
	assert_int_equal((int)timeline.series[0].events, 4000);
	timeline_fini(&timeline);
	profile_close(profile);
}

static void
what_is_not_there_gets_a_sentence(void **state)
{
	struct profile *profile = write_two_epochs(*state);
	struct selection_request selection = {.epoch = "all"};
	struct timeline_request request = {.selection = &selection, .event = "cycle\x1bs"};
	struct timeline timeline;
	char why[256];

	assert_int_equal(timeline_read(profile, &request, &timeline, why, sizeof(why)), -DCPI_ENOEVENT);
	assert_non_null(strstr(why, "no event 'cycle\\x1bs' was counted"));
	timeline_fini(&timeline);
	request.event = NULL;
	selection.epoch = "7";
	assert_int_equal(timeline_read(profile, &request, &timeline, why, sizeof(why)), -DCPI_ENOSELECTION);
	assert_true(why[0] != '\0');
	timeline_fini(&timeline);
	profile_close(profile);
}

/* The offsets of stacks are numbers of nodes: they are shown by other reports. */
static void
stacks_are_no_event_of_a_time_line(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct slice slice = {.start_ns = SECOND_NS, .end_ns = 2 * SECOND_NS, .event_count = 2};
	const struct profile_batch batch = {.slice = &slice};
	const struct selection_request all = {.epoch = "all"};
	struct timeline_request request = {.selection = &all};
	struct timeline timeline;
	char why[256];

	epoch->start_ns = epoch->end_ns = SECOND_NS;
	epoch->event_count = 2;
	snprintf(epoch->events[1].name, sizeof(epoch->events[1].name), "cycles");
	epoch->events[1].available = true;
	assert_true(event_stacks_of(&epoch->events[1], &epoch->events[0]));
	epoch->events[0].available = true;
	assert_int_equal(profile_begin_epoch(profile, epoch), 0);
	slice.epoch = epoch->id;
	free(epoch);
	assert_int_equal(profile_flush(profile, &batch), 0);
	assert_int_equal(timeline_read(profile, &request, &timeline, why, sizeof(why)), 0);
	assert_string_equal(timeline.event, "cycles");
	timeline_fini(&timeline);
	request.event = "cycles.stacks";
	assert_int_equal(timeline_read(profile, &request, &timeline, why, sizeof(why)), -DCPI_ENOEVENT);
	timeline_fini(&timeline);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(slices_are_in_the_order_of_time_and_names_are_one_series),
		CASE(contexts_restrict_series_and_not_totals),
		CASE(what_is_not_there_gets_a_sentence),
		CASE(stacks_are_no_event_of_a_time_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
