#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "code/forms.h"
#include "code/instruction.h"

static const struct form table[] = {
	{"cmp* add", CLASS_FLOAT_COMPARE, ACCESS_UPDATE, 0},
	{"cmp", CLASS_INTEGER, ACCESS_READ, 0},
	{"cmpxchg*", CLASS_ATOMIC, ACCESS_READ, 0},
};

static const struct form *
find(const char *name)
{
	return form_find(table, sizeof(table) / sizeof(table[0]), name);
}

static void
an_exact_name_goes_before_a_pattern(void **state)
{
	(void)state;
	assert_ptr_equal(find("cmp"), &table[1]);
	assert_ptr_equal(find("cmpps"), &table[0]);
	assert_ptr_equal(find("add"), &table[0]);
}

static void
a_longer_pattern_goes_before_a_shorter_one(void **state)
{
	(void)state;
	assert_ptr_equal(find("cmpxchg16b"), &table[2]);
}

static void
a_part_of_a_name_is_no_name(void **state)
{
	(void)state;
	assert_null(find("ad"));
	assert_null(find("adds"));
	assert_null(find(""));
}

static void
avx_has_the_forms_of_sse(void **state)
{
	(void)state;
	assert_ptr_equal(x86_64_form("vaddps"), x86_64_form("addps"));
	assert_int_equal(x86_64_form("vpmovmskb")->class, CLASS_FLOAT_MOVE);
	assert_int_equal(x86_64_form("vpcmpistri")->class, CLASS_VECTOR_MULTIPLY);
	assert_null(x86_64_form("vnothing"));
	assert_null(aarch64_form("vaddps"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_name_goes_before_a_pattern),
		cmocka_unit_test(a_longer_pattern_goes_before_a_shorter_one),
		cmocka_unit_test(a_part_of_a_name_is_no_name),
		cmocka_unit_test(avx_has_the_forms_of_sse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
