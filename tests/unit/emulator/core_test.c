/* Tests of emulator/timing/{core,slow_access,slow_block}.c: stores, code and branches, and that no cycle is lost. */
#include "tests/unit/emulator/timing_fixture.h"

#include "emulator/timing/core.h"

#define LOAD_RAX "48 8b 07" /* mov (%rdi),%rax */
#define STORE    "48 89 07" /* mov %rax,(%rdi) */
#define ADD_RBX  "48 01 c3" /* add %rax,%rbx */
#define ADD_RCX  "48 01 c9" /* add %rcx,%rcx */
#define BRANCH   "74 10"    /* je, to 16 bytes behind it */
#define NOP      "90"
#define MOVABS   "48 b8 11 22 33 44 55 66 77 08" /* of ten bytes */

static void
store_missed(struct timing_fixture *fixture, uint32_t cycles)
{
	const struct access_result result = {.level = HIERARCHY_MEMORY, .cycles = cycles};

	core_store_missed(fixture->thread, 0, &result);
}

/* Four entries, and four misses at once: the fifth store waits until the first is done. */
static void
a_full_write_buffer_holds_up_the_next_store(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *store = CODE_OF(fixture, STORE);
	uint64_t first, fifth;

	execute(fixture, store);
	first = core_time(fixture->thread, 0);
	store_missed(fixture, 100);
	for (int i = 0; i < 3; i++) {
		execute(fixture, store);
		store_missed(fixture, 100);
	}
	assert_int_equal(cycles_of(fixture, REASON_WRITE_BUFFER), 0);
	execute(fixture, store);
	fifth = core_time(fixture->thread, 0);
	store_missed(fixture, 100);
	assert_int_equal(cycles_of(fixture, REASON_WRITE_BUFFER), first + 100 - fifth);
	assert_int_equal(stalled(fixture, 1, 1, REASON_WRITE_BUFFER), first + 100 - fifth);
}

static void
code_that_is_not_there_holds_up_its_first_instruction(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct access_result result = {.level = 1, .cycles = 12, .wait_cycles = 3, .tlb_cycles = 60};

	core_fetch_missed(fixture->thread, 9, &result);
	assert_int_equal(stalled(fixture, 9, 9, REASON_CODE_CACHE), 12);
	assert_int_equal(stalled(fixture, 9, 9, REASON_CODE_TLB), 60);
	assert_int_equal(stalled(fixture, 9, 9, REASON_BANDWIDTH), 3);
}

/* Two lines, and three: a line that is not there holds up the instruction that has its first byte. */
static void
each_line_of_code_holds_up_its_own_instruction(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *two = CODE_OF(fixture, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS);
	struct code *three = CODE_OF(fixture, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS,
	                             MOVABS, MOVABS, MOVABS, MOVABS);
	static const uint32_t held_up[] = {1, 7, 8, 14, 20};

	for (int i = 0; i < 2; i++) {
		execute_with(fixture, two, SETUP_CACHES);
		execute_with(fixture, three, SETUP_CACHES);
	}
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_LEVEL1_CODE], 5);
	for (unsigned i = 0; i < 5; i++)
		assert_true(stalled(fixture, held_up[i], held_up[i], REASON_CODE_CACHE) > 0);
}

/* Behind a block that ended in its first line, a block of two lines brings the second. */
static void
only_the_next_line_is_brought_behind_the_line_before(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *two = CODE_OF(fixture, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS);
	struct code first = *CODE_OF(fixture, NOP);

	first.address = two->address;
	first.page = two->page;
	first.first_line = first.last_line = two->first_line;
	execute_with(fixture, &first, SETUP_CACHES);
	execute_with(fixture, two, SETUP_CACHES);
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_LEVEL1_CODE], 2);
	assert_int_equal(fixture->thread->edge->kind.fetch, EDGE_FETCHES_LINE);
	execute_with(fixture, &first, SETUP_CACHES);
	execute_with(fixture, two, SETUP_CACHES);
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_LEVEL1_CODE], 2);
}

/* A branch that was never taken is, once: what it leads to waits, and the branch is to blame. */
static void
the_target_of_a_mispredicted_branch_waits(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *branch = CODE_OF(fixture, NOP, BRANCH), *other = CODE_OF(fixture, NOP);
	struct code fall = *other;

	fall.address = branch->block->fall;
	for (int i = 0; i < 8; i++) {
		execute_with(fixture, branch, SETUP_BRANCHES);
		execute_with(fixture, &fall, SETUP_BRANCHES);
	}
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_BRANCH], 0);
	execute_with(fixture, branch, SETUP_BRANCHES);
	execute_with(fixture, other, SETUP_BRANCHES);
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_BRANCH], 1);
	assert_int_equal(stalled(fixture, 3, 2, REASON_MISPREDICT), fixture->setup.pipeline.mispredict_cycles);
}

/* An access over the end of a line needs both. */
static void
an_access_to_two_lines_misses_twice(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX);

	execute(fixture, code);
	core_access_bytes(fixture->thread, &code->accesses[0], 0x10003c, 8, false);
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_LEVEL1_DATA], 2);
	core_access_bytes(fixture->thread, &code->accesses[0], 0x10003c, 8, false);
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_LEVEL1_DATA], 2);
}

static uint64_t
sum_of_stalls(const struct record_vcpu *record)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < RECORD_STALLS; i++)
		sum += record->stalls[i].cycles;
	return sum;
}

static void
run_at_random(struct timing_fixture *fixture, struct code *const codes[], unsigned count, uint64_t *cycles,
              uint64_t *fractions)
{
	struct thread *thread = fixture->thread;
	uint64_t random = 88172645463325252;

	for (int i = 0; i < 20000; i++) {
		struct code *code;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		code = codes[random % count];
		execute_with(fixture, code, SETUP_BRANCHES | SETUP_CACHES);
		*cycles += thread->edge->variant.cycles;
		*fractions += thread->edge->variant.fraction;
		for (uint16_t j = 0; j < code->block->count; j++)
			if (code->block->instructions[j].loads || code->block->instructions[j].stores)
				core_access_bytes(thread, &(struct access){.code = code, .index = j},
				                  random >> 20 & 0xfffff8, 8, code->block->instructions[j].stores);
	}
	core_settle(thread);
	thread_publish(thread);
}

/* The clock is what the schedules say and every stall that was recorded, to the cycle. */
static void
no_cycle_is_lost(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *codes[] = {
		CODE_OF(fixture, LOAD_RAX, ADD_RBX, ADD_RCX),
		CODE_OF(fixture, LOAD_RAX, STORE, BRANCH),
		CODE_OF(fixture, ADD_RBX),
		CODE_OF(fixture, STORE, ADD_RCX, ADD_RCX, BRANCH),
	};
	const struct record_counters *counters = &fixture->thread->record->counters;
	uint64_t cycles = 0, fractions = 0, sum = 0;

	run_at_random(fixture, codes, 4, &cycles, &fractions);
	assert_true(sum_of_stalls(fixture->thread->record) > 100000);
	assert_int_equal(thread_clock(fixture->thread),
	                 cycles + (fractions >> 32) + sum_of_stalls(fixture->thread->record));
	assert_int_equal(counters->cycles[REASON_EXECUTION], cycles + (fractions >> 32));
	for (int i = 0; i < REASON_COUNT; i++)
		sum += counters->cycles[i];
	assert_int_equal(sum, thread_clock(fixture->thread));
	assert_int_equal(counters->clock, thread_clock(fixture->thread));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, timing_in_order, timing_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_write_buffer_holds_up_the_next_store),
		TEST(code_that_is_not_there_holds_up_its_first_instruction),
		TEST(each_line_of_code_holds_up_its_own_instruction),
		TEST(only_the_next_line_is_brought_behind_the_line_before),
		TEST(the_target_of_a_mispredicted_branch_waits),
		TEST(an_access_to_two_lines_misses_twice),
		{"no_cycle_is_lost_in_order", no_cycle_is_lost, timing_in_order, timing_teardown, NULL},
		{"no_cycle_is_lost_out_of_order", no_cycle_is_lost, timing_out_of_order, timing_teardown, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
