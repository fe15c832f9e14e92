#include "tests/unit/test.h"

#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/shown_events.h"
#include "tests/unit/dcpi-tools/fixture.h"

static struct shown_events shown;
static char why[1024];

static int
choose(const struct shown_events_request *request)
{
	struct selection_fixture fixture;

	fixture_init(&fixture);
	return shown_events_choose(&fixture.selection, request, &shown, why, sizeof(why));
}

static void
all_that_could_be_counted_are_shown(void **state)
{
	(void)state;
	assert_int_equal(choose(&(struct shown_events_request){0}), 0);
	assert_int_equal(shown.count, 2);
	assert_int_equal(shown.events[0], 0);
	assert_int_equal(shown.events[1], 1);
}

static void
the_sort_event_comes_first(void **state)
{
	(void)state;
	assert_int_equal(choose(&(struct shown_events_request){.sort = "page-faults"}), 0);
	assert_int_equal(shown.count, 2);
	assert_int_equal(shown.events[0], 1);
	assert_int_equal(shown.events[1], 0);
}

static void
only_the_events_asked_for_are_shown_once(void **state)
{
	struct shown_events_request request = {.events = {"page-faults", "page-faults"}, .event_count = 2};

	(void)state;
	assert_int_equal(choose(&request), 0);
	assert_int_equal(shown.count, 1);
	assert_int_equal(shown.events[0], 1);
	request.sort = "cpu-clock"; /* not asked for, but needed */
	assert_int_equal(choose(&request), 0);
	assert_int_equal(shown.count, 2);
	assert_int_equal(shown.events[0], 0);
}

static void
what_stands_in_is_not_passed_off_as_what_was_asked_for(void **state)
{
	(void)state;
	assert_int_equal(choose(&(struct shown_events_request){.events = {"cycles"}, .event_count = 1}),
	                 -DCPI_ENOSELECTION);
	assert_string_equal(why, "cycles was not counted; cpu-clock stands in for it (--event cpu-clock)");
}

static void
an_event_that_could_not_be_counted_is_refused(void **state)
{
	(void)state;
	assert_int_equal(choose(&(struct shown_events_request){.sort = "cache-misses"}), -DCPI_ENOSELECTION);
	assert_string_equal(why, "cache-misses was not available on this machine");
}

static void
a_misspelt_event_is_recognised(void **state)
{
	(void)state;
	assert_int_equal(choose(&(struct shown_events_request){.sort = "page-fault"}), -DCPI_ENOEVENT);
	assert_string_equal(why, "no event 'page-fault' in the selected epochs; did you mean page-faults?");
	assert_int_equal(choose(&(struct shown_events_request){.sort = "\033[2Jx"}), -DCPI_ENOEVENT);
	assert_string_equal(why, "no event '\\x1b[2Jx' in the selected epochs; there are cpu-clock, page-faults");
}

/* Epochs with different events have more together than one can have. */
static void
events_of_many_epochs_are_all_shown(void **state)
{
	static struct selection_event events[2 * EVENTS_MAX];
	struct selection selection = {.event_count = 2 * EVENTS_MAX, .events = events};

	(void)state;
	for (unsigned i = 0; i < 2 * EVENTS_MAX; i++) {
		snprintf(events[i].name, sizeof(events[i].name), "r%04x", i);
		events[i].available = true;
	}
	assert_int_equal(shown_events_choose(&selection, &(struct shown_events_request){0}, &shown, why, sizeof(why)),
	                 0);
	assert_int_equal(shown.count, 2 * EVENTS_MAX);
	assert_int_equal(shown.events[2 * EVENTS_MAX - 1], 2 * EVENTS_MAX - 1);
}

/* Seven letters, so that a count takes eight columns of text, and with its share sixteen. */
static struct selection_event events[] = {
	{.name = "cpu-one"},
	{.name = "cpu-two"},
	{.name = "cpu-six"},
	{.name = "cpu-ten"},
};
static const struct selection selection = {.events = events, .event_count = 4};
static const uint64_t totals[] = {1, 20, 300, 4};
static const struct shown_events all = {.count = 4, .events = {0, 1, 2, 3}};
static struct shown_events_fit fit;

static void
make(size_t width, bool asked)
{
	const struct shown_events_fit_request request = {
		.selection = &selection, .all = &all, .totals = totals, .shares = 8, .asked = asked};

	shown_events_fit(&request, &(struct output){.width = width}, &fit);
}

static void
assert_said(const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	shown_events_fit_print(&fit, &selection, stream);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

static void
what_was_asked_for_is_shown_however_wide(void **state)
{
	(void)state;
	make(20, true);
	assert_int_equal(fit.shown.count, 4);
	assert_int_equal(fit.left_out.count, 0);
	assert_said("");
}

/* 40 of 72 columns are for names: there is room for two events, the one of the order and the hottest other. */
static void
a_narrow_terminal_shows_the_events_with_most_samples(void **state)
{
	(void)state;
	make(72, false);
	assert_int_equal(fit.shown.count, 2);
	assert_int_equal(fit.shown.events[0], 0);
	assert_int_equal(fit.shown.events[1], 2);
	assert_said("Not shown: cpu-two, cpu-ten (--event NAME)\n");
	make(71, false);
	assert_int_equal(fit.shown.count, 1);
	make(88, false);
	assert_int_equal(fit.shown.count, 3);
	assert_int_equal(fit.shown.events[1], 1); /* in the order they had */
}

/* Executions, which are counted and not sampled, have the most of all. */
static void
exact_counts_are_left_out_before_samples(void **state)
{
	static struct selection_event counted[] = {{.name = "cpu-one"}, {.name = "executions"}, {.name = "cpu-six"}};
	const struct selection of_three = {.events = counted, .event_count = 3};
	const struct shown_events of_all = {.count = 3, .events = {0, 1, 2}};
	const struct shown_events_fit_request request = {
		.selection = &of_three, .all = &of_all, .totals = (uint64_t[]){1, 1000, 2}, .shares = 8};

	(void)state;
	shown_events_fit(&request, &(struct output){.width = 72}, &fit);
	assert_int_equal(fit.shown.count, 2);
	assert_int_equal(fit.shown.events[1], 2);
	assert_int_equal(fit.left_out.events[0], 1);
	shown_events_fit(&request, &(struct output){.width = 91}, &fit);
	assert_int_equal(fit.shown.count, 3);
}

static void
one_event_is_always_shown(void **state)
{
	(void)state;
	make(1, false);
	assert_int_equal(fit.shown.count, 1);
	assert_int_equal(fit.shown.events[0], 0);
	assert_int_equal(fit.left_out.count, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_could_be_counted_are_shown),
		cmocka_unit_test(the_sort_event_comes_first),
		cmocka_unit_test(only_the_events_asked_for_are_shown_once),
		cmocka_unit_test(what_stands_in_is_not_passed_off_as_what_was_asked_for),
		cmocka_unit_test(an_event_that_could_not_be_counted_is_refused),
		cmocka_unit_test(a_misspelt_event_is_recognised),
		cmocka_unit_test(events_of_many_epochs_are_all_shown),
		cmocka_unit_test(what_was_asked_for_is_shown_however_wide),
		cmocka_unit_test(a_narrow_terminal_shows_the_events_with_most_samples),
		cmocka_unit_test(exact_counts_are_left_out_before_samples),
		cmocka_unit_test(one_event_is_always_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
