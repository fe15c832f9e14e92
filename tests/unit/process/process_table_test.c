#include "tests/unit/test.h"

#include <stdio.h>
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

static int
label_setup(void **state)
{
	*state = label_set_new();
	return *state ? 0 : -1;
}

static int
label_teardown(void **state)
{
	label_set_free(*state);
	return 0;
}

static void
a_label_is_there_until_its_last_owner_has_gone(void **state)
{
	struct label *label = label_set_get(*state, "run1"), *share = label_share(label);

	assert_ptr_equal(label, share);
	label_release(label);
	assert_string_equal(label_text(share), "run1");
	label_release(share); /* a leak, or a second release, the sanitizers would tell */
}

static void
no_label_is_an_empty_text(void **state)
{
	(void)state;
	assert_string_equal(label_text(NULL), "");
	assert_null(label_share(NULL));
	label_release(NULL);
}

static void
one_text_is_one_label(void **state)
{
	struct label *one = label_set_get(*state, "run1"), *same = label_set_get(*state, "run1");
	struct label *other = label_set_get(*state, "run10");

	assert_ptr_equal(one, same);
	assert_ptr_not_equal(one, other);
	label_release(one);
	label_release(same);
	label_release(other);
}

struct taken_label {
	size_t count;
	char text[16];
	struct label_time time; /* of the last one */
	int answer;
};

static int
take(void *context, const struct label_time *time)
{
	struct taken_label *taken = context;

	taken->count++;
	snprintf(taken->text, sizeof(taken->text), "%s", time->text);
	taken->time = *time;
	return taken->answer;
}

static struct taken_label
take_all(struct label_set *labels, uint64_t now_ns)
{
	struct taken_label taken = {0};

	assert_int_equal(label_set_take(labels, now_ns, take, &taken), 0);
	return taken;
}

static void
assert_time(const struct taken_label *taken, uint64_t begin_ns, uint64_t end_ns, uint64_t elapsed_ns)
{
	assert_int_equal(taken->count, 1);
	assert_int_equal(taken->time.begin_ns, begin_ns);
	assert_int_equal(taken->time.end_ns, end_ns);
	assert_int_equal(taken->time.elapsed_ns, elapsed_ns);
}

static void
time_counts_while_any_process_has_the_label(void **state)
{
	struct label *label = label_set_get(*state, "run1");
	struct taken_label taken;

	label_begin_process(label, 100);
	label_begin_process(label, 150); /* its child */
	label_end_process(label, 200);
	label_end_process(label, 270);
	label_release(label);
	taken = take_all(*state, 1000);
	assert_string_equal(taken.text, "run1");
	assert_time(&taken, 100, 270, 170);
	assert_int_equal(take_all(*state, 2000).count, 0);
}

static void
runs_of_one_label_add_up_and_what_lies_between_does_not_count(void **state)
{
	struct label *label = label_set_get(*state, "run1");
	struct taken_label taken;

	label_begin_process(label, 100);
	label_end_process(label, 200);
	label_release(label);
	label = label_set_get(*state, "run1");
	label_begin_process(label, 500);
	label_end_process(label, 530);
	label_release(label);
	taken = take_all(*state, 1000);
	assert_time(&taken, 100, 530, 130);
}

/* Nothing is lost between two takes, and nothing is counted twice. */
static void
a_run_that_goes_on_is_told_piece_by_piece(void **state)
{
	struct label *label = label_set_get(*state, "run1");
	struct taken_label taken;

	label_begin_process(label, 100);
	taken = take_all(*state, 300);
	assert_time(&taken, 100, 300, 200);
	taken = take_all(*state, 350);
	assert_time(&taken, 300, 350, 50);
	label_end_process(label, 360);
	taken = take_all(*state, 400);
	assert_time(&taken, 350, 360, 10);
	label_release(label);
}

static void
who_tells_late_counts_no_time_twice(void **state)
{
	struct label *label = label_set_get(*state, "run1");
	struct taken_label taken;

	label_begin_process(label, 100);
	label_end_process(label, 200);
	label_begin_process(label, 150); /* it had not ended */
	label_end_process(label, 180);
	label_begin_process(label, 190);
	label_end_process(label, 210);
	label_release(label);
	taken = take_all(*state, 1000);
	assert_time(&taken, 100, 210, 110);
}

static void
what_could_not_be_told_is_told_the_next_time(void **state)
{
	struct label *label = label_set_get(*state, "run1");
	struct taken_label taken = {.answer = -1};

	label_begin_process(label, 100);
	assert_int_equal(label_set_take(*state, 200, take, &taken), -1);
	taken = take_all(*state, 300);
	assert_time(&taken, 100, 300, 200);
	label_end_process(label, 300);
	label_release(label);
}

static void
labels_that_wait_to_be_told_are_bounded(void **state)
{
	char text[16];

	for (unsigned i = 0; i < LABEL_SET_UNUSED_MAX + 100; i++) {
		struct label *label;

		snprintf(text, sizeof(text), "run%u", i);
		label = label_set_get(*state, text);
		label_begin_process(label, i);
		label_end_process(label, i + 1);
		label_release(label);
	}
	assert_int_equal(take_all(*state, 1).count, LABEL_SET_UNUSED_MAX);
	assert_int_equal(take_all(*state, 1).count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, label_setup, label_teardown)

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
		TEST(a_label_is_there_until_its_last_owner_has_gone),
		TEST(no_label_is_an_empty_text),
		TEST(one_text_is_one_label),
		TEST(time_counts_while_any_process_has_the_label),
		TEST(runs_of_one_label_add_up_and_what_lies_between_does_not_count),
		TEST(a_run_that_goes_on_is_told_piece_by_piece),
		TEST(who_tells_late_counts_no_time_twice),
		TEST(what_could_not_be_told_is_told_the_next_time),
		TEST(labels_that_wait_to_be_told_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
