/* Code that is larger than the cache: no instruction has enough samples to say why, all together have. */
#include "tests/unit/analysis/stalls_scene.h"

#define LINES      64
#define IN_LINE    4 /* instructions of 16 bytes */
#define COUNT      (LINES * IN_LINE)
#define FREQUENCY  0.1
#define FIRST_LINE 4 /* its first instruction; that of the procedure is reached from outside */

/* A straight line of code from `address` on: what begins a line has `first` samples, the others `other`. */
static void
make_code(struct stalls_scene *scene, uint64_t address, double first, double other)
{
	static struct instruction code[COUNT];

	for (uint32_t i = 0; i < COUNT; i++) {
		code[i] = scene_nop(address + i * 16);
		code[i].size = 16;
	}
	scene_begin(scene, "in-order-2");
	scene_block(scene, code, COUNT, FREQUENCY);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, FREQUENCY);
	scene_edge(scene, 0, FLOW_OUTSIDE, EDGE_EXIT, FREQUENCY);
	for (uint32_t i = 0; i < COUNT; i++)
		scene->samples[i] = i % IN_LINE == 0 ? first : other;
	scene_find(scene);
}

static void
lines_that_take_longer_than_the_rest_wait_for_the_cache(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_code(&scene, 0x1000, 4, 0);
	assert_letters(&scene, FIRST_LINE, "I");
	assert_about(scene_stall(&scene, FIRST_LINE, CAUSE_CODE_CACHE)->high,
	             scene.stalls.instructions[FIRST_LINE].stall_cycles, 1e-9);
	assert_true(scene.stalls.instructions[FIRST_LINE].stall_cycles > 38);
	scene_end(&scene);
}

/*
 * The first line is left out: a call through a pointer may have been mispredicted. Of 252 samples in 63 lines there may
 * be 252 + 2 x 15.87 + 3, of 768 in 192 others only 768 - 2 x 27.71: a line takes at most 4.552 / 3.711 times as long
 * as another instruction, and 18.46 % of that may be for the cache.
 */
static void
lines_that_take_no_longer_than_the_rest_do_not(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_code(&scene, 0x1000, 4, 4);
	assert_about(scene_stall(&scene, FIRST_LINE, CAUSE_CODE_CACHE)->high, 0.1846 * 4 / FREQUENCY, 0.005);
	assert_true(scene.stalls.instructions[FIRST_LINE].unexplained > 30);
	scene_end(&scene);
	make_code(&scene, 0x1000, 4, 8);
	assert_letters(&scene, FIRST_LINE, "");
	scene_end(&scene);
}

/* Enough samples speak for themselves, whatever the others do. */
static void
a_line_with_samples_of_its_own_may_wait_alone(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_code(&scene, 0x1000, 4, 8);
	scene.samples[FIRST_LINE] = 100;
	scene_find(&scene);
	assert_letters(&scene, FIRST_LINE, "I");
	assert_letters(&scene, FIRST_LINE + IN_LINE, "");
	scene_end(&scene);
}

/* The page begins at line 60, and does not take longer than the lines. */
static void
a_page_is_compared_with_other_lines(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_code(&scene, 0x1100, 4, 0);
	assert_true(scene_stall(&scene, 240, CAUSE_CODE_CACHE)->high > scene_stall(&scene, 240, CAUSE_CODE_TLB)->high);
	scene.samples[240] = 0;
	scene_find(&scene);
	assert_letters(&scene, 240, "");
	scene_end(&scene);
}

/* Too few samples to compare with: the worst is assumed. */
static void
a_handful_of_samples_rules_nothing_out(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_code(&scene, 0x1000, 0, 0);
	scene.samples[FIRST_LINE] = 5;
	scene.samples[FIRST_LINE + 1] = scene.samples[FIRST_LINE + 2] = 8;
	scene_find(&scene);
	assert_letters(&scene, FIRST_LINE, "I");
	scene_end(&scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_take_longer_than_the_rest_wait_for_the_cache),
		cmocka_unit_test(lines_that_take_no_longer_than_the_rest_do_not),
		cmocka_unit_test(a_line_with_samples_of_its_own_may_wait_alone),
		cmocka_unit_test(a_page_is_compared_with_other_lines),
		cmocka_unit_test(a_handful_of_samples_rules_nothing_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
