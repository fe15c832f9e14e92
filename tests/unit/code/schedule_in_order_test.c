#include <stdlib.h>
#include <string.h>

#include "code/schedule.h"

#include "tests/unit/test.h"

/* Alpha's registers, as far as the figure has them. */
enum { T0 = 1, T1, T2, T4 = 5, T5, T6, A0 = 16, V0 = 20 };

static struct instruction
load(uint64_t address, uint8_t to, uint8_t base)
{
	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = CLASS_LOAD,
	                            .loads = true,
	                            .reads = {base},
	                            .read_count = 1,
	                            .address_reads = 1,
	                            .writes = {to},
	                            .write_count = 1};
}

static struct instruction
store(uint64_t address, uint8_t from, uint8_t base)
{
	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = CLASS_STORE,
	                            .stores = true,
	                            .reads = {from, base},
	                            .read_count = 2,
	                            .address_reads = 1};
}

static struct instruction
operation(uint64_t address, enum instruction_class class, uint8_t a, uint8_t b, uint8_t to)
{
	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = class,
	                            .reads = {a, b},
	                            .read_count = b == REGISTER_NONE ? 1 : 2,
	                            .writes = {to},
	                            .write_count = 1};
}

static struct instruction
branch(uint64_t address, uint8_t reg)
{
	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = CLASS_BRANCH,
	                            .flow = FLOW_BRANCH,
	                            .reads = {reg},
	                            .read_count = 1};
}

static void
get_model(const char *name, struct pipeline *pipeline)
{
	char directory[4096], note[512];

	pipeline_directory(directory, sizeof(directory));
	assert_int_equal(pipeline_choose(directory, name, "", pipeline, note, sizeof(note)), 0);
}

static struct schedule
schedule_of(const char *model, const struct instruction *instructions, size_t count, bool follows_itself)
{
	struct schedule schedule;
	struct pipeline pipeline;

	get_model(model, &pipeline);
	assert_int_equal(schedule_block(&pipeline, instructions, count, follows_itself, NULL, NULL, &schedule), 0);
	return schedule;
}

#define COPY_LOOP 13

static void
make_copy_loop(struct instruction loop[COPY_LOOP])
{
	const struct instruction figure[COPY_LOOP] = {
		load(0x9810, T4, T1),  operation(0x9814, CLASS_INTEGER, T0, REGISTER_NONE, T0),
		load(0x9818, T5, T1),  load(0x981c, T6, T1),
		load(0x9820, A0, T1),  operation(0x9824, CLASS_ADDRESS, T1, REGISTER_NONE, T1),
		store(0x9828, T4, T2), operation(0x982c, CLASS_INTEGER, T0, V0, T4),
		store(0x9830, T5, T2), store(0x9834, T6, T2),
		store(0x9838, A0, T2), operation(0x983c, CLASS_ADDRESS, T2, REGISTER_NONE, T2),
		branch(0x9840, T4),
	};

	memcpy(loop, figure, sizeof(figure));
}

/* "*** Best-case 8/13 = 0.62CPI" */
static void
the_copy_loop_of_the_paper_takes_8_cycles_at_best(void **state)
{
	struct instruction loop[COPY_LOOP];
	struct schedule schedule;

	(void)state;
	make_copy_loop(loop);
	for (int follows_itself = 0; follows_itself < 2; follows_itself++) {
		schedule = schedule_of("alpha-21164", loop, COPY_LOOP, follows_itself);
		assert_true(schedule.best_cycles == 8);
		schedule_fini(&schedule);
	}
}

/* "(dual issue)" is at 9814, 9824, 982c and 983c; 981c has 0.26 cycles, which the figure rounds to a half. */
static void
the_copy_loop_of_the_paper_issues_in_its_pairs(void **state)
{
	static const double minimum[COPY_LOOP] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1};
	struct instruction loop[COPY_LOOP];
	struct schedule schedule;

	(void)state;
	make_copy_loop(loop);
	schedule = schedule_of("alpha-21164", loop, COPY_LOOP, false);
	for (size_t i = 0; i < COPY_LOOP; i++) {
		assert_true(schedule.lines[i].minimum_cycles == minimum[i]);
		assert_int_equal(schedule.lines[i].dual, minimum[i] == 0);
	}
	schedule_fini(&schedule);
}

/* One line "s" before 9834 and one before 9838: adjacent stores do not issue together. */
static void
the_copy_loop_of_the_paper_has_its_two_slotting_hazards(void **state)
{
	struct instruction loop[COPY_LOOP];
	struct schedule schedule;

	(void)state;
	make_copy_loop(loop);
	schedule = schedule_of("alpha-21164", loop, COPY_LOOP, false);
	assert_int_equal(schedule.stall_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(loop[schedule.stalls[i].instruction].address, i ? 0x9838 : 0x9834);
		assert_int_equal(schedule.stalls[i].reason, STALL_SLOTTING);
		assert_int_equal(schedule.stalls[i].half_cycles, 1);
		assert_int_equal(schedule.stalls[i].culprit_address, i ? 0x9834 : 0x9830);
	}
	schedule_fini(&schedule);
}

/* The figure's culprits: 9828 waits for what 9810 loads, 9834 for 981c. */
static void
the_stores_of_the_copy_loop_wait_for_their_loads(void **state)
{
	struct instruction loop[COPY_LOOP];
	struct schedule schedule;

	(void)state;
	make_copy_loop(loop);
	schedule = schedule_of("alpha-21164", loop, COPY_LOOP, false);
	assert_int_equal(loop[schedule.lines[6].waits_for].address, 0x9810);
	assert_int_equal(loop[schedule.lines[9].waits_for].address, 0x981c);
	assert_int_equal(schedule.lines[12].waits_for, SCHEDULE_NOTHING);
	schedule_fini(&schedule);
}

static void
assert_stall(const struct static_stall *stall, uint32_t instruction, enum stall_reason reason, uint32_t half_cycles,
             uint32_t culprit)
{
	assert_int_equal(stall->instruction, instruction);
	assert_int_equal(stall->reason, reason);
	assert_int_equal(stall->half_cycles, half_cycles);
	assert_int_equal(stall->culprit, culprit);
}

/* Two-wide, loads take 3 cycles: the load issues in cycle 0, what needs it in cycle 3. It could have in half-cycle 1.
 */
static void
what_needs_a_load_waits_for_it_with_its_first_operand(void **state)
{
	const struct instruction block[] = {load(0x10, 1, 2), operation(0x14, CLASS_INTEGER, 1, 3, 4)};
	struct schedule schedule = schedule_of("in-order-2", block, 2, false);

	(void)state;
	assert_true(schedule.best_cycles == 4);
	assert_true(schedule.lines[1].minimum_cycles == 3);
	assert_int_equal(schedule.stall_count, 1);
	assert_stall(&schedule.stalls[0], 1, STALL_RA, 5, 0);
	schedule_fini(&schedule);
}

static void
second_operands_and_addresses_are_rb(void **state)
{
	const struct instruction block[] = {load(0x10, 1, 2), operation(0x14, CLASS_INTEGER, 3, 1, 4),
	                                    operation(0x18, CLASS_MULTIPLY, 4, 4, 5), load(0x1c, 6, 5)};
	struct schedule schedule = schedule_of("in-order-2", block, 4, false);

	(void)state;
	assert_int_equal(schedule.stall_count, 3);
	assert_stall(&schedule.stalls[0], 1, STALL_RB, 5, 0);
	assert_stall(&schedule.stalls[1], 2, STALL_RA, 1, 1);
	assert_stall(&schedule.stalls[2], 3, STALL_RB, 5, 2);
	schedule_fini(&schedule);
}

/* The multiplication's result, of cycle 3, would come after the addition's, of cycle 1: that waits until cycle 2. */
static void
results_are_written_in_order(void **state)
{
	const struct instruction block[] = {operation(0x10, CLASS_MULTIPLY, 1, 2, 3),
	                                    operation(0x14, CLASS_INTEGER, 4, 5, 3)};
	struct schedule schedule = schedule_of("in-order-2", block, 2, false);

	(void)state;
	assert_int_equal(schedule.stall_count, 1);
	assert_stall(&schedule.stalls[0], 1, STALL_RC, 3, 0);
	schedule_fini(&schedule);
}

/* A divider takes nothing else for 20 cycles. */
static void
a_unit_that_is_busy_is_waited_for(void **state)
{
	const struct instruction block[] = {operation(0x10, CLASS_DIVIDE, 1, 2, 3),
	                                    operation(0x14, CLASS_DIVIDE, 4, 5, 6)};
	struct schedule schedule = schedule_of("in-order-2", block, 2, false);

	(void)state;
	assert_true(schedule.best_cycles == 21);
	assert_int_equal(schedule.stall_count, 1);
	assert_stall(&schedule.stalls[0], 1, STALL_UNIT, 39, 0);
	schedule_fini(&schedule);
}

/* An iteration of a chain of one load, one multiplication and one addition: 3 + 3 + 1. */
static void
a_loop_waits_for_its_last_iteration(void **state)
{
	const struct instruction block[] = {load(0x10, 1, 1), operation(0x14, CLASS_MULTIPLY, 1, 2, 1),
	                                    operation(0x18, CLASS_INTEGER, 1, 2, 1)};
	struct schedule once = schedule_of("in-order-2", block, 3, false);
	struct schedule loop = schedule_of("in-order-2", block, 3, true);

	(void)state;
	assert_true(once.best_cycles == 7);
	assert_true(loop.best_cycles == 7);
	schedule_fini(&once);
	schedule_fini(&loop);
}

static void
what_a_block_leaves_holds_up_the_next_one(void **state)
{
	const struct instruction first[] = {operation(0x10, CLASS_DIVIDE, 1, 2, 3)};
	const struct instruction second[] = {operation(0x20, CLASS_INTEGER, 3, 4, 5)};
	struct schedule_state left, unused, ready = {0};
	struct schedule schedule;
	struct pipeline pipeline;

	(void)state;
	get_model("in-order-2", &pipeline);
	assert_int_equal(schedule_block(&pipeline, first, 1, false, NULL, &left, &schedule), 0);
	schedule_fini(&schedule);
	assert_int_equal(schedule_block(&pipeline, second, 1, false, &left, &unused, &schedule), 0);
	assert_true(schedule.best_cycles == 20);
	assert_int_equal(schedule.stall_count, 1);
	assert_stall(&schedule.stalls[0], 0, STALL_RA, 38, SCHEDULE_BEFORE);
	assert_int_equal(schedule.stalls[0].culprit_address, 0x10);
	schedule_fini(&schedule);

	schedule_state_meet(&left, &ready);
	assert_int_equal(schedule_block(&pipeline, second, 1, false, &left, &unused, &schedule), 0);
	assert_int_equal(schedule.stall_count, 0);
	schedule_fini(&schedule);
}

/* As above: what waits for the division issues in cycle 19 behind it. */
static void
cycles_alone_are_those_of_the_whole_schedule(void **state)
{
	const struct instruction first[] = {operation(0x10, CLASS_DIVIDE, 1, 2, 3)};
	const struct instruction second[] = {operation(0x20, CLASS_INTEGER, 4, 5, 6),
	                                     operation(0x24, CLASS_INTEGER, 3, 4, 5)};
	struct schedule_times times = {{0}};
	struct pipeline pipeline;
	unsigned cycles[2];

	(void)state;
	get_model("in-order-2", &pipeline);
	assert_int_equal(schedule_issue(&pipeline, first, 1, &times, cycles), 1);
	assert_int_equal(cycles[0], 0);
	assert_int_equal(times.ready[3], 19);
	assert_int_equal(schedule_issue(&pipeline, second, 2, &times, cycles), 20);
	assert_int_equal(cycles[0], 0);
	assert_int_equal(cycles[1], 19);
	assert_int_equal(times.ready[3], 0);
}

/* The addition may go to the second pipeline, so that the store, which may not, has the first. */
static void
what_may_go_elsewhere_makes_room(void **state)
{
	const struct instruction block[] = {operation(0x10, CLASS_INTEGER, 1, 2, 3), store(0x14, 4, 5)};
	struct schedule schedule = schedule_of("alpha-21164", block, 2, false);

	(void)state;
	assert_true(schedule.best_cycles == 1);
	assert_true(schedule.lines[1].dual);
	schedule_fini(&schedule);
}

/* An exclusive access, say, loads and stores by the same unit: one after the other, and not for ever. */
static void
one_instruction_may_need_a_unit_twice(void **state)
{
	struct instruction block[] = {load(0x10, 1, 2), store(0x14, 3, 4)};
	struct schedule schedule;

	(void)state;
	block[0].class = CLASS_ATOMIC;
	block[0].stores = true;
	schedule = schedule_of("in-order-2", block, 2, false);
	assert_true(schedule.best_cycles == 3);
	schedule_fini(&schedule);
}

/* Half-cycles of a two-wide core: each instruction one, each stall its length, and one where the last has no partner.
 */
static void
half_cycles_add_up(void **state)
{
	const struct instruction block[] = {
		load(0x10, 1, 2),  operation(0x14, CLASS_INTEGER, 1, 3, 4),  operation(0x18, CLASS_INTEGER, 5, 6, 7),
		store(0x1c, 4, 2), operation(0x20, CLASS_MULTIPLY, 7, 4, 7), branch(0x24, 7)};
	struct schedule schedule = schedule_of("in-order-2", block, 6, false);
	unsigned half_cycles = 6;

	(void)state;
	for (size_t i = 0; i < schedule.stall_count; i++)
		half_cycles += schedule.stalls[i].half_cycles;
	half_cycles += !schedule.lines[5].dual;
	assert_int_equal(half_cycles, 2 * (unsigned)schedule.best_cycles);
	schedule_fini(&schedule);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_copy_loop_of_the_paper_takes_8_cycles_at_best),
		cmocka_unit_test(the_copy_loop_of_the_paper_issues_in_its_pairs),
		cmocka_unit_test(the_copy_loop_of_the_paper_has_its_two_slotting_hazards),
		cmocka_unit_test(the_stores_of_the_copy_loop_wait_for_their_loads),
		cmocka_unit_test(what_needs_a_load_waits_for_it_with_its_first_operand),
		cmocka_unit_test(second_operands_and_addresses_are_rb),
		cmocka_unit_test(results_are_written_in_order),
		cmocka_unit_test(a_unit_that_is_busy_is_waited_for),
		cmocka_unit_test(a_loop_waits_for_its_last_iteration),
		cmocka_unit_test(what_a_block_leaves_holds_up_the_next_one),
		cmocka_unit_test(cycles_alone_are_those_of_the_whole_schedule),
		cmocka_unit_test(what_may_go_elsewhere_makes_room),
		cmocka_unit_test(one_instruction_may_need_a_unit_twice),
		cmocka_unit_test(half_cycles_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
