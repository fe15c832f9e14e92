#include "tests/unit/test.h"

#include <string.h>

#include "process/process_table.h"

static int
setup(void **state)
{
	*state = process_table_new();
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	process_table_free(*state);
	return 0;
}

static void
expire(struct process_table *table, uint64_t until_ns)
{
	struct process *process;

	while ((process = process_expired(table, until_ns)))
		process_forget(table, process);
}

static void
a_process_is_found_by_its_pid(void **state)
{
	assert_null(process_find(*state, 1));
	process_rename(process_ensure(*state, 1), "one");
	process_rename(process_ensure(*state, 2), "two");
	assert_string_equal(process_find(*state, 1)->comm, "one");
	assert_string_equal(process_find(*state, 2)->comm, "two");
	assert_ptr_equal(process_ensure(*state, 1), process_find(*state, 1));
	assert_int_equal(process_table_size(*state), 2);
}

static void
a_name_is_cut_to_the_kernels_size(void **state)
{
	process_rename(process_ensure(*state, 1), "0123456789abcdef");
	assert_string_equal(process_find(*state, 1)->comm, "0123456789abcde");
}

static void
processes_expire_in_the_order_of_their_ends(void **state)
{
	for (uint32_t pid = 1; pid <= 3; pid++)
		process_ensure(*state, pid);
	process_end(*state, process_find(*state, 2), 10);
	process_end(*state, process_find(*state, 1), 20);
	expire(*state, 9);
	assert_int_equal(process_table_size(*state), 3);
	expire(*state, 10);
	assert_null(process_find(*state, 2));
	assert_non_null(process_find(*state, 1));
	expire(*state, UINT64_MAX);
	assert_null(process_find(*state, 1));
	assert_non_null(process_find(*state, 3));
}

static void
a_sign_of_life_takes_a_process_back(void **state)
{
	process_end(*state, process_ensure(*state, 1), 10);
	process_ensure(*state, 1);
	expire(*state, UINT64_MAX);
	assert_non_null(process_find(*state, 1));
}

static void
ending_again_begins_the_grace_anew(void **state)
{
	process_end(*state, process_ensure(*state, 1), 10);
	process_end(*state, process_ensure(*state, 2), 20);
	process_end(*state, process_find(*state, 1), 30);
	expire(*state, 20);
	assert_non_null(process_find(*state, 1));
	assert_null(process_find(*state, 2));
}

static void
a_renewed_process_has_no_past(void **state)
{
	struct process *process = process_ensure(*state, 1);

	process_rename(process, "old");
	process->incomplete = true;
	process->context.session = 1;
	process_end(*state, process, 10);
	process = process_replace(*state, 1);
	assert_string_equal(process->comm, "");
	assert_false(process->incomplete);
	assert_true(process->one_thread);
	assert_int_equal(process->context.session, 0);
	assert_false(process->ended);
	assert_int_equal(process_table_size(*state), 1);
}

static void
not_more_than_the_limit_wait(void **state)
{
	for (uint32_t pid = 1; pid <= PROCESS_TABLE_ENDED_MAX + 10; pid++)
		process_end(*state, process_ensure(*state, pid), pid);
	assert_int_equal(process_table_size(*state), PROCESS_TABLE_ENDED_MAX);
	assert_null(process_find(*state, 10));
	assert_non_null(process_find(*state, 11));
}

/* Pids that follow each other share memory, others do not; both are found. */
static void
pids_far_apart_are_kept_apart(void **state)
{
	static const uint32_t pids[] = {1, 2, 63, 64, 65, 64 * 256 + 1, 64 * 512 + 1, 4194303, UINT32_MAX - 1};
	const size_t count = sizeof(pids) / sizeof(pids[0]);

	for (size_t i = 0; i < count; i++)
		process_end(*state, process_ensure(*state, pids[i]), i);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(process_find(*state, pids[i])->pid, pids[i]);
		assert_null(process_find(*state, pids[i] - 1 ? pids[i] ^ 0x20000 : 0));
	}
	for (size_t i = 0; i < count; i++) {
		assert_non_null(process_find(*state, pids[i]));
		expire(*state, i);
		assert_null(process_find(*state, pids[i]));
		assert_int_equal(process_table_size(*state), count - 1 - i);
	}
}

static void
the_living_take_turns(void **state)
{
	assert_null(process_next_living(*state));
	for (uint32_t pid = 1; pid <= 3; pid++)
		process_ensure(*state, pid);
	process_end(*state, process_find(*state, 2), 10);
	assert_int_equal(process_next_living(*state)->pid, 1);
	assert_int_equal(process_next_living(*state)->pid, 3);
	process_ensure(*state, 2);
	assert_int_equal(process_next_living(*state)->pid, 1);
	assert_int_equal(process_next_living(*state)->pid, 3);
	assert_int_equal(process_next_living(*state)->pid, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_is_found_by_its_pid, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_is_cut_to_the_kernels_size, setup, teardown),
		cmocka_unit_test_setup_teardown(processes_expire_in_the_order_of_their_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(a_sign_of_life_takes_a_process_back, setup, teardown),
		cmocka_unit_test_setup_teardown(ending_again_begins_the_grace_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(a_renewed_process_has_no_past, setup, teardown),
		cmocka_unit_test_setup_teardown(not_more_than_the_limit_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(pids_far_apart_are_kept_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(the_living_take_turns, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
