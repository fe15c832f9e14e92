#include "base/config.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

#include "tests/unit/test.h"

struct box {
	unsigned width;
	uint64_t bytes;
	double weight;
};

#define BOX(field) offsetof(struct box, field)

static const struct config_field fields[] = {
	{"width", BOX(width), 1, 9, true},
	{"bytes", BOX(bytes), 0, 1e15, false, CONFIG_FIELD_LONG, "bytes"},
	{"weight", BOX(weight), 0, 1.5, false, CONFIG_FIELD_DOUBLE, "kg"},
};

static int
read_box(const struct config_source *source, const config_setting_t *root, void *into)
{
	static const char *const others[] = {"title"};
	int err = config_fields_known(source, root, fields, 3, others, 1);

	return err ? err : config_fields_read(source, root, fields, 3, into);
}

static void
fields_go_where_the_table_says(void **state)
{
	struct box box = {0};
	char why[256] = "";

	(void)state;
	assert_int_equal(config_read_text("box", "title = \"a\"; width = 3; bytes = 999999999999; weight = 1;",
	                                  read_box, &box, why, sizeof(why)),
	                 0);
	assert_int_equal(box.width, 3);
	assert_true(box.bytes == UINT64_C(999999999999));
	assert_true(box.weight == 1);
}

static void
what_is_not_there_stays_as_it_was(void **state)
{
	struct box box = {.bytes = 7, .weight = 0.5};
	char why[256] = "";

	(void)state;
	assert_int_equal(config_read_text("box", "width = 9;", read_box, &box, why, sizeof(why)), 0);
	assert_true(box.bytes == 7 && box.weight == 0.5);
}

static void
assert_refused(const char *text, const char *expected)
{
	struct box box = {0};
	char why[256] = "";

	assert_int_equal(config_read_text("box", text, read_box, &box, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, expected);
}

static void
what_is_wrong_is_refused_with_line_and_range(void **state)
{
	(void)state;
	assert_refused("bytes = 1;", "box: width is missing");
	assert_refused("width = 10;", "box:1: width is 10; it must be from 1 to 9");
	assert_refused("width = 1;\nweight = 1.6;", "box:2: weight is 1.6; it must be from 0 to 1.5 kg");
	assert_refused("width = 1;\n\nbyte = 1;", "box:3: there is no option byte (did you mean bytes?)");
	assert_refused("width = ;", "box:1: syntax error");
}

static int
read_title(const struct config_source *source, const config_setting_t *root, void *into)
{
	const bool required = *(bool *)into;
	int err = 0;
	const config_setting_t *title =
		config_member(source, root, "title", CONFIG_TYPE_STRING, "a string", required, &err);

	*(bool *)into = title != NULL;
	return err;
}

static void
a_member_is_there_or_need_not_be(void **state)
{
	bool found = false;
	char why[256] = "";

	(void)state;
	assert_int_equal(config_read_text("box", "", read_title, &found, why, sizeof(why)), 0);
	assert_false(found);
	found = true;
	assert_int_equal(config_read_text("box", "", read_title, &found, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, "box: title is missing");
	found = false;
	assert_int_equal(config_read_text("box", "title = 3;", read_title, &found, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, "box:1: title must be a string");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_go_where_the_table_says),
		cmocka_unit_test(what_is_not_there_stays_as_it_was),
		cmocka_unit_test(what_is_wrong_is_refused_with_line_and_range),
		cmocka_unit_test(a_member_is_there_or_need_not_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
