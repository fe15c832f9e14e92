#include "tests/unit/stream/decoded.h"

static void
begin_sample(struct record_builder *builder)
{
	build_begin(builder, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	build_u64(builder, 0x401234);
}

static void
build_branch(struct record_builder *builder, uint64_t from, uint64_t to)
{
	build_u64(builder, from);
	build_u64(builder, to);
	build_u64(builder, 1); /* mispredicted */
}

static struct perf_branch_entry
branch(const struct record *record, unsigned index)
{
	struct perf_branch_entry entry;

	memcpy(&entry, record->sample.branches + index * sizeof(entry), sizeof(entry));
	return entry;
}

static void
branches_are_found_behind_counts_a_call_chain_and_raw_bytes(void **state)
{
	struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
	                       PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_CGROUP,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID,
		.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
	};
	struct record_builder builder;
	struct record record;
	uint64_t chain[2];

	(void)state;
	begin_sample(&builder);
	build_u64(&builder, 1003); /* period */
	build_u64(&builder, 2);    /* counts: events of the group */
	build_u64(&builder, 5000); /* time enabled */
	build_u64(&builder, 11);   /* value, id */
	build_u64(&builder, 1);
	build_u64(&builder, 12);
	build_u64(&builder, 2);
	build_u64(&builder, 2); /* call chain */
	build_u64(&builder, 0x401234);
	build_u64(&builder, 0x401000);
	build_u32(&builder, 12); /* raw */
	build_bytes(&builder, "raw bytes...", 12);
	build_u64(&builder, 2); /* branches */
	build_u64(&builder, 0); /* index */
	build_branch(&builder, 0x401230, 0x401200);
	build_branch(&builder, 0x401100, 0x401220);
	build_u64(&builder, 77); /* weight */
	build_u64(&builder, 99); /* cgroup */
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.sample.address, 0x401234);
	assert_int_equal(record.sample.period, 1003);
	assert_int_equal(record.sample.count, 0); /* of a group */
	assert_int_equal(record.sample.call_chain_count, 2);
	memcpy(chain, record.sample.call_chain, sizeof(chain));
	assert_int_equal(chain[0], 0x401234);
	assert_int_equal(chain[1], 0x401000);
	assert_int_equal(record.sample.branch_count, 2);
	assert_int_equal(branch(&record, 0).from, 0x401230);
	assert_int_equal(branch(&record, 0).to, 0x401200);
	assert_int_equal(branch(&record, 1).from, 0x401100);
	assert_int_equal(record.sample.weight, 77);
	assert_int_equal(record.sample.cgroup, 99);
}

static void
data_addresses_their_weights_and_sources_are_read(void **state)
{
	struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
	                       PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
	                       PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP,
	};
	struct record_builder builder;
	struct record record;

	(void)state;
	begin_sample(&builder);
	build_u64(&builder, 0x7f0000001040); /* data address */
	build_u64(&builder, 5);              /* stream */
	build_u32(&builder, 3);              /* cpu */
	build_u32(&builder, 0xffffffff);
	build_u32(&builder, 249); /* weight: latency, of the instruction, of a stage */
	build_u32(&builder, 0x00070011);
	build_u64(&builder, 0x1234567890); /* data source */
	build_u64(&builder, 1);            /* transaction */
	build_u64(&builder, 0x99040);      /* physical address */
	build_u64(&builder, 77);           /* cgroup */
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.sample.data_address, 0x7f0000001040);
	assert_int_equal(record.sample.cpu, 3);
	assert_int_equal(record.sample.weight, 249);
	assert_int_equal(record.sample.data_source, 0x1234567890);
	assert_int_equal(record.sample.cgroup, 77);
}

static void
a_weight_is_read_before_registers_of_the_kernel(void **state)
{
	struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR,
	};
	struct record_builder builder;
	struct record record;

	(void)state;
	begin_sample(&builder);
	build_u64(&builder, 0x100000011); /* weight: all of it */
	build_u64(&builder, 7);           /* data source */
	build_u64(&builder, 2);           /* registers: of 64 bits */
	build_u64(&builder, 0);
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.sample.weight, 0x100000011);
	assert_int_equal(record.sample.data_source, 7);
}

static void
counts_of_one_event_come_without_a_number_of_them(void **state)
{
	struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK,
		.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | PERF_FORMAT_LOST,
	};
	struct record_builder builder;
	struct record record;

	(void)state;
	begin_sample(&builder);
	build_u64(&builder, 11);   /* value */
	build_u64(&builder, 5000); /* time running */
	build_u64(&builder, 77);   /* id */
	build_u64(&builder, 3);    /* lost */
	build_u64(&builder, 1);
	build_branch(&builder, 0x401230, 0x401200);
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.sample.count, 11);
	assert_int_equal(record.id, 77);
	assert_int_equal(record.sample.branch_count, 1);
	assert_int_equal(branch(&record, 0).to, 0x401200);
	assert_null(record.sample.call_chain);
	assert_int_equal(record.sample.call_chain_count, 0);
}

static void
lengths_that_leave_the_sample_are_damage(void **state)
{
	static const uint64_t fields[] = {PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW, PERF_SAMPLE_BRANCH_STACK,
	                                  PERF_SAMPLE_READ};
	static const uint64_t lengths[] = {0x100, 0x2000000000000100, UINT64_MAX};
	struct record_builder builder;

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			struct record_layout layout = {
				.sample_type = PERF_SAMPLE_IP | fields[i],
				.read_format = PERF_FORMAT_GROUP,
			};

			begin_sample(&builder);
			build_u64(&builder, lengths[j]);
			build_u64(&builder, 1);
			build_end(&builder);
			assert_damaged(&layout, &builder, builder.size);
		}
}

static void
what_follows_registers_is_passed_over(void **state)
{
	struct record_layout layout = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_CGROUP};
	struct record_builder builder;
	struct record record;

	(void)state;
	begin_sample(&builder);
	build_u64(&builder, 0);  /* no registers */
	build_u64(&builder, 99); /* cgroup */
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.sample.address, 0x401234);
	assert_int_equal(record.sample.cgroup, 0);
}

/* A sample as dcpid requests those of stacks: the stack's copy is shorter than its room. */
static void
registers_and_the_copy_of_the_stack_are_found(void **state)
{
	const struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
	                       PERF_SAMPLE_CGROUP,
		.sample_regs_user = 0x1c0, /* three */
	};
	struct record_builder builder;
	struct record record;
	uint64_t registers[3];

	(void)state;
	begin_sample(&builder);
	build_u64(&builder, 0); /* call chain */
	build_u64(&builder, PERF_SAMPLE_REGS_ABI_64);
	build_u64(&builder, 0xb);
	build_u64(&builder, 0x7fff0000);
	build_u64(&builder, 0x401234);
	build_u64(&builder, 16); /* the stack's room */
	build_bytes(&builder, "12345678........", 16);
	build_u64(&builder, 8);  /* its size */
	build_u64(&builder, 99); /* cgroup */
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_int_equal(record.sample.call_chain_count, 0);
	assert_int_equal(record.sample.register_count, 3);
	assert_false(record.sample.is_32_bit);
	memcpy(registers, record.sample.registers, sizeof(registers));
	assert_int_equal(registers[1], 0x7fff0000);
	assert_int_equal(registers[2], 0x401234);
	assert_int_equal(record.sample.stack_size, 8);
	assert_memory_equal(record.sample.stack, "12345678", 8);
	assert_int_equal(record.sample.cgroup, 99);
}

/* A thread of the kernel has no user mode. */
static void
a_sample_without_user_mode_has_neither_registers_nor_stack(void **state)
{
	const struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CGROUP,
		.sample_regs_user = 0x1c0,
	};
	struct record_builder builder;
	struct record record;

	(void)state;
	begin_sample(&builder);
	build_u64(&builder, PERF_SAMPLE_REGS_ABI_NONE);
	build_u64(&builder, 0); /* no room */
	build_u64(&builder, 99);
	build_end(&builder);
	record = decode(&layout, &builder);
	assert_null(record.sample.registers);
	assert_null(record.sample.stack);
	assert_int_equal(record.sample.stack_size, 0);
	assert_int_equal(record.sample.cgroup, 99);
}

static void
stacks_that_leave_the_sample_are_damage(void **state)
{
	static const uint64_t sizes[][2] = {{8, 9}, {0x100, 8}, {UINT64_MAX, 8}, {8, UINT64_MAX}};
	const struct record_layout layout = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 1,
	};
	struct record_builder builder;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin_sample(&builder);
		build_u64(&builder, PERF_SAMPLE_REGS_ABI_64);
		build_u64(&builder, 1);
		build_u64(&builder, sizes[i][0]);
		build_u64(&builder, 2);
		build_u64(&builder, sizes[i][1]);
		build_end(&builder);
		assert_damaged(&layout, &builder, builder.size);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_are_found_behind_counts_a_call_chain_and_raw_bytes),
		cmocka_unit_test(data_addresses_their_weights_and_sources_are_read),
		cmocka_unit_test(a_weight_is_read_before_registers_of_the_kernel),
		cmocka_unit_test(counts_of_one_event_come_without_a_number_of_them),
		cmocka_unit_test(lengths_that_leave_the_sample_are_damage),
		cmocka_unit_test(what_follows_registers_is_passed_over),
		cmocka_unit_test(registers_and_the_copy_of_the_stack_are_found),
		cmocka_unit_test(a_sample_without_user_mode_has_neither_registers_nor_stack),
		cmocka_unit_test(stacks_that_leave_the_sample_are_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
