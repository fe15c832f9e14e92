#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/stats/rows.h"
#include "tests/unit/dcpi-tools/fixture.h"

#define SETS 3

static void
add(struct stats_rows *rows, size_t set, const struct selection_fixture *fixture, struct symbolizer *symbolizer,
    uint64_t expected)
{
	const struct stats_addition addition = {.set = set, .selection = &fixture->selection, .symbolizer = symbolizer};
	struct stats_total total;

	assert_int_equal(rows_add(rows, &addition, &total), 0);
	assert_int_equal(total.count, expected);
	assert_int_equal(total.taken, expected);
	assert_true(total.squares == (double)expected);
}

static const struct stats_row *
row_of(const struct stats_rows *rows, const char *path)
{
	for (size_t i = 0; i < rows_count(rows); i++)
		if (strcmp(rows_get(rows, i)->path, path) == 0)
			return rows_get(rows, i);
	return NULL;
}

static void
assert_row(const struct stats_row *row, uint64_t first, uint64_t second)
{
	assert_non_null(row);
	assert_int_equal(row->counts[0], first);
	assert_int_equal(row->counts[1], second);
	assert_int_equal(row->counts[2], 0);
}

/* The first set has gzip of one build, the second one of another at its path, and the first under another name. */
static void
images_meet_by_build_id_and_by_path(void **state)
{
	struct stats_rows *rows = rows_new(ROW_IMAGE, SETS, true);
	struct selection_fixture first, second;

	(void)state;
	fixture_init(&first);
	fixture_count(&first, fixture_image(&first, IMAGE_USER, "/usr/bin/gzip", "aaaa"), 0x10, 0, 5);
	fixture_count(&first, fixture_image(&first, IMAGE_USER, "/usr/bin/tar", "cccc"), 0x10, 0, 7);
	fixture_init(&second);
	fixture_count(&second, fixture_image(&second, IMAGE_USER, "/usr/bin/tar", "dddd"), 0x10, 0, 20);
	fixture_count(&second, fixture_image(&second, IMAGE_USER, "/opt/pack", "aaaa"), 0x20, 0, 30);
	fixture_count(&second, fixture_image(&second, IMAGE_USER, "/opt/new", "eeee"), 0x20, 0, 40);
	add(rows, 0, &first, NULL, 12);
	add(rows, 1, &second, NULL, 90);
	assert_int_equal(rows_count(rows), 3);
	assert_row(row_of(rows, "/usr/bin/gzip"), 5, 30);
	assert_row(row_of(rows, "/usr/bin/tar"), 7, 20);
	assert_row(row_of(rows, "/opt/new"), 0, 40);
	assert_null(row_of(rows, "/usr/bin/gzip")->title);
	assert_string_equal(row_of(rows, "/opt/new")->build_id, "65656565");
	rows_free(rows);
}

static void
kinds_with_one_name_are_apart(void **state)
{
	struct stats_rows *rows = rows_new(ROW_IMAGE, SETS, true);
	struct selection_fixture first, second;

	(void)state;
	fixture_init(&first);
	fixture_count(&first, fixture_image(&first, IMAGE_ANON, "x", ""), 0, 0, 1);
	fixture_init(&second);
	fixture_count(&second, fixture_image(&second, IMAGE_USER, "x", ""), 0, 0, 2);
	add(rows, 0, &first, NULL, 1);
	add(rows, 1, &second, NULL, 2);
	assert_int_equal(rows_count(rows), 2);
	rows_free(rows);
}

/* What has no file has no symbols: one procedure stands for the image. Without a profile the symbolizer needs no more.
 */
static void
procedures_are_called_by_name(void **state)
{
	struct stats_rows *rows = rows_new(ROW_PROCEDURE, SETS, true);
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct selection_fixture first, second;

	(void)state;
	fixture_init(&first);
	fixture_count(&first, fixture_image(&first, IMAGE_UNKNOWN, "/none/lib", "aaaa"), 0x10, 0, 5);
	fixture_count(&first, 0, 0x9000, 0, 6);
	fixture_count(&first, 0, 0x9000, 1, 100); /* another event */
	fixture_init(&second);
	fixture_count(&second, fixture_image(&second, IMAGE_UNKNOWN, "/none/lib", "bbbb"), 0x40, 0, 9);
	add(rows, 0, &first, symbolizer, 11);
	add(rows, 1, &second, symbolizer, 9);
	assert_int_equal(rows_count(rows), 1);
	assert_string_equal(rows_get(rows, 0)->title, "[no symbol: lib]");
	assert_row(rows_get(rows, 0), 11, 9);
	symbolizer_free(symbolizer);
	rows_free(rows);
}

/* An offset says nothing about another build. */
static void
instructions_meet_in_one_build_only(void **state)
{
	struct stats_rows *rows = rows_new(ROW_INSTRUCTION, SETS, true);
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct selection_fixture first, second;

	(void)state;
	fixture_init(&first);
	fixture_count(&first, fixture_image(&first, IMAGE_UNKNOWN, "/none/lib", "aaaa"), 0x10, 0, 5);
	fixture_count(&first, fixture_image(&first, IMAGE_UNKNOWN, "/none/old", "cccc"), 0x10, 0, 6);
	fixture_init(&second);
	fixture_count(&second, fixture_image(&second, IMAGE_UNKNOWN, "/none/lib", "bbbb"), 0x10, 0, 9);
	fixture_count(&second, fixture_image(&second, IMAGE_UNKNOWN, "/none/new", "cccc"), 0x10, 0, 10);
	add(rows, 0, &first, symbolizer, 11);
	add(rows, 1, &second, symbolizer, 19);
	assert_int_equal(rows_count(rows), 3);
	assert_row(row_of(rows, "/none/old"), 6, 10);
	assert_string_equal(row_of(rows, "/none/old")->title, "[no symbol: old]+0x10");
	symbolizer_free(symbolizer);
	rows_free(rows);
}

static void
only_images_that_are_wanted_count(void **state)
{
	struct stats_rows *rows = rows_new(ROW_IMAGE, SETS, true);
	const bool wanted[] = {false, true};
	struct stats_addition addition = {.wanted = wanted};
	struct selection_fixture fixture;
	struct stats_total total;

	(void)state;
	fixture_init(&fixture);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/a", ""), 0, 0, 1);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/b", ""), 0, 0, 2);
	addition.selection = &fixture.selection;
	assert_int_equal(rows_add(rows, &addition, &total), 0);
	assert_int_equal(total.count, 2);
	assert_int_equal(rows_count(rows), 1);
	rows_free(rows);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_meet_by_build_id_and_by_path),
		cmocka_unit_test(kinds_with_one_name_are_apart),
		cmocka_unit_test(procedures_are_called_by_name),
		cmocka_unit_test(instructions_meet_in_one_build_only),
		cmocka_unit_test(only_images_that_are_wanted_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
