/* Tests of dcpi-tools/emu/record_read.h: what was counted, and what was executed. */
#include "tests/unit/test.h"

#include <errno.h>

#include "dcpi-tools/emu/record_read.h"
#include "emulator/record/recording.h"
#include "tests/unit/dcpi-tools/record_made.h"

#define NOBODY 2000000000 /* no process has such a number */

static const struct record_header first = {
	.magic = RECORD_MAGIC, .pid = NOBODY, .parent = 7, .vcpu_count = 2, .comm = "parent"};
static const struct record_header second = {.magic = RECORD_MAGIC,
                                            .pid = NOBODY + 1,
                                            .parent = NOBODY,
                                            .vcpu_count = 1,
                                            .start_cycles = 400,
                                            .comm = "child"};

static void
threads_and_programs_are_added_up(void **state)
{
	const struct record_counters threads[] = {
		{.clock = 1000, .threads = 1, .cycles = {[REASON_EXECUTION] = 600, [REASON_DATA_CACHE] = 400}},
		{.clock = 900,
	         .began = 300,
	         .threads = 2,
	         .cycles = {[REASON_EXECUTION] = 500, [REASON_BLOCKED] = 100}},
	};
	const struct record_counters child = {
		.clock = 1500, .began = 400, .threads = 1, .cycles = {[REASON_EXECUTION] = 1100}, .mispredicted = 3};
	struct counters counters;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.2000000001.0", &second, &child);
	record_made_file(directory, "record.2000000000.0", &first, threads);
	record_made_file(directory, "setup", &first, NULL);
	assert_int_equal(counters_read(directory, &counters), 0);
	assert_int_equal(counters.count, 2);
	assert_string_equal(counters.programs[0].comm, "parent");
	assert_int_equal(counters.programs[0].vcpu_count, 2);
	assert_int_equal(counters.programs[0].sum.clock, 1000);
	assert_int_equal(counters.programs[0].sum.began, 0);
	assert_int_equal(counters.programs[0].sum.threads, 3);
	assert_int_equal(counters.programs[1].sum.began, 400);
	assert_int_equal(counters.elapsed_cycles, 1500);
	assert_int_equal(counters.busy_cycles, 600 + 400 + 500 + 1100);
	assert_int_equal(counters.sum.cycles[REASON_BLOCKED], 100);
	assert_int_equal(counters.sum.mispredicted, 3);
	counters_fini(&counters);
	assert_int_equal(counters_elapsed(directory), 1500);
	record_made_remove(directory);
}

/* Ten of the pages that were missed are a store's, and two lines of those that level 2 missed are code. */
static void
what_is_an_event_is_with_what_is_not(void **state)
{
	const struct record_counters thread = {
		.threads = 1,
		.code_missed = {0, 2},
		.data_tlb_missed = 10,
		.events = {[SETUP_EVENT_LEVEL1_DATA] = 500,
	                   [SETUP_EVENT_LEVEL1_CODE] = 30,
	                   [SETUP_EVENT_LEVEL2] = 102,
	                   [SETUP_EVENT_DATA_TLB] = 40,
	                   [SETUP_EVENT_DATA_WALK] = 7,
	                   [SETUP_EVENT_CODE_TLB] = 5,
	                   [SETUP_EVENT_CODE_WALK] = 1,
	                   [SETUP_EVENT_BRANCH] = 25},
	};
	struct counters counters;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.2000000001.0", &second, &thread);
	assert_int_equal(counters_read(directory, &counters), 0);
	assert_int_equal(counters.sum.loads_missed[0], 500);
	assert_int_equal(counters.sum.loads_missed[1], 100);
	assert_int_equal(counters.sum.code_missed[0], 30);
	assert_int_equal(counters.sum.code_missed[1], 2);
	assert_int_equal(counters.sum.data_tlb_missed, 50);
	assert_int_equal(counters.sum.data_walks, 7);
	assert_int_equal(counters.sum.code_tlb_missed, 5);
	assert_int_equal(counters.sum.code_walks, 1);
	assert_int_equal(counters.sum.mispredicted, 25);
	assert_int_equal(counters.programs[0].vcpus[0].data_tlb_missed, 50);
	counters_fini(&counters);
	record_made_remove(directory);
}

/* A signal killed it between two counts. */
static void
an_event_that_is_lacking_takes_nothing_from_loads(void **state)
{
	const struct record_counters thread = {
		.threads = 1, .code_missed = {0, 2}, .events = {[SETUP_EVENT_LEVEL2] = 1}};
	struct counters counters;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.2000000001.0", &second, &thread);
	assert_int_equal(counters_read(directory, &counters), 0);
	assert_int_equal(counters.sum.loads_missed[1], 0);
	counters_fini(&counters);
	record_made_remove(directory);
}

static void
what_is_no_record_is_counted_as_damaged(void **state)
{
	const struct record_header foreign = {.magic = 1}, many = {.magic = RECORD_MAGIC, .vcpu_count = UINT32_MAX};
	struct counters counters;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.1.0", &foreign, NULL);
	record_made_file(directory, "record.2.0", &many, NULL);
	assert_int_equal(counters_read(directory, &counters), 0);
	assert_int_equal(counters.count, 0);
	assert_int_equal(counters.damaged, 2);
	counters_fini(&counters);
	record_made_remove(directory);
}

static void
a_thread_that_has_no_record_yet_is_left_out(void **state)
{
	struct counters counters;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.1.0", &first, NULL);
	assert_int_equal(counters_read(directory, &counters), 0);
	assert_int_equal(counters.count, 1);
	assert_int_equal(counters.programs[0].vcpu_count, 0);
	assert_int_equal(counters.elapsed_cycles, 0);
	counters_fini(&counters);
	record_made_remove(directory);
}

static void
a_process_that_has_not_ended_is_known(void **state)
{
	struct counters counters;
	char directory[64], name[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.2000000000.0", &first, NULL);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "record.%d.%d", (int)getpid(), i);
		record_made_file(directory, name, &first, NULL);
	}
	assert_int_equal(counters_read(directory, &counters), 0);
	assert_int_equal(counters.running, 1);
	assert_int_equal(counters.count, 3);
	counters_fini(&counters);
	record_made_remove(directory);
}

static void
a_record_that_has_not_begun_is_not_damaged(void **state)
{
	const struct record_header nothing = {0};
	struct counters counters;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.2000000000.0", &nothing, NULL);
	assert_int_equal(counters_read(directory, &counters), 0);
	assert_int_equal(counters.count, 0);
	assert_int_equal(counters.damaged, 0);
	counters_fini(&counters);
	record_made_remove(directory);
}

static void
a_directory_that_is_gone_is_an_error(void **state)
{
	struct counters counters;

	(void)state;
	assert_int_equal(counters_read("/nowhere/at/all", &counters), -ENOENT);
	counters_fini(&counters);
	assert_int_equal(counters_elapsed("/nowhere/at/all"), 0);
}

static uint32_t
add_block(struct recording *recording, uint64_t offset, uint16_t count, uint16_t loads, uint16_t stores)
{
	const struct code_block does = {.loads = loads, .stores = stores, .branches = 1};
	static const uint8_t sizes[8] = {4, 4, 4, 4, 4, 4, 4, 4}, bytes[32];
	const struct code_block block = {.type = CODE_BLOCK, .instruction_count = count, .image = 1, .offset = offset};
	uint32_t first_instruction,
		number = recording_add_block(recording, &block, sizes, bytes, offset, &first_instruction);

	recording_describe_block(recording, number, &does);
	return number;
}

static void
executions_of_all_threads_are_added_up(void **state)
{
	static const struct record_mmap program = {.build_id = {1}, .build_id_size = 1, .path = "/bin/program"};
	struct recording *recording;
	struct record_vcpu *vcpu;
	struct executed executed;
	uint32_t one, two;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	recording = recording_new(directory, "program", 0);
	assert_non_null(recording);
	assert_int_equal(process_file_add_image(recording_file(recording), &program), 0);
	one = add_block(recording, 0x1000, 4, 2, 1);
	two = add_block(recording, 0x2000, 8, 0, 3);
	assert_int_equal(add_block(recording, 0x1000, 4, 2, 1), one); /* what it does tells no block from another */
	vcpu = recording_add_vcpu(recording, 0);
	vcpu->executions[one] = 10;
	vcpu->executions[two] = 1;
	vcpu = recording_add_vcpu(recording, 1);
	vcpu->executions[one] = 100;
	assert_int_equal(executed_read(directory, &executed), 0);
	assert_int_equal(executed.instructions, 110 * 4 + 8);
	assert_int_equal(executed.loads, 110 * 2);
	assert_int_equal(executed.stores, 110 + 3);
	assert_int_equal(executed.branches, 111);
	recording_free(recording);
	record_made_remove(directory);
}

static void
a_damaged_record_is_left_out(void **state)
{
	const struct record_header header = {.magic = RECORD_MAGIC, .log_size = 64};
	struct executed executed;
	char directory[64];

	(void)state;
	record_made_directory(directory);
	record_made_file(directory, "record.1.0", &header, NULL);
	record_made_file(directory, "record.x", &header, NULL);
	assert_int_equal(executed_read(directory, &executed), 0);
	assert_int_equal(executed.instructions, 0);
	record_made_remove(directory);
	assert_int_equal(executed_read(directory, &executed), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_programs_are_added_up),
		cmocka_unit_test(what_is_an_event_is_with_what_is_not),
		cmocka_unit_test(an_event_that_is_lacking_takes_nothing_from_loads),
		cmocka_unit_test(what_is_no_record_is_counted_as_damaged),
		cmocka_unit_test(a_thread_that_has_no_record_yet_is_left_out),
		cmocka_unit_test(a_process_that_has_not_ended_is_known),
		cmocka_unit_test(a_record_that_has_not_begun_is_not_damaged),
		cmocka_unit_test(a_directory_that_is_gone_is_an_error),
		cmocka_unit_test(executions_of_all_threads_are_added_up),
		cmocka_unit_test(a_damaged_record_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
