#include "tests/unit/stream/perf_file_builder.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/error.h"
#include "stream/perf_data.h"

struct perf_data_fixture {
	struct file_builder file, records;
	struct perf_data *data;
	int fd;
};

static int
setup(void **state)
{
	struct perf_data_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->fd = -1;
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct perf_data_fixture *fixture = *state;

	perf_data_free(fixture->data);
	if (fixture->fd >= 0)
		close(fixture->fd);
	free(fixture);
	return 0;
}

static void
begin_reading(struct perf_data_fixture *fixture, size_t size)
{
	struct perf_data_fault fault;

	fixture->fd = file_open(&fixture->file, size);
	assert_int_equal(perf_data_open(fixture->fd, &fixture->data, &fault), 0);
	assert_null(fault.text);
}

static struct record
next(struct perf_data_fixture *fixture, uint32_t expected_event)
{
	struct record record;
	uint32_t event;

	assert_int_equal(perf_data_next(fixture->data, &record, &event), 1);
	assert_int_equal(event, expected_event);
	return record;
}

static void
assert_end(struct perf_data_fixture *fixture)
{
	struct record record;
	uint32_t event;

	assert_int_equal(perf_data_next(fixture->data, &record, &event), 0);
	assert_int_equal(perf_data_next(fixture->data, &record, &event), 0);
}

static void
assert_fault(struct perf_data_fixture *fixture, uint64_t offset, const char *text)
{
	struct record record;
	uint32_t event;

	assert_int_equal(perf_data_next(fixture->data, &record, &event), -DCPI_EDAMAGED);
	assert_int_equal(perf_data_next(fixture->data, &record, &event), -DCPI_EDAMAGED);
	assert_string_equal(perf_data_fault(fixture->data).text, text);
	assert_int_equal(perf_data_fault(fixture->data).offset, offset);
}

static void
assert_sample(struct perf_data_fixture *fixture, uint32_t event, uint64_t address, uint64_t time)
{
	struct record record = next(fixture, event);

	assert_int_equal(record.type, RECORD_SAMPLE);
	assert_int_equal(record.mode, CPU_MODE_USER);
	assert_int_equal(record.pid, 42);
	assert_int_equal(record.tid, 43);
	assert_int_equal(record.sample.address, address);
	assert_int_equal(record.sample.period, 1000);
	assert_int_equal(record.time, time);
}

static void
assert_mapping(struct perf_data_fixture *fixture)
{
	struct record record = next(fixture, 0);

	assert_int_equal(record.type, RECORD_MMAP);
	assert_int_equal(record.pid, 42);
	assert_int_equal(record.tid, 43);
	assert_int_equal(record.time, 900);
	assert_int_equal(record.mmap.start, 0x400000);
	assert_int_equal(record.mmap.length, 0x2000);
	assert_int_equal(record.mmap.file_offset, 0x1000);
	assert_int_equal(record.mmap.device_major, 8);
	assert_int_equal(record.mmap.device_minor, 1);
	assert_int_equal(record.mmap.inode, 777);
	assert_int_equal(record.mmap.protection, PROT_READ | PROT_EXEC);
	assert_string_equal(record.mmap.path, "/bin/true");
}

static void
put_records(struct file_builder *file)
{
	put_mapping(file, 0x400000, "/bin/true");
	put_sample(file, 11, 0x400010, 1000);
	put_sample(file, 22, 0x400020, 1001);
	put_sample(file, 21, 0x123456789abcdef0, 1002);
}

static void
assert_records(struct perf_data_fixture *fixture)
{
	assert_mapping(fixture);
	assert_sample(fixture, 0, 0x400010, 1000);
	assert_sample(fixture, 1, 0x400020, 1001);
	assert_sample(fixture, 1, 0x123456789abcdef0, 1002);
	assert_end(fixture);
}

static void
a_pipe_of_either_byte_order_gives_the_same_records(void **state)
{
	for (int is_big = 0; is_big < 2; is_big++) {
		struct perf_data_fixture *fixture;
		size_t count;

		setup(state);
		fixture = *state;
		begin_pipe(&fixture->file, is_big);
		put_name(&fixture->file, 22, "two");
		put_records(&fixture->file);
		begin_reading(fixture, fixture->file.size);
		assert_records(fixture);
		assert_string_equal(perf_data_events(fixture->data, &count)[1].name, "two");
		assert_int_equal(count, 2);
		assert_int_equal(perf_data_events(fixture->data, &count)[1].attr.sample_period, 1000);
		teardown(state);
	}
}

static void
a_file_of_either_byte_order_gives_the_same_records(void **state)
{
	for (int is_big = 0; is_big < 2; is_big++) {
		struct perf_data_fixture *fixture;

		setup(state);
		fixture = *state;
		fixture->records.is_big = is_big;
		put_records(&fixture->records);
		build_file(&fixture->file, &fixture->records);
		begin_reading(fixture, fixture->file.size);
		assert_string_equal(perf_data_machine(fixture->data)->host, "rose");
		assert_records(fixture);
		teardown(state);
	}
}

/* perf of before 2011: one magic for both orders, and which it is shows in the size of an attribute. */
static void
the_first_header_of_perf_is_read_in_either_byte_order(void **state)
{
	for (int is_big = 0; is_big < 2; is_big++) {
		struct perf_data_fixture *fixture;

		setup(state);
		fixture = *state;
		fixture->records.is_big = is_big;
		put_records(&fixture->records);
		build_file(&fixture->file, &fixture->records);
		memcpy(fixture->file.bytes, "PERFFILE", 8);
		begin_reading(fixture, fixture->file.size);
		assert_records(fixture);
		teardown(state);
	}
}

/* Two compressed records, the third of the records inside lying in both. */
static void
compressed_records_are_one_stream(void **state)
{
	struct perf_data_fixture *fixture = *state;
	struct file_builder *file = &fixture->file;
	ZSTD_CStream *stream = ZSTD_createCStream();
	size_t cut;

	put_records(&fixture->records);
	cut = fixture->records.size - 80; /* inside the last but one: a sample has 56 bytes */
	begin_pipe(file, false);
	for (int i = 0; i < 2; i++) {
		ZSTD_inBuffer in = {fixture->records.bytes, i ? fixture->records.size : cut, i ? cut : 0};
		ZSTD_outBuffer out;

		begin_record(file, 81, 0);
		out = (ZSTD_outBuffer){file->bytes + file->size, sizeof(file->bytes) - file->size, 0};
		assert_false(ZSTD_isError(ZSTD_compressStream(stream, &out, &in)));
		assert_false(ZSTD_isError(ZSTD_flushStream(stream, &out)));
		file->size += out.pos;
		end_record(file);
	}
	ZSTD_freeCStream(stream);
	put_sample(file, 11, 0x400030, 1003);
	begin_reading(fixture, file->size);
	assert_mapping(fixture);
	assert_sample(fixture, 0, 0x400010, 1000);
	assert_sample(fixture, 1, 0x400020, 1001);
	assert_sample(fixture, 1, 0x123456789abcdef0, 1002);
	assert_sample(fixture, 0, 0x400030, 1003);
	assert_end(fixture);
}

static void
what_zstd_cannot_read_is_damage(void **state)
{
	struct perf_data_fixture *fixture = *state;
	size_t offset;

	begin_pipe(&fixture->file, false);
	offset = fixture->file.size;
	begin_record(&fixture->file, 81, 0);
	put_text(&fixture->file, "no compressed bytes at all");
	end_record(&fixture->file);
	begin_reading(fixture, fixture->file.size);
	assert_fault(fixture, offset, "the compressed records cannot be unpacked");
}

static void
a_pipe_that_ends_inside_a_record_gives_what_came_before(void **state)
{
	struct perf_data_fixture *fixture = *state;
	size_t offset;

	begin_pipe(&fixture->file, false);
	put_sample(&fixture->file, 11, 0x400010, 1000);
	offset = fixture->file.size;
	put_sample(&fixture->file, 11, 0x400020, 1001);
	begin_reading(fixture, fixture->file.size - 1);
	assert_sample(fixture, 0, 0x400010, 1000);
	assert_fault(fixture, offset, "the recording ends inside a record");
}

/* What stands behind the records is missing, too: the records are given first. */
static void
a_file_that_was_cut_gives_what_is_there(void **state)
{
	struct perf_data_fixture *fixture = *state;
	size_t begin, first;

	put_sample(&fixture->records, 11, 0x400010, 1000);
	first = fixture->records.size;
	put_sample(&fixture->records, 11, 0x400020, 1001);
	build_file(&fixture->file, &fixture->records);
	begin = FILE_HEADER_SIZE + 3 * 8 + 2 * (FILE_ATTR_SIZE + 16);
	begin_reading(fixture, begin + first);
	assert_sample(fixture, 0, 0x400010, 1000);
	assert_fault(fixture, begin + first, "the recording ends too early");
}

static void
a_damaged_description_is_told_after_the_records(void **state)
{
	struct perf_data_fixture *fixture = *state;

	put_sample(&fixture->records, 11, 0x400010, 1000);
	build_file(&fixture->file, &fixture->records);
	fixture->file.bytes[fixture->file.size - 12] = 99; /* the length of the host's name */
	begin_reading(fixture, fixture->file.size);
	assert_sample(fixture, 0, 0x400010, 1000);
	assert_fault(fixture, fixture->file.size - 12, "a description behind the records is damaged");
}

static void
tracing_data_are_passed_over(void **state)
{
	struct perf_data_fixture *fixture = *state;
	static const uint8_t anything[16] = {0xff, 0xff};

	begin_pipe(&fixture->file, false);
	begin_record(&fixture->file, 66, 0); /* tracing data */
	put_number(&fixture->file, 16, 8);
	end_record(&fixture->file);
	put_bytes(&fixture->file, anything, 16);
	put_sample(&fixture->file, 11, 0x400010, 1000);
	begin_reading(fixture, fixture->file.size);
	assert_sample(fixture, 0, 0x400010, 1000);
	assert_end(fixture);
}

static void
the_end_of_a_round_is_told(void **state)
{
	struct perf_data_fixture *fixture = *state;
	struct record record;

	begin_pipe(&fixture->file, false);
	begin_record(&fixture->file, 68, 0);
	end_record(&fixture->file);
	begin_reading(fixture, fixture->file.size);
	record = next(fixture, 0);
	assert_int_equal(record.type, RECORD_OTHER);
	assert_int_equal(record.other, PERF_DATA_ROUND);
	assert_end(fixture);
}

/* perf's record of a piece of an area, with the bytes behind it. */
static void
put_aux_data(struct file_builder *file, const char *bytes, size_t size)
{
	begin_record(file, 71, 0);
	put_number(file, size, 8);
	put_number(file, 0x40, 8); /* offset in the area */
	put_number(file, 7, 8);    /* perf's own */
	put_number(file, 2, 4);    /* which area, thread, CPU, reserved */
	put_number(file, 43, 4);
	put_number(file, 5, 4);
	put_number(file, 0, 4);
	end_record(file);
	put_bytes(file, bytes, size);
}

static void
a_piece_of_an_auxiliary_area_has_its_place_in_the_file(void **state)
{
	struct perf_data_fixture *fixture = *state;
	struct record record;
	char bytes[9] = "";

	for (int is_big = 0; is_big < 2; is_big++) {
		begin_pipe(&fixture->file, is_big);
		put_aux_data(&fixture->file, "area....", 8);
		put_sample(&fixture->file, 11, 0x400010, 1000);
		begin_reading(fixture, fixture->file.size);
		record = next(fixture, PERF_DATA_NO_EVENT);
		assert_int_equal(record.type, RECORD_AUX_DATA);
		assert_int_equal(record.time, 0);
		assert_int_equal(record.tid, 43);
		assert_int_equal(record.aux_data.size, 8);
		assert_int_equal(record.aux_data.offset, 0x40);
		assert_int_equal(record.aux_data.index, 2);
		assert_int_equal(record.aux_data.cpu, 5);
		assert_int_equal(pread(fixture->fd, bytes, 8, (off_t)record.aux_data.file_offset), 8);
		assert_string_equal(bytes, "area....");
		assert_sample(fixture, 0, 0x400010, 1000);
		assert_end(fixture);
		perf_data_free(fixture->data);
		fixture->data = NULL;
		close(fixture->fd);
		fixture->fd = -1;
	}
}

static void
a_piece_that_is_not_all_there_is_damage(void **state)
{
	struct perf_data_fixture *fixture = *state;

	begin_pipe(&fixture->file, false);
	put_aux_data(&fixture->file, "area....", 8);
	begin_reading(fixture, fixture->file.size - 1);
	assert_int_equal(next(fixture, PERF_DATA_NO_EVENT).type, RECORD_AUX_DATA);
	assert_fault(fixture, fixture->file.size - 1, "the recording ends inside what follows a record");
}

static void
what_fills_auxiliary_areas_is_described(void **state)
{
	struct perf_data_fixture *fixture = *state;
	const struct perf_data_auxtrace *auxtrace;

	begin_pipe(&fixture->file, true);
	begin_record(&fixture->file, 70, 0);
	put_number(&fixture->file, PERF_DATA_ARM_SPE, 4);
	put_number(&fixture->file, 0, 4);
	put_number(&fixture->file, 9, 8);
	put_number(&fixture->file, 1, 8);
	end_record(&fixture->file);
	begin_reading(fixture, fixture->file.size);
	assert_int_equal(perf_data_auxtrace(fixture->data)->type, 0);
	assert_end(fixture);
	auxtrace = perf_data_auxtrace(fixture->data);
	assert_int_equal(auxtrace->type, PERF_DATA_ARM_SPE);
	assert_int_equal(auxtrace->count, 2);
	assert_int_equal(auxtrace->words[0], 9);
	assert_int_equal(auxtrace->words[1], 1);
}

/* perf's PERF_RECORD_TIME_CONV: 40 ns a tick. */
static void
put_time_conv(struct file_builder *file, bool has_zero, bool is_short)
{
	begin_record(file, 79, 0);
	put_number(file, 24, 8);
	put_number(file, 40 << 24, 8);
	put_number(file, 1000, 8);
	put_number(file, 0xfff0, 8); /* cycles, mask */
	put_number(file, 0xffff, 8);
	put_number(file, has_zero, 1);
	put_number(file, is_short, 1);
	put_number(file, 0, 6);
	end_record(file);
}

static void
ticks_of_the_counter_have_a_time(void **state)
{
	static const struct {
		bool has_zero, is_short;
		uint64_t ns;
	} known[] = {{true, false, 1000 + 40 * 0x10}, {true, true, 1000 + 40 * 0x10010}, {false, false, 0}};
	struct perf_data_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		begin_pipe(&fixture->file, i == 1);
		put_time_conv(&fixture->file, known[i].has_zero, known[i].is_short);
		begin_reading(fixture, fixture->file.size);
		assert_end(fixture);
		assert_int_equal(counter_time_ns(perf_data_counter_time(fixture->data), 0x10), known[i].ns);
		perf_data_free(fixture->data);
		fixture->data = NULL;
		close(fixture->fd);
		fixture->fd = -1;
	}
}

/* A node as perf describes it: its number, two sizes of its memory, the list of its CPUs. */
static void
put_node(struct file_builder *file, uint32_t number, const char *cpus)
{
	put_number(file, number, 4);
	put_number(file, 1 << 20, 8);
	put_number(file, 1 << 19, 8);
	put_number(file, strlen(cpus) + 1, 4);
	put_bytes(file, cpus, strlen(cpus) + 1);
}

static void
cpus_have_the_nodes_that_the_recording_lists(void **state)
{
	struct perf_data_fixture *fixture = *state;
	const struct perf_data_machine *machine;

	begin_pipe(&fixture->file, true);
	begin_record(&fixture->file, 80, 0);
	put_number(&fixture->file, 14, 8); /* nodes */
	put_number(&fixture->file, 3, 4);
	put_node(&fixture->file, 0, "0-1,4");
	put_node(&fixture->file, 1, "2");
	put_node(&fixture->file, 8, ""); /* memory alone */
	end_record(&fixture->file);
	begin_reading(fixture, fixture->file.size);
	assert_end(fixture);
	machine = perf_data_machine(fixture->data);
	assert_int_equal(machine->node_count, 3);
	assert_int_equal(machine->node_cpu_count, 3);
	assert_int_equal(machine->cpu_node_count, 5);
	assert_memory_equal(machine->cpu_nodes, ((const uint8_t[]){0, 0, 1, PERF_DATA_NO_NODE, 0}), 5);
}

static void
a_list_of_nodes_that_ends_early_is_damage(void **state)
{
	struct perf_data_fixture *fixture = *state;

	begin_pipe(&fixture->file, false);
	begin_record(&fixture->file, 80, 0);
	put_number(&fixture->file, 14, 8);
	put_number(&fixture->file, 2, 4);
	put_node(&fixture->file, 0, "0-1");
	end_record(&fixture->file);
	begin_reading(fixture, fixture->file.size);
	assert_fault(fixture, fixture->file.record, "a description among the records is damaged");
}

static void
a_sample_of_an_unknown_counter_belongs_to_no_event(void **state)
{
	struct perf_data_fixture *fixture = *state;

	begin_pipe(&fixture->file, false);
	put_sample(&fixture->file, 99, 0x400010, 1000);
	begin_reading(fixture, fixture->file.size);
	assert_sample(fixture, PERF_DATA_NO_EVENT, 0x400010, 1000);
}

static void
a_sample_before_every_event_is_damage(void **state)
{
	struct perf_data_fixture *fixture = *state;

	put_bytes(&fixture->file, "PERFILE2", 8);
	put_number(&fixture->file, 16, 8);
	put_sample(&fixture->file, 11, 0x400010, 1000);
	begin_reading(fixture, fixture->file.size);
	assert_fault(fixture, 16, "a sample comes before any event was described");
}

static void
what_is_no_recording_is_refused(void **state)
{
	struct perf_data_fixture *fixture = *state;
	struct perf_data_fault fault;

	put_text(&fixture->file, "#!/bin/sh - and more that perf did not write");
	fixture->fd = file_open(&fixture->file, fixture->file.size);
	assert_int_equal(perf_data_open(fixture->fd, &fixture->data, &fault), -DCPI_EDAMAGED);
	assert_null(fixture->data);
	assert_string_equal(fault.text, "it is no recording of perf");
}

static void
records_behind_the_end_of_the_file_are_damage(void **state)
{
	struct perf_data_fixture *fixture = *state;
	struct perf_data_fault fault;

	build_file(&fixture->file, &fixture->records);
	fixture->file.bytes[45] = 4; /* of the number at 40: where the records begin */
	fixture->fd = file_open(&fixture->file, fixture->file.size);
	assert_int_equal(perf_data_open(fixture->fd, &fixture->data, &fault), -DCPI_EDAMAGED);
	assert_string_equal(fault.text, "the records are said to lie behind the end of the file");
	assert_int_equal(fault.offset, 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pipe_of_either_byte_order_gives_the_same_records),
		cmocka_unit_test(a_file_of_either_byte_order_gives_the_same_records),
		cmocka_unit_test(the_first_header_of_perf_is_read_in_either_byte_order),
		TEST(compressed_records_are_one_stream),
		TEST(what_zstd_cannot_read_is_damage),
		TEST(a_pipe_that_ends_inside_a_record_gives_what_came_before),
		TEST(a_file_that_was_cut_gives_what_is_there),
		TEST(a_damaged_description_is_told_after_the_records),
		TEST(tracing_data_are_passed_over),
		TEST(the_end_of_a_round_is_told),
		TEST(a_piece_of_an_auxiliary_area_has_its_place_in_the_file),
		TEST(a_piece_that_is_not_all_there_is_damage),
		TEST(what_fills_auxiliary_areas_is_described),
		TEST(ticks_of_the_counter_have_a_time),
		TEST(cpus_have_the_nodes_that_the_recording_lists),
		TEST(a_list_of_nodes_that_ends_early_is_damage),
		TEST(a_sample_of_an_unknown_counter_belongs_to_no_event),
		TEST(a_sample_before_every_event_is_damage),
		TEST(records_behind_the_end_of_the_file_are_damage),
		TEST(what_is_no_recording_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
