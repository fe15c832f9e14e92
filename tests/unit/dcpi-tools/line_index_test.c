#include "tests/unit/test.h"

#include "dcpi-tools/common/line_index.h"

static void
a_line_has_its_instructions_in_their_order(void **state)
{
	static const struct list_place places[] = {{1, 7}, {0, 9}, {1, 7}, {SOURCE_NONE, 0}, {0, 3}, {1, 7}};
	struct line_index index;
	const struct list_line *line;

	(void)state;
	assert_int_equal(line_index_make(places, 6, &index), 0);
	assert_int_equal(index.count, 3);
	line = line_index_find(&index, &places[0]);
	assert_non_null(line);
	assert_int_equal(line->count, 3);
	assert_int_equal(index.order[line->first], 0);
	assert_int_equal(index.order[line->first + 1], 2);
	assert_int_equal(index.order[line->first + 2], 5);
	line_index_fini(&index);
}

static void
lines_ascend_by_file_and_number(void **state)
{
	static const struct list_place places[] = {{1, 7}, {0, 4000000000u}, {1, 2}, {0, 3}};
	struct line_index index;

	(void)state;
	assert_int_equal(line_index_make(places, 4, &index), 0);
	assert_int_equal(index.count, 4);
	assert_int_equal(index.lines[0].place.line, 3);
	assert_int_equal(index.lines[1].place.line, 4000000000u);
	assert_int_equal(index.lines[2].place.line, 2);
	assert_int_equal(index.lines[3].place.line, 7);
	line_index_fini(&index);
}

static void
what_has_no_place_is_in_no_line(void **state)
{
	static const struct list_place places[] = {{SOURCE_NONE, 0}, {SOURCE_NONE, 0}};
	struct line_index index;

	(void)state;
	assert_int_equal(line_index_make(places, 2, &index), 0);
	assert_int_equal(index.count, 0);
	assert_null(line_index_find(&index, &places[0]));
	line_index_fini(&index);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_its_instructions_in_their_order),
		cmocka_unit_test(lines_ascend_by_file_and_number),
		cmocka_unit_test(what_has_no_place_is_in_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
