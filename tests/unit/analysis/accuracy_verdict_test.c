/* Tests of tests/accuracy/verdict.h, on analyses put together by hand. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "tests/accuracy/verdict.h"

#define START 0x1000
#define COUNT 6

/* Two blocks of three instructions of four bytes: a call ends the first one. */
struct verdict_fixture {
	struct flow_graph graph;
	struct flow_block blocks[2];
	struct instruction instructions[COUNT];
	struct instruction_stalls late[COUNT];
	struct stall stalls[8];
	uint64_t culprits[8];
	struct frequency frequencies[2];
	uint64_t executions[COUNT];
	double samples[COUNT];
	struct procedure_analysis analysis;
};

static uint64_t
address_of(unsigned instruction)
{
	return START + 4 * instruction;
}

static int
setup(void **state)
{
	struct verdict_fixture *made = calloc(1, sizeof(*made));

	for (unsigned i = 0; i < COUNT; i++)
		made->instructions[i] = (struct instruction){
			.address = address_of(i), .size = 4, .flow = i == 2 ? FLOW_CALL : FLOW_NEXT};
	for (unsigned i = 0; i < 2; i++)
		made->blocks[i] = (struct flow_block){.first = 3 * i, .count = 3};
	made->graph = (struct flow_graph){.instructions = made->instructions,
	                                  .instruction_count = COUNT,
	                                  .blocks = made->blocks,
	                                  .block_count = 2,
	                                  .part_blocks = {0, 2},
	                                  .part_count = 1};
	made->analysis.graph = &made->graph;
	made->analysis.stalls.instructions = made->late;
	made->analysis.stalls.stalls = made->stalls;
	made->analysis.stalls.culprits = made->culprits;
	made->analysis.frequencies.blocks = made->frequencies;
	made->analysis.frequencies.samples = made->samples;
	made->analysis.executions = made->executions;
	*state = made;
	return 0;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

/* Of instruction 1: it may be the cache, because of instruction 0, or less likely a misprediction. */
static void
infer(struct verdict_fixture *made)
{
	made->culprits[0] = address_of(0);
	made->stalls[0] = (struct stall){.cause = CAUSE_DATA_CACHE, .likely = 8, .high = 8, .culprit_count = 1};
	made->stalls[1] = (struct stall){.cause = CAUSE_MISPREDICT, .likely = 2, .high = 8};
	made->late[1] = (struct instruction_stalls){.stall_cycles = 8, .stall = 0, .stall_count = 2};
}

static void
the_reason_that_took_most_and_its_culprit_are_right(void **state)
{
	static const struct verdict_truth truths[] = {
		{START + 4, START, 700, CAUSE_DATA_CACHE},
		{START + 4, START + 8, 200, CAUSE_DATA_CACHE},
		{START + 4, START + 4, 800, CAUSE_CODE_CACHE},
	};
	struct verdict_fixture *made = *state;
	struct verdict *verdicts;

	infer(made);
	assert_int_equal(verdicts_make(&made->analysis, truths, 3, &verdicts), 0);
	assert_true(verdicts[1].cycles == 1700);
	assert_int_equal(verdicts[1].cause, CAUSE_DATA_CACHE); /* 900 of 1700 */
	assert_true(verdicts[1].culprit == START);
	assert_int_equal(verdicts[1].inferred, CAUSE_DATA_CACHE);
	assert_true(verdicts[1].is_cause);
	assert_true(verdicts[1].is_culprit);
	assert_true(verdicts[0].cycles == 0);
	free(verdicts);
}

static void
another_reason_or_another_culprit_is_wrong(void **state)
{
	static const struct verdict_truth mispredicted[] = {{START + 4, START + 8, 10, CAUSE_MISPREDICT}};
	static const struct verdict_truth elsewhere[] = {{START + 4, START + 8, 10, CAUSE_DATA_CACHE}};
	struct verdict_fixture *made = *state;
	struct verdict *verdicts;

	infer(made);
	assert_int_equal(verdicts_make(&made->analysis, mispredicted, 1, &verdicts), 0);
	assert_false(verdicts[1].is_cause);
	assert_false(verdicts[1].is_culprit);
	free(verdicts);
	assert_int_equal(verdicts_make(&made->analysis, elsewhere, 1, &verdicts), 0);
	assert_true(verdicts[1].is_cause);
	assert_false(verdicts[1].is_culprit);
	free(verdicts);
}

static void
a_stall_without_any_reason_is_wrong(void **state)
{
	static const struct verdict_truth truths[] = {{START + 12, START + 12, 10, CAUSE_CODE_CACHE}};
	struct verdict_fixture *made = *state;
	struct verdict *verdicts;

	assert_int_equal(verdicts_make(&made->analysis, truths, 1, &verdicts), 0);
	assert_int_equal(verdicts[3].inferred, CAUSE_COUNT);
	assert_false(verdicts[3].is_cause);
	free(verdicts);
}

/* What loads is in the procedure that is called. */
static void
a_call_is_to_blame_for_what_it_calls(void **state)
{
	static const struct verdict_truth outside[] = {{START + 12, START + 0x100, 10, CAUSE_DATA_CACHE}};
	static const struct verdict_truth inside[] = {{START + 12, START, 10, CAUSE_DATA_CACHE}};
	struct verdict_fixture *made = *state;
	struct verdict *verdicts;

	made->culprits[0] = address_of(2);
	made->stalls[0] = (struct stall){.cause = CAUSE_DATA_CACHE, .likely = 1, .high = 1, .culprit_count = 1};
	made->late[3] = (struct instruction_stalls){.stall_cycles = 1, .stall_count = 1};
	assert_int_equal(verdicts_make(&made->analysis, outside, 1, &verdicts), 0);
	assert_true(verdicts[3].is_culprit);
	free(verdicts);
	assert_int_equal(verdicts_make(&made->analysis, inside, 1, &verdicts), 0);
	assert_false(verdicts[3].is_culprit);
	free(verdicts);
}

static void
truths_of_other_procedures_are_passed_by(void **state)
{
	static const struct verdict_truth truths[] = {{START - 4, START, 10, CAUSE_DATA_CACHE},
	                                              {START + 2, START, 10, CAUSE_DATA_CACHE},
	                                              {START + 0x100, START, 10, CAUSE_DATA_CACHE}};
	struct verdict_fixture *made = *state;
	struct verdict_sum sum = {0};
	struct verdict *verdicts;

	assert_int_equal(verdicts_make(&made->analysis, truths, 3, &verdicts), 0);
	verdict_sum_add(&sum, &made->analysis, true, verdicts);
	assert_true(sum.stall_cycles == 0);
	free(verdicts);
}

/* 1000 cycles a sample; 104 and 88 of frequency for 100,000 executions each: 4 % too many, 12 % too few. */
static void
samples_count_where_estimates_are_near(void **state)
{
	static const struct verdict_truth truths[] = {{START + 4, START, 30, CAUSE_DATA_CACHE},
	                                              {START + 12, START, 70, CAUSE_DATA_CACHE}};
	struct verdict_fixture *made = *state;
	struct verdict_sum sum = {0};
	struct verdict *verdicts;

	infer(made);
	made->analysis.cycles_per_sample = 1000;
	for (unsigned i = 0; i < COUNT; i++) {
		made->executions[i] = 100000;
		made->samples[i] = i < 3 ? 200 : 100;
	}
	made->frequencies[0] = (struct frequency){104, CONFIDENCE_HIGH, 0};
	made->frequencies[1] = (struct frequency){88, CONFIDENCE_HIGH, 0};
	assert_int_equal(verdicts_make(&made->analysis, truths, 2, &verdicts), 0);
	verdict_sum_add(&sum, &made->analysis, true, verdicts);
	assert_true(sum.samples == 900);
	assert_true(sum.within[0] == 600);
	assert_true(sum.within[1] == 600);
	assert_true(sum.within[2] == 900);
	assert_true(sum.stall_cycles == 100);
	assert_true(sum.causes == 30);
	assert_true(sum.culprits == 30);
	free(verdicts);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_reason_that_took_most_and_its_culprit_are_right),
		TEST(another_reason_or_another_culprit_is_wrong),
		TEST(a_stall_without_any_reason_is_wrong),
		TEST(a_call_is_to_blame_for_what_it_calls),
		TEST(truths_of_other_procedures_are_passed_by),
		TEST(samples_count_where_estimates_are_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
