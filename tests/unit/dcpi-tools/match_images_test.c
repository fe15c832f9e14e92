/* Tests of dcpi-tools/diff/match_images.h: images of two sides that are one. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/diff/match_images.h"

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
	assert_int_equal(asked, 2); /* the server had met */
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
