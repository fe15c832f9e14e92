/* Out of order: an instruction that holds up retirement is slow itself; samples were moved back by the skid. */
#include "tests/unit/analysis/stalls_scene.h"

#define FREQUENCY 1000.0

/*
 * A loop of one block at 0x1004, that goes round a thousand times. Instruction `slow` of it takes `cycles` of an
 * execution, the others 0.2.
 */
static void
make_loop(struct stalls_scene *scene, const struct instruction *instructions, uint32_t count, uint32_t slow,
          double cycles)
{
	scene_begin(scene, "amd-zen3");
	scene_block(scene, instructions, count, FREQUENCY);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, 1);
	scene_edge(scene, 0, 0, EDGE_TAKEN, FREQUENCY - 1);
	scene_edge(scene, 0, FLOW_OUTSIDE, EDGE_EXIT, 1);
	for (uint32_t i = 0; i < count; i++)
		scene->samples[i] = FREQUENCY * (i == slow ? cycles : 0.2);
	scene_find(scene);
}

#define LOOP 4

/* An instruction in the middle of a loop. */
static void
make_loop_of(struct stalls_scene *scene, struct instruction instruction, double cycles)
{
	const struct instruction loop[LOOP] = {
		scene_operation(0x1004, CLASS_INTEGER, 2, REGISTER_NONE, 2),
		instruction,
		scene_operation(0x100c, CLASS_INTEGER, 1, REGISTER_NONE, 3),
		scene_jump(0x1010, FLOW_BRANCH, REGISTER_FLAGS),
	};

	make_loop(scene, loop, LOOP, 1, cycles);
}

static void
each_slow_instruction_is_its_own_culprit(void **state)
{
	const struct {
		struct instruction instruction;
		enum stall_cause cause;
		const char *letters;
	} cases[] = {
		{scene_load(0x1008, 1, 4), CAUSE_DATA_CACHE, "dD"},
		{scene_store(0x1008, 1, 4), CAUSE_WRITE_BUFFER, "Dw"},
		{scene_operation(0x1008, CLASS_MULTIPLY, 1, 4, 1), CAUSE_MULTIPLIER, "m"},
		{scene_operation(0x1008, CLASS_DIVIDE, 1, 4, 1), CAUSE_DIVIDER, "f"},
		{scene_operation(0x1008, CLASS_FLOAT_ROOT, 33, 34, 33), CAUSE_DIVIDER, "f"},
		{scene_operation(0x1008, CLASS_BARRIER, 1, 4, 1), CAUSE_SYNCHRONIZATION, "y"},
		{scene_operation(0x1008, CLASS_STRING, 1, 4, 1), CAUSE_OTHER, "o"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stalls_scene scene;

		make_loop_of(&scene, cases[i].instruction, 100);
		assert_letters(&scene, 1, cases[i].letters);
		assert_culprit(&scene, 1, cases[i].cause, 0x1008);
		scene_end(&scene);
	}
}

/* The load has retired when its user is the oldest. */
static void
who_uses_what_was_loaded_is_not_to_blame(void **state)
{
	const struct instruction loop[LOOP] = {
		scene_operation(0x1004, CLASS_INTEGER, 2, REGISTER_NONE, 2),
		scene_load(0x1008, 1, 4),
		scene_operation(0x100c, CLASS_INTEGER, 1, REGISTER_NONE, 3),
		scene_jump(0x1010, FLOW_BRANCH, REGISTER_FLAGS),
	};
	struct stalls_scene scene;

	(void)state;
	make_loop(&scene, loop, LOOP, 2, 100);
	assert_letters(&scene, 2, "");
	assert_true(scene.stalls.instructions[2].unexplained > 90);
	scene_end(&scene);
}

/* That it lets the stores before it finish is synchronization. */
static void
a_locked_operation_may_be_slow_for_three_reasons(void **state)
{
	struct instruction locked = scene_load(0x1008, 1, 4);
	struct stalls_scene scene;

	(void)state;
	locked.class = CLASS_ATOMIC;
	locked.stores = true;
	make_loop_of(&scene, locked, 20);
	assert_letters(&scene, 1, "dDy");
	assert_true(scene_stall(&scene, 1, CAUSE_SYNCHRONIZATION)->low == 0);
	scene_end(&scene);
}

/* A predictor learns a branch that nearly always goes the same way, and cannot learn one that goes both. */
static void
only_branches_that_go_both_ways_are_mispredicted(void **state)
{
	const struct instruction loop[] = {
		scene_operation(0x1004, CLASS_INTEGER, 2, REGISTER_NONE, 2),
		scene_jump(0x1008, FLOW_BRANCH, REGISTER_FLAGS),
	};
	struct stalls_scene scene;

	(void)state;
	make_loop(&scene, loop, 2, 0, 10);
	assert_letters(&scene, 0, "");
	scene.edge_frequencies[1].value = FREQUENCY / 2;
	scene.edge_frequencies[0].value = scene.edge_frequencies[2].value = FREQUENCY / 2;
	scene_find(&scene);
	assert_int_equal(scene_stall(&scene, 0, CAUSE_MISPREDICT)->culprit_count, 1);
	assert_culprit(&scene, 0, CAUSE_MISPREDICT, 0x1008);
	scene_end(&scene);
}

/* The way that the frequencies call never taken has samples: the branch may go both ways. */
static void
a_way_with_samples_is_taken_whatever_its_frequency(void **state)
{
	const struct instruction loop[] = {
		scene_operation(0x1004, CLASS_INTEGER, 2, REGISTER_NONE, 2),
		scene_jump(0x1008, FLOW_BRANCH, REGISTER_FLAGS),
	};
	const struct instruction other[] = {scene_nop(0x100c)};
	struct stalls_scene scene;

	(void)state;
	make_loop(&scene, loop, 2, 0, 10);
	scene_block(&scene, other, 1, 0);
	scene_edge(&scene, 0, 1, EDGE_FALL, 0);
	scene_edge(&scene, 1, FLOW_OUTSIDE, EDGE_EXIT, 0);
	scene_find(&scene);
	assert_letters(&scene, 0, "");
	scene.samples[2] = 100;
	scene_find(&scene);
	assert_letters(&scene, 0, "p");
	scene_end(&scene);
}

/* Eight additions that wait for one another take eight cycles, all of them static. */
static void
a_chain_of_additions_is_static(void **state)
{
	struct instruction loop[9];
	struct stalls_scene scene;
	double dynamic = 0;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		loop[i] = scene_operation(0x1004 + i * 4, CLASS_INTEGER, 1, 2, 1);
	loop[8] = scene_jump(0x1024, FLOW_BRANCH, REGISTER_FLAGS);
	make_loop(&scene, loop, 9, 0, 1);
	for (uint32_t i = 0; i < 9; i++)
		scene.samples[i] = i < 8 ? FREQUENCY : 0;
	scene_find(&scene);
	for (uint32_t i = 0; i < 9; i++)
		dynamic += scene.stalls.instructions[i].stall_cycles;
	assert_about(dynamic, 0, 1e-9);
	assert_about(scene.stalls.issue_cycles[0] + scene.stalls.fixed_cycles[STALL_RA], 8, 1e-9);
	scene_end(&scene);
}

/* Neighbours share a block's time: one that has less than its part is no gain, one that has more no stall. */
static void
a_block_at_its_best_case_has_no_stalls(void **state)
{
	struct stalls_scene scene;
	double best;

	(void)state;
	make_loop_of(&scene, scene_operation(0x1008, CLASS_INTEGER, 1, 4, 5), 1);
	best = scene.schedules[0].best_cycles;
	for (uint32_t i = 0; i < LOOP; i++)
		scene.samples[i] = i == 1 ? FREQUENCY * best : 0;
	scene_find(&scene);
	assert_true(scene.stalls.instructions[1].stall_cycles == 0);
	assert_true(scene.stalls.gain_cycles[0] == 0);
	scene_end(&scene);
}

/* What frequencies are worth is not known: a loop that waits for its load may be anything but at its best. */
static void
with_relative_frequencies_a_load_is_suspected(void **state)
{
	const struct instruction loop[] = {
		scene_load(0x1004, 1, 1),
		scene_operation(0x1008, CLASS_INTEGER, 2, REGISTER_NONE, 2),
		scene_jump(0x100c, FLOW_BRANCH, REGISTER_FLAGS),
	};
	struct stall_summary summary;
	struct stalls_scene scene;

	(void)state;
	make_loop(&scene, loop, 3, 0, 1);
	scene.samples[1] = scene.samples[2] = 5;
	scene.frequencies.is_relative = true;
	scene_find(&scene);
	assert_letters(&scene, 0, "dD");
	stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_LOW, &summary);
	assert_true(summary.high[CAUSE_DATA_CACHE] > 0.9 * summary.actual);
	scene_end(&scene);
}

/* And a chain of additions, which nothing can have delayed, is the measure of the others. */
static void
with_relative_frequencies_additions_are_the_measure(void **state)
{
	struct instruction loop[10];
	struct stall_summary summary;
	struct stalls_scene scene;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		loop[i] = scene_operation(0x1004 + i * 4, CLASS_INTEGER, 1, 2, 1);
	loop[8] = scene_load(0x1024, 3, 4);
	loop[9] = scene_jump(0x1028, FLOW_BRANCH, REGISTER_FLAGS);
	make_loop(&scene, loop, 10, 8, 1);
	for (uint32_t i = 0; i < 10; i++)
		scene.samples[i] = i < 8 ? 10 : i == 8 ? 240 : 0;
	scene.frequencies.is_relative = true;
	scene_find(&scene);
	stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_LOW, &summary);
	assert_about(summary.high[CAUSE_DATA_CACHE], 240, 5);
	assert_about(summary.dynamic, 240, 5);
	scene_end(&scene);
}

static void
no_input_makes_a_number_that_is_none(void **state)
{
	static const double values[] = {0, 1e-300, 1, 1e300};
	struct stall_summary summary;
	struct stalls_scene scene;

	(void)state;
	make_loop_of(&scene, scene_load(0x1008, 1, 4), 100);
	for (unsigned n = 0; n < 64; n++) {
		scene.samples[1] = values[n % 4];
		scene.block_frequencies[0].value = values[n / 4 % 4];
		scene.edge_frequencies[1].value = values[n / 16 % 4];
		for (int is_relative = 0; is_relative < 2; is_relative++) {
			scene.frequencies.is_relative = is_relative;
			scene_find(&scene);
			for (uint32_t i = 0; i < LOOP; i++)
				assert_true(isfinite(scene.stalls.instructions[i].stall_cycles) &&
				            isfinite(scene.stalls.instructions[i].cycles) &&
				            isfinite(scene.stalls.instructions[i].unexplained));
			for (size_t i = 0; i < scene.stalls.stall_count; i++)
				assert_true(isfinite(scene.stalls.stalls[i].low) &&
				            isfinite(scene.stalls.stalls[i].high));
			stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_LOW, &summary);
			assert_true(isfinite(summary.actual) && isfinite(summary.sampling_error));
		}
	}
	scene_end(&scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_slow_instruction_is_its_own_culprit),
		cmocka_unit_test(who_uses_what_was_loaded_is_not_to_blame),
		cmocka_unit_test(a_locked_operation_may_be_slow_for_three_reasons),
		cmocka_unit_test(only_branches_that_go_both_ways_are_mispredicted),
		cmocka_unit_test(a_way_with_samples_is_taken_whatever_its_frequency),
		cmocka_unit_test(a_chain_of_additions_is_static),
		cmocka_unit_test(a_block_at_its_best_case_has_no_stalls),
		cmocka_unit_test(with_relative_frequencies_a_load_is_suspected),
		cmocka_unit_test(with_relative_frequencies_additions_are_the_measure),
		cmocka_unit_test(no_input_makes_a_number_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
