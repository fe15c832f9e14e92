#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/flow_graph.h"
#include "tests/unit/code/flow_text.h"

/* Procedures of 4-byte instructions that are made by hand; graphs drawn by hand. */

#define START    0x1000
#define AT(i)    (START + 4 * (uint64_t)(i))
#define AWAY     0x9000 /* another procedure */
#define GONE     0xa000 /* one that does not return */
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define NEXT                                                                                                           \
	{                                                                                                              \
		.flow = FLOW_NEXT, .class = CLASS_INTEGER                                                              \
	}
#define NOP                                                                                                            \
	{                                                                                                              \
		.flow = FLOW_NEXT, .class = CLASS_NOP                                                                  \
	}
#define UNDECODED                                                                                                      \
	{                                                                                                              \
		.flow = FLOW_NEXT, .class = CLASS_UNKNOWN, .size = 1                                                   \
	}
#define PAD                                                                                                            \
	{                                                                                                              \
		.flow = FLOW_NEXT, .class = CLASS_NOP, .is_landing_pad = true                                          \
	}
#define BRANCH(where)                                                                                                  \
	{                                                                                                              \
		.flow = FLOW_BRANCH, .class = CLASS_BRANCH, .target = (where)                                          \
	}
#define JUMP(where)                                                                                                    \
	{                                                                                                              \
		.flow = FLOW_JUMP, .class = CLASS_JUMP, .target = (where)                                              \
	}
#define INDIRECT                                                                                                       \
	{                                                                                                              \
		.flow = FLOW_JUMP_INDIRECT, .class = CLASS_JUMP                                                        \
	}
#define CALL(where)                                                                                                    \
	{                                                                                                              \
		.flow = FLOW_CALL, .class = CLASS_CALL, .target = (where)                                              \
	}
#define RETURN                                                                                                         \
	{                                                                                                              \
		.flow = FLOW_RETURN, .class = CLASS_RETURN                                                             \
	}
#define TRAP                                                                                                           \
	{                                                                                                              \
		.flow = FLOW_STOP, .class = CLASS_SYSTEM                                                               \
	}

static bool
returns(void *argument, uint64_t address)
{
	(void)argument;
	return address != GONE;
}

static int
build(const struct instruction *instructions, size_t count, const struct flow_source *source, struct flow_graph **graph)
{
	struct instruction_list list = {calloc(count, sizeof(*instructions)), count, count};

	assert_non_null(list.instructions);
	memcpy(list.instructions, instructions, count * sizeof(*instructions));
	return flow_graph_build_from(&list, NULL, source, graph);
}

/* Lays out `instructions`, 4 bytes each where they have no size, from START on. */
static size_t
lay_out(struct instruction *instructions, size_t count, uint64_t address)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++) {
		instructions[i].address = address + size;
		if (!instructions[i].size)
			instructions[i].size = 4;
		size += instructions[i].size;
	}
	return size;
}

static void
assert_graph(const struct flow_graph *graph, const char *expected)
{
	char *text = flow_text(graph);

	assert_null(flow_graph_fault(graph));
	assert_string_equal(text, expected);
	free(text);
}

static void
assert_flow(struct instruction *instructions, size_t count, const char *expected)
{
	struct code_part part = {.address = START, .size = lay_out(instructions, count, START)};
	const struct flow_source source = {
		.architecture = ARCHITECTURE_X86_64, .parts = &part, .part_count = 1, .returns = returns};
	struct flow_graph *graph = NULL;

	assert_int_equal(build(instructions, count, &source, &graph), 0);
	assert_graph(graph, expected);
	flow_graph_free(graph);
}

static void
a_straight_procedure_is_one_block(void **state)
{
	struct instruction code[] = {NEXT, NEXT, RETURN};

	(void)state;
	assert_flow(code, COUNT(code), "in: 0\n0 1000 x3: exit\n");
}

static void
a_branch_goes_two_ways(void **state)
{
	struct instruction code[] = {NEXT, BRANCH(AT(3)), NEXT, RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x2: fall 1, taken 2\n"
	            "1 1008 x1: fall 2\n"
	            "2 100c x1: exit\n");
}

static void
a_branch_backward_into_a_block_splits_it(void **state)
{
	struct instruction code[] = {NEXT, NEXT, NEXT, BRANCH(AT(1)), RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: fall 1\n"
	            "1 1004 x3: fall 2, taken 1\n"
	            "2 1010 x1: exit\n");
}

static void
a_branch_to_the_next_instruction_makes_two_edges(void **state)
{
	struct instruction code[] = {BRANCH(AT(1)), RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: fall 1, taken 1\n"
	            "1 1004 x1: exit\n");
}

static void
a_branch_into_an_instruction_makes_the_graph_incomplete(void **state)
{
	struct instruction code[] = {NEXT, BRANCH(AT(0) + 2), RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0 (incomplete)\n"
	            "0 1000 x2: fall 1, exit\n"
	            "1 1008 x1: exit\n");
}

static void
a_branch_over_a_lock_prefix_goes_to_its_instruction(void **state)
{
	struct instruction code[] = {BRANCH(AT(1) + 1), NEXT, RETURN};
	static const uint8_t bytes[] = {0, 0, 0, 0, 0xf0, 0x0f, 0xb1, 0x0f, 0, 0, 0, 0}; /* lock cmpxchg */
	struct code_part part = {.address = START, .bytes = bytes, .size = lay_out(code, COUNT(code), START)};
	const struct flow_source source = {.architecture = ARCHITECTURE_X86_64, .parts = &part, .part_count = 1};
	struct flow_graph *graph = NULL;

	(void)state;
	assert_int_equal(build(code, COUNT(code), &source, &graph), 0);
	assert_graph(graph, "in: 0\n"
	                    "0 1000 x1: fall 1, taken 1\n"
	                    "1 1004 x2: exit\n");
	flow_graph_free(graph);
}

static void
jumps_and_branches_out_of_the_procedure_are_tail_calls(void **state)
{
	struct instruction code[] = {BRANCH(AWAY), BRANCH(GONE), JUMP(AWAY)};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: fall 1, exit\n"
	            "1 1004 x1: fall 2, noreturn\n"
	            "2 1008 x1: exit\n");
}

static void
a_call_ends_its_block_and_comes_back(void **state)
{
	struct instruction code[] = {NEXT, CALL(AWAY), NEXT, RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x2: fall 1\n"
	            "1 1008 x2: exit\n");
}

static void
what_follows_a_call_that_does_not_return_is_not_reached_by_it(void **state)
{
	struct instruction code[] = {BRANCH(AT(3)), NEXT, CALL(GONE), RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: fall 1, taken 2\n"
	            "1 1004 x2: noreturn\n"
	            "2 100c x1: exit\n");
}

static void
a_call_with_only_padding_behind_it_does_not_return(void **state)
{
	struct instruction code[] = {BRANCH(AT(2)), RETURN, CALL(AWAY), NOP, TRAP};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: fall 1, taken 2\n"
	            "1 1004 x1: exit\n"
	            "2 1008 x1: noreturn\n");
}

static void
padding_that_nothing_runs_into_is_in_no_block(void **state)
{
	struct instruction code[] = {JUMP(AT(4)), NOP, TRAP, NOP, NOP, RETURN, NOP};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: taken 1\n"
	            "1 1010 x2: exit\n");
}

static void
a_trap_is_not_passed(void **state)
{
	struct instruction code[] = {BRANCH(AT(2)), TRAP, RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: fall 1, taken 2\n"
	            "1 1004 x1: noreturn\n"
	            "2 1008 x1: exit\n");
}

static void
a_procedure_that_falls_off_its_end_leaves(void **state)
{
	struct instruction code[] = {NEXT, BRANCH(AT(0))};

	(void)state;
	assert_flow(code, COUNT(code), "in: 0\n0 1000 x2: taken 0, exit\n");
}

static void
blocks_that_nothing_comes_to_are_entered_from_outside(void **state)
{
	/* a landing pad of C++ behind the return, and a loop that only comes to itself */
	struct instruction code[] = {RETURN, NEXT, RETURN, NEXT, BRANCH(AT(3)), RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0 1 2\n"
	            "0 1000 x1: exit\n"
	            "1 1004 x2: exit\n"
	            "2 100c x2: fall 3, taken 2\n"
	            "3 1014 x1: exit\n");
}

static void
a_landing_pad_behind_a_call_is_entered_from_outside_too(void **state)
{
	struct instruction code[] = {CALL(AWAY), PAD, RETURN}; /* setjmp */

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0 1\n"
	            "0 1000 x1: fall 1\n"
	            "1 1004 x2: exit\n");
}

static void
a_routine_within_the_procedure_is_entered_from_outside(void **state)
{
	struct instruction code[] = {CALL(AT(3)), NEXT, RETURN, NEXT, RETURN};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0 2\n"
	            "0 1000 x1: fall 1\n"
	            "1 1004 x2: exit\n"
	            "2 100c x2: exit\n");
}

static void
an_unresolved_jump_may_go_to_any_landing_pad(void **state)
{
	struct instruction code[] = {PAD, INDIRECT, PAD, RETURN, PAD, JUMP(AT(1))};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0 (incomplete)\n"
	            "0 1000 x1: fall 1\n"
	            "1 1004 x1: exit, unknown 2, unknown 3\n"
	            "2 1008 x2: exit\n"
	            "3 1010 x2: taken 1\n");
}

static void
an_endless_loop_is_left_from_where_it_goes_back(void **state)
{
	struct instruction code[] = {NEXT, NEXT, BRANCH(AT(4)), NEXT, CALL(AWAY), JUMP(AT(1))};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0\n"
	            "0 1000 x1: fall 1\n"
	            "1 1004 x2: fall 2, taken 3\n"
	            "2 100c x1: fall 3\n"
	            "3 1010 x1: fall 4\n"
	            "4 1014 x1: taken 1, endless\n");
}

static void
endless_loops_one_after_the_other_have_one_way_out(void **state)
{
	/* the first leads into the second; a third stands alone and only jumps to itself */
	struct instruction code[] = {BRANCH(AT(0)), BRANCH(AT(3)), JUMP(AT(1)), JUMP(AT(3)), JUMP(AT(4))};

	(void)state;
	assert_flow(code, COUNT(code),
	            "in: 0 4\n"
	            "0 1000 x1: fall 1, taken 0\n"
	            "1 1004 x1: fall 2, taken 3\n"
	            "2 1008 x1: taken 1\n"
	            "3 100c x1: taken 3, endless\n"
	            "4 1010 x1: taken 4, endless\n");
}

static void
bytes_that_are_no_instruction_matter_only_where_they_run(void **state)
{
	struct instruction passed[] = {RETURN, UNDECODED, RETURN};
	struct instruction run[] = {NEXT, UNDECODED, RETURN};

	(void)state;
	assert_flow(passed, COUNT(passed),
	            "in: 0 1\n"
	            "0 1000 x1: exit\n"
	            "1 1004 x2: exit\n");
	assert_flow(run, COUNT(run), "in: 0 (incomplete)\n0 1000 x3: exit\n");
}

static void
a_split_procedure_is_one_graph(void **state)
{
	struct instruction code[] = {BRANCH(0x500), RETURN, NEXT, JUMP(AT(1))};
	const struct code_part parts[] = {{.address = START, .size = 8},
	                                  {.address = 0x500, .size = 8, .is_cold = true}};
	const struct flow_source source = {.architecture = ARCHITECTURE_X86_64, .parts = parts, .part_count = 2};
	struct flow_graph *graph = NULL;

	(void)state;
	lay_out(code, 2, START);
	lay_out(code + 2, 2, 0x500);
	assert_int_equal(build(code, COUNT(code), &source, &graph), 0);
	assert_graph(graph, "in: 0\n"
	                    "0 1000 x1: fall 1, taken 2\n"
	                    "1 1004 x1: exit\n"
	                    "2 500 x2 cold: taken 1\n");
	assert_int_equal(flow_graph_block_at(graph, 0x1007), 1);
	assert_int_equal(flow_graph_block_at(graph, 0x504), 2);
	assert_int_equal(flow_graph_block_at(graph, 0x508), FLOW_OUTSIDE);
	assert_int_equal(flow_graph_block_at(graph, 0xfff), FLOW_OUTSIDE);
	flow_graph_free(graph);
}

static void
instructions_that_do_not_fill_their_parts_are_refused(void **state)
{
	struct instruction code[] = {NEXT, RETURN};
	struct code_part parts[] = {{.address = START, .size = 8}, {.address = START + 4, .size = 4}};
	struct flow_source source = {.architecture = ARCHITECTURE_X86_64, .parts = parts, .part_count = 1};
	struct flow_graph *graph = NULL;

	(void)state;
	lay_out(code, COUNT(code), START);
	assert_int_equal(build(code, 1, &source, &graph), -EINVAL);
	parts[0].size = 6;
	assert_int_equal(build(code, COUNT(code), &source, &graph), -EINVAL);
	source.part_count = 0;
	assert_int_equal(build(code, COUNT(code), &source, &graph), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_straight_procedure_is_one_block),
		cmocka_unit_test(a_branch_goes_two_ways),
		cmocka_unit_test(a_branch_backward_into_a_block_splits_it),
		cmocka_unit_test(a_branch_to_the_next_instruction_makes_two_edges),
		cmocka_unit_test(a_branch_into_an_instruction_makes_the_graph_incomplete),
		cmocka_unit_test(a_branch_over_a_lock_prefix_goes_to_its_instruction),
		cmocka_unit_test(jumps_and_branches_out_of_the_procedure_are_tail_calls),
		cmocka_unit_test(a_call_ends_its_block_and_comes_back),
		cmocka_unit_test(what_follows_a_call_that_does_not_return_is_not_reached_by_it),
		cmocka_unit_test(a_call_with_only_padding_behind_it_does_not_return),
		cmocka_unit_test(padding_that_nothing_runs_into_is_in_no_block),
		cmocka_unit_test(a_trap_is_not_passed),
		cmocka_unit_test(a_procedure_that_falls_off_its_end_leaves),
		cmocka_unit_test(blocks_that_nothing_comes_to_are_entered_from_outside),
		cmocka_unit_test(a_landing_pad_behind_a_call_is_entered_from_outside_too),
		cmocka_unit_test(a_routine_within_the_procedure_is_entered_from_outside),
		cmocka_unit_test(an_unresolved_jump_may_go_to_any_landing_pad),
		cmocka_unit_test(an_endless_loop_is_left_from_where_it_goes_back),
		cmocka_unit_test(endless_loops_one_after_the_other_have_one_way_out),
		cmocka_unit_test(bytes_that_are_no_instruction_matter_only_where_they_run),
		cmocka_unit_test(a_split_procedure_is_one_graph),
		cmocka_unit_test(instructions_that_do_not_fill_their_parts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
