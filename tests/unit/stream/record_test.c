#include "tests/unit/stream/decoded.h"

#include <errno.h>

static void
a_plain_sample_has_id_address_task_and_time(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_sample(&builder, 7, 0x401234, 42, 1000);
	assert_int_equal(builder.size, 40);
	record = decode(&plain, &builder);
	assert_int_equal(record.type, RECORD_SAMPLE);
	assert_int_equal(record.mode, CPU_MODE_USER);
	assert_int_equal(record.id, 7);
	assert_int_equal(record.sample.address, 0x401234);
	assert_int_equal(record.pid, 42);
	assert_int_equal(record.tid, 42);
	assert_int_equal(record.time, 1000);
	assert_int_equal(record.sample.cgroup, 0);
}

static void
a_sample_with_every_supported_field_is_read_in_the_kernels_order(void **state)
{
	struct record_layout layout = {
		.sample_type = PLAIN_SAMPLE | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
	                       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CGROUP,
	};
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_EXACT_IP);
	build_u64(&builder, 7);                  /* identifier */
	build_u64(&builder, 0xffffffff81000010); /* ip */
	build_u32(&builder, 42);                 /* pid */
	build_u32(&builder, 43);                 /* tid */
	build_u64(&builder, 1000);               /* time */
	build_u64(&builder, 0xadd4);             /* address */
	build_u64(&builder, 7);                  /* id */
	build_u64(&builder, 8);                  /* stream id */
	build_u64(&builder, 3);                  /* cpu */
	build_u64(&builder, 62000);              /* period */
	build_u64(&builder, 99);                 /* cgroup */
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.mode, CPU_MODE_KERNEL);
	assert_int_equal(record.sample.address, 0xffffffff81000010);
	assert_int_equal(record.pid, 42);
	assert_int_equal(record.tid, 43);
	assert_int_equal(record.time, 1000);
	assert_int_equal(record.id, 7);
	assert_int_equal(record.sample.period, 62000);
	assert_int_equal(record.sample.cgroup, 99);
}

static void
a_sample_without_optional_fields_says_that_they_are_unknown(void **state)
{
	struct record_layout layout = {.sample_type = PERF_SAMPLE_IP};
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	build_u64(&builder, 0x401234);
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.pid, UINT32_MAX);
	assert_int_equal(record.tid, UINT32_MAX);
	assert_int_equal(record.time, 0);
	assert_int_equal(record.id, 0);
	assert_int_equal(record.sample.cgroup, 0);
}

/* The usual sample of dcpid is decoded apart: what was in `record` before must not stay. */
static void
a_sample_of_the_default_fields_has_nothing_else(void **state)
{
	const struct record_layout layout = {.sample_type = RECORD_DEFAULT_FIELDS};
	struct record_builder builder;
	struct record record;
	size_t consumed;

	(void)state;
	build_begin(&builder, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	build_u64(&builder, 7);
	build_u64(&builder, 0x401234);
	build_u32(&builder, 42);
	build_u32(&builder, 42);
	build_u64(&builder, 1000);
	build_u64(&builder, 99);
	build_end(&builder);
	assert_int_equal(builder.size, RECORD_DEFAULT_SIZE);
	memset(&record, 0xff, sizeof(record));
	assert_int_equal(record_decode(&layout, builder.data, builder.size, &record, &consumed), RECORD_DEFAULT_SIZE);
	assert_int_equal(record.sample.cgroup, 99);
	assert_int_equal(record.sample.branch_count, 0);
	assert_int_equal(record.sample.call_chain_count, 0);
	assert_null(record.sample.call_chain);
	assert_null(record.sample.registers);
	assert_null(record.sample.stack);
}

static void
a_sample_whose_size_is_not_that_of_its_fields_is_damaged(void **state)
{
	struct record_layout with_cgroup = {.sample_type = PLAIN_SAMPLE | PERF_SAMPLE_CGROUP};
	struct record_layout without_time = {.sample_type = PLAIN_SAMPLE & ~PERF_SAMPLE_TIME};
	struct record_builder builder;

	(void)state;
	build_sample(&builder, 7, 0x401234, 42, 1000);
	assert_damaged(&with_cgroup, &builder, 40);
	assert_damaged(&without_time, &builder, 40);
}

static void
a_sample_without_the_call_chain_of_its_layout_is_damaged(void **state)
{
	struct record_layout layout = {.sample_type = PLAIN_SAMPLE | PERF_SAMPLE_CALLCHAIN};
	struct record_builder builder;

	(void)state;
	build_sample(&builder, 7, 0x401234, 42, 1000);
	assert_damaged(&layout, &builder, 40);
}

static void
an_unknown_type_is_passed_on_with_its_time(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_NAMESPACES, 0);
	build_trailer(&builder, 42, 43, 9000, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_OTHER);
	assert_int_equal(record.other, PERF_RECORD_NAMESPACES);
	assert_int_equal(record.time, 9000);
	assert_int_equal(record.pid, 42);
}

static void
what_tools_add_to_files_has_no_trailer(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, 68 /* perf's "finished round" */, 0);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_OTHER);
	assert_int_equal(record.other, 68);
	assert_int_equal(record.time, 0);
}

static void
a_record_too_short_for_its_trailer_is_damaged(void **state)
{
	struct record_builder builder;

	(void)state;
	build_begin(&builder, PERF_RECORD_SWITCH, 0);
	build_u64(&builder, 0);
	build_u64(&builder, 0);
	build_end(&builder);
	assert_damaged(&sideband, &builder, builder.size);
}

/* Every type, cut to every length that a header can claim: never more than an error, and never past the end. */
static void
no_type_reads_past_its_own_size(void **state)
{
	struct record_builder builder;

	(void)state;
	for (uint32_t type = 0; type < 70; type++) {
		for (uint16_t misc = 0; misc < 2; misc++) {
			memset(builder.data, 0xff, sizeof(builder.data));
			build_begin(&builder, type, misc ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
			for (builder.size = 8; builder.size <= 160; builder.size++) {
				uint8_t *copy = test_malloc(builder.size); /* sanitizers watch its end */
				struct record record;
				size_t consumed;
				int result;

				build_end(&builder);
				memcpy(copy, builder.data, builder.size);
				result = record_decode(&sideband, copy, builder.size, &record, &consumed);
				assert_true(result == (int)builder.size || result == -DCPI_EDAMAGED);
				assert_int_equal(consumed, builder.size);
				test_free(copy);
			}
		}
	}
}

static void
a_record_that_is_not_all_there_is_asked_for_again(void **state)
{
	struct record_builder builder;
	struct record record;
	size_t consumed;

	(void)state;
	build_sample(&builder, 7, 0x401234, 42, 1000);
	for (size_t size = 0; size < builder.size; size++) {
		assert_int_equal(record_decode(&plain, builder.data, size, &record, &consumed), -EAGAIN);
		assert_int_equal(consumed, 0);
	}
}

static void
a_header_smaller_than_itself_ends_the_stream(void **state)
{
	struct record_builder builder;

	(void)state;
	build_sample(&builder, 7, 0x401234, 42, 1000);
	for (uint8_t size = 0; size < 8; size++) {
		builder.data[offsetof(struct perf_event_header, size)] = size;
		assert_damaged(&plain, &builder, 0);
	}
}

static void
a_processor_mode_of_the_future_is_unknown(void **state)
{
	struct record_builder builder;

	(void)state;
	build_sample(&builder, 7, 0x401234, 42, 1000);
	builder.data[offsetof(struct perf_event_header, misc)] = 5;
	assert_int_equal(decode(&plain, &builder).mode, CPU_MODE_GUEST_USER);
	builder.data[offsetof(struct perf_event_header, misc)] = 6;
	assert_int_equal(decode(&plain, &builder).mode, CPU_MODE_UNKNOWN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_sample_has_id_address_task_and_time),
		cmocka_unit_test(a_sample_with_every_supported_field_is_read_in_the_kernels_order),
		cmocka_unit_test(a_sample_without_optional_fields_says_that_they_are_unknown),
		cmocka_unit_test(a_sample_of_the_default_fields_has_nothing_else),
		cmocka_unit_test(a_sample_whose_size_is_not_that_of_its_fields_is_damaged),
		cmocka_unit_test(a_sample_without_the_call_chain_of_its_layout_is_damaged),
		cmocka_unit_test(an_unknown_type_is_passed_on_with_its_time),
		cmocka_unit_test(what_tools_add_to_files_has_no_trailer),
		cmocka_unit_test(a_record_too_short_for_its_trailer_is_damaged),
		cmocka_unit_test(no_type_reads_past_its_own_size),
		cmocka_unit_test(a_record_that_is_not_all_there_is_asked_for_again),
		cmocka_unit_test(a_header_smaller_than_itself_ends_the_stream),
		cmocka_unit_test(a_processor_mode_of_the_future_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
