/* Tests of dcpi-tools/diff/match.h: images, procedures and lines of two sides that are one. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/diff/match.h"

#define IMAGES_MAX 4

struct match_images_fixture {
	struct image images[2][IMAGES_MAX];
	struct match_input sides[2];
};

static struct match_image *
add(struct match_images_fixture *fixture, unsigned side, const char *path, uint8_t build)
{
	struct match_input *to = &fixture->sides[side];
	struct image *image = &fixture->images[side][to->count];

	if (!to->images)
		to->images = calloc(IMAGES_MAX, sizeof(*to->images));
	assert_true(to->count < IMAGES_MAX);
	*image = (struct image){.kind = path[0] == '[' ? IMAGE_KERNEL : IMAGE_USER,
	                        .build_id = {build},
	                        .build_id_size = 8,
	                        .path = path};
	to->images[to->count].image = image;
	return &to->images[to->count++];
}

static void
finish(struct match_images_fixture *fixture)
{
	match_input_fini(&fixture->sides[0]);
	match_input_fini(&fixture->sides[1]);
}

/* Files whose path has "zlib" have a soname, those with "made" were compiled from one source. */
static char *
origin(void *context, const struct image *image, enum match_question question)
{
	unsigned *asked = context;

	++*asked;
	if (question == MATCH_SONAME && strstr(image->path, "zlib"))
		return strdup("libz.so.1");
	return question == MATCH_SOURCE && strstr(image->path, "made") ? strdup("/src/made.c") : NULL;
}

static void
one_build_is_one_wherever_it_lies(void **state)
{
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/usr/bin/server", 1);
	struct match_image *after = add(&fixture, 1, "/overlay/42/x", 1);

	(void)state;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 1);
	assert_int_equal(before->group, after->group);
	assert_null(before->why);
	assert_true(match_is_same_build(fixture.sides, before->group));
	finish(&fixture);
}

static void
another_build_at_the_same_path_is_one_but_not_the_same_build(void **state)
{
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/usr/bin/server", 1);
	struct match_image *after = add(&fixture, 1, "/usr/bin/server", 2);
	struct match_image *kernel = add(&fixture, 1, "[kernel]", 3);

	(void)state;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 2);
	assert_int_equal(before->group, after->group);
	assert_int_not_equal(kernel->group, after->group);
	assert_false(match_is_same_build(fixture.sides, before->group));
	finish(&fixture);
}

/* While it was being replaced, processes of the old build went on. */
static void
a_build_of_both_sides_and_a_new_one_are_one_group(void **state)
{
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/usr/bin/server", 1);
	struct match_image *old = add(&fixture, 1, "/usr/bin/server", 1);
	struct match_image *new = add(&fixture, 1, "/usr/bin/server", 2);

	(void)state;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 1);
	assert_int_equal(before->group, old->group);
	assert_int_equal(before->group, new->group);
	assert_false(match_is_same_build(fixture.sides, before->group));
	finish(&fixture);
}

static void
libraries_meet_by_soname(void **state)
{
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/opt/old/zlib-a", 1);
	struct match_image *after = add(&fixture, 1, "/opt/new/zlib-b", 2);
	unsigned asked = 0;

	(void)state;
	add(&fixture, 0, "/usr/bin/server", 3);
	add(&fixture, 1, "/usr/bin/server", 4);
	assert_int_equal(match_images(fixture.sides, origin, &asked), 2);
	assert_int_equal(before->group, after->group);
	assert_string_equal(before->why, "soname");
	assert_int_equal(asked, 2); /* the server had matched */
	finish(&fixture);
}

static void
files_meet_by_name_in_another_folder(void **state)
{
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/opt/v1/bin/server", 1);
	struct match_image *after = add(&fixture, 1, "/opt/v2/bin/server", 2);

	(void)state;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 1);
	assert_string_equal(after->why, "file name");
	assert_int_equal(before->group, after->group);
	finish(&fixture);
}

static void
files_meet_by_name_without_version(void **state)
{
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/usr/lib/libLLVM-14.so.1", 1);
	struct match_image *after = add(&fixture, 1, "/usr/lib/libLLVM-15.so.1.2", 2);

	(void)state;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 1);
	assert_string_equal(after->why, "file name without version");
	assert_int_equal(before->group, after->group);
	finish(&fixture);
}

/* A process and itself: its functions move. */
static void
code_made_at_run_time_is_never_one_build(void **state)
{
	struct match_images_fixture fixture = {0};

	(void)state;
	add(&fixture, 0, "[jit:node]", 1);
	add(&fixture, 1, "[jit:node]", 1);
	fixture.images[0][0].kind = fixture.images[1][0].kind = IMAGE_JIT;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 1);
	assert_false(match_is_same_build(fixture.sides, 0));
	finish(&fixture);
}

static void
a_number_that_is_part_of_a_name_is_no_version(void **state)
{
	struct match_images_fixture fixture = {0};

	(void)state;
	add(&fixture, 0, "/usr/lib/libbench12.so", 1);
	add(&fixture, 1, "/usr/lib/libbench13.so", 2);
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 2);
	finish(&fixture);
}

static void
renamed_programs_meet_by_their_source(void **state)
{
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/tmp/made.old", 1);
	struct match_image *after = add(&fixture, 1, "/tmp/made.fast", 2);
	unsigned asked = 0;

	(void)state;
	assert_int_equal(match_images(fixture.sides, origin, &asked), 1);
	assert_string_equal(after->why, "source");
	assert_int_equal(before->group, after->group);
	finish(&fixture);
}

/* 80 of 100 samples are in procedures of both here, 60 of 100 there; of the third only 40. */
static void
renamed_programs_meet_by_their_procedures(void **state)
{
	static const struct match_procedure old[] = {{"alpha", 50}, {"beta", 30}, {"gamma", 20}};
	static const struct match_procedure new[] = {{"alpha", 20}, {"beta", 40}, {"delta", 40}};
	static const struct match_procedure other[] = {{"alpha", 40}, {"epsilon", 60}};
	struct match_images_fixture fixture = {0};
	struct match_image *before = add(&fixture, 0, "/tmp/one", 1);
	struct match_image *third = add(&fixture, 1, "/tmp/three", 3);
	struct match_image *after = add(&fixture, 1, "/tmp/two", 2);

	(void)state;
	before->procedures = old;
	before->procedure_count = 3;
	after->procedures = new;
	after->procedure_count = 3;
	third->procedures = other;
	third->procedure_count = 2;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 2);
	assert_string_equal(after->why, "procedures");
	assert_int_equal(before->group, after->group);
	assert_null(third->why);
	finish(&fixture);
}

static void
strangers_stay_apart(void **state)
{
	struct match_images_fixture fixture = {0};
	unsigned asked = 0;

	(void)state;
	add(&fixture, 0, "/usr/bin/gzip", 1);
	add(&fixture, 1, "/usr/bin/tar", 2);
	assert_int_equal(match_images(fixture.sides, origin, &asked), 2);
	assert_int_equal(asked, 4);
	assert_false(match_is_same_build(fixture.sides, 0));
	finish(&fixture);
}

static void
files_are_not_asked_when_none_is_alone_on_the_other_side(void **state)
{
	struct match_images_fixture fixture = {0};
	unsigned asked = 0;

	(void)state;
	add(&fixture, 0, "/usr/bin/gzip", 1);
	add(&fixture, 1, "/usr/bin/gzip", 2);
	add(&fixture, 1, "/usr/bin/tar", 3);
	assert_int_equal(match_images(fixture.sides, origin, &asked), 2);
	assert_int_equal(asked, 0);
	finish(&fixture);
}

static void
nothing_meets_nothing(void **state)
{
	struct match_images_fixture fixture = {0};

	(void)state;
	assert_int_equal(match_images(fixture.sides, NULL, NULL), 0);
}

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

/* Each character is an element; partners as digits, - for none. */
static void
assert_aligned(const char *one, const char *other, const char *expected)
{
	uint64_t numbers[2][16];
	uint32_t partners[16];
	char text[17] = "";

	for (size_t i = 0; one[i]; i++)
		numbers[0][i] = (uint64_t)one[i];
	for (size_t i = 0; other[i]; i++)
		numbers[1][i] = (uint64_t)other[i];
	assert_int_equal(match_sequences(numbers[0], strlen(one), numbers[1], strlen(other), partners), 0);
	for (size_t i = 0; one[i]; i++)
		text[i] = (char)(partners[i] == MATCH_NONE ? '-' : '0' + (char)partners[i]);
	assert_string_equal(text, expected);
}

static void
what_is_equal_is_aligned(void **state)
{
	(void)state;
	assert_aligned("abc", "abc", "012");
	assert_aligned("", "", "");
	assert_aligned("abc", "", "---");
	assert_aligned("", "abc", "");
}

static void
insertions_move_what_follows(void **state)
{
	(void)state;
	assert_aligned("abc", "xxabc", "234");
	assert_aligned("abc", "axxbc", "034");
	assert_aligned("abc", "abcxx", "012");
}

static void
deletions_and_changes_have_no_partner(void **state)
{
	(void)state;
	assert_aligned("abcde", "ade", "0--12");
	assert_aligned("abc", "axc", "0-2");
	assert_aligned("abc", "xyz", "---");
}

/* The example of Wagner and Fischer's problem in every textbook: ABCBDAB and BDCABA have BCBA or others of four. */
static void
as_much_is_common_as_can_be(void **state)
{
	const char *one = "ABCBDAB", *other = "BDCABA";
	uint64_t numbers[2][7];
	uint32_t partners[7], last = 0;
	size_t common = 0;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		numbers[0][i] = (uint64_t)one[i];
	for (size_t i = 0; i < 6; i++)
		numbers[1][i] = (uint64_t)other[i];
	assert_int_equal(match_sequences(numbers[0], 7, numbers[1], 6, partners), 0);
	for (size_t i = 0; i < 7; i++) {
		if (partners[i] == MATCH_NONE)
			continue;
		assert_int_equal(one[i], other[partners[i]]);
		assert_true(common == 0 || partners[i] > last);
		last = partners[i];
		common++;
	}
	assert_int_equal(common, 4);
}

/* 5,000 by 5,000 are more cells than are compared. */
static void
what_is_too_large_has_its_ends_aligned(void **state)
{
	const size_t count = 5000;
	uint64_t *one = calloc(count, sizeof(*one)), *other = calloc(count, sizeof(*other));
	uint32_t *partners = calloc(count, sizeof(*partners));

	(void)state;
	for (size_t i = 0; i < count; i++) {
		one[i] = i;
		other[i] = i == 0 || i + 1 == count ? i : count + i;
	}
	assert_int_equal(match_sequences(one, count, other, count, partners), 0);
	assert_int_equal(partners[0], 0);
	assert_int_equal(partners[count - 1], count - 1);
	assert_int_equal(partners[count / 2], MATCH_NONE);
	free(partners);
	free(other);
	free(one);
}

static void
blanks_do_not_make_a_text_another(void **state)
{
	(void)state;
	assert_true(match_text_hash("  a = b;  ") == match_text_hash("a =\tb;"));
	assert_true(match_text_hash("a = b;") != match_text_hash("a=b;"));
	assert_true(match_text_hash("") == match_text_hash("   "));
}

static void
addresses_do_not_make_an_instruction_another(void **state)
{
	(void)state;
	assert_true(match_instruction_hash("jne    0x1017") == match_instruction_hash("jne    0x2a4"));
	assert_true(match_instruction_hash("jne    0x1017") != match_instruction_hash("je     0x1017"));
	assert_true(match_instruction_hash("mov    0x8(%rax),%rcx") != match_instruction_hash("mov    0x8(%rax),%rdx"));
	assert_true(match_instruction_hash("xor    %eax,%eax") == match_text_hash("xor %eax,%eax"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_build_is_one_wherever_it_lies),
		cmocka_unit_test(another_build_at_the_same_path_is_one_but_not_the_same_build),
		cmocka_unit_test(a_build_of_both_sides_and_a_new_one_are_one_group),
		cmocka_unit_test(libraries_meet_by_soname),
		cmocka_unit_test(files_meet_by_name_in_another_folder),
		cmocka_unit_test(files_meet_by_name_without_version),
		cmocka_unit_test(code_made_at_run_time_is_never_one_build),
		cmocka_unit_test(a_number_that_is_part_of_a_name_is_no_version),
		cmocka_unit_test(renamed_programs_meet_by_their_source),
		cmocka_unit_test(renamed_programs_meet_by_their_procedures),
		cmocka_unit_test(strangers_stay_apart),
		cmocka_unit_test(files_are_not_asked_when_none_is_alone_on_the_other_side),
		cmocka_unit_test(nothing_meets_nothing),
		cmocka_unit_test(in_one_build_a_procedure_is_where_it_begins),
		cmocka_unit_test(in_other_builds_it_is_what_it_is_called),
		cmocka_unit_test(what_compilers_make_of_a_procedure_is_part_of_it),
		cmocka_unit_test(a_name_that_begins_like_an_addition_is_a_name),
		cmocka_unit_test(what_has_no_name_is_the_same_in_the_same_build_only),
		cmocka_unit_test(of_an_image_that_cannot_be_read_all_is_one),
		cmocka_unit_test(images_are_paired_by_their_group),
		cmocka_unit_test(what_is_equal_is_aligned),
		cmocka_unit_test(insertions_move_what_follows),
		cmocka_unit_test(deletions_and_changes_have_no_partner),
		cmocka_unit_test(as_much_is_common_as_can_be),
		cmocka_unit_test(what_is_too_large_has_its_ends_aligned),
		cmocka_unit_test(blanks_do_not_make_a_text_another),
		cmocka_unit_test(addresses_do_not_make_an_instruction_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
