#include "tests/unit/stream/perf_file_builder.h"

#include "stream/record.h"

/* The other machine's order. */
#define IS_BIG (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static const struct record_layout file_layout = {.sample_type = FILE_SAMPLE, .sample_id_all = true};

/* The record that was built last, turned and decoded. Its strings stay in `file`. */
static struct record
swapped(const struct record_layout *layout, struct file_builder *file)
{
	struct perf_event_header header;
	struct record record;
	size_t consumed;

	end_record(file);
	memcpy(&header, file->bytes, sizeof(header));
	record_swap_header(&header);
	assert_int_equal(header.size, file->size);
	record_swap(layout, &header, file->bytes);
	assert_int_equal(record_decode(layout, file->bytes, file->size, &record, &consumed), file->size);
	return record;
}

static void
a_process_that_is_born_is_turned(void **state)
{
	struct file_builder file = {.is_big = IS_BIG};
	struct record record;

	(void)state;
	begin_record(&file, PERF_RECORD_FORK, 0);
	put_number(&file, 50, 4); /* process, its parent, thread, its parent */
	put_number(&file, 42, 4);
	put_number(&file, 51, 4);
	put_number(&file, 43, 4);
	put_number(&file, 900, 8);
	put_trailer(&file, 11, 901);
	record = swapped(&file_layout, &file);
	assert_int_equal(record.type, RECORD_FORK);
	assert_int_equal(record.pid, 50);
	assert_int_equal(record.tid, 51);
	assert_int_equal(record.task.parent_pid, 42);
	assert_int_equal(record.time, 901);
	assert_int_equal(record.id, 11);
}

static void
a_piece_of_an_auxiliary_area_is_turned(void **state)
{
	struct file_builder file = {.is_big = IS_BIG};
	struct record record;

	(void)state;
	begin_record(&file, PERF_RECORD_AUX, 0);
	put_number(&file, 0x1000, 8);
	put_number(&file, 0x40, 8);
	put_number(&file, PERF_AUX_FLAG_PARTIAL, 8);
	put_trailer(&file, 11, 901);
	record = swapped(&file_layout, &file);
	assert_int_equal(record.type, RECORD_AUX);
	assert_int_equal(record.aux.offset, 0x1000);
	assert_int_equal(record.aux.size, 0x40);
	assert_int_equal(record.aux.flags, PERF_AUX_FLAG_PARTIAL);
	assert_int_equal(record.aux.cpu, 3);
	assert_int_equal(record.time, 901);
}

static void
a_switch_is_turned(void **state)
{
	struct file_builder file = {.is_big = IS_BIG};
	struct record record;

	(void)state;
	begin_record(&file, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT);
	put_number(&file, 50, 4);
	put_number(&file, 51, 4);
	put_trailer(&file, 11, 901);
	record = swapped(&file_layout, &file);
	assert_int_equal(record.type, RECORD_RUNNING);
	assert_int_equal(record.pid, 50);
	assert_int_equal(record.tid, 51);
	assert_int_equal(record.running.cpu, 3);
}

static void
a_name_keeps_its_letters(void **state)
{
	struct file_builder file = {.is_big = IS_BIG};
	struct record record;

	(void)state;
	begin_record(&file, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_number(&file, 50, 4);
	put_number(&file, 51, 4);
	put_text(&file, "wave5");
	put_trailer(&file, 11, 901);
	record = swapped(&file_layout, &file);
	assert_string_equal(record.comm.name, "wave5");
	assert_true(record.comm.is_exec);
	assert_int_equal(record.pid, 50);
	assert_int_equal(record.time, 901);
}

static void
a_build_id_keeps_its_bytes(void **state)
{
	struct file_builder file = {.is_big = IS_BIG};
	struct record record;

	(void)state;
	begin_record(&file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	put_number(&file, 50, 4);
	put_number(&file, 51, 4);
	put_number(&file, 0x400000, 8);
	put_number(&file, 0x2000, 8);
	put_number(&file, 0x1000, 8);
	put_bytes(&file, "\24\0\0\0abcdefghijklmnopqrst", 24);
	put_number(&file, PROT_EXEC, 4);
	put_number(&file, MAP_PRIVATE, 4);
	put_text(&file, "/bin/true");
	put_trailer(&file, 11, 901);
	record = swapped(&file_layout, &file);
	assert_int_equal(record.mmap.start, 0x400000);
	assert_int_equal(record.mmap.build_id_size, 20);
	assert_memory_equal(record.mmap.build_id, "abcdefghijklmnopqrst", 20);
	assert_int_equal(record.mmap.protection, PROT_EXEC);
	assert_string_equal(record.mmap.path, "/bin/true");
}

static void
branches_behind_raw_bytes_are_found(void **state)
{
	struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
	                       PERF_SAMPLE_BRANCH_STACK,
	};
	struct file_builder file = {.is_big = IS_BIG};
	struct perf_branch_entry branch;
	struct record record;

	(void)state;
	begin_record(&file, PERF_RECORD_SAMPLE, 0);
	put_number(&file, 0x400010, 8);
	put_number(&file, 42, 4);
	put_number(&file, 43, 4);
	put_number(&file, 1, 8); /* call chain */
	put_number(&file, 0x400010, 8);
	put_number(&file, 12, 4); /* raw */
	put_bytes(&file, "raw bytes...", 12);
	put_number(&file, 1, 8); /* branches */
	put_number(&file, 0x400008, 8);
	put_number(&file, 0x400000, 8);
	put_number(&file, 0, 8);
	record = swapped(&layout, &file);
	assert_int_equal(record.pid, 42);
	assert_int_equal(record.tid, 43);
	assert_int_equal(record.sample.branch_count, 1);
	memcpy(&branch, record.sample.branches, sizeof(branch));
	assert_int_equal(branch.from, 0x400008);
	assert_int_equal(branch.to, 0x400000);
}

/* The single bits are the other way round on a machine of the other order. */
static void
an_attribute_keeps_numbers_and_flags(void **state)
{
	struct file_builder file = {.is_big = IS_BIG};
	struct perf_event_attr attr = {0};

	(void)state;
	put_attr(&file, PERF_COUNT_HW_INSTRUCTIONS);
	memcpy(&attr, file.bytes, FILE_ATTR_SIZE);
	record_swap_attr(&attr);
	assert_int_equal(attr.size, FILE_ATTR_SIZE);
	assert_int_equal(attr.config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(attr.sample_period, 1000);
	assert_int_equal(attr.sample_type, FILE_SAMPLE);
	assert_true(attr.sample_id_all);
	assert_false(attr.disabled);
	assert_false(attr.mmap_data);
	assert_false(attr.exclude_host);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_is_born_is_turned),
		cmocka_unit_test(a_piece_of_an_auxiliary_area_is_turned),
		cmocka_unit_test(a_switch_is_turned),
		cmocka_unit_test(a_name_keeps_its_letters),
		cmocka_unit_test(a_build_id_keeps_its_bytes),
		cmocka_unit_test(branches_behind_raw_bytes_are_found),
		cmocka_unit_test(an_attribute_keeps_numbers_and_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
