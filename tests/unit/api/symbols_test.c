/* Procedures and source lines for other programs: of this test itself, which was built with debug information. */
#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <limits.h>

#include <libsample/error.h>
#include <libsample/symbols.h>

#include "tests/unit/dcpi-tools/self.h"

int function_with_a_line(int value);

int
function_with_a_line(int value)
{
	return value + 1;
}

#define FUNCTION_LINE 15 /* in this file */

struct opened_selection {
	struct sample_database *database;
	struct sample_selection *selection;
};

static int
setup(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct tally_entry entries[] = {
		{.image = 0, .context = 0, .offset = self_offset(function_with_a_line), .event = 0, .count = 3},
		{.image = 1, .context = 0, .offset = 0x10, .event = 0, .count = 1},
	};
	char path[PATH_MAX];
	struct image self;
	const struct image *images[] = {&self, &libc_image};
	struct slice slice = {.start_ns = 100 * SECOND_NS, .end_ns = 110 * SECOND_NS, .event_count = 1};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = 2,
		.images = images,
		.image_count = 2,
		.contexts = two_contexts,
		.context_count = 2,
		.slice = &slice,
	};
	struct profile *profile;
	struct profile_fixture *fixture;

	if (fixture_setup(state) || self_find(&self, path))
		return -1;
	fixture = *state;
	profile = open_writer(fixture->directory, 0);
	slice.epoch = begin_epoch(profile, 100 * SECOND_NS, "", names, 1);
	slice.events[0].samples = 4;
	assert_int_equal(profile_flush(profile, &batch), 0);
	profile_close(profile);
	return 0;
}

static struct opened_selection
open_all(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct opened_selection opened;

	assert_int_equal(sample_database_open(fixture->directory, &opened.database), 0);
	assert_int_equal(sample_selection_read(opened.database, NULL, &opened.selection, NULL, 0), 0);
	return opened;
}

static void
close_all(const struct opened_selection *opened)
{
	sample_selection_free(opened->selection);
	sample_database_close(opened->database);
}

static void
an_offset_is_in_a_procedure_with_lines(void **state)
{
	struct opened_selection opened = open_all(state);
	const uint64_t offset = self_offset(function_with_a_line);
	struct sample_symbols *symbols;
	const char *name, *path;
	uint64_t start;
	unsigned line;

	assert_int_equal(sample_symbols_open(opened.database, opened.selection, 0, &symbols), 0);
	close_all(&opened);
	assert_int_equal(sample_symbols_find(symbols, offset + 1, &start, &name), 0);
	assert_string_equal(name, "function_with_a_line");
	assert_int_equal(start, offset);
	assert_int_equal(sample_symbols_line(symbols, offset, &path, &line), 0);
	assert_non_null(strstr(path, "symbols_test.c"));
	assert_in_range(line, FUNCTION_LINE, FUNCTION_LINE + 2);
	assert_int_equal(sample_symbols_find(symbols, UINT64_C(1) << 40, &start, &name), -ENOENT);
	assert_int_equal(sample_symbols_line(symbols, UINT64_C(1) << 40, &path, &line), -ENOENT);
	sample_symbols_close(symbols);
}

static void
an_image_without_its_file_has_none(void **state)
{
	struct opened_selection opened = open_all(state);
	struct sample_symbols *symbols;
	int err = sample_symbols_open(opened.database, opened.selection, 1, &symbols);

	assert_true(err == -ENOENT || err == -SAMPLE_EBUILDID);
	assert_null(symbols);
	assert_int_equal(sample_symbols_open(opened.database, opened.selection, 2, &symbols), -ERANGE);
	sample_symbols_close(NULL);
	close_all(&opened);
}

static void
a_name_of_cplusplus_is_made_readable(void **state)
{
	char *readable = sample_demangle("_ZN3foo3barEi");

	(void)state;
	assert_string_equal(readable, "foo::bar");
	free(readable);
	assert_null(sample_demangle("main"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_offset_is_in_a_procedure_with_lines, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(an_image_without_its_file_has_none, setup, fixture_teardown),
		cmocka_unit_test(a_name_of_cplusplus_is_made_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
