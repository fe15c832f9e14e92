#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"

static const struct table_column figure[] = {
	{.heading = "cycles", .align = TABLE_RIGHT},
	{.heading = "%", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
	{.heading = "procedure", .gap = 1, .cut = TABLE_CUT_END},
	{.heading = "image", .gap = 2, .cut = TABLE_CUT_START},
};
#define FIGURE_COLUMNS (sizeof(figure) / sizeof(figure[0]))

static void
assert_printed(const struct table *table, size_t width, bool color, const char *expected)
{
	struct output output = {.width = width, .color = color};
	char *text = NULL;
	size_t size = 0;

	output.stream = open_memstream(&text, &size);
	assert_non_null(output.stream);
	assert_int_equal(table_print(table, &output, true), 0);
	fclose(output.stream);
	assert_string_equal(text, expected);
	free(text);
}

static void
add_row(struct table *table, const char *count, const char *percent, const char *procedure, const char *image)
{
	table_text(table, STYLE_PLAIN, count);
	table_text(table, STYLE_HOT, percent);
	table_text(table, STYLE_PLAIN, procedure);
	table_text(table, STYLE_PLAIN, image);
}

static void
columns_are_as_wide_as_what_is_in_them(void **state)
{
	struct table *table = table_new(figure, FIGURE_COLUMNS);

	(void)state;
	add_row(table, "2064143", "33.87%", "ffb8ZeroPolyArc", "/usr/shlib/X11/lib_dec_ffb_ev5.so");
	add_row(table, "517464", "8.49%", "ReadRequestFromClient", "/usr/shlib/X11/libos.so");
	assert_int_equal(table_width(table, 0), 72);
	assert_int_equal(table_width(table, 40), 40);
	assert_printed(table, 0, false,
	               " cycles       % procedure              image\n"
	               "2064143  33.87% ffb8ZeroPolyArc        /usr/shlib/X11/lib_dec_ffb_ev5.so\n"
	               " 517464   8.49% ReadRequestFromClient  /usr/shlib/X11/libos.so\n");
	table_free(table);
}

static void
a_line_does_not_end_in_blanks(void **state)
{
	struct table *table = table_new(figure, FIGURE_COLUMNS);

	(void)state;
	add_row(table, "1", "1.00%", "main", "");
	assert_printed(table, 0, false, "cycles       % procedure  image\n     1   1.00% main\n");
	table_free(table);
}

static void
columns_count_characters_not_bytes(void **state)
{
	struct table *table = table_new(figure, FIGURE_COLUMNS);

	(void)state;
	add_row(table, "1", "1.00%", "naïve_function", "a");
	add_row(table, "1", "1.00%", "名前", "b"); /* two columns each */
	add_row(table, "1", "1.00%", "plain_function", "c");
	assert_printed(table, 0, false,
	               "cycles       % procedure       image\n"
	               "     1   1.00% naïve_function  a\n"
	               "     1   1.00% 名前            b\n"
	               "     1   1.00% plain_function  c\n");
	table_free(table);
}

static void
a_narrow_terminal_cuts_the_widest_names(void **state)
{
	struct table *table = table_new(figure, FIGURE_COLUMNS);

	(void)state;
	add_row(table, "1", "1.00%", "a_procedure_with_a_long_name", "/usr/lib/libfoo.so");
	assert_printed(table, 53, false,
	               "cycles       % procedure           image\n"
	               "     1   1.00% a_procedure_with_…  /usr/lib/libfoo.so\n");
	table_free(table);
}

static void
paths_keep_their_end(void **state)
{
	struct table *table = table_new(figure, FIGURE_COLUMNS);

	(void)state;
	add_row(table, "1", "1.00%", "main", "/a/long/way/down/to/the/library/libfoo.so");
	assert_printed(table, 44, false,
	               "cycles       % procedure  image\n"
	               "     1   1.00% main       …library/libfoo.so\n");
	table_free(table);
}

static void
a_terminal_is_not_driven_by_names(void **state)
{
	struct table *table = table_new(figure, FIGURE_COLUMNS);

	(void)state;
	add_row(table, "1", "1.00%", "\033[2J", "a\nb");
	assert_printed(table, 0, false, "cycles       % procedure  image\n     1   1.00% \\x1b[2J    a\\x0ab\n");
	table_free(table);
}

static void
an_endless_name_does_not_move_the_others(void **state)
{
	static const struct table_column narrow[] = {
		{.heading = "procedure", .cut = TABLE_CUT_END, .max_width = 10},
		{.heading = "image", .gap = 2},
	};
	struct table *table = table_new(narrow, 2);

	(void)state;
	table_text(table, STYLE_PLAIN, "main");
	table_text(table, STYLE_PLAIN, "a");
	table_text(table, STYLE_PLAIN, "std::vector<std::string>");
	table_text(table, STYLE_PLAIN, "b");
	assert_int_equal(table_width(table, 0), 17);
	assert_int_equal(table_width(table, 80), 31);
	assert_printed(table, 0, false,
	               "procedure   image\n"
	               "main        a\n"
	               "std::vector<std::string>  b\n");
	assert_printed(table, 80, false,
	               "procedure                 image\n"
	               "main                      a\n"
	               "std::vector<std::string>  b\n");
	table_free(table);
}

static void
colours_do_not_move_columns(void **state)
{
	struct table *table = table_new(figure, FIGURE_COLUMNS);

	(void)state;
	add_row(table, "1", "1.00%", "main", "a");
	assert_printed(table, 0, true,
	               "\033[1mcycles\033[0m       \033[1m%\033[0m \033[1mprocedure\033[0m  \033[1mimage\033[0m\n"
	               "     1   \033[31m1.00%\033[0m main       a\n");
	table_free(table);
}

static void
assert_line(const char *first, const char *second, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	struct csv csv = {.stream = open_memstream(&text, &size)};

	assert_non_null(csv.stream);
	csv_text(&csv, first);
	csv_text(&csv, second);
	csv_number(&csv, UINT64_MAX);
	csv_end(&csv);
	fclose(csv.stream);
	assert_string_equal(text, expected);
	free(text);
}

static void
plain_fields_are_not_quoted(void **state)
{
	(void)state;
	assert_line("main", "/bin/true", "main,/bin/true,18446744073709551615\n");
	assert_line("", "", ",,18446744073709551615\n");
}

/* RFC 4180, rules 6 and 7 of section 2 */
static void
commas_quotes_and_line_breaks_are_quoted(void **state)
{
	(void)state;
	assert_line("std::map<int, int>", "b", "\"std::map<int, int>\",b,18446744073709551615\n");
	assert_line("say \"hi\"", "b", "\"say \"\"hi\"\"\",b,18446744073709551615\n");
	assert_line("a\nb", "c\rd", "\"a\nb\",\"c\rd\",18446744073709551615\n");
}

static void
what_comes_from_outside_is_escaped_and_nothing_is_empty(void **state)
{
	char *text = NULL;
	size_t size = 0;
	struct csv csv = {.stream = open_memstream(&text, &size)};

	(void)state;
	assert_non_null(csv.stream);
	assert_int_equal(csv_shown(&csv, "a\033,b"), 0);
	assert_int_equal(csv_shown(&csv, NULL), 0);
	assert_int_equal(csv_shown(&csv, "c"), 0);
	fclose(csv.stream);
	assert_string_equal(text, "\"a\\x1b,b\",,c");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_what_is_in_them),
		cmocka_unit_test(a_line_does_not_end_in_blanks),
		cmocka_unit_test(columns_count_characters_not_bytes),
		cmocka_unit_test(a_narrow_terminal_cuts_the_widest_names),
		cmocka_unit_test(paths_keep_their_end),
		cmocka_unit_test(a_terminal_is_not_driven_by_names),
		cmocka_unit_test(an_endless_name_does_not_move_the_others),
		cmocka_unit_test(colours_do_not_move_columns),
		cmocka_unit_test(plain_fields_are_not_quoted),
		cmocka_unit_test(commas_quotes_and_line_breaks_are_quoted),
		cmocka_unit_test(what_comes_from_outside_is_escaped_and_nothing_is_empty),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
