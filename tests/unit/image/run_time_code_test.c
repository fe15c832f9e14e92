#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/run_time_code.h"

static int
setup(void **state)
{
	*state = run_time_code_new();
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	run_time_code_free(*state);
	return 0;
}

static void
add(struct run_time_code *code, uint64_t address, uint64_t size, const char *name)
{
	assert_int_equal(run_time_code_add(code, address, size, RUN_TIME_NO_CODE, name, strlen(name)), 0);
}

static void
assert_name(const struct run_time_code *code, uint64_t address, const char *name)
{
	const struct run_time_function *function = run_time_code_find(code, address);

	if (!name) {
		assert_null(function);
		return;
	}
	assert_non_null(function);
	assert_string_equal(function->name, name);
}

static void
an_address_has_the_function_that_holds_it(void **state)
{
	struct run_time_code *code = *state;

	add(code, 0x2000, 0x10, "second");
	add(code, 0x1000, 0x20, "first");
	run_time_code_finish(code, 0);
	assert_int_equal(run_time_code_count(code), 2);
	assert_string_equal(run_time_code_at(code, 0)->name, "first");
	assert_name(code, 0xfff, NULL);
	assert_name(code, 0x1000, "first");
	assert_name(code, 0x101f, "first");
	assert_name(code, 0x1020, NULL);
	assert_name(code, 0x200f, "second");
	assert_name(code, 0x2010, NULL);
}

static void
memory_used_again_has_the_last_function(void **state)
{
	struct run_time_code *code = *state;

	add(code, 0x1000, 0x100, "old");
	add(code, 0x1100, 0x100, "kept");
	add(code, 0x1080, 0x80, "new");
	add(code, 0x3000, 0x10, "same place, before");
	add(code, 0x3000, 0x10, "same place, after");
	run_time_code_finish(code, 0);
	assert_int_equal(run_time_code_count(code), 3);
	assert_name(code, 0x1000, NULL);
	assert_name(code, 0x1080, "new");
	assert_name(code, 0x1100, "kept");
	assert_name(code, 0x3000, "same place, after");
}

/* The samples before were those of the old one. */
static void
what_somebody_has_looked_at_stays_and_is_contested(void **state)
{
	struct run_time_code *code = *state;

	add(code, 0x1000, 0x100, "gone before");
	run_time_code_told_at(code, 10);
	add(code, 0x1000, 0x100, "there");
	add(code, 0x2000, 0x100, "there and told again");
	add(code, 0x3000, 0x100, "never touched");
	run_time_code_told_at(code, 20);
	add(code, 0x1080, 0x100, "new");
	add(code, 0x0f80, 0x100, "new below");
	add(code, 0x2000, 0x100, "there and told again");
	add(code, 0x4000, 0x100, "elsewhere");
	run_time_code_finish(code, 20);
	assert_int_equal(run_time_code_count(code), 4);
	assert_name(code, 0x1080, "there");
	assert_true(run_time_code_find(code, 0x1080)->is_contested);
	assert_name(code, 0x1100, NULL);
	assert_false(run_time_code_find(code, 0x2000)->is_contested);
	assert_false(run_time_code_find(code, 0x3000)->is_contested);
	assert_name(code, 0x4000, "elsewhere");
	assert_false(run_time_code_find(code, 0x4000)->is_contested);
}

static void
one_that_covers_several_takes_their_place(void **state)
{
	struct run_time_code *code = *state;

	add(code, 0x1000, 0x10, "a");
	add(code, 0x1010, 0x10, "b");
	add(code, 0x1020, 0x10, "c");
	add(code, 0x1008, 0x20, "large");
	run_time_code_finish(code, 0);
	assert_int_equal(run_time_code_count(code), 1);
	assert_name(code, 0x1018, "large");
}

static void
a_function_that_moved_is_where_it_went(void **state)
{
	struct run_time_code *code = *state;

	add(code, 0x1000, 0x10, "wanderer");
	assert_int_equal(run_time_code_move(code, 0x1000, 0x5000), 0);
	add(code, 0x1000, 0x10, "successor");
	assert_int_equal(run_time_code_move(code, 0x9000, 0x7000), 0);
	run_time_code_finish(code, 0);
	assert_name(code, 0x1000, "successor");
	assert_name(code, 0x5008, "wanderer");
	assert_name(code, 0x7000, NULL);
	assert_int_equal(run_time_code_complaints(code), 1);
}

static void
what_cannot_be_a_function_is_left_out(void **state)
{
	struct run_time_code *code = *state;

	add(code, 0x1000, 0, "of no size");
	add(code, 0, 16, "at nothing");
	add(code, 0x1000, UINT64_MAX, "of all memory");
	add(code, UINT64_C(0xffffffff81000000), 16, "the kernel's");
	add(code, RUN_TIME_ADDRESS_END - 8, 16, "at the end of memory");
	add(code, 0x1000, 16, "");
	run_time_code_finish(code, 0);
	assert_int_equal(run_time_code_count(code), 0);
	assert_int_equal(run_time_code_complaints(code), 6);
	assert_false(run_time_code_is_cut(code));
}

static void
a_long_name_is_cut(void **state)
{
	struct run_time_code *code = *state;
	char name[2 * RUN_TIME_NAME_MAX];

	memset(name, 'x', sizeof(name));
	assert_int_equal(run_time_code_add(code, 0x1000, 16, 0, name, sizeof(name)), 0);
	run_time_code_finish(code, 0);
	assert_int_equal(strlen(run_time_code_at(code, 0)->name), RUN_TIME_NAME_MAX);
}

static void
a_name_ends_at_a_nul(void **state)
{
	struct run_time_code *code = *state;

	assert_int_equal(run_time_code_add(code, 0x1000, 16, 0, "one\0two", 7), 0);
	run_time_code_finish(code, 0);
	assert_name(code, 0x1000, "one");
}

/* A name of 1,023 bytes takes 1,024: 65,536 of them are 64 MiB, and one more is too many. */
static void
names_have_a_limit(void **state)
{
	struct run_time_code *code = *state;
	char name[RUN_TIME_NAME_MAX];

	memset(name, 'x', sizeof(name));
	for (uint64_t i = 0; i < 65537; i++)
		assert_int_equal(run_time_code_add(code, 0x1000 + 16 * i, 16, 0, name, sizeof(name)), 0);
	assert_true(run_time_code_is_cut(code));
	run_time_code_finish(code, 0);
	assert_int_equal(run_time_code_count(code), 65536);
}

/* Each of 40,000 moves of what nobody told of would look through 20,000 functions: that is over soon. */
static void
the_search_for_what_moved_has_a_limit(void **state)
{
	struct run_time_code *code = *state;

	for (uint64_t i = 0; i < 20000; i++)
		add(code, 0x1000 + 16 * i, 16, "f");
	for (uint64_t i = 0; i < 40000; i++)
		assert_int_equal(run_time_code_move(code, 0x900000, 0xa00000), 0);
	assert_true(run_time_code_is_cut(code));
	run_time_code_finish(code, 0);
	assert_int_equal(run_time_code_count(code), 20000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_address_has_the_function_that_holds_it),
		TEST(memory_used_again_has_the_last_function),
		TEST(what_somebody_has_looked_at_stays_and_is_contested),
		TEST(one_that_covers_several_takes_their_place),
		TEST(a_function_that_moved_is_where_it_went),
		TEST(what_cannot_be_a_function_is_left_out),
		TEST(a_long_name_is_cut),
		TEST(a_name_ends_at_a_nul),
		TEST(names_have_a_limit),
		TEST(the_search_for_what_moved_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
