#include "tests/unit/test.h"

#include <errno.h>

#include "dcpi-tools/emu/record_read.h"
#include "emulator/record/recording.h"
#include "tests/unit/dcpi-tools/record_made.h"

static uint32_t
add_block(struct recording *recording, uint64_t offset, uint16_t count, uint16_t loads, uint16_t stores)
{
	const struct code_block does = {.loads = loads, .stores = stores, .branches = 1};
	static const uint8_t sizes[8] = {4, 4, 4, 4, 4, 4, 4, 4}, bytes[32];
	const struct code_block block = {.type = CODE_BLOCK, .instruction_count = count, .image = 1, .offset = offset};
	uint32_t first, number = recording_add_block(recording, &block, sizes, bytes, offset, &first);

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
	assert_int_equal(recording_add_image(recording, &program), 0);
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
		cmocka_unit_test(executions_of_all_threads_are_added_up),
		cmocka_unit_test(a_damaged_record_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
