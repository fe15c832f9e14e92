#include "tests/unit/test.h"

#include <string.h>

#include "process/context_table.h"

static struct context_table *
table_of(void **state)
{
	return *state;
}

static int
setup(void **state)
{
	*state = context_table_new();
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	context_table_free(*state);
	return 0;
}

static uint32_t
intern(void **state, const char *comm, const char *cgroup, const char *label)
{
	struct context context = {.comm = comm, .cgroup = cgroup, .label = label};
	uint32_t number = UINT32_MAX;

	assert_int_equal(context_table_intern(table_of(state), &context, &number), 0);
	return number;
}

static void
each_combination_has_one_number(void **state)
{
	assert_int_equal(intern(state, "gzip", "/user", ""), 0);
	assert_int_equal(intern(state, "gzip", "/user", ""), 0);
	assert_int_equal(intern(state, "gzip", "/system", ""), 1);
	assert_int_equal(intern(state, "bzip2", "/user", ""), 2);
	assert_int_equal(intern(state, "gzip", "/user", "nightly"), 3);
	assert_int_equal(context_table_count(table_of(state)), 4);
	assert_string_equal(context_table_get(table_of(state), 3)->comm, "gzip");
	assert_string_equal(context_table_get(table_of(state), 3)->cgroup, "/user");
	assert_string_equal(context_table_get(table_of(state), 3)->label, "nightly");
}

static void
what_is_one_text_when_joined_is_still_told_apart(void **state)
{
	assert_int_equal(intern(state, "ab", "c", ""), 0);
	assert_int_equal(intern(state, "a", "bc", ""), 1);
	assert_int_equal(intern(state, "", "abc", ""), 2);
	assert_int_equal(intern(state, "", "ab", "c"), 3);
}

static void
a_command_name_is_cut_where_the_kernel_cuts_it(void **state)
{
	assert_int_equal(intern(state, "0123456789abcdefgh", "", ""), 0);
	assert_string_equal(context_table_get(table_of(state), 0)->comm, "0123456789abcde");
	assert_int_equal(intern(state, "0123456789abcde", "", ""), 0);
}

static void
what_is_not_known_is_empty(void **state)
{
	assert_int_equal(intern(state, NULL, NULL, NULL), 0);
	assert_int_equal(intern(state, "", "", ""), 0);
	assert_string_equal(context_table_get(table_of(state), 0)->cgroup, "");
}

static void
a_context_stays_where_it_is_while_others_come(void **state)
{
	const struct context *first;
	char comm[COMM_SIZE];

	intern(state, "first", "/", "");
	first = context_table_get(table_of(state), 0);
	for (unsigned i = 1; i < 5000; i++) {
		snprintf(comm, sizeof(comm), "c%u", i);
		assert_int_equal(intern(state, comm, "/", ""), i);
	}
	assert_ptr_equal(context_table_get(table_of(state), 0), first);
	assert_string_equal(first->comm, "first");
}

/* Nobody takes what it holds: the database cannot be written. */
static void
a_table_that_has_its_bytes_calls_all_that_is_new_other(void **state)
{
	struct context_table *table = table_of(state);
	const struct context *context;
	char comm[COMM_SIZE];
	uint32_t number = 0, other;

	for (unsigned i = 0; !context_table_is_full(table); i++) {
		snprintf(comm, sizeof(comm), "c%u", i);
		number = intern(state, comm, "/user.slice", "");
	}
	other = number;
	context = context_table_get(table, other);
	assert_string_equal(context->comm, CONTEXT_OTHER);
	assert_string_equal(context->cgroup, "");
	assert_int_equal(context_table_count(table), other + 1);
	assert_true(context_table_bytes(table) > CONTEXT_TABLE_BYTES_MAX / 10 * 9);
	assert_true(context_table_bytes(table) < CONTEXT_TABLE_BYTES_MAX + 1024);
	assert_int_equal(intern(state, "new", "/", ""), other);
	assert_int_equal(intern(state, "newer", "", "label"), other);
	assert_int_equal(intern(state, "c1", "/user.slice", ""), 1);
	assert_int_equal(context_table_count(table), other + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_combination_has_one_number, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_one_text_when_joined_is_still_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(a_command_name_is_cut_where_the_kernel_cuts_it, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(a_context_stays_where_it_is_while_others_come, setup, teardown),
		cmocka_unit_test_setup_teardown(a_table_that_has_its_bytes_calls_all_that_is_new_other, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
