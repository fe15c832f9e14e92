/* What happens to processes, mappings and rings. */
#include "tests/unit/stream/decoded.h"

#include <sys/mman.h>

static void
build_mmap2(struct record_builder *builder, uint16_t misc)
{
	build_begin(builder, PERF_RECORD_MMAP2, misc);
	build_u32(builder, 42);
	build_u32(builder, 43);
	build_u64(builder, 0x7f0000001000);
	build_u64(builder, 0x2000);
	build_u64(builder, 0x3000);
}

static void
an_mmap_without_build_id_has_device_and_inode(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_mmap2(&builder, PERF_RECORD_MISC_USER);
	build_u32(&builder, 8);
	build_u32(&builder, 1);
	build_u64(&builder, 123456);
	build_u64(&builder, 77);
	build_u32(&builder, PROT_READ | PROT_EXEC);
	build_u32(&builder, MAP_PRIVATE);
	build_text(&builder, "/usr/lib/libm.so.6");
	build_trailer(&builder, 142, 143, 2000, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_MMAP);
	assert_int_equal(record.pid, 42); /* the body's, not the trailer's */
	assert_int_equal(record.tid, 43);
	assert_int_equal(record.time, 2000);
	assert_int_equal(record.id, 9);
	assert_int_equal(record.mmap.start, 0x7f0000001000);
	assert_int_equal(record.mmap.length, 0x2000);
	assert_int_equal(record.mmap.file_offset, 0x3000);
	assert_int_equal(record.mmap.device_major, 8);
	assert_int_equal(record.mmap.device_minor, 1);
	assert_int_equal(record.mmap.inode, 123456);
	assert_int_equal(record.mmap.inode_generation, 77);
	assert_int_equal(record.mmap.build_id_size, 0);
	assert_int_equal(record.mmap.protection, PROT_READ | PROT_EXEC);
	assert_false(record.mmap.is_data);
	assert_string_equal(record.mmap.path, "/usr/lib/libm.so.6");
}

static void
build_mmap2_with_build_id(struct record_builder *builder, uint8_t build_id_size)
{
	uint8_t build_id[4 + BUILD_ID_SIZE_MAX] = {build_id_size};

	for (uint8_t i = 0; i < BUILD_ID_SIZE_MAX; i++)
		build_id[4 + i] = (uint8_t)(0x10 + i);
	build_mmap2(builder, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID | PERF_RECORD_MISC_MMAP_DATA);
	build_bytes(builder, build_id, sizeof(build_id));
	build_u32(builder, PROT_READ);
	build_u32(builder, MAP_SHARED);
	build_text(builder, "/bin/true");
	build_trailer(builder, 42, 43, 2000, 9);
	build_end(builder);
}

static void
an_mmap_with_build_id_has_no_inode(void **state)
{
	static const uint8_t expected[16] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
	                                     0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};
	struct record_builder builder;
	struct record record;

	(void)state;
	build_mmap2_with_build_id(&builder, 16);
	record = decode(&sideband, &builder);
	assert_int_equal(record.mmap.build_id_size, 16);
	assert_memory_equal(record.mmap.build_id, expected, sizeof(expected));
	assert_int_equal(record.mmap.inode, 0);
	assert_int_equal(record.mmap.device_major, 0);
	assert_int_equal(record.mmap.protection, PROT_READ);
	assert_true(record.mmap.is_data);
	assert_string_equal(record.mmap.path, "/bin/true");
}

static void
a_build_id_longer_than_its_field_is_damaged(void **state)
{
	struct record_builder builder;

	(void)state;
	build_mmap2_with_build_id(&builder, BUILD_ID_SIZE_MAX);
	assert_int_equal(decode(&sideband, &builder).mmap.build_id_size, BUILD_ID_SIZE_MAX);
	build_mmap2_with_build_id(&builder, BUILD_ID_SIZE_MAX + 1);
	assert_damaged(&sideband, &builder, builder.size);
}

/* As linux 6.18 writes it for one listener, while another one asked for build-ids. */
static void
a_device_is_no_build_id_when_nobody_asked_for_one(void **state)
{
	struct record_layout layout = sideband;
	struct record_builder builder;
	struct record record;

	(void)state;
	layout.no_build_ids = true;
	build_mmap2(&builder, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	build_u32(&builder, 8);
	build_u32(&builder, 1);
	build_u64(&builder, 123456);
	build_u64(&builder, 77);
	build_u32(&builder, PROT_READ | PROT_EXEC);
	build_u32(&builder, MAP_PRIVATE);
	build_text(&builder, "/bin/true");
	build_trailer(&builder, 142, 143, 2000, 9);
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.mmap.build_id_size, 0);
	assert_int_equal(record.mmap.device_major, 8);
	assert_int_equal(record.mmap.inode, 123456);
}

/* perf inject puts them there. */
static void
a_build_id_of_a_linker_is_one_in_any_case(void **state)
{
	struct record_layout layout = sideband;
	struct record_builder builder;

	(void)state;
	layout.no_build_ids = true;
	build_mmap2_with_build_id(&builder, BUILD_ID_SIZE_MAX);
	assert_int_equal(decode(&layout, &builder).mmap.build_id_size, BUILD_ID_SIZE_MAX);
}

static void
the_old_mmap_record_is_executable_unless_marked_data(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	build_u32(&builder, UINT32_MAX);
	build_u32(&builder, 0);
	build_u64(&builder, 0xffffffff81000000);
	build_u64(&builder, 0x1000000);
	build_u64(&builder, 0xffffffff81000000);
	build_text(&builder, "[kernel.kallsyms]_text");
	build_end(&builder);
	record = decode(&(struct record_layout){.sample_type = PLAIN_SAMPLE}, &builder);
	assert_int_equal(record.type, RECORD_MMAP);
	assert_int_equal(record.pid, UINT32_MAX);
	assert_int_equal(record.tid, 0);
	assert_int_equal(record.mmap.start, 0xffffffff81000000);
	assert_int_equal(record.mmap.protection, PROT_READ | PROT_EXEC);
	assert_int_equal(record.mmap.inode, 0);
	assert_string_equal(record.mmap.path, "[kernel.kallsyms]_text");
}

static void
a_comm_says_whether_exec_set_it(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	build_u32(&builder, 42);
	build_u32(&builder, 42);
	build_text(&builder, "true");
	build_trailer(&builder, 42, 42, 3000, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_COMM);
	assert_true(record.comm.is_exec);
	assert_string_equal(record.comm.name, "true");
	assert_int_equal(record.time, 3000);

	builder.data[offsetof(struct perf_event_header, misc) + 1] = 0;
	assert_false(decode(&sideband, &builder).comm.is_exec);
}

static void
a_text_without_nul_in_the_body_is_damaged(void **state)
{
	struct record_builder builder;

	(void)state;
	build_begin(&builder, PERF_RECORD_COMM, 0);
	build_u32(&builder, 42);
	build_u32(&builder, 42);
	build_bytes(&builder, "no-end!!", 8);
	build_trailer(&builder, 0, 0, 0, 0); /* NULs, but behind the body */
	build_end(&builder);
	assert_damaged(&sideband, &builder, builder.size);
}

static void
build_task(struct record_builder *builder, uint32_t type)
{
	build_begin(builder, type, 0);
	build_u32(builder, 100); /* pid */
	build_u32(builder, 50);  /* parent's */
	build_u32(builder, 101); /* tid */
	build_u32(builder, 51);  /* parent's */
	build_u64(builder, 4000);
}

static void
fork_and_exit_name_both_tasks(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_task(&builder, PERF_RECORD_FORK);
	build_trailer(&builder, 50, 51, 3999, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_FORK);
	assert_int_equal(record.pid, 100);
	assert_int_equal(record.tid, 101);
	assert_int_equal(record.task.parent_pid, 50);
	assert_int_equal(record.time, 3999);

	build_task(&builder, PERF_RECORD_EXIT);
	build_trailer(&builder, 100, 101, 3999, 9);
	build_end(&builder);
	assert_int_equal(decode(&sideband, &builder).type, RECORD_EXIT);
}

static void
a_fork_without_trailer_has_the_time_of_its_body(void **state)
{
	struct record_builder builder;

	(void)state;
	build_task(&builder, PERF_RECORD_FORK);
	build_end(&builder);
	assert_int_equal(decode(&(struct record_layout){.sample_type = PLAIN_SAMPLE}, &builder).time, 4000);
}

static void
lost_records_are_counted_for_their_event(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_LOST, 0);
	build_u64(&builder, 31); /* id */
	build_u64(&builder, 12); /* lost */
	build_trailer(&builder, 42, 42, 5000, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_LOST);
	assert_int_equal(record.id, 31);
	assert_int_equal(record.lost.count, 12);
	assert_int_equal(record.time, 5000);
}

static void
lost_samples_take_their_event_from_the_trailer(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_LOST_SAMPLES, 0);
	build_u64(&builder, 12);
	build_trailer(&builder, 42, 42, 5000, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_LOST);
	assert_int_equal(record.id, 9);
	assert_int_equal(record.lost.count, 12);
}

static void
throttling_names_the_event_in_its_body(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_THROTTLE, 0);
	build_u64(&builder, 6000); /* time */
	build_u64(&builder, 31);   /* id */
	build_u64(&builder, 32);   /* stream id */
	build_end(&builder);
	record = decode(&(struct record_layout){.sample_type = PLAIN_SAMPLE}, &builder);
	assert_int_equal(record.type, RECORD_THROTTLE);
	assert_int_equal(record.id, 31);
	assert_int_equal(record.time, 6000);

	build_begin(&builder, PERF_RECORD_UNTHROTTLE, 0);
	build_u64(&builder, 6000);
	build_u64(&builder, 31);
	build_u64(&builder, 32);
	build_trailer(&builder, 42, 42, 6001, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_UNTHROTTLE);
	assert_int_equal(record.id, 31);
	assert_int_equal(record.time, 6001);
}

static void
build_ksymbol(struct record_builder *builder, uint32_t type_and_flags)
{
	build_begin(builder, PERF_RECORD_KSYMBOL, 0);
	build_u64(builder, 0xffffffffc0000000);
	build_u32(builder, 0x180);
	build_u32(builder, type_and_flags); /* two u16: the type, then the flags */
	build_text(builder, "bpf_prog_6deef7357e7b4530");
	build_trailer(builder, 42, 42, 7000, 9);
	build_end(builder);
}

static void
a_kernel_symbol_says_what_it_is_and_whether_it_goes(void **state)
{
	uint16_t bpf_gone[2] = {PERF_RECORD_KSYMBOL_TYPE_BPF, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER};
	uint16_t out_of_line[2] = {PERF_RECORD_KSYMBOL_TYPE_OOL, 0};
	struct record_builder builder;
	struct record record;
	uint32_t both;

	(void)state;
	memcpy(&both, bpf_gone, sizeof(both));
	build_ksymbol(&builder, both);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_KSYMBOL);
	assert_int_equal(record.ksymbol.address, 0xffffffffc0000000);
	assert_int_equal(record.ksymbol.length, 0x180);
	assert_true(record.ksymbol.is_unregister);
	assert_string_equal(record.ksymbol.name, "bpf_prog_6deef7357e7b4530");

	memcpy(&both, out_of_line, sizeof(both));
	build_ksymbol(&builder, both);
	record = decode(&sideband, &builder);
	assert_false(record.ksymbol.is_unregister);
}

static void
a_cgroup_has_id_and_path(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_CGROUP, 0);
	build_u64(&builder, 4321);
	build_text(&builder, "/system.slice/ssh.service");
	build_trailer(&builder, 42, 42, 8000, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_CGROUP);
	assert_int_equal(record.cgroup.id, 4321);
	assert_string_equal(record.cgroup.path, "/system.slice/ssh.service");
}

/* The id fields with a CPU: TID | TIME | CPU | IDENTIFIER. */
static const struct record_layout with_cpu = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	.sample_id_all = true,
};

static void
build_trailer_with_cpu(struct record_builder *builder, uint32_t pid, uint32_t tid, uint32_t cpu)
{
	build_u32(builder, pid);
	build_u32(builder, tid);
	build_u64(builder, 9000);
	build_u32(builder, cpu);
	build_u32(builder, 0);
	build_u64(builder, 9);
	build_end(builder);
}

static void
a_piece_of_an_auxiliary_area_has_its_place_and_its_thread(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_AUX, 0);
	build_u64(&builder, 0x1000);
	build_u64(&builder, 0x40);
	build_u64(&builder, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_COLLISION);
	build_trailer_with_cpu(&builder, 42, 43, 5);
	record = decode(&with_cpu, &builder);
	assert_int_equal(record.type, RECORD_AUX);
	assert_int_equal(record.aux.offset, 0x1000);
	assert_int_equal(record.aux.size, 0x40);
	assert_int_equal(record.aux.flags, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_COLLISION);
	assert_int_equal(record.aux.cpu, 5);
	assert_int_equal(record.tid, 43);
	assert_int_equal(record.time, 9000);
	assert_int_equal(record.id, 9);
}

static void
without_a_cpu_in_the_id_fields_it_is_not_known(void **state)
{
	struct record_builder builder;
	struct record record;

	(void)state;
	build_begin(&builder, PERF_RECORD_SWITCH, 0);
	build_trailer(&builder, 42, 43, 9000, 9);
	build_end(&builder);
	record = decode(&sideband, &builder);
	assert_int_equal(record.type, RECORD_RUNNING);
	assert_int_equal(record.tid, 43);
	assert_true(record.running.cpu == RECORD_NO_CPU);
}

/* Which thread runs after it, whatever thread the record is of. */
static void
a_switch_names_the_thread_that_runs_from_then_on(void **state)
{
	static const struct {
		uint32_t type;
		uint16_t misc;
		bool names_other;
		uint32_t tid;
	} known[] = {
		{PERF_RECORD_SWITCH, 0, false, 43},
		{PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, false, UINT32_MAX},
		{PERF_RECORD_SWITCH_CPU_WIDE, 0, true, 43},
		{PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, true, 51},
		{PERF_RECORD_ITRACE_START, 0, true, 51},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct record_builder builder;
		struct record record;

		build_begin(&builder, known[i].type, known[i].misc);
		if (known[i].names_other) {
			build_u32(&builder, 50);
			build_u32(&builder, 51);
		}
		build_trailer_with_cpu(&builder, 42, 43, 5);
		record = decode(&with_cpu, &builder);
		assert_int_equal(record.type, RECORD_RUNNING);
		assert_true(record.tid == known[i].tid);
		assert_true(record.pid == (known[i].tid == UINT32_MAX ? UINT32_MAX : known[i].tid - 1));
		assert_int_equal(record.running.cpu, 5);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_mmap_without_build_id_has_device_and_inode),
		cmocka_unit_test(an_mmap_with_build_id_has_no_inode),
		cmocka_unit_test(a_build_id_longer_than_its_field_is_damaged),
		cmocka_unit_test(a_device_is_no_build_id_when_nobody_asked_for_one),
		cmocka_unit_test(a_build_id_of_a_linker_is_one_in_any_case),
		cmocka_unit_test(the_old_mmap_record_is_executable_unless_marked_data),
		cmocka_unit_test(a_comm_says_whether_exec_set_it),
		cmocka_unit_test(a_text_without_nul_in_the_body_is_damaged),
		cmocka_unit_test(fork_and_exit_name_both_tasks),
		cmocka_unit_test(a_fork_without_trailer_has_the_time_of_its_body),
		cmocka_unit_test(lost_records_are_counted_for_their_event),
		cmocka_unit_test(lost_samples_take_their_event_from_the_trailer),
		cmocka_unit_test(throttling_names_the_event_in_its_body),
		cmocka_unit_test(a_kernel_symbol_says_what_it_is_and_whether_it_goes),
		cmocka_unit_test(a_cgroup_has_id_and_path),
		cmocka_unit_test(a_piece_of_an_auxiliary_area_has_its_place_and_its_thread),
		cmocka_unit_test(without_a_cpu_in_the_id_fields_it_is_not_known),
		cmocka_unit_test(a_switch_names_the_thread_that_runs_from_then_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
