/* Tests of dcpi-tools/mem/perf_collect.h: which access a sample of a PMU is. */
#include "dcpi-tools/mem/perf_collect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ADDRESS 0x7f0000001238

static struct record
sample_of(union perf_mem_data_src source, uint64_t latency)
{
	return (struct record){.type = RECORD_SAMPLE,
	                       .mode = CPU_MODE_USER,
	                       .pid = 7,
	                       .tid = 8,
	                       .time = 9,
	                       .sample = {.data_address = ADDRESS, .weight = latency, .data_source = source.val}};
}

static void
caches_of_the_core_itself_are_left_out(void **state)
{
	static const uint64_t levels[] = {PERF_MEM_LVLNUM_L1, PERF_MEM_LVLNUM_L2, PERF_MEM_LVLNUM_LFB,
	                                  PERF_MEM_LVLNUM_NA};
	struct access_sample sample;
	bool is_remote;

	(void)state;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		const struct record record = sample_of(
			(union perf_mem_data_src){.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = levels[i] & 0xf}, 5);

		assert_false(perf_sample_access(&record, &sample, &is_remote));
	}
}

/* The access that it must be. */
static struct access_sample
access_of(union perf_mem_data_src source, uint64_t latency, bool *is_remote)
{
	const struct record record = sample_of(source, latency);
	struct access_sample sample;

	assert_true(perf_sample_access(&record, &sample, is_remote));
	return sample;
}

static void
a_load_from_remote_memory_has_its_latency(void **state)
{
	bool is_remote;
	const struct access_sample sample = access_of((union perf_mem_data_src){.mem_op = PERF_MEM_OP_LOAD,
	                                                                        .mem_lvl_num = PERF_MEM_LVLNUM_RAM,
	                                                                        .mem_remote = 1},
	                                              412, &is_remote);

	(void)state;
	assert_true(is_remote);
	assert_int_equal(sample.level, MEMORY_DRAM);
	assert_int_equal(sample.flags, 0);
	assert_int_equal(sample.cycles, 412);
	assert_int_equal(sample.cost, 412);
	assert_int_equal(sample.address, ADDRESS);
	assert_int_equal(sample.tid, 8);
	assert_int_equal(sample.time, 9);
}

/* As older kernels and processors say it. */
static void
old_level_bits_are_understood_too(void **state)
{
	bool is_remote;
	const struct access_sample sample =
		access_of((union perf_mem_data_src){.mem_op = PERF_MEM_OP_LOAD,
	                                            .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM1,
	                                            .mem_lvl_num = PERF_MEM_LVLNUM_NA},
	                  300, &is_remote);

	(void)state;
	assert_true(is_remote);
	assert_int_equal(sample.level, MEMORY_DRAM);
}

static void
a_line_that_another_core_had_modified_is_a_transfer(void **state)
{
	union perf_mem_data_src source = {
		.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = PERF_MEM_LVLNUM_L3, .mem_snoop = PERF_MEM_SNOOP_HITM};
	struct access_sample sample;
	bool is_remote;

	(void)state;
	sample = access_of(source, 90, &is_remote);
	assert_false(is_remote);
	assert_int_equal(sample.level, MEMORY_CACHE);
	assert_int_equal(sample.flags, MEMORY_TRANSFER);
	source.mem_remote = 1;
	sample = access_of(source, 90, &is_remote);
	assert_int_equal(sample.flags, MEMORY_TRANSFER | MEMORY_FAR);
}

static void
locked_operations_and_stores_write(void **state)
{
	bool is_remote;

	(void)state;
	assert_int_equal(access_of((union perf_mem_data_src){.mem_op = PERF_MEM_OP_LOAD,
	                                                     .mem_lvl_num = PERF_MEM_LVLNUM_L3,
	                                                     .mem_lock = PERF_MEM_LOCK_LOCKED},
	                           70, &is_remote)
	                         .flags,
	                 MEMORY_STORE | MEMORY_ATOMIC);
	assert_int_equal(
		access_of((union perf_mem_data_src){.mem_op = PERF_MEM_OP_STORE, .mem_lvl_num = PERF_MEM_LVLNUM_L3}, 0,
	                  &is_remote)
			.flags,
		MEMORY_STORE);
}

static void
without_an_address_there_is_no_access(void **state)
{
	struct record record = sample_of(
		(union perf_mem_data_src){.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = PERF_MEM_LVLNUM_RAM}, 200);
	struct access_sample sample;
	bool is_remote;

	(void)state;
	record.sample.data_address = 0;
	assert_false(perf_sample_access(&record, &sample, &is_remote));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(caches_of_the_core_itself_are_left_out),
		cmocka_unit_test(a_load_from_remote_memory_has_its_latency),
		cmocka_unit_test(old_level_bits_are_understood_too),
		cmocka_unit_test(a_line_that_another_core_had_modified_is_a_transfer),
		cmocka_unit_test(locked_operations_and_stores_write),
		cmocka_unit_test(without_an_address_there_is_no_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
