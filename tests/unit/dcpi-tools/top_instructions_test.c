#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/topstalls/top_instructions.h"

#define INSTRUCTIONS 4
#define LIMIT        3

/* A block of some instructions, each of which stalls for what the test says, and those that lost most. */
struct top_instructions_stage {
	struct top_instructions top;
	struct instruction instructions[INSTRUCTIONS];
	struct flow_block block;
	struct flow_graph graph;
	struct frequency frequency;
	double samples[INSTRUCTIONS];
	struct instruction_stalls late[INSTRUCTIONS];
	struct stall stalls[INSTRUCTIONS];
	uint64_t culprits[8];
	uint64_t executions[INSTRUCTIONS];
	struct symbol symbol;
	struct code_image code;
	struct procedure_analysis analysis;
	struct procedure_input input;
};

static int
setup(void **state)
{
	struct top_instructions_stage *stage = calloc(1, sizeof(*stage));

	*state = stage;
	return stage && top_instructions_init(&stage->top, LIMIT) == 0 ? 0 : -1;
}

static int
teardown(void **state)
{
	struct top_instructions_stage *stage = *state;

	top_instructions_fini(&stage->top);
	free(stage);
	return 0;
}

/* Empty the list; it keeps `limit` instructions from now on. */
static void
begin_again(struct top_instructions_stage *stage, size_t limit)
{
	top_instructions_fini(&stage->top);
	assert_int_equal(top_instructions_init(&stage->top, limit), 0);
}

/* An execution stalls for `cycles` of each instruction, all for a cache's misses; it was executed 10 times (samples).
 */
static void
set_stage(struct top_instructions_stage *stage, uint32_t image, const double cycles[INSTRUCTIONS])
{
	struct top_instructions top = stage->top;

	memset(stage, 0, sizeof(*stage));
	stage->top = top;
	stage->block = (struct flow_block){.count = INSTRUCTIONS};
	stage->frequency = (struct frequency){.value = 10, .confidence = CONFIDENCE_MEDIUM};
	for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
		stage->instructions[i].address = 0x1000 + 4 * i;
		stage->samples[i] = 10 * cycles[i] + 1;
		stage->stalls[i] = (struct stall){
			.high = cycles[i], .low = cycles[i] / 2, .culprit_count = 1, .cause = CAUSE_DATA_CACHE};
		stage->late[i] = (struct instruction_stalls){
			.stall_cycles = cycles[i], .stall = i, .stall_count = cycles[i] > 0};
	}
	stage->culprits[0] = 0x1000;
	stage->graph = (struct flow_graph){
		.instructions = stage->instructions,
		.instruction_count = INSTRUCTIONS,
		.blocks = &stage->block,
		.block_count = 1,
	};
	stage->analysis = (struct procedure_analysis){
		.graph = &stage->graph,
		.cycles_per_sample = 1000,
		.frequencies = {.blocks = &stage->frequency, .samples = stage->samples},
		.stalls = {.instructions = stage->late, .stalls = stage->stalls, .culprits = stage->culprits},
	};
	stage->symbol = (struct symbol){.offset = 0x1000, .size = 16};
	stage->code.index = image;
	stage->input = (struct procedure_input){.code = &stage->code, .symbol = &stage->symbol};
}

static void
add(struct top_instructions_stage *stage)
{
	top_instructions_add(&stage->top, &stage->input, &stage->analysis);
}

static void
no_more_than_the_worst_are_kept(void **state)
{
	const double first[INSTRUCTIONS] = {1, 4, 2, 0}, second[INSTRUCTIONS] = {3, 0, 0, 5};
	struct top_instructions_stage *stage = *state;

	set_stage(stage, 0, first);
	add(stage);
	set_stage(stage, 1, second);
	add(stage);
	top_instructions_sort(&stage->top);
	assert_int_equal(stage->top.count, 3);
	assert_true(stage->top.stalls[0].lost == 50 && stage->top.stalls[0].image == 1);
	assert_int_equal(stage->top.stalls[0].place.address, 0x100c);
	assert_true(stage->top.stalls[1].lost == 40 && stage->top.stalls[1].image == 0);
	assert_true(stage->top.stalls[2].lost == 30 && stage->top.stalls[2].image == 1);
}

static void
all_that_was_lost_is_counted(void **state)
{
	const double cycles[INSTRUCTIONS] = {1, 4, 2, 0};
	struct top_instructions_stage *stage = *state;

	begin_again(stage, 1);
	set_stage(stage, 0, cycles);
	add(stage);
	assert_true(stage->top.lost == 70);
	assert_int_equal(stage->top.instruction_count, 3);
	assert_true(stage->top.well_known_samples == 74);
}

static void
reasons_are_in_samples_and_name_their_culprits(void **state)
{
	const double cycles[INSTRUCTIONS] = {0, 4, 0, 0};
	struct top_instructions_stage *stage = *state;

	set_stage(stage, 0, cycles);
	add(stage);
	assert_int_equal(stage->top.count, 1);
	assert_int_equal(stage->top.stalls[0].reason_count, 1);
	assert_int_equal(stage->top.stalls[0].reasons[0].cause, CAUSE_DATA_CACHE);
	assert_true(stage->top.stalls[0].reasons[0].low == 20 && stage->top.stalls[0].reasons[0].high == 40);
	assert_int_equal(stage->top.stalls[0].reasons[0].culprit_count, 1);
	assert_int_equal(stage->top.stalls[0].reasons[0].culprits[0].address, 0x1000);
}

static void
a_few_of_many_culprits_are_kept(void **state)
{
	const double cycles[INSTRUCTIONS] = {0, 4, 0, 0};
	struct top_instructions_stage *stage = *state;

	set_stage(stage, 0, cycles);
	stage->stalls[1].culprit_count = 8;
	add(stage);
	assert_int_equal(stage->top.stalls[0].reasons[0].culprit_count, TOP_CULPRITS);
}

/* 10 samples of 1,000 cycles each are 10,000 executions, unless it was counted or only shares are known. */
static void
executions_are_shown_as_far_as_they_are_known(void **state)
{
	const double cycles[INSTRUCTIONS] = {0, 4, 0, 0};
	struct top_instructions_stage *stage = *state;

	set_stage(stage, 0, cycles);
	add(stage);
	assert_true(stage->top.stalls[0].executions == 10000);

	begin_again(stage, LIMIT);
	stage->analysis.frequencies.is_relative = true;
	add(stage);
	assert_true(stage->top.stalls[0].executions < 0);

	begin_again(stage, LIMIT);
	stage->executions[1] = 9876;
	stage->analysis.executions = stage->executions;
	add(stage);
	assert_true(stage->top.stalls[0].executions == 9876);
}

static void
who_lost_the_same_is_in_the_order_of_places(void **state)
{
	const double cycles[INSTRUCTIONS] = {2, 2, 2, 2};
	struct top_instructions_stage *stage = *state;

	set_stage(stage, 0, cycles);
	add(stage);
	top_instructions_sort(&stage->top);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(stage->top.stalls[i].place.address, 0x1000 + 4 * i);
}

static void
a_block_whose_frequency_is_not_known_loses_nothing(void **state)
{
	const double cycles[INSTRUCTIONS] = {2, 2, 2, 2};
	struct top_instructions_stage *stage = *state;

	set_stage(stage, 0, cycles);
	stage->frequency.confidence = CONFIDENCE_NONE;
	add(stage);
	assert_int_equal(stage->top.count, 0);
	assert_true(stage->top.lost == 0 && stage->top.well_known_samples == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_more_than_the_worst_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(all_that_was_lost_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(reasons_are_in_samples_and_name_their_culprits, setup, teardown),
		cmocka_unit_test_setup_teardown(a_few_of_many_culprits_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(executions_are_shown_as_far_as_they_are_known, setup, teardown),
		cmocka_unit_test_setup_teardown(who_lost_the_same_is_in_the_order_of_places, setup, teardown),
		cmocka_unit_test_setup_teardown(a_block_whose_frequency_is_not_known_loses_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
