/* Samples of other events rule reasons out, or bound them. */
#include "tests/unit/analysis/stalls_scene.h"

#define FREQUENCY 1000.0
#define PERIOD    100000.0 /* cycles a sample of time, and events a sample of others */

enum { WHO = 2 }; /* stalls: a store of what was loaded before */

/* In order, a straight line: a store that waits 40 cycles for d, D or w. */
static void
make_store(struct stalls_scene *scene)
{
	const struct instruction line[] = {
		scene_load(0x1004, 1, 2),
		scene_nop(0x1008),
		scene_store(0x100c, 1, 2),
	};

	scene_begin(scene, "in-order-2");
	scene_block(scene, line, 3, FREQUENCY);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, FREQUENCY);
	scene_edge(scene, 0, FLOW_OUTSIDE, EDGE_EXIT, FREQUENCY);
	scene->samples[WHO] = 41 * FREQUENCY;
	scene->input.cycles_per_sample = PERIOD;
	scene_find(scene);
}

static void
count_event(struct stalls_scene *scene, enum stall_event event, uint64_t samples, double period)
{
	memset(scene->input.events, 0, sizeof(scene->input.events));
	scene->event_samples[0] = samples;
	scene->input.events[event] = (struct stall_event_samples){.samples = scene->event_samples, .period = period};
	scene_find(scene);
}

static void
without_events_all_is_possible(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	assert_letters(&scene, WHO, "dDw");
	assert_true(scene_stall(&scene, WHO, CAUSE_WRITE_BUFFER)->low == 0);
	scene_end(&scene);
}

/* The figure's text: "It would have been ruled out if samples for DTB miss events had been collected." */
static void
no_tlb_misses_rule_the_tlb_out(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	count_event(&scene, STALL_EVENT_DATA_TLB, 0, 100);
	assert_letters(&scene, WHO, "dw");
	scene_end(&scene);
}

/* 100 samples, at most 100 + 2 x 10 + 3, of 10,000 misses of the worst latency each, by 100,000 cycles a sample. */
static void
a_few_tlb_misses_bound_the_tlb(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	scene.pipeline.data_tlb.miss_cycles = 1000;
	count_event(&scene, STALL_EVENT_DATA_TLB, 100, 10000);
	assert_about(scene_stall(&scene, WHO, CAUSE_DATA_TLB)->high * FREQUENCY, 123.0 * 10000 * 1000 / PERIOD, 1e-6);
	assert_about(scene_stall(&scene, WHO, CAUSE_DATA_CACHE)->low, 0, 1e-9);
	scene_end(&scene);
}

static void
many_tlb_misses_leave_the_tlb_possible(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	count_event(&scene, STALL_EVENT_DATA_TLB, 1000000, PERIOD);
	assert_letters(&scene, WHO, "dDw");
	scene_end(&scene);
}

/* A load that went to no memory may still have missed the first level. */
static void
no_misses_of_the_last_level_leave_the_levels_before_it(void **state)
{
	struct stalls_scene scene;
	double high;

	(void)state;
	make_store(&scene);
	scene.pipeline.data.level3_cycles = 30;
	count_event(&scene, STALL_EVENT_LAST_LEVEL, 0, 1);
	high = scene_stall(&scene, WHO, CAUSE_DATA_CACHE)->high;
	assert_true(high >= 30 && high < 31);
	scene_end(&scene);
}

static void
no_misses_of_the_first_level_rule_the_cache_out(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	count_event(&scene, STALL_EVENT_DATA_CACHE, 0, 100);
	assert_letters(&scene, WHO, "Dw");
	scene_end(&scene);
}

/*
 * In order, a procedure that a branch of its own goes on to: its second block begins a page, and its first instruction
 * waits 40 cycles, for I, T or p. The penalty is the model's 8 cycles, a walk 60, memory 250.
 */
static void
make_page(struct stalls_scene *scene)
{
	const struct instruction branch[] = {scene_nop(0x1ff8), scene_jump(0x1ffc, FLOW_BRANCH, REGISTER_FLAGS)};
	const struct instruction page[] = {scene_nop(0x2000), scene_nop(0x2004)};

	scene_begin(scene, "in-order-2");
	scene_block(scene, branch, 2, FREQUENCY);
	scene_block(scene, page, 2, FREQUENCY);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, FREQUENCY);
	scene_edge(scene, 0, 1, EDGE_FALL, FREQUENCY);
	scene_edge(scene, 1, FLOW_OUTSIDE, EDGE_EXIT, FREQUENCY);
	scene->samples[WHO] = 41 * FREQUENCY;
	scene->input.cycles_per_sample = PERIOD;
	scene_find(scene);
}

static void
code_that_missed_nothing_was_not_waited_for(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_page(&scene);
	assert_letters(&scene, WHO, "ITp");
	count_event(&scene, STALL_EVENT_CODE_CACHE, 0, 100);
	assert_letters(&scene, WHO, "Tp");
	count_event(&scene, STALL_EVENT_CODE_TLB, 0, 100);
	assert_letters(&scene, WHO, "Ip");
	assert_about(scene_stall(&scene, WHO, CAUSE_CODE_CACHE)->low, 40 - 8, 1e-9);
	count_event(&scene, STALL_EVENT_MISPREDICT, 0, 100);
	assert_letters(&scene, WHO, "IT");
	scene_end(&scene);
}

/* 16 samples, at most 16 + 2 x 4 + 3 = 27, of 50,000 events each by 100,000 cycles a sample: 13.5 a unit of F. */
static void
misses_of_code_and_of_branches_bound_what_they_cost(void **state)
{
	const struct {
		enum stall_event event;
		enum stall_cause cause;
		double cycles;
	} cases[] = {
		{STALL_EVENT_CODE_CACHE, CAUSE_CODE_CACHE, 2500},
		{STALL_EVENT_CODE_TLB, CAUSE_CODE_TLB, 600},
		{STALL_EVENT_MISPREDICT, CAUSE_MISPREDICT, 80},
	};
	struct stalls_scene scene;

	(void)state;
	make_page(&scene);
	scene.pipeline.code.memory_cycles = 2500;
	scene.pipeline.code_tlb.miss_cycles = 600;
	scene.pipeline.mispredict_cycles = 80;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		count_event(&scene, cases[i].event, 16, 50000);
		assert_about(scene_stall(&scene, WHO, cases[i].cause)->high * FREQUENCY, 13.5 * cases[i].cycles, 1e-6);
	}
	scene_end(&scene);
}

/* Events come late: those of the blocks around count, each block once. */
static void
events_of_the_blocks_around_count_once(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_page(&scene);
	scene.pipeline.mispredict_cycles = 80;
	scene_edge(&scene, 1, 1, EDGE_TAKEN, 0);
	scene.event_samples[3] = 9;
	count_event(&scene, STALL_EVENT_MISPREDICT, 16, 50000);
	assert_about(scene_stall(&scene, WHO, CAUSE_MISPREDICT)->high * FREQUENCY, (25 + 2 * 5 + 3) * 40, 1e-6);
	scene_end(&scene);
}

/* Nothing says how long a sample is: events cannot be compared with it. */
static void
an_unknown_period_rules_nothing_out(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	count_event(&scene, STALL_EVENT_DATA_TLB, 0, 0);
	assert_letters(&scene, WHO, "dDw");
	scene.input.cycles_per_sample = 0;
	count_event(&scene, STALL_EVENT_DATA_TLB, 0, 100);
	assert_letters(&scene, WHO, "dDw");
	scene_end(&scene);
}

/* The only reason left is sure. */
static void
what_events_leave_alone_is_sure(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	scene.input.events[STALL_EVENT_DATA_CACHE] =
		(struct stall_event_samples){.samples = scene.event_samples, .period = 10};
	scene.input.events[STALL_EVENT_DATA_TLB] =
		(struct stall_event_samples){.samples = scene.event_samples, .period = 10};
	scene_find(&scene);
	assert_letters(&scene, WHO, "w");
	assert_about(scene_stall(&scene, WHO, CAUSE_WRITE_BUFFER)->low, scene.stalls.instructions[WHO].stall_cycles,
	             1e-9);
	scene_end(&scene);
}

/* On the instruction beside the load there are many, on the load itself none. */
static void
exact_events_of_others_are_not_the_culprits(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	scene.event_samples[1] = 1000000;
	count_event(&scene, STALL_EVENT_DATA_CACHE, 0, PERIOD);
	assert_letters(&scene, WHO, "dDw");
	scene.input.events[STALL_EVENT_DATA_CACHE].is_exact = true;
	scene_find(&scene);
	assert_letters(&scene, WHO, "Dw");
	scene.event_samples[0] = 1000000;
	scene_find(&scene);
	assert_letters(&scene, WHO, "dDw");
	scene_end(&scene);
}

/* 500 samples of walks of 60 cycles, by as many cycles a sample as events: 30,000 of the 38,000 cycles. */
static void
the_reason_that_events_tell_of_stands_first(void **state)
{
	struct stalls_scene scene;
	const struct stall *cache, *tlb, *buffer;

	(void)state;
	make_store(&scene);
	scene.pipeline.data_tlb.miss_cycles = 60;
	scene.pipeline.data.level2_cycles = 10;
	count_event(&scene, STALL_EVENT_DATA_TLB, 500, PERIOD);
	scene.input.events[STALL_EVENT_DATA_CACHE] =
		(struct stall_event_samples){.samples = scene.event_samples, .period = PERIOD};
	scene_find(&scene);
	cache = scene_stall(&scene, WHO, CAUSE_DATA_CACHE);
	tlb = scene_stall(&scene, WHO, CAUSE_DATA_TLB);
	buffer = scene_stall(&scene, WHO, CAUSE_WRITE_BUFFER);
	assert_about(tlb->likely * FREQUENCY, 30000, 1e-6);
	assert_about(cache->likely * FREQUENCY, 5000, 1e-6);
	assert_about(buffer->likely * FREQUENCY, 3000.0 / 4, 1e-6); /* of what they leave, a quarter */
	assert_true(stall_compare(tlb, cache) < 0);
	assert_true(stall_compare(buffer, cache) > 0);
	assert_int_equal(stall_compare(tlb, tlb), 0);
	scene_end(&scene);
}

/* 500 misses of the first level, 100 of both: 5 and 55 cycles. */
static void
a_miss_that_the_second_tlb_has_is_no_walk(void **state)
{
	struct stalls_scene scene;

	(void)state;
	make_store(&scene);
	scene.pipeline.data_tlb.near_cycles = 5;
	scene.pipeline.data_tlb.miss_cycles = 60;
	memset(scene.input.events, 0, sizeof(scene.input.events));
	scene.event_samples[0] = 100;
	scene.input.events[STALL_EVENT_DATA_TLB] =
		(struct stall_event_samples){.samples = scene.event_samples, .period = 5 * PERIOD};
	scene.input.events[STALL_EVENT_DATA_WALK] =
		(struct stall_event_samples){.samples = scene.event_samples, .period = PERIOD};
	scene_find(&scene);
	assert_about(scene_stall(&scene, WHO, CAUSE_DATA_TLB)->likely * FREQUENCY, 500 * 5 + 100 * 55, 1e-6);
	scene_end(&scene);
}

static void
events_are_known_by_their_names(void **state)
{
	(void)state;
	assert_int_equal(stall_event_find("branch-misses"), STALL_EVENT_MISPREDICT);
	assert_int_equal(stall_event_find("cache-misses"), STALL_EVENT_LAST_LEVEL);
	assert_int_equal(stall_event_find("L1-icache-load-misses"), STALL_EVENT_CODE_CACHE);
	assert_int_equal(stall_event_find("page-faults"), STALL_EVENT_COUNT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_events_all_is_possible),
		cmocka_unit_test(no_tlb_misses_rule_the_tlb_out),
		cmocka_unit_test(a_few_tlb_misses_bound_the_tlb),
		cmocka_unit_test(many_tlb_misses_leave_the_tlb_possible),
		cmocka_unit_test(no_misses_of_the_last_level_leave_the_levels_before_it),
		cmocka_unit_test(no_misses_of_the_first_level_rule_the_cache_out),
		cmocka_unit_test(code_that_missed_nothing_was_not_waited_for),
		cmocka_unit_test(misses_of_code_and_of_branches_bound_what_they_cost),
		cmocka_unit_test(events_of_the_blocks_around_count_once),
		cmocka_unit_test(an_unknown_period_rules_nothing_out),
		cmocka_unit_test(what_events_leave_alone_is_sure),
		cmocka_unit_test(exact_events_of_others_are_not_the_culprits),
		cmocka_unit_test(the_reason_that_events_tell_of_stands_first),
		cmocka_unit_test(a_miss_that_the_second_tlb_has_is_no_walk),
		cmocka_unit_test(events_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
