#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/common/columns_fit.h"
#include "tests/unit/dcpi-tools/fixture.h"

/* Seven letters, so that a count takes eight columns of text, and with its share sixteen. */
static struct selection_event events[] = {
	{.name = "cpu-one"},
	{.name = "cpu-two"},
	{.name = "cpu-six"},
	{.name = "cpu-ten"},
};
static const struct selection selection = {.events = events, .event_count = 4};
static const uint64_t totals[] = {1, 20, 300, 4};
static const struct columns all = {.count = 4, .events = {0, 1, 2, 3}};
static struct columns_fit fit;

static void
make(size_t width, bool asked)
{
	const struct columns_fit_request request = {
		.selection = &selection, .columns = &all, .totals = totals, .shares = 8, .asked = asked};

	columns_fit(&request, &(struct output){.width = width}, &fit);
}

static void
assert_said(const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	columns_fit_print(&fit, &selection, stream);
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
	const struct columns columns = {.count = 3, .events = {0, 1, 2}};
	const struct columns_fit_request request = {
		.selection = &of_three, .columns = &columns, .totals = (uint64_t[]){1, 1000, 2}, .shares = 8};

	(void)state;
	columns_fit(&request, &(struct output){.width = 72}, &fit);
	assert_int_equal(fit.shown.count, 2);
	assert_int_equal(fit.shown.events[1], 2);
	assert_int_equal(fit.left_out.events[0], 1);
	columns_fit(&request, &(struct output){.width = 91}, &fit);
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
		cmocka_unit_test(what_was_asked_for_is_shown_however_wide),
		cmocka_unit_test(a_narrow_terminal_shows_the_events_with_most_samples),
		cmocka_unit_test(exact_counts_are_left_out_before_samples),
		cmocka_unit_test(one_event_is_always_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
