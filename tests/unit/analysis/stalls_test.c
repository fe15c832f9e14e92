/* In-order pipelines: the copy loop of the paper, and each reason with what rules it out. */
#include "tests/unit/analysis/stalls_scene.h"

#include <errno.h>

/* Alpha's registers, as far as figure 2 has them. */
enum { T0 = 1, T1, T2, T4 = 5, T5, T6, A0 = 16, V0 = 20 };

#define COPY_LOOP      13
#define COPY_FREQUENCY 1527.0 /* of the figure: what its cycles come from */

static void
make_copy_loop(struct stalls_scene *scene)
{
	static const double samples[COPY_LOOP] = {3126, 0, 1636, 390, 1482, 0, 27766, 0, 1493, 174727, 1548, 0, 1586};
	const struct instruction loop[COPY_LOOP] = {
		scene_load(0x9810, T4, T1),          scene_operation(0x9814, CLASS_INTEGER, T0, REGISTER_NONE, T0),
		scene_load(0x9818, T5, T1),          scene_load(0x981c, T6, T1),
		scene_load(0x9820, A0, T1),          scene_operation(0x9824, CLASS_ADDRESS, T1, REGISTER_NONE, T1),
		scene_store(0x9828, T4, T2),         scene_operation(0x982c, CLASS_INTEGER, T0, V0, T4),
		scene_store(0x9830, T5, T2),         scene_store(0x9834, T6, T2),
		scene_store(0x9838, A0, T2),         scene_operation(0x983c, CLASS_ADDRESS, T2, REGISTER_NONE, T2),
		scene_jump(0x9840, FLOW_BRANCH, T4),
	};

	scene_begin(scene, "alpha-21164");
	scene_block(scene, loop, COPY_LOOP, COPY_FREQUENCY);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, 0.01);
	scene_edge(scene, 0, 0, EDGE_TAKEN, COPY_FREQUENCY);
	scene_edge(scene, 0, FLOW_OUTSIDE, EDGE_EXIT, 0.01);
	memcpy(scene->samples, samples, sizeof(samples));
	scene_find(scene);
}

/* Figure 2: "pD" at 9810, "dwD" at 9828 and 9834, and nothing elsewhere. */
static void
the_copy_loop_of_the_paper_stalls_where_it_does_and_why(void **state)
{
	static const char *const letters[COPY_LOOP] = {"Dp", "", "", "", "", "", "dDw", "", "", "dDw", "", "", ""};
	struct stalls_scene scene;

	(void)state;
	make_copy_loop(&scene);
	for (uint32_t i = 0; i < COPY_LOOP; i++)
		assert_letters(&scene, i, letters[i]);
	scene_end(&scene);
}

/* 18.0 and 114.5 cycles, to the figure's half-cycles; one of them each is the store itself. */
static void
the_copy_loop_of_the_paper_stalls_as_long_as_it_does(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_copy_loop(&scene);
	assert_about(scene.stalls.instructions[6].cycles, 18.0, 0.25);
	assert_about(scene.stalls.instructions[9].cycles, 114.5, 0.25);
	assert_about(scene.stalls.instructions[6].stall_cycles, 17.0, 0.25);
	assert_about(scene.stalls.instructions[9].stall_cycles, 113.5, 0.25);
	assert_about(scene.stalls.instructions[0].stall_cycles, 1.0, 0.25);
	assert_true(scene.stalls.instructions[6].unexplained == 0);
	scene_end(&scene);
}

/* "Culprit" 9810 and 981c: the loads that make what is stored. */
static void
the_copy_loop_of_the_paper_has_its_culprits(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_copy_loop(&scene);
	assert_culprit(&scene, 6, CAUSE_DATA_CACHE, 0x9810);
	assert_culprit(&scene, 9, CAUSE_DATA_CACHE, 0x981c);
	assert_culprit(&scene, 0, CAUSE_MISPREDICT, 0x9840);
	assert_culprit(&scene, 0, CAUSE_DATA_TLB, 0);
	scene_end(&scene);
}

/*
 * A straight line of `count` instructions from 0x1004 on (no line and no page begins in it but as `pads` say), of which
 * the last has 50 cycles, and each other one what it must have.
 */
static void
make_line(struct stalls_scene *scene, const struct instruction *instructions, uint32_t count)
{
	scene_begin(scene, "in-order-2");
	scene_block(scene, instructions, count, 100);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, 100);
	scene_edge(scene, 0, FLOW_OUTSIDE, EDGE_EXIT, 100);
	scene_find(scene);
	for (uint32_t i = 0; i < count; i++)
		scene->samples[i] = 100 * scene->stalls.instructions[i].least_cycles;
	scene->samples[count - 1] = 5000;
	scene_find(scene);
}

static void
who_uses_what_was_loaded_waits_for_the_cache(void **state)
{
	const struct instruction line[] = {
		scene_operation(0x1004, CLASS_INTEGER, 2, REGISTER_NONE, 2),
		scene_load(0x1008, 1, 2),
		scene_nop(0x100c),
		scene_operation(0x1010, CLASS_INTEGER, 1, REGISTER_NONE, 3),
	};
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 4);
	assert_letters(&scene, 3, "dD");
	assert_culprit(&scene, 3, CAUSE_DATA_CACHE, 0x1008);
	assert_true(scene.stalls.instructions[1].stall_count == 0);
	scene_end(&scene);
}

static void
who_uses_what_was_computed_has_no_reason(void **state)
{
	const struct instruction line[] = {
		scene_operation(0x1004, CLASS_INTEGER, 2, REGISTER_NONE, 1),
		scene_operation(0x1008, CLASS_INTEGER, 1, REGISTER_NONE, 3),
	};
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 2);
	assert_letters(&scene, 1, "");
	assert_true(scene.stalls.instructions[1].stall_cycles > 40);
	assert_true(scene.stalls.instructions[1].unexplained == scene.stalls.instructions[1].stall_cycles);
	scene_end(&scene);
}

static void
straight_line(struct stalls_scene *scene, const struct instruction line[3], unsigned who)
{
	scene_begin(scene, "in-order-2");
	scene_block(scene, line, 3, 1000);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, 1000);
	scene_edge(scene, 0, FLOW_OUTSIDE, EDGE_EXIT, 1000);
	scene->samples[who] = 41 * 1000;
	scene_find(scene);
}

/* The addition has waited for it. */
static void
who_comes_after_the_first_use_does_not_wait(void **state)
{
	const struct instruction line[] = {
		scene_load(0x1004, 1, 2),
		scene_operation(0x1008, CLASS_INTEGER, 1, REGISTER_NONE, 3),
		scene_store(0x100c, 1, 2),
	};
	struct stalls_scene scene;

	(void)state;
	straight_line(&scene, line, 2);
	assert_letters(&scene, 2, "Dw"); /* its own page */
	assert_culprit(&scene, 2, CAUSE_DATA_TLB, 0);
	scene_end(&scene);
}

static void
a_result_waits_for_the_load_into_its_register(void **state)
{
	const struct instruction line[] = {
		scene_load(0x1004, 1, 2),
		scene_operation(0x1008, CLASS_INTEGER, 2, REGISTER_NONE, 1),
		scene_nop(0x100c),
	};
	struct stalls_scene scene;

	(void)state;
	straight_line(&scene, line, 1);
	assert_letters(&scene, 1, "dD");
	assert_culprit(&scene, 1, CAUSE_DATA_CACHE, 0x1004);
	scene_end(&scene);
}

/* Nothing is known of what the caller did. */
static void
an_operand_of_the_caller_may_be_a_miss(void **state)
{
	const struct instruction line[] = {
		scene_nop(0x1004),
		scene_operation(0x1008, CLASS_INTEGER, 1, REGISTER_NONE, 3),
	};
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 2);
	assert_letters(&scene, 1, "dD");
	assert_culprit(&scene, 1, CAUSE_DATA_CACHE, 0);
	scene_end(&scene);
}

/* A register that a load adds to its address is there before the load is. */
static void
a_written_back_address_is_not_loaded(void **state)
{
	struct instruction line[] = {
		scene_operation(0x1004, CLASS_INTEGER, 2, REGISTER_NONE, 2),
		scene_load(0x1008, 1, 2),
		scene_operation(0x100c, CLASS_INTEGER, 2, REGISTER_NONE, 3),
	};
	struct stalls_scene scene;

	(void)state;
	line[1].writes[1] = 2;
	line[1].write_count = 2;
	make_line(&scene, line, 3);
	assert_letters(&scene, 2, "");
	scene_end(&scene);
}

static void
a_store_waits_for_the_write_buffer_and_a_load_does_not(void **state)
{
	const struct instruction line[] = {
		scene_operation(0x1004, CLASS_INTEGER, 9, REGISTER_NONE, 1),
		scene_operation(0x1008, CLASS_INTEGER, 9, REGISTER_NONE, 2),
		scene_store(0x100c, 1, 2),
	};
	struct instruction loading[3];
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 3);
	assert_letters(&scene, 2, "Dw");
	scene_end(&scene);
	memcpy(loading, line, sizeof(line));
	loading[2] = scene_load(0x100c, 1, 2);
	make_line(&scene, loading, 3);
	assert_letters(&scene, 2, "D");
	scene_end(&scene);
}

static void
barriers_and_who_comes_after_them_synchronize(void **state)
{
	struct instruction line[] = {
		scene_nop(0x1004),
		scene_nop(0x1008),
		scene_nop(0x100c),
	};
	struct stalls_scene scene;

	(void)state;
	line[2].class = CLASS_BARRIER;
	make_line(&scene, line, 3);
	assert_letters(&scene, 2, "y");
	scene_end(&scene);
	line[2].class = CLASS_INTEGER;
	line[1].class = CLASS_BARRIER;
	make_line(&scene, line, 3);
	assert_letters(&scene, 2, "y");
	assert_culprit(&scene, 2, CAUSE_SYNCHRONIZATION, 0x1008);
	scene_end(&scene);
	line[1].class = CLASS_INTEGER;
	line[0].class = CLASS_BARRIER;
	make_line(&scene, line, 3);
	assert_letters(&scene, 2, "");
	scene_end(&scene);
}

static void
a_multiplication_in_reach_keeps_the_multiplier_busy(void **state)
{
	const struct instruction line[] = {
		scene_operation(0x1004, CLASS_MULTIPLY, 4, 5, 1),
		scene_operation(0x1008, CLASS_INTEGER, 1, REGISTER_NONE, 3),
	};
	struct instruction far[40];
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 2);
	assert_letters(&scene, 1, "m");
	assert_culprit(&scene, 1, CAUSE_MULTIPLIER, 0x1004);
	scene_end(&scene);
	far[0] = line[0];
	for (uint32_t i = 1; i < 39; i++)
		far[i] = scene_operation(0x1004 + i * 4, CLASS_INTEGER, 6, REGISTER_NONE, 6);
	far[39] = scene_operation(0x10a0, CLASS_INTEGER, 1, REGISTER_NONE, 3);
	make_line(&scene, far, 40);
	assert_letters(&scene, 39, "");
	scene_end(&scene);
}

static void
a_division_keeps_the_divider_busy_for_the_next_one(void **state)
{
	const struct instruction line[] = {
		scene_operation(0x1004, CLASS_INTEGER, 9, REGISTER_NONE, 4),
		scene_operation(0x1008, CLASS_DIVIDE, 4, REGISTER_NONE, 1),
		scene_operation(0x100c, CLASS_DIVIDE, 4, REGISTER_NONE, 2),
	};
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 3);
	assert_letters(&scene, 2, "f");
	assert_culprit(&scene, 2, CAUSE_DIVIDER, 0x1008);
	scene_end(&scene);
}

/* 0x1040 begins a line (64 bytes), 0x2000 a page. */
static void
only_the_first_of_a_line_misses_the_code_cache(void **state)
{
	const struct instruction line[] = {scene_nop(0x1038), scene_nop(0x103c), scene_nop(0x1040)};
	const struct instruction inside[] = {scene_nop(0x1040), scene_nop(0x1044), scene_nop(0x1048)};
	const struct instruction page[] = {scene_nop(0x1ff8), scene_nop(0x1ffc), scene_nop(0x2000)};
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 3);
	assert_letters(&scene, 2, "I");
	scene_end(&scene);
	make_line(&scene, inside, 3);
	assert_letters(&scene, 2, "");
	scene_end(&scene);
	make_line(&scene, page, 3);
	assert_letters(&scene, 2, "IT");
	scene_end(&scene);
}

/* Who may take as long as it likes is not called unexplained. */
static void
a_system_call_is_a_reason_of_its_own(void **state)
{
	struct instruction line[] = {scene_nop(0x1004), scene_nop(0x1008)};
	struct stalls_scene scene;

	(void)state;
	line[1].class = CLASS_SYSTEM;
	make_line(&scene, line, 2);
	assert_letters(&scene, 1, "o");
	assert_true(scene.stalls.instructions[1].unexplained == 0);
	scene_end(&scene);
}

/*
 * 0 branches to 2 or falls to 1, which falls to 2: 30 of 100 executions of 2 come from the branch. All in one line.
 * The head of 2 takes `cycles`.
 */
static void
make_branch(struct stalls_scene *scene, double from_branch, double cycles)
{
	const struct instruction first[] = {scene_nop(0x1004), scene_jump(0x1008, FLOW_BRANCH, 9)};
	const struct instruction middle[] = {scene_nop(0x100c)};
	const struct instruction last[] = {scene_nop(0x1010), scene_nop(0x1014)};

	scene_begin(scene, "in-order-2");
	scene_block(scene, first, 2, 100);
	scene_block(scene, middle, 1, 100 - from_branch);
	scene_block(scene, last, 2, 100);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, 100);
	scene_edge(scene, 0, 1, EDGE_FALL, 100 - from_branch);
	scene_edge(scene, 0, 2, EDGE_TAKEN, from_branch);
	scene_edge(scene, 1, 2, EDGE_FALL, 100 - from_branch);
	scene_edge(scene, 2, FLOW_OUTSIDE, EDGE_EXIT, 100);
	scene->samples[3] = 100 * cycles;
	scene_find(scene);
}

static void
what_a_branch_leads_to_may_be_mispredicted(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_branch(&scene, 100, 4);
	assert_letters(&scene, 3, "p");
	assert_culprit(&scene, 3, CAUSE_MISPREDICT, 0x1008);
	assert_about(scene_stall(&scene, 3, CAUSE_MISPREDICT)->low, scene.stalls.instructions[3].stall_cycles, 1e-9);
	scene_end(&scene);
}

/* No more than each execution times the penalty; what is left has no reason. */
static void
a_mispredict_takes_no_longer_than_its_penalty(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_branch(&scene, 100, 50);
	assert_about(scene_stall(&scene, 3, CAUSE_MISPREDICT)->high, scene.pipeline.mispredict_cycles, 1e-9);
	assert_about(scene.stalls.instructions[3].unexplained,
	             scene.stalls.instructions[3].stall_cycles - scene.pipeline.mispredict_cycles, 1e-9);
	scene_end(&scene);
}

static void
a_way_that_is_hardly_taken_is_no_reason(void **state)
{
	const struct instruction before[] = {scene_nop(0x1004), scene_jump(0x1008, FLOW_BRANCH, 9)};
	const struct instruction head[] = {scene_nop(0x100c), scene_jump(0x1010, FLOW_JUMP, 0)};
	struct stalls_scene scene;

	(void)state;
	for (int is_rare = 0; is_rare < 2; is_rare++) {
		const double from_branch = is_rare ? 1 : 30;

		scene_begin(&scene, "in-order-2");
		scene_block(&scene, before, 2, from_branch);
		scene_block(&scene, head, 2, 100);
		scene_edge(&scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, from_branch);
		scene_edge(&scene, 0, 1, EDGE_FALL, from_branch);
		scene_edge(&scene, 1, 1, EDGE_TAKEN, 100 - from_branch);
		scene_edge(&scene, 1, FLOW_OUTSIDE, EDGE_EXIT, from_branch);
		scene.samples[2] = 1000;
		scene_find(&scene);
		assert_letters(&scene, 2, is_rare ? "" : "p");
		scene_end(&scene);
	}
}

/* A loop of two lines, entered as often as it goes round, or a hundredth as often; with and without a call. */
static void
code_of_a_small_loop_stays_in_the_cache(void **state)
{
	const struct instruction head[] = {scene_nop(0x1000), scene_jump(0x1004, FLOW_JUMP, 0)};
	struct instruction tail[] = {scene_nop(0x2000), scene_jump(0x2004, FLOW_JUMP, 0)};
	struct stalls_scene scene;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		const double entered = kind == 1 ? 50 : 1;

		tail[1] = scene_jump(0x2004, kind == 2 ? FLOW_CALL : FLOW_JUMP, 0);
		scene_begin(&scene, "in-order-2");
		scene_block(&scene, head, 2, 100);
		scene_block(&scene, tail, 2, 100);
		scene_edge(&scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, entered);
		scene_edge(&scene, 0, 1, EDGE_TAKEN, 100);
		scene_edge(&scene, 1, 0, EDGE_TAKEN, 100 - entered);
		scene_edge(&scene, 1, FLOW_OUTSIDE, EDGE_EXIT, entered);
		scene.samples[2] = 5000;
		scene_find(&scene);
		/* entered often, the second block is soon behind the call, whose target may be mispredicted */
		assert_letters(&scene, 2, kind == 0 ? "" : kind == 1 ? "ITp" : "IT");
		scene_end(&scene);
	}
}

static void
a_block_without_a_frequency_has_no_stalls(void **state)
{
	const struct instruction line[] = {scene_nop(0x1004), scene_nop(0x1008)};
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 2);
	scene.block_frequencies[0] = (struct frequency){0};
	scene_find(&scene);
	assert_true(scene.stalls.instructions[1].cycles == 0 && scene.stalls.instructions[1].stall_cycles == 0);
	scene_end(&scene);
}

static void
schedules_of_another_graph_are_refused(void **state)
{
	const struct instruction line[] = {scene_nop(0x1004), scene_nop(0x1008)};
	struct stalls_scene scene;

	(void)state;
	make_line(&scene, line, 2);
	stalls_fini(&scene.stalls);
	scene.schedules[0].count = 1;
	assert_int_equal(stalls_find(&scene.input, &scene.stalls), -EINVAL);
	scene.schedules[0].count = 2;
	scene_end(&scene);
}

static void
letters_and_names_are_those_of_the_paper(void **state)
{
	(void)state;
	assert_int_equal(stall_cause_letter(CAUSE_DATA_TLB), 'D');
	assert_int_equal(stall_cause_letter(CAUSE_COUNT), '?');
	assert_string_equal(stall_cause_name(CAUSE_DIVIDER), "FDIV busy");
	assert_string_equal(stall_cause_name(99), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_copy_loop_of_the_paper_stalls_where_it_does_and_why),
		cmocka_unit_test(the_copy_loop_of_the_paper_stalls_as_long_as_it_does),
		cmocka_unit_test(the_copy_loop_of_the_paper_has_its_culprits),
		cmocka_unit_test(who_uses_what_was_loaded_waits_for_the_cache),
		cmocka_unit_test(who_uses_what_was_computed_has_no_reason),
		cmocka_unit_test(who_comes_after_the_first_use_does_not_wait),
		cmocka_unit_test(a_result_waits_for_the_load_into_its_register),
		cmocka_unit_test(an_operand_of_the_caller_may_be_a_miss),
		cmocka_unit_test(a_written_back_address_is_not_loaded),
		cmocka_unit_test(a_store_waits_for_the_write_buffer_and_a_load_does_not),
		cmocka_unit_test(barriers_and_who_comes_after_them_synchronize),
		cmocka_unit_test(a_multiplication_in_reach_keeps_the_multiplier_busy),
		cmocka_unit_test(a_division_keeps_the_divider_busy_for_the_next_one),
		cmocka_unit_test(only_the_first_of_a_line_misses_the_code_cache),
		cmocka_unit_test(a_system_call_is_a_reason_of_its_own),
		cmocka_unit_test(what_a_branch_leads_to_may_be_mispredicted),
		cmocka_unit_test(a_mispredict_takes_no_longer_than_its_penalty),
		cmocka_unit_test(a_way_that_is_hardly_taken_is_no_reason),
		cmocka_unit_test(code_of_a_small_loop_stays_in_the_cache),
		cmocka_unit_test(a_block_without_a_frequency_has_no_stalls),
		cmocka_unit_test(schedules_of_another_graph_are_refused),
		cmocka_unit_test(letters_and_names_are_those_of_the_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
