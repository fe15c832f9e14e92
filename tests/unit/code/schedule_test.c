#include "code/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

/* Two adders, of which one multiplies, and one port for loads; two micro-operations a cycle. */
static const char model[] =
	"name = \"test\"; title = \"test\"; kind = \"out-of-order\"; issue_width = 4; retire_width = 4;\n"
	"mispredict_cycles = 10; write_buffer_entries = 8; cache_line = 64; folded_load = 1;\n"
	"fuses_compare_and_branch = true; eliminates_moves = true;\n"
	"code = { cache_bytes = 4096; level2_cycles = 9; memory_cycles = 90; tlb_entries = 8; tlb_miss_cycles = 20; "
	"};\n"
	"data = { cache_bytes = 4096; level2_cycles = 9; memory_cycles = 90; tlb_entries = 8; tlb_miss_cycles = 20; "
	"};\n"
	"units = [ \"A\", \"B\", \"L\", \"S\" ];\n"
	"operations = {\n"
	" integer = { latency = 1; uses = ( { units = \"A B\"; } ); };\n"
	" multiply = { latency = 3; upper_latency = 4; uses = ( { units = \"B\"; } ); };\n"
	" divide = { latency = 20; uses = ( { units = \"A\"; cycles = 10; } ); };\n"
	" load = { latency = 5; uses = ( { units = \"L\"; } ); };\n"
	" store = { latency = 1; uses = ( { units = \"S\"; } ); };\n"
	" branch = { latency = 1; uses = ( { units = \"A\"; } ); };\n"
	" float_add = { latency = 4; uses = ( { units = \"B\"; } ); };\n"
	" float_divide = { latency = 20; uses = ( { units = \"B\"; cycles = 10; } ); };\n"
	"};\n";

static struct instruction
operation(enum instruction_class class, uint8_t a, uint8_t b, uint8_t to)
{
	return (struct instruction){
		.size = 4, .class = class, .reads = {a, b}, .read_count = 2, .writes = {to}, .write_count = 1};
}

static struct instruction
load(uint8_t to, uint8_t base)
{
	return (struct instruction){.size = 4,
	                            .class = CLASS_LOAD,
	                            .loads = true,
	                            .reads = {base},
	                            .read_count = 1,
	                            .address_reads = 1,
	                            .writes = {to},
	                            .write_count = 1};
}

/* Shares alone are those of the whole schedule. */
static void
compare_shares(const struct pipeline *pipeline, const struct instruction *instructions, const struct schedule *schedule)
{
	double *shares = calloc(schedule->count, sizeof(*shares));

	assert_non_null(shares);
	assert_true(schedule_shares(pipeline, instructions, schedule->count, shares) == schedule->best_cycles);
	for (size_t i = 0; i < schedule->count; i++)
		assert_true(shares[i] == schedule->lines[i].minimum_cycles);
	free(shares);
}

static struct schedule
schedule_by(const char *text, const struct instruction *instructions, size_t count, bool follows_itself)
{
	struct schedule schedule;
	struct pipeline pipeline;
	char why[512];

	if (pipeline_parse("test.conf", text, &pipeline, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(schedule_block(&pipeline, instructions, count, follows_itself, NULL, NULL, &schedule), 0);
	if (!follows_itself)
		compare_shares(&pipeline, instructions, &schedule);
	return schedule;
}

static struct schedule
schedule_of(const struct instruction *instructions, size_t count, bool follows_itself)
{
	return schedule_by(model, instructions, count, follows_itself);
}

/* Six micro-operations, four a cycle; no two of them need one another. */
static void
the_front_end_may_be_what_bounds(void **state)
{
	const struct instruction block[] = {
		load(1, 10),
		operation(CLASS_INTEGER, 11, 12, 2),
		operation(CLASS_INTEGER, 11, 12, 3),
		{.class = CLASS_NOP},
		{.class = CLASS_NOP},
		{.class = CLASS_NOP},
	};
	struct schedule schedule = schedule_of(block, 6, false);

	(void)state;
	assert_true(schedule.best_cycles == 1.5);
	assert_int_equal(schedule.bound, BOUND_FRONT);
	assert_true(schedule.lines[0].minimum_cycles == 0.25);
	schedule_fini(&schedule);
}

/* Three additions have both adders for 1.5 cycles; with two multiplications, only for B, both have 2.5. */
static void
work_is_spread_over_units_as_well_as_it_can_be(void **state)
{
	const struct instruction block[] = {
		operation(CLASS_INTEGER, 10, 11, 1),  operation(CLASS_INTEGER, 10, 11, 2),
		operation(CLASS_INTEGER, 10, 11, 3),  operation(CLASS_MULTIPLY, 10, 11, 4),
		operation(CLASS_MULTIPLY, 10, 11, 5),
	};
	struct schedule schedule = schedule_of(block, 3, false);

	(void)state;
	assert_true(schedule.unit_cycles == 1.5);
	schedule_fini(&schedule);
	schedule = schedule_of(block, 5, false);
	assert_true(schedule.best_cycles == 2.5);
	assert_int_equal(schedule.bound, BOUND_UNITS);
	assert_int_equal(schedule.bound_units, 3);
	schedule_fini(&schedule);
}

/* Three multiplications have B for 3 cycles, and the additions go to A. */
static void
one_unit_alone_may_be_what_bounds(void **state)
{
	const struct instruction block[] = {
		operation(CLASS_INTEGER, 10, 11, 1),
		operation(CLASS_MULTIPLY, 10, 11, 2),
		operation(CLASS_MULTIPLY, 10, 11, 3),
		operation(CLASS_MULTIPLY, 10, 11, 4),
	};
	struct schedule schedule = schedule_of(block, 4, false);

	(void)state;
	assert_true(schedule.best_cycles == 3);
	assert_int_equal(schedule.bound_units, 2);
	assert_false(schedule.lines[0].critical);
	assert_true(schedule.lines[1].critical);
	schedule_fini(&schedule);
}

/* A load whose address is what the last one loaded: 5 cycles an iteration, however little else there is. */
static void
a_chain_from_iteration_to_iteration_may_be_what_bounds(void **state)
{
	const struct instruction block[] = {load(1, 1), operation(CLASS_INTEGER, 1, 2, 3)};
	struct schedule schedule = schedule_of(block, 2, true);

	(void)state;
	assert_true(schedule.best_cycles == 5);
	assert_int_equal(schedule.bound, BOUND_LATENCY);
	assert_true(schedule.lines[0].critical);
	assert_false(schedule.lines[1].critical);
	schedule_fini(&schedule);
}

/* a = b * x; b = a + y is one chain of two instructions; a' = b * x; b' = a + y of the last iteration's, half as long.
 */
static void
a_chain_may_span_two_iterations(void **state)
{
	const struct instruction one[] = {operation(CLASS_MULTIPLY, 2, 10, 1), operation(CLASS_INTEGER, 1, 11, 2)};
	const struct instruction two[] = {operation(CLASS_INTEGER, 1, 11, 3), operation(CLASS_MULTIPLY, 2, 10, 1),
	                                  operation(CLASS_INTEGER, 3, 11, 2)};
	struct schedule schedule = schedule_of(one, 2, true);

	(void)state;
	assert_true(schedule.latency_cycles == 4);
	schedule_fini(&schedule);
	schedule = schedule_of(two, 3, true);
	assert_true(schedule.latency_cycles == 2.5);
	schedule_fini(&schedule);
}

/* What is added to is needed only when what is loaded is there; the address at once. */
static void
an_operand_beside_a_load_does_not_wait_for_it(void **state)
{
	struct instruction block[] = {operation(CLASS_INTEGER, 1, 2, 1)};
	struct schedule schedule;

	(void)state;
	block[0].loads = true;
	block[0].address_reads = 1;
	schedule = schedule_of(block, 1, true);
	assert_true(schedule.latency_cycles == 1);
	assert_true(schedule.front_cycles == 0.5);
	schedule_fini(&schedule);
	block[0].writes[0] = 2;
	schedule = schedule_of(block, 1, true);
	assert_true(schedule.latency_cycles == 6);
	schedule_fini(&schedule);
}

/* ldr x1, [x2], #8: the next address is there a cycle later, not with what is loaded. */
static void
an_address_that_is_written_back_is_no_load(void **state)
{
	struct instruction block[] = {load(1, 2)};
	struct schedule schedule;

	(void)state;
	block[0].writes[1] = 2;
	block[0].write_count = 2;
	schedule = schedule_of(block, 1, true);
	assert_true(schedule.latency_cycles == 1);
	schedule_fini(&schedule);
}

static void
a_compare_is_one_with_its_branch(void **state)
{
	struct instruction block[] = {
		operation(CLASS_INTEGER, 1, 2, REGISTER_FLAGS),
		{.class = CLASS_BRANCH, .flow = FLOW_BRANCH, .reads = {REGISTER_FLAGS}, .read_count = 1},
	};
	struct schedule schedule = schedule_of(block, 2, false);

	(void)state;
	assert_true(schedule.front_cycles == 0.25);
	assert_true(schedule.unit_cycles == 1);
	schedule_fini(&schedule);
	block[0].writes[0] = 3;
	schedule = schedule_of(block, 2, false);
	assert_true(schedule.front_cycles == 0.5);
	schedule_fini(&schedule);
}

/* movslq (%rcx,%rax,4),%rax: 5 cycles, one for the index, two for the sign; as part of an addition, too. */
static void
a_load_may_take_longer_for_its_index_and_its_sign(void **state)
{
	struct instruction block[] = {load(1, 1)};
	char text[sizeof(model) + 64];
	struct schedule schedule;

	(void)state;
	snprintf(text, sizeof(text), "scaled_index_cycles = 1; extended_sign_cycles = 2;\n%s", model);
	schedule = schedule_by(text, block, 1, true);
	assert_true(schedule.latency_cycles == 5);
	schedule_fini(&schedule);
	block[0].is_scaled = true;
	schedule = schedule_by(text, block, 1, true);
	assert_true(schedule.latency_cycles == 6);
	schedule_fini(&schedule);
	block[0].extends_sign = true;
	schedule = schedule_by(text, block, 1, true);
	assert_true(schedule.latency_cycles == 8);
	schedule_fini(&schedule);
	block[0].class = CLASS_INTEGER;
	schedule = schedule_by(text, block, 1, true);
	assert_true(schedule.latency_cycles == 9);
	schedule_fini(&schedule);
}

/* Three stores, two of them by r10, one by r11: two lines an iteration; a block alone leaves them to the buffer. */
static void
a_cycle_writes_so_many_lines(void **state)
{
	struct instruction block[3];
	char text[sizeof(model) + 64];
	struct schedule schedule;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		block[i] = (struct instruction){.class = CLASS_STORE,
		                                .stores = true,
		                                .reads = {1, i == 1 ? 11 : 10},
		                                .read_count = 2,
		                                .address_reads = 1};
	snprintf(text, sizeof(text), "store_lines = 1;\n%s", model);
	schedule = schedule_by(text, block, 3, true);
	assert_true(schedule.store_cycles == 2);
	assert_int_equal(schedule.bound, BOUND_UNITS); /* S, for 3 cycles */
	schedule_fini(&schedule);
	schedule = schedule_by(text, block, 3, false);
	assert_true(schedule.store_cycles == 0);
	schedule_fini(&schedule);
	schedule = schedule_of(block, 3, true);
	assert_true(schedule.store_cycles == 0);
	schedule_fini(&schedule);
}

/* sub %rsi,%rdi; jne: one micro-operation where the model says so, and the difference is there a cycle later. */
static void
arithmetic_may_be_one_with_its_branch(void **state)
{
	struct instruction block[] = {
		{.class = CLASS_INTEGER,
	         .reads = {1, 2},
	         .read_count = 2,
	         .writes = {1, REGISTER_FLAGS},
	         .write_count = 2},
		{.class = CLASS_BRANCH, .flow = FLOW_BRANCH, .reads = {REGISTER_FLAGS}, .read_count = 1},
	};
	struct schedule schedule;
	char text[sizeof(model) + 64];

	(void)state;
	snprintf(text, sizeof(text), "fuses_arithmetic_and_branch = true;\n%s", model);
	schedule = schedule_by(text, block, 2, true);
	assert_true(schedule.front_cycles == 0.25);
	assert_true(schedule.latency_cycles == 1);
	schedule_fini(&schedule);
	schedule = schedule_of(block, 2, true);
	assert_true(schedule.front_cycles == 0.5);
	schedule_fini(&schedule);
	block[0].reads[1] = REGISTER_FLAGS; /* sbb */
	schedule = schedule_by(text, block, 2, true);
	assert_true(schedule.front_cycles == 0.5);
	schedule_fini(&schedule);
	block[0].reads[1] = 2;
	block[0].loads = true;
	schedule = schedule_by(text, block, 2, true);
	assert_true(schedule.front_cycles == 0.75); /* folded_load is 1 */
	schedule_fini(&schedule);
}

/* mul %rcx: from rax to rax in 3 cycles; mul %rcx, mov %rdx,%rax: in 4. mulx writes the upper half first. */
static void
the_halves_of_a_product_may_take_different_times(void **state)
{
	struct instruction block[] = {
		{.class = CLASS_MULTIPLY,
	         .reads = {1, 0},
	         .read_count = 2,
	         .writes = {0, 2, REGISTER_FLAGS},
	         .write_count = 3},
		{.class = CLASS_MOVE, .reads = {2}, .read_count = 1, .writes = {0}, .write_count = 1},
	};
	struct schedule schedule = schedule_of(block, 1, true);

	(void)state;
	assert_true(schedule.latency_cycles == 3);
	schedule_fini(&schedule);
	schedule = schedule_of(block, 2, true);
	assert_true(schedule.latency_cycles == 4);
	schedule_fini(&schedule);
	block[0].write_count = 2;
	schedule = schedule_of(block, 1, true);
	assert_true(schedule.latency_cycles == 4);
	schedule_fini(&schedule);
}

/* A move takes part in the chain, and no time; what clears its register begins a new one. */
static void
moves_and_clears_are_renamed_away(void **state)
{
	struct instruction block[] = {
		{.class = CLASS_MOVE, .reads = {1}, .read_count = 1, .writes = {2}, .write_count = 1},
		operation(CLASS_INTEGER, 2, 3, 1),
	};
	struct schedule schedule = schedule_of(block, 2, true);

	(void)state;
	assert_true(schedule.latency_cycles == 1);
	schedule_fini(&schedule);
	block[0].clears = true;
	schedule = schedule_of(block, 2, true);
	assert_true(schedule.latency_cycles == 0);
	assert_int_equal(schedule.bound, BOUND_BRANCH);
	assert_true(schedule.best_cycles == 1);
	schedule_fini(&schedule);
}

static void
a_block_alone_has_no_chain_from_before(void **state)
{
	const struct instruction block[] = {operation(CLASS_DIVIDE, 1, 2, 1)};
	struct schedule schedule = schedule_of(block, 1, false);

	(void)state;
	assert_true(schedule.latency_cycles == 0);
	assert_true(schedule.best_cycles == 10);
	schedule_fini(&schedule);
}

static void
shares_add_up_to_the_best_case(void **state)
{
	const struct instruction block[] = {load(1, 1), operation(CLASS_INTEGER, 1, 2, 3),
	                                    operation(CLASS_MULTIPLY, 3, 3, 4)};
	struct schedule schedule = schedule_of(block, 3, true);
	double sum = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		sum += schedule.lines[i].minimum_cycles;
	assert_true(sum > 4.999 && sum < 5.001);
	schedule_fini(&schedule);
}

static void
no_instruction_is_no_block(void **state)
{
	struct pipeline pipeline = {.kind = PIPELINE_KIND_OUT_OF_ORDER};
	struct schedule schedule;

	(void)state;
	assert_int_equal(schedule_block(&pipeline, NULL, 0, false, NULL, NULL, &schedule), -EINVAL);
}

/* Ten thousand instructions that follow themselves, each needing the one before. */
static void
a_large_loop_is_scheduled(void **state)
{
	enum { COUNT = 10000 };
	struct instruction *block = calloc(COUNT, sizeof(*block));
	struct schedule schedule;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		block[i] = operation(CLASS_INTEGER, 1, 2, 1);
	schedule = schedule_of(block, COUNT, true);
	assert_true(schedule.best_cycles == COUNT);
	schedule_fini(&schedule);
	free(block);
}

static void
reasons_and_bounds_have_names(void **state)
{
	(void)state;
	assert_string_equal(stall_reason_name(STALL_UNIT), "FU dependency");
	assert_string_equal(stall_reason_name(STALL_REASON_COUNT), "?");
	assert_string_equal(schedule_bound_name(BOUND_LATENCY), "latency");
	assert_string_equal(schedule_bound_name(BOUND_STORES), "stores");
	assert_string_equal(schedule_bound_name(99), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_front_end_may_be_what_bounds),
		cmocka_unit_test(work_is_spread_over_units_as_well_as_it_can_be),
		cmocka_unit_test(one_unit_alone_may_be_what_bounds),
		cmocka_unit_test(a_chain_from_iteration_to_iteration_may_be_what_bounds),
		cmocka_unit_test(a_chain_may_span_two_iterations),
		cmocka_unit_test(an_operand_beside_a_load_does_not_wait_for_it),
		cmocka_unit_test(an_address_that_is_written_back_is_no_load),
		cmocka_unit_test(a_compare_is_one_with_its_branch),
		cmocka_unit_test(a_load_may_take_longer_for_its_index_and_its_sign),
		cmocka_unit_test(a_cycle_writes_so_many_lines),
		cmocka_unit_test(arithmetic_may_be_one_with_its_branch),
		cmocka_unit_test(the_halves_of_a_product_may_take_different_times),
		cmocka_unit_test(moves_and_clears_are_renamed_away),
		cmocka_unit_test(a_block_alone_has_no_chain_from_before),
		cmocka_unit_test(shares_add_up_to_the_best_case),
		cmocka_unit_test(no_instruction_is_no_block),
		cmocka_unit_test(a_large_loop_is_scheduled),
		cmocka_unit_test(reasons_and_bounds_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
