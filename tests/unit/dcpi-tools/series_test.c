#include "tests/unit/test.h"

#include <errno.h>

#include "dcpi-tools/label/series.h"

static void
runs_are_numbered_behind_the_name(void **state)
{
	const struct series series = {.name = "wave5", .first = 1, .runs = 12}, later = {.name = "wave5", .first = 9};
	char label[LABEL_SIZE];

	(void)state;
	assert_int_equal(series_label(&series, 0, label), 0);
	assert_string_equal(label, "wave5.1");
	assert_int_equal(series_label(&series, 11, label), 0);
	assert_string_equal(label, "wave5.12");
	assert_int_equal(series_label(&later, 0, label), 0);
	assert_string_equal(label, "wave5.9");
}

static void
a_name_leaves_room_for_the_number(void **state)
{
	/* 61 bytes */
	const struct series series = {.name = "0123456789012345678901234567890123456789012345678901234567890",
	                              .first = 9};
	char label[LABEL_SIZE];

	(void)state;
	assert_int_equal(series_label(&series, 0, label), 0);
	assert_int_equal(series_label(&series, 1, label), -ENAMETOOLONG);
}

static void
the_median_lies_in_the_middle(void **state)
{
	const uint64_t durations[] = {1, 3, 6, 100};

	(void)state;
	assert_int_equal(series_median(durations, 1), 1);
	assert_int_equal(series_median(durations, 2), 2);
	assert_int_equal(series_median(durations, 3), 3);
	assert_int_equal(series_median(durations, 4), 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_numbered_behind_the_name),
		cmocka_unit_test(a_name_leaves_room_for_the_number),
		cmocka_unit_test(the_median_lies_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
