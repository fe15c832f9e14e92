#include "tests/unit/test.h"

#include <string.h>

#include "base/error.h"
#include "event/names.h"

struct split {
	char bare[EVENT_NAME_SIZE];
	struct event_modifiers modifiers;
	char why[256];
	int err;
};

static struct split
split(const char *name)
{
	struct split result = {0};

	result.err = event_modifiers_split(name, result.bare, &result.modifiers, result.why, sizeof(result.why));
	return result;
}

static void
a_bare_name_has_no_modifiers(void **state)
{
	struct split result = split("cycles");

	(void)state;
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cycles");
	assert_false(result.modifiers.user);
	assert_false(result.modifiers.kernel);
	assert_false(result.modifiers.has_precise);
	assert_false(result.modifiers.no_idle);
}

static void
letters_behind_a_colon_are_modifiers(void **state)
{
	struct split result = split("cycles:uppI");

	(void)state;
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cycles");
	assert_true(result.modifiers.user);
	assert_false(result.modifiers.kernel);
	assert_true(result.modifiers.has_precise);
	assert_int_equal(result.modifiers.precise, 2);
	assert_true(result.modifiers.no_idle);
	assert_true(split("r1c2:k").modifiers.kernel);
	assert_int_equal(split("cycles:P").modifiers.precise, EVENT_PRECISE_MAX);
}

static void
letters_behind_a_pmu_event_need_no_colon(void **state)
{
	struct split result = split("cpu/event=0x3c,umask=1/u");

	(void)state;
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cpu/event=0x3c,umask=1/");
	assert_true(result.modifiers.user);
	result = split("cpu/event=0x3c/:pp");
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cpu/event=0x3c/");
	assert_int_equal(result.modifiers.precise, 2);
}

static void
what_is_no_modifier_is_refused_with_those_that_are(void **state)
{
	static const char *const wrong[] = {"cycles:x",  "cycles:",       "cycles:pppp",
	                                    "cycles:Pp", "cpu/event=1/:", "cpu/event=1/q"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct split result = split(wrong[i]);

		assert_int_equal(result.err, -DCPI_ENOEVENT);
		assert_ptr_equal(strstr(result.why, wrong[i]), result.why);
		assert_non_null(strstr(result.why, "u (user mode), k (kernel mode)"));
	}
}

static void
an_empty_or_endless_name_is_refused(void **state)
{
	char endless[EVENT_NAME_SIZE + 1];

	(void)state;
	assert_int_equal(split("").err, -DCPI_ENOEVENT);
	assert_int_equal(split(":u").err, -DCPI_ENOEVENT);
	memset(endless, 'a', sizeof(endless));
	endless[EVENT_NAME_SIZE] = '\0';
	assert_string_equal(split(endless).why, "an event's name has at most 127 characters");
	endless[EVENT_NAME_SIZE - 1] = '\0';
	assert_int_equal(split(endless).err, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bare_name_has_no_modifiers),
		cmocka_unit_test(letters_behind_a_colon_are_modifiers),
		cmocka_unit_test(letters_behind_a_pmu_event_need_no_colon),
		cmocka_unit_test(what_is_no_modifier_is_refused_with_those_that_are),
		cmocka_unit_test(an_empty_or_endless_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
