#include "tests/unit/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "dcpi-tools/common/image_name.h"
#include "tests/unit/dcpi-tools/fixture.h"

enum {
	GZIP,
	OLD_LIBRARY,
	NEW_LIBRARY,
	KERNEL,
	MODULE,
	MODULE_FILE,
	DEAD,
	IMAGES,
};

static void
make_images(struct selection_fixture *fixture)
{
	fixture_init(fixture);
	fixture_image(fixture, IMAGE_USER, "/usr/bin/gzip", "\x12\x34\xab\xcd");
	fixture_image(fixture, IMAGE_USER, "/usr/lib/libfoo.so.1", "");
	fixture_image(fixture, IMAGE_USER, "/usr/lib/libfoo.so.1", "\xde\xad\xbe\xef\x02");
	fixture_image(fixture, IMAGE_KERNEL, "[kernel]", "");
	fixture_image(fixture, IMAGE_MODULE, "[ext4]", "");
	fixture_image(fixture, IMAGE_MODULE, "/lib/modules/6.1/xfs.ko.xz", "");
	fixture_image(fixture, IMAGE_USER, "/opt/dead", "\x99\x99");
	/* a zero byte inside */
	fixture->images[OLD_LIBRARY].build_id_size = 6;
	memcpy(fixture->images[OLD_LIBRARY].build_id, "\xca\xfe\x00\x01\x02\x03", 6);
}

/* One bit for each image that matches. */
static unsigned
match(const char *pattern)
{
	struct selection_fixture fixture;
	bool wanted[IMAGES] = {false};
	unsigned found = 0, count = 0;

	make_images(&fixture);
	count = (unsigned)images_match(&fixture.selection, pattern, wanted);
	for (unsigned i = 0; i < IMAGES; i++)
		found |= wanted[i] ? 1u << i : 0;
	assert_int_equal(count, __builtin_popcount(found));
	return found;
}

static void
an_image_is_found_by_file_name_path_and_pattern(void **state)
{
	(void)state;
	assert_int_equal(match("gzip"), 1 << GZIP);
	assert_int_equal(match("/usr/bin/gzip"), 1 << GZIP);
	assert_int_equal(match("libfoo.so.1"), 1 << OLD_LIBRARY | 1 << NEW_LIBRARY);
	assert_int_equal(match("libfoo*"), 1 << OLD_LIBRARY | 1 << NEW_LIBRARY);
	assert_int_equal(match("/usr/*"), 1 << GZIP | 1 << OLD_LIBRARY | 1 << NEW_LIBRARY);
	assert_int_equal(match("libfoo"), 0);
	assert_int_equal(match(""), 0);
}

static void
the_kernel_and_its_modules_have_plain_names(void **state)
{
	(void)state;
	assert_int_equal(match("[kernel]"), 1 << KERNEL);
	assert_int_equal(match("kernel"), 1 << KERNEL);
	assert_int_equal(match("ext4"), 1 << MODULE);
	assert_int_equal(match("[ext4]"), 1 << MODULE);
	assert_int_equal(match("xfs"), 1 << MODULE_FILE);
	assert_int_equal(match("xf"), 0);
	assert_int_equal(match("ker*"), 1 << KERNEL);
	assert_int_equal(match("ext?"), 1 << MODULE);
}

static void
four_digits_of_a_build_id_are_enough(void **state)
{
	(void)state;
	assert_int_equal(match("1234"), 1 << GZIP);
	assert_int_equal(match("1234ABCD"), 1 << GZIP);
	assert_int_equal(match("cafe0"), 1 << OLD_LIBRARY);
	assert_int_equal(match("deadbeef02"), 1 << NEW_LIBRARY);
	assert_int_equal(match("123"), 0);
	assert_int_equal(match("1234abcd0"), 0);
}

static void
all_builds_whose_ids_begin_so_are_meant(void **state)
{
	struct selection_fixture fixture;
	bool wanted[3] = {false};

	(void)state;
	fixture_init(&fixture);
	fixture_image(&fixture, IMAGE_USER, "/opt/one", "\x12\x34\x01");
	fixture_image(&fixture, IMAGE_USER, "/opt/two", "\x12\x35\x02");
	fixture_image(&fixture, IMAGE_USER, "/opt/three", "\x12\x34\x03");
	assert_int_equal(images_match(&fixture.selection, "1234", wanted), 2);
	assert_true(wanted[0]);
	assert_false(wanted[1]);
	assert_true(wanted[2]);
}

static void
a_name_goes_before_a_build_id(void **state)
{
	(void)state;
	assert_int_equal(match("dead"), 1 << DEAD);
	assert_int_equal(match("deadb"), 1 << NEW_LIBRARY);
}

static void
a_path_that_leads_to_the_file_will_do(void **state)
{
	struct selection_fixture fixture;
	bool wanted[2] = {false};
	char directory[] = "/tmp/image_nameXXXXXX", link[64];

	(void)state;
	fixture_init(&fixture);
	fixture_image(&fixture, IMAGE_USER, "/usr/bin/env", "");
	fixture_image(&fixture, IMAGE_USER, "/usr/bin/gzip", "");
	assert_non_null(mkdtemp(directory));
	snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink("/usr/bin/env", link), 0);
	assert_int_equal(images_match(&fixture.selection, link, wanted), 1);
	assert_true(wanted[0]);
	unlink(link);
	rmdir(directory);
}

static void
two_builds_at_one_path_have_different_titles(void **state)
{
	struct selection_fixture fixture;
	char **titles;

	(void)state;
	make_images(&fixture);
	titles = image_titles(&fixture.selection);
	assert_non_null(titles);
	assert_string_equal(titles[GZIP], "/usr/bin/gzip");
	assert_string_equal(titles[OLD_LIBRARY], "/usr/lib/libfoo.so.1 (cafe0001)");
	assert_string_equal(titles[NEW_LIBRARY], "/usr/lib/libfoo.so.1 (deadbeef)");
	assert_string_equal(titles[KERNEL], "[kernel]");
	image_titles_free(titles, fixture.selection.image_count);
}

static void
a_name_that_is_nearly_right_is_recognised(void **state)
{
	struct selection_fixture fixture;

	(void)state;
	make_images(&fixture);
	assert_string_equal(image_suggest(&fixture.selection, "gizp"), "gzip");
	assert_string_equal(image_suggest(&fixture.selection, "libfoo"), "libfoo.so.1");
	assert_string_equal(image_suggest(&fixture.selection, "/bin/gzp"), "gzip");
	assert_null(image_suggest(&fixture.selection, "postgres"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_found_by_file_name_path_and_pattern),
		cmocka_unit_test(the_kernel_and_its_modules_have_plain_names),
		cmocka_unit_test(four_digits_of_a_build_id_are_enough),
		cmocka_unit_test(all_builds_whose_ids_begin_so_are_meant),
		cmocka_unit_test(a_name_goes_before_a_build_id),
		cmocka_unit_test(a_path_that_leads_to_the_file_will_do),
		cmocka_unit_test(two_builds_at_one_path_have_different_titles),
		cmocka_unit_test(a_name_that_is_nearly_right_is_recognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
