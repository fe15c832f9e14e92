/* Tests of dcpi-tools/diff/match_procedures.h: procedures of two sides that are one. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/diff/match_procedures.h"

/* The pairs of rows as text: "0:foo 1:foo | 1:bar". */
static const char *
paired(struct match_row *rows, size_t count, char *text, size_t size)
{
	size_t *starts, pairs, used = 0;

	assert_int_equal(match_procedures(rows, count, &starts, &pairs), 0);
	text[0] = '\0';
	for (size_t pair = 0; pair < pairs; pair++)
		for (size_t i = starts[pair]; i < starts[pair + 1]; i++)
			used += (size_t)snprintf(text + used, size - used, "%s%u:%s",
			                         i > starts[pair] ? " "
			                         : pair           ? " | "
			                                          : "",
			                         rows[i].side, rows[i].title ? rows[i].title : "-");
	free(starts);
	return text;
}

static struct match_row
named(unsigned side, bool same_build, uint64_t offset, const char *title)
{
	return (struct match_row){.side = side,
	                          .same_build = same_build,
	                          .kind = PROCEDURE_NAMED,
	                          .offset = offset,
	                          .title = title,
	                          .build = ""};
}

static void
in_one_build_a_procedure_is_where_it_begins(void **state)
{
	struct match_row rows[] = {named(1, true, 0x20, "twin"), named(0, true, 0x10, "twin"),
	                           named(0, true, 0x20, "twin"), named(1, true, 0x30, "twin.cold")};
	char text[200];

	(void)state;
	assert_string_equal(paired(rows, 4, text, sizeof(text)), "0:twin | 0:twin 1:twin | 1:twin.cold");
}

static void
in_other_builds_it_is_what_it_is_called(void **state)
{
	struct match_row rows[] = {named(1, false, 0x90, "sum"), named(0, false, 0x10, "sum"),
	                           named(0, false, 0x90, "max")};
	char text[200];

	(void)state;
	assert_string_equal(paired(rows, 3, text, sizeof(text)), "0:max | 0:sum 1:sum");
}

static void
what_compilers_make_of_a_procedure_is_part_of_it(void **state)
{
	struct match_row rows[] = {named(0, false, 0x10, "sum.isra.0"), named(0, false, 0x50, "sum.isra.0.cold"),
	                           named(1, false, 0x40, "sum"), named(1, false, 0x90, "sum.part.3"),
	                           named(1, false, 0x99, "summary")};
	char text[200];

	(void)state;
	assert_string_equal(paired(rows, 5, text, sizeof(text)),
	                    "0:sum.isra.0 0:sum.isra.0.cold 1:sum 1:sum.part.3 | 1:summary");
}

static void
a_name_that_begins_like_an_addition_is_a_name(void **state)
{
	(void)state;
	assert_int_equal(match_procedure_name_length(".cold"), 5);
	assert_int_equal(match_procedure_name_length(""), 0);
	assert_int_equal(match_procedure_name_length("foo::bar [clone .isra.0]"), 8);
	assert_int_equal(match_procedure_name_length("a.cold.isra.0"), 1);
	assert_int_equal(match_procedure_name_length("config.parts"), 12);
	assert_int_equal(match_procedure_name_length("main.coldStart"), 14);
	assert_int_equal(match_procedure_name_length("runtime.part.x"), 14);
}

static void
what_has_no_name_is_the_same_in_the_same_build_only(void **state)
{
	struct match_row rows[] = {
		{.side = 0, .kind = PROCEDURE_UNNAMED, .offset = 0x10, .title = "lib+0x10", .build = "aa"},
		{.side = 1, .kind = PROCEDURE_UNNAMED, .offset = 0x10, .title = "lib+0x10", .build = "aa"},
		{.side = 1, .kind = PROCEDURE_UNNAMED, .offset = 0x10, .title = "lib+0x10", .build = "bb"}};
	char text[200];

	(void)state;
	assert_string_equal(paired(rows, 3, text, sizeof(text)), "0:lib+0x10 1:lib+0x10 | 1:lib+0x10");
}

static void
of_an_image_that_cannot_be_read_all_is_one(void **state)
{
	struct match_row rows[] = {
		{.side = 1, .kind = PROCEDURE_OTHER_BUILD, .title = "[another build: x]", .build = "bb"},
		{.side = 0, .kind = PROCEDURE_NO_FILE, .title = "[file not found: x]", .build = "aa"},
		{.side = 0, .group = 1, .kind = PROCEDURE_NO_FILE, .title = "[file not found: y]", .build = ""}};
	char text[200];

	(void)state;
	assert_string_equal(paired(rows, 3, text, sizeof(text)),
	                    "0:[file not found: x] 1:[another build: x] | 0:[file not found: y]");
}

static void
images_are_paired_by_their_group(void **state)
{
	struct match_row rows[] = {{.side = 1, .group = 7, .build = ""},
	                           {.side = 0, .group = 7, .build = ""},
	                           {.side = 0, .group = 3, .build = ""}};
	char text[200];

	(void)state;
	assert_string_equal(paired(rows, 3, text, sizeof(text)), "0:- | 0:- 1:-");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_one_build_a_procedure_is_where_it_begins),
		cmocka_unit_test(in_other_builds_it_is_what_it_is_called),
		cmocka_unit_test(what_compilers_make_of_a_procedure_is_part_of_it),
		cmocka_unit_test(a_name_that_begins_like_an_addition_is_a_name),
		cmocka_unit_test(what_has_no_name_is_the_same_in_the_same_build_only),
		cmocka_unit_test(of_an_image_that_cannot_be_read_all_is_one),
		cmocka_unit_test(images_are_paired_by_their_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
