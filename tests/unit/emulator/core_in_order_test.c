/* Tests of emulator/timing/core.c, in order: two instructions a cycle, a load's value after 3 cycles. */
#include "tests/unit/emulator/timing_fixture.h"

#define LOAD_RAX "48 8b 07" /* mov (%rdi),%rax */
#define LOAD_RDX "48 8b 16" /* mov (%rsi),%rdx */
#define ADD_RBX  "48 01 c3" /* add %rax,%rbx */
#define ADD_RCX  "48 01 c9" /* add %rcx,%rcx */
#define ADD_RDX  "48 01 d3" /* add %rdx,%rbx */
#define NOP      "90"

static int
setup(void **state)
{
	return timing_setup(state, "in-order-2", SETUP_CLOCK | SETUP_TRUTH);
}

static void
the_first_user_of_a_missing_value_waits(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX, ADD_RBX, ADD_RBX);
	struct code *end = CODE_OF(fixture, NOP);

	execute(fixture, code);
	miss(fixture, 0, 12);
	execute(fixture, end);
	assert_int_equal(stalled(fixture, 2, 1, REASON_DATA_CACHE), 12);
	assert_int_equal(cycles_of(fixture, REASON_DATA_CACHE), 12);
}

/* Nothing else accesses memory before its user: no need to wait for the next block to know. */
static void
a_user_before_any_other_access_waits_at_once(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX, ADD_RBX, LOAD_RDX, ADD_RDX);

	execute(fixture, code);
	miss(fixture, 0, 12);
	assert_int_equal(stalled(fixture, 2, 1, REASON_DATA_CACHE), 12);
	assert_int_equal(fixture->thread->waiting_count, 0);
	miss(fixture, 2, 20);
	assert_int_equal(stalled(fixture, 4, 3, REASON_DATA_CACHE), 20);
	execute(fixture, CODE_OF(fixture, NOP));
	assert_int_equal(cycles_of(fixture, REASON_DATA_CACHE), 32);
}

/* The load is issued in cycle 0 and its value ready in 15; its user could be issued in 9, with the tenth addition. */
static void
what_is_issued_meanwhile_hides_the_miss(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX, ADD_RCX, ADD_RCX, ADD_RCX, ADD_RCX, ADD_RCX, ADD_RCX, ADD_RCX,
	                            ADD_RCX, ADD_RCX, ADD_RCX, ADD_RBX);

	execute(fixture, code);
	miss(fixture, 0, 12);
	execute(fixture, CODE_OF(fixture, NOP));
	assert_int_equal(stalled(fixture, 12, 1, REASON_DATA_CACHE), 6);
}

static void
a_user_in_a_later_block_waits(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *load = CODE_OF(fixture, LOAD_RAX, NOP);
	struct code *between = CODE_OF(fixture, ADD_RCX);
	struct code *user = CODE_OF(fixture, NOP, ADD_RBX);

	execute(fixture, load);
	miss(fixture, 0, 40);
	execute(fixture, between);
	assert_int_equal(cycles_of(fixture, REASON_DATA_CACHE), 0);
	execute(fixture, user);
	execute(fixture, between);
	/* 43 cycles from the load on; what was issued between is what the schedules say, and no more than 3 */
	assert_in_range(stalled(fixture, 5, 1, REASON_DATA_CACHE), 40, 42);
}

static void
a_value_that_came_meanwhile_is_not_waited_for(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *load = CODE_OF(fixture, LOAD_RAX), *between = CODE_OF(fixture, ADD_RCX);

	execute(fixture, load);
	miss(fixture, 0, 10);
	for (int i = 0; i < 20; i++)
		execute(fixture, between);
	execute(fixture, CODE_OF(fixture, ADD_RBX));
	execute(fixture, between);
	assert_int_equal(cycles_of(fixture, REASON_DATA_CACHE), 0);
	assert_int_equal(fixture->thread->waiting_count, 0);
}

/* Both are in flight: the second user waits only as much longer as its load was issued later. */
static void
misses_overlap(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX, LOAD_RDX, ADD_RBX, ADD_RDX);

	execute(fixture, code);
	miss(fixture, 0, 100);
	miss(fixture, 1, 100);
	execute(fixture, CODE_OF(fixture, NOP));
	assert_int_equal(stalled(fixture, 3, 1, REASON_DATA_CACHE), 100);
	assert_int_equal(stalled(fixture, 4, 2, REASON_DATA_CACHE), 0);
}

static void
no_more_than_may_be_are_in_flight(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX, LOAD_RDX, NOP);

	fixture->timing.misses_in_flight = 1;
	core_reset_mshrs(fixture->thread);
	execute(fixture, code);
	miss(fixture, 0, 100);
	miss(fixture, 1, 100);
	/* the first is done after 103 cycles, the second was to be issued after 1 */
	assert_int_equal(stalled(fixture, 2, 2, REASON_DATA_CACHE), 102);
}

/* The oldest, whose user is in the block, is forgotten for one more; the others have no user. */
static void
no_more_loads_than_are_remembered_are_waited_for(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX, LOAD_RDX, ADD_RBX);

	execute(fixture, code);
	miss(fixture, 0, 100);
	assert_int_equal(fixture->thread->first_user, 2);
	for (int i = 1; i < THREAD_HISTORY; i++)
		miss(fixture, 1, 100000);
	assert_int_equal(fixture->thread->waiting_count, THREAD_HISTORY);
	assert_int_equal(fixture->thread->first_user, 2);
	miss(fixture, 1, 100000);
	assert_int_equal(fixture->thread->waiting_count, THREAD_HISTORY);
	assert_int_equal(fixture->thread->first_user, BLOCK_NOT_USED);
	execute(fixture, CODE_OF(fixture, NOP));
	assert_int_equal(stalled(fixture, 3, 1, REASON_DATA_CACHE), 0);
}

static void
a_stall_is_told_by_what_it_is_for(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct access_result result = {
		.level = HIERARCHY_MEMORY, .tlb_missed = true, .cycles = 100, .wait_cycles = 30, .tlb_cycles = 50};

	execute(fixture, CODE_OF(fixture, LOAD_RAX, ADD_RBX));
	core_load_missed(fixture->thread, 0, &result);
	execute(fixture, CODE_OF(fixture, NOP));
	assert_int_equal(stalled(fixture, 2, 1, REASON_DATA_CACHE), 100);
	assert_int_equal(stalled(fixture, 2, 1, REASON_BANDWIDTH), 30);
	assert_int_equal(stalled(fixture, 2, 1, REASON_DATA_TLB), 50);
}

/* Another stall has its first place: it is behind that, and is found there again. */
static void
a_stall_is_told_wherever_its_place_is(void **state)
{
	struct timing_fixture *fixture = *state;
	struct record_vcpu *record = fixture->thread->record;
	const struct access_result both = {.level = 1, .tlb_missed = true, .cycles = 20, .tlb_cycles = 50};
	struct code *code = CODE_OF(fixture, LOAD_RAX, ADD_RBX);
	const struct record_stall *cache, *tlb;

	assert_int_equal(record_stall_place(2, 9, REASON_DATA_CACHE), record_stall_place(2, 1, REASON_DATA_CACHE));
	assert_true(record_stall_add(record, 2, 9, REASON_DATA_CACHE, 7));
	for (int i = 0; i < 3; i++) {
		execute(fixture, code);
		core_load_missed(fixture->thread, 0, &both);
		execute(fixture, code);
		miss(fixture, 0, 12);
	}
	cache = record_stall_find(record, 2, 1, REASON_DATA_CACHE);
	tlb = record_stall_find(record, 2, 1, REASON_DATA_TLB);
	assert_int_equal(cache->times, 6);
	assert_int_equal(cache->cycles + tlb->cycles, cycles_of(fixture, REASON_DATA_CACHE) + 3 * 50);
	assert_int_equal(tlb->times, 3);
	assert_int_equal(tlb->cycles, 3 * 50);
	assert_int_equal(record_stall_find(record, 2, 9, REASON_DATA_CACHE)->cycles, 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, timing_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_user_of_a_missing_value_waits),
		TEST(a_user_before_any_other_access_waits_at_once),
		TEST(what_is_issued_meanwhile_hides_the_miss),
		TEST(a_user_in_a_later_block_waits),
		TEST(a_value_that_came_meanwhile_is_not_waited_for),
		TEST(misses_overlap),
		TEST(no_more_than_may_be_are_in_flight),
		TEST(no_more_loads_than_are_remembered_are_waited_for),
		TEST(a_stall_is_told_by_what_it_is_for),
		TEST(a_stall_is_told_wherever_its_place_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
