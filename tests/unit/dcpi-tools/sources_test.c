#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/sources.h"
#include "tests/remove_tree.h"

struct sources_fixture {
	char directory[32];
	char path[48];
	struct sources sources;
};

static int
setup(void **state)
{
	struct sources_fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-sources-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/a.c", fixture->directory);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct sources_fixture *fixture = *state;

	sources_fini(&fixture->sources);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

static void
write_file(const struct sources_fixture *fixture, const char *text, size_t size)
{
	FILE *file = fopen(fixture->path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	fclose(file);
}

static const struct source *
add(struct sources_fixture *fixture, const char *path)
{
	uint32_t index;

	assert_int_equal(sources_add(&fixture->sources, path, &index), 0);
	assert_true(index < fixture->sources.count);
	return &fixture->sources.sources[index];
}

static void
lines_have_blanks_for_tabs_and_no_ends(void **state)
{
	static const char text[] = "one\r\n\n\ttwo\ta\tb\nthe last";
	struct sources_fixture *fixture = *state;
	const struct source *source;

	write_file(fixture, text, sizeof(text) - 1);
	source = add(fixture, fixture->path);
	assert_int_equal(source->trouble, 0);
	assert_int_equal(source->line_count, 4);
	assert_string_equal(source_line(source, 1), "one");
	assert_string_equal(source_line(source, 2), "");
	assert_string_equal(source_line(source, 3), "        two     a       b");
	assert_string_equal(source_line(source, 4), "the last");
	assert_string_equal(source_line(source, 5), "");
	assert_string_equal(source_line(source, 0), "");
}

static void
a_file_is_read_once(void **state)
{
	struct sources_fixture *fixture = *state;

	write_file(fixture, "x\n", 2);
	add(fixture, fixture->path);
	add(fixture, "/nowhere/b.c");
	add(fixture, fixture->path);
	assert_int_equal(fixture->sources.count, 2);
}

static void
why_a_file_cannot_be_read_is_kept(void **state)
{
	struct sources_fixture *fixture = *state;

	assert_int_equal(add(fixture, "/nowhere/b.c")->trouble, -ENOENT);
	assert_int_equal(add(fixture, fixture->directory)->trouble, -EISDIR);
}

static void
what_never_ends_is_not_waited_for(void **state)
{
	struct sources_fixture *fixture = *state;

	assert_int_equal(mkfifo(fixture->path, 0600), 0);
	assert_int_equal(add(fixture, fixture->path)->trouble, -DCPI_EDAMAGED);
	assert_int_equal(add(fixture, "/dev/zero")->trouble, -DCPI_EDAMAGED);
}

/* A million empty lines a file are 64 MB. */
static void
all_files_together_have_a_limit(void **state)
{
	struct sources_fixture *fixture = *state;
	char *text = malloc(SOURCE_LINES_MAX + 1), path[64];
	const struct source *source = NULL;

	memset(text, '\n', SOURCE_LINES_MAX + 1);
	write_file(fixture, text, SOURCE_LINES_MAX + 1);
	free(text);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%d.c", fixture->directory, i);
		assert_int_equal(link(fixture->path, path), 0);
		source = add(fixture, path);
		assert_int_equal(source->trouble, -EFBIG);
	}
	assert_int_equal(fixture->sources.sources[0].line_count, SOURCE_LINES_MAX);
	assert_int_equal(source->line_count, 0);
	assert_in_range(fixture->sources.bytes, 0, SOURCES_BYTES_MAX + 1000);
}

static void
files_beyond_the_limit_are_not_known(void **state)
{
	struct sources_fixture *fixture = *state;
	uint32_t index;
	char path[64];

	for (int i = 0; i <= SOURCES_MAX; i++) {
		snprintf(path, sizeof(path), "%s/%d.c", fixture->directory, i);
		assert_int_equal(sources_add(&fixture->sources, path, &index), 0);
	}
	assert_int_equal(index, SOURCE_NONE);
	assert_int_equal(fixture->sources.count, SOURCES_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void
a_line_has_its_instructions_in_their_order(void **state)
{
	static const struct line_place places[] = {{1, 7}, {0, 9}, {1, 7}, {SOURCE_NONE, 0}, {0, 3}, {1, 7}};
	struct line_index index;
	const struct line_entry *line;

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
	static const struct line_place places[] = {{1, 7}, {0, 4000000000u}, {1, 2}, {0, 3}};
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
	static const struct line_place places[] = {{SOURCE_NONE, 0}, {SOURCE_NONE, 0}};
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
		TEST(lines_have_blanks_for_tabs_and_no_ends),
		TEST(a_file_is_read_once),
		TEST(why_a_file_cannot_be_read_is_kept),
		TEST(what_never_ends_is_not_waited_for),
		TEST(all_files_together_have_a_limit),
		TEST(files_beyond_the_limit_are_not_known),
		cmocka_unit_test(a_line_has_its_instructions_in_their_order),
		cmocka_unit_test(lines_ascend_by_file_and_number),
		cmocka_unit_test(what_has_no_place_is_in_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
