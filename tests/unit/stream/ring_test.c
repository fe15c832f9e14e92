#include "tests/unit/test.h"

#include <errno.h>

#include "stream/ring.h"
#include "tests/unit/stream/fake_ring.h"

static const struct record_layout plain = {.sample_type = PLAIN_SAMPLE, .sample_id_all = false};

static void
an_empty_ring_has_nothing_to_show(void **state)
{
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 0);
	assert_int_equal(ring_used(fake.ring), 0);
	assert_int_equal(ring_size(fake.ring), fake.size);
	fake_ring_fini(&fake);
}

static void
records_come_in_the_order_they_were_written(void **state)
{
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	fake_ring_sample(&fake, 0x10, 100);
	fake_ring_sample(&fake, 0x20, 200);
	assert_int_equal(ring_used(fake.ring), 80);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
		assert_int_equal(record.sample.address, 0x10 * i);
		assert_int_equal(record.time, 100 * i);
		ring_consume(fake.ring);
	}
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 0);
	fake_ring_fini(&fake);
}

/* Samples of another counter, and records of another type, are not counted; consumed ones are not, either. */
static void
samples_of_a_counter_that_wait_are_counted(void **state)
{
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, UINT64_MAX - 100); /* wraps, and so do the records */
	assert_int_equal(ring_count(fake.ring, 7), 0);
	fake_ring_sample(&fake, 0x10, 100);
	fake_ring_comm(&fake, "cat");
	for (uint64_t i = 0; i < 10; i++)
		fake_ring_sample(&fake, 0x20, 200);
	assert_int_equal(ring_count(fake.ring, 7), 11);
	assert_int_equal(ring_count(fake.ring, 8), 0);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	ring_consume(fake.ring);
	assert_int_equal(ring_count(fake.ring, 7), 10);
	fake_ring_fini(&fake);
}

static void
write_mapping(struct fake_ring *fake, uint64_t inode)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t address, length, file_offset;
		uint32_t major, minor;
		uint64_t inode, inode_generation;
		uint32_t protection, flags;
		char path[16];
	} mapping = {
		.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(mapping)},
		.pid = 11,
		.address = 0x400000,
		.length = 0x1000,
		.major = 8,
		.minor = 1,
		.inode = inode,
		.inode_generation = 5,
		.path = "/bin/cat",
	};

	fake_ring_write(fake, &mapping, sizeof(mapping));
}

/* Each once, whether it waits or was consumed; it stays for ring_peek(). */
static void
files_of_mappings_are_found_once(void **state)
{
	struct fake_ring fake;
	struct ring_file file;
	struct record record;

	(void)state;
	fake_ring_init(&fake, UINT64_MAX - 100); /* wraps, and so do the records */
	assert_false(ring_next_file(fake.ring, &file));
	fake_ring_comm(&fake, "cat");
	write_mapping(&fake, 71);
	fake_ring_sample(&fake, 0x10, 100);
	write_mapping(&fake, 72);
	assert_true(ring_next_file(fake.ring, &file));
	assert_int_equal(file.inode, 71);
	assert_int_equal(file.inode_generation, 5);
	assert_int_equal(file.device, (uint64_t)1 << 32 | 8);
	assert_true(ring_next_file(fake.ring, &file));
	assert_int_equal(file.inode, 72);
	assert_false(ring_next_file(fake.ring, &file));
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
		ring_consume(fake.ring);
	}
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 0);

	write_mapping(&fake, 73);
	write_mapping(&fake, 74);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	ring_consume(fake.ring);
	assert_true(ring_next_file(fake.ring, &file)); /* what was consumed is not found any more */
	assert_int_equal(file.inode, 74);
	assert_false(ring_next_file(fake.ring, &file));
	fake_ring_fini(&fake);
}

/* A size of 0 must not be looked at for ever, one that is too large not be believed. */
static void
records_behind_a_damaged_one_are_not_counted(void **state)
{
	static const uint16_t sizes[] = {0, 7, 12, 4096};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perf_event_header damaged = {.type = PERF_RECORD_SAMPLE, .size = sizes[i]};
		struct fake_ring fake;
		struct ring_file file;

		fake_ring_init(&fake, 0);
		fake_ring_sample(&fake, 0x10, 100);
		fake_ring_write(&fake, &damaged, sizeof(damaged));
		fake_ring_sample(&fake, 0x20, 200);
		assert_int_equal(ring_count(fake.ring, 7), 1);
		write_mapping(&fake, 71);
		assert_false(ring_next_file(fake.ring, &file));
		fake_ring_fini(&fake);
	}
}

static void
a_record_stays_until_it_is_consumed(void **state)
{
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	fake_ring_sample(&fake, 0x10, 100);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	assert_int_equal(record.time, 100);
	assert_int_equal(ring_used(fake.ring), 40);
	fake_ring_fini(&fake);
}

static void
consuming_without_a_record_moves_nothing(void **state)
{
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	fake_ring_sample(&fake, 0x10, 100);
	ring_consume(fake.ring);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	ring_consume(fake.ring);
	ring_consume(fake.ring);
	assert_int_equal(ring_used(fake.ring), 0);
	fake_ring_fini(&fake);
}

static void
the_kernel_gets_space_back_only_when_published(void **state)
{
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	fake_ring_sample(&fake, 0x10, 100);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	ring_consume(fake.ring);
	assert_int_equal(fake.header->data_tail, 0);
	ring_publish(fake.ring);
	assert_int_equal(fake.header->data_tail, 40);
	fake_ring_fini(&fake);
}

/* At every position around the end of the ring, its header split or not. */
static void
a_record_that_wraps_is_read_in_one_piece(void **state)
{
	(void)state;
	for (uint64_t before_end = 0; before_end <= 48; before_end += 4) {
		struct fake_ring fake;
		struct record record;

		fake_ring_init(&fake, (uint64_t)sysconf(_SC_PAGESIZE) * 3 - before_end);
		fake_ring_comm(&fake, "a-name-to-wrap"); /* 32 bytes */
		fake_ring_sample(&fake, 0x20, 200);
		assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
		assert_int_equal(record.type, RECORD_COMM);
		assert_string_equal(record.comm.name, "a-name-to-wrap");
		ring_consume(fake.ring);
		assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
		assert_int_equal(record.sample.address, 0x20);
		assert_int_equal(ring_take_skipped(fake.ring), 0);
		fake_ring_fini(&fake);
	}
}

static void
a_ring_full_to_the_last_byte_is_read_whole(void **state)
{
	struct fake_ring fake;
	struct record record;
	size_t count = 0;

	(void)state;
	fake_ring_init(&fake, UINT64_MAX - 1000 + 1); /* positions are counted past 2^64 and around */
	for (size_t i = 0; i < fake.size / 32; i++)
		fake_ring_comm(&fake, "a-name-to-wrap");
	assert_int_equal(ring_used(fake.ring), fake.size);
	while (ring_peek(fake.ring, &plain, &record)) {
		assert_string_equal(record.comm.name, "a-name-to-wrap");
		ring_consume(fake.ring);
		count++;
	}
	assert_int_equal(count, fake.size / 32);
	assert_int_equal(ring_take_skipped(fake.ring), 0);
	fake_ring_fini(&fake);
}

static void
a_damaged_record_is_skipped_and_counted(void **state)
{
	struct record_builder builder;
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	build_begin(&builder, PERF_RECORD_SAMPLE, 0); /* without its fields */
	build_end(&builder);
	fake_ring_write(&fake, builder.data, builder.size);
	fake_ring_sample(&fake, 0x20, 200);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	assert_int_equal(record.sample.address, 0x20);
	assert_int_equal(ring_take_skipped(fake.ring), 1);
	assert_int_equal(ring_take_skipped(fake.ring), 0);
	fake_ring_fini(&fake);
}

static void
what_cannot_be_followed_is_given_up_up_to_the_head(void **state)
{
	static const uint8_t no_size[16] = {PERF_RECORD_SAMPLE};
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	fake_ring_write(&fake, no_size, sizeof(no_size));
	fake_ring_sample(&fake, 0x20, 200);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 0);
	assert_int_equal(ring_take_skipped(fake.ring), 1);
	fake_ring_sample(&fake, 0x30, 300);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 1);
	assert_int_equal(record.sample.address, 0x30);
	fake_ring_fini(&fake);
}

static void
a_record_that_claims_more_than_was_written_is_given_up(void **state)
{
	struct record_builder builder;
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	build_sample(&builder, 7, 0x10, 42, 100);
	builder.data[offsetof(struct perf_event_header, size)] = 48;
	fake_ring_write(&fake, builder.data, builder.size);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 0);
	assert_int_equal(ring_take_skipped(fake.ring), 1);
	assert_int_equal(ring_used(fake.ring), 0);
	fake_ring_fini(&fake);
}

static void
a_head_further_than_the_ring_is_long_is_not_believed(void **state)
{
	struct fake_ring fake;
	struct record record;

	(void)state;
	fake_ring_init(&fake, 0);
	fake.header->data_head = 2 * fake.size;
	assert_int_equal(ring_used(fake.ring), fake.size);
	assert_int_equal(ring_peek(fake.ring, &plain, &record), 0);
	assert_int_equal(ring_take_skipped(fake.ring), 1);
	fake_ring_fini(&fake);
}

static void
page_counts_that_are_no_power_of_two_are_refused(void **state)
{
	static const size_t wrong[] = {0, 3, 6, SIZE_MAX, SIZE_MAX / 2 + 1};
	uint64_t memory[1];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		assert_null(ring_over(memory, wrong[i]));
		assert_int_equal(errno, EINVAL);
		errno = 0;
		assert_null(ring_new(-1, wrong[i]));
		assert_int_equal(errno, EINVAL);
	}
}

static void
a_descriptor_that_is_no_event_is_refused(void **state)
{
	(void)state;
	assert_null(ring_new(-1, 1));
	assert_int_equal(errno, EBADF);
}

static void
a_piece_of_an_auxiliary_area_may_lie_around_its_end(void **state)
{
	struct fake_ring fake;
	char area[16] = "efghijklmnopabcd", bytes[8];

	(void)state;
	fake_ring_init(&fake, 0);
	assert_int_equal(ring_aux_size(fake.ring), 0);
	ring_over_aux(fake.ring, area, sizeof(area));
	assert_int_equal(ring_aux_size(fake.ring), 16);
	ring_copy_aux(fake.ring, 16 + 12, 8, bytes);
	assert_memory_equal(bytes, "abcdefgh", 8);
	ring_copy_aux(fake.ring, 4, 8, bytes);
	assert_memory_equal(bytes, "ijklmnop", 8);
	ring_publish_aux(fake.ring, 36);
	assert_int_equal(fake.header->aux_tail, 36);
	fake_ring_fini(&fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_ring_has_nothing_to_show),
		cmocka_unit_test(records_come_in_the_order_they_were_written),
		cmocka_unit_test(samples_of_a_counter_that_wait_are_counted),
		cmocka_unit_test(records_behind_a_damaged_one_are_not_counted),
		cmocka_unit_test(files_of_mappings_are_found_once),
		cmocka_unit_test(a_record_stays_until_it_is_consumed),
		cmocka_unit_test(consuming_without_a_record_moves_nothing),
		cmocka_unit_test(the_kernel_gets_space_back_only_when_published),
		cmocka_unit_test(a_record_that_wraps_is_read_in_one_piece),
		cmocka_unit_test(a_ring_full_to_the_last_byte_is_read_whole),
		cmocka_unit_test(a_damaged_record_is_skipped_and_counted),
		cmocka_unit_test(what_cannot_be_followed_is_given_up_up_to_the_head),
		cmocka_unit_test(a_record_that_claims_more_than_was_written_is_given_up),
		cmocka_unit_test(a_head_further_than_the_ring_is_long_is_not_believed),
		cmocka_unit_test(page_counts_that_are_no_power_of_two_are_refused),
		cmocka_unit_test(a_descriptor_that_is_no_event_is_refused),
		cmocka_unit_test(a_piece_of_an_auxiliary_area_may_lie_around_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
