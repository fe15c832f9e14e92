/* Tests of libsample/machine/emulated_cpu.h. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "machine/emulated_cpu.h"

static const struct machine three_levels = {
	.name = "big",
	.pipeline_name = "intel-skylake",
	.clock_mhz = 2500,
	.nodes = 2,
	.cores = 36,
	.line_bytes = 64,
	.code = {.bytes = 32768, .latency_cycles = 4},
	.level_count = 3,
	.levels = {{.bytes = 49152, .latency_cycles = 4}, {.latency_cycles = 12}, {.latency_cycles = 50}},
	.page_bytes = 4096,
	.code_tlb = {.entries = 128, .miss_cycles = 7},
	.data_tlb = {.entries = 64, .miss_cycles = 7},
	.shared_tlb = {.entries = 1024, .miss_cycles = 30},
	.write_buffer_entries = 42,
	.load_count = 2,
	.loads = {{0, 80}, {17, 200}},
	.remote_latency_ns = 60,
};

/* At most: 200 + 60 ns at 2.5 GHz are 650 cycles. */
static void
a_text_tells_an_analysis_what_memory_costs_at_most(void **state)
{
	struct pipeline pipeline = {.timer_skid = 1, .pmu_skid = 2, .mispredict_cycles = 16};
	char text[256];

	(void)state;
	emulated_cpu_describe(&three_levels, text, sizeof(text));
	assert_string_equal(
		text, "emulated big: pipeline intel-skylake, line 64, code 32768/12/50/650, data 49152/12/50/650, "
		      "page 4096, itlb 128/7/37, dtlb 64/7/37, stores 42");
	assert_int_equal(emulated_cpu_apply(text, &pipeline), 0);
	assert_int_equal(pipeline.cache_line, 64);
	assert_int_equal(pipeline.code_cache_bytes, 32768);
	assert_int_equal(pipeline.data_cache_bytes, 49152);
	assert_int_equal(pipeline.data.level2_cycles, 12);
	assert_int_equal(pipeline.data.level3_cycles, 50);
	assert_int_equal(pipeline.data.memory_cycles, 650);
	assert_int_equal(pipeline.code.memory_cycles, 650);
	assert_int_equal(pipeline.data_tlb.entries, 64);
	assert_int_equal(pipeline.data_tlb.miss_cycles, 37);
	assert_int_equal(pipeline.data_tlb.near_cycles, 7);
	assert_int_equal(pipeline.code_tlb.entries, 128);
	assert_int_equal(pipeline.write_buffer_entries, 42);
	assert_int_equal(pipeline.timer_skid, 0);
	assert_int_equal(pipeline.pmu_skid, 0);
	assert_int_equal(pipeline.mispredict_cycles, 16);
}

static void
a_machine_with_two_levels_has_no_third(void **state)
{
	struct machine machine = three_levels;
	struct pipeline pipeline = {.data = {.level3_cycles = 99}};
	char text[256];

	(void)state;
	machine.level_count = 2;
	machine.nodes = 1;
	emulated_cpu_describe(&machine, text, sizeof(text));
	assert_int_equal(emulated_cpu_apply(text, &pipeline), 0);
	assert_int_equal(pipeline.data.level2_cycles, 12);
	assert_int_equal(pipeline.data.level3_cycles, 0);
	assert_int_equal(pipeline.data.memory_cycles, 500);
}

static void
names_are_found_in_such_a_text_only(void **state)
{
	char machine[MACHINE_NAME_SIZE], pipeline[PIPELINE_NAME_SIZE], text[256];

	(void)state;
	emulated_cpu_describe(&three_levels, text, sizeof(text));
	assert_true(emulated_cpu_names(text, machine, pipeline));
	assert_string_equal(machine, "big");
	assert_string_equal(pipeline, "intel-skylake");
	assert_false(emulated_cpu_names("AMD EPYC (AuthenticAMD family 25 model 17)", machine, pipeline));
	assert_false(emulated_cpu_names("", machine, pipeline));
	assert_false(emulated_cpu_names("emulated ", machine, pipeline));
}

/* A database may be anybody's. */
static void
what_makes_no_sense_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"emulated big: pipeline p, line 64, code 32768/12/50/650, data 49152/12/50/650, page 4096, itlb 128/37",
		"emulated big: pipeline p, line 0, code 1/12/50/650, data 1/12/50/650, page 4096, itlb 1/1/3, dtlb "
		"6/1/3, "
		"stores 4",
		"emulated big: pipeline p, line 64, code 1/12/50/999999999, data 1/12/50/650, page 4096, itlb 1/1/3, "
		"dtlb "
		"6/1/3, stores 4",
		"emulated big: pipeline p, line 64, code 1/12/50/9, data 1/12/50/650, page 4, itlb 1/1/3, dtlb 6/1/3, "
		"stores 4",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pipeline pipeline = {.timer_skid = 3, .cache_line = 32};

		assert_int_equal(emulated_cpu_apply(texts[i], &pipeline), -EINVAL);
		assert_int_equal(pipeline.timer_skid, 3);
		assert_int_equal(pipeline.cache_line, 32);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_tells_an_analysis_what_memory_costs_at_most),
		cmocka_unit_test(a_machine_with_two_levels_has_no_third),
		cmocka_unit_test(names_are_found_in_such_a_text_only),
		cmocka_unit_test(what_makes_no_sense_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
