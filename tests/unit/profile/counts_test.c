#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/counts.h"

static void
a_key_is_its_numbers_in_big_endian_order(void **state)
{
	static const uint8_t expected[COUNTS_KEY_SIZE] = {0, 0, 0, 7, 0, 1, 0, 0, 1, 2, 0, 0, 0, 9, 0xff, 0, 0, 1};
	const struct counts_key key = {.slice = 7, .event = 1, .image = 0x102, .context = 9, .block = 0xff000001};
	uint8_t data[COUNTS_KEY_SIZE];
	struct counts_key back;

	(void)state;
	counts_key_encode(&key, data);
	assert_memory_equal(data, expected, sizeof(expected));
	assert_int_equal(counts_key_decode(data, sizeof(data), &back), 0);
	assert_int_equal(back.slice, 7);
	assert_int_equal(back.event, 1);
	assert_int_equal(back.image, 0x102);
	assert_int_equal(back.context, 9);
	assert_int_equal(back.block, 0xff000001);
}

static void
a_key_of_another_size_is_refused(void **state)
{
	uint8_t data[COUNTS_KEY_SIZE + 1] = {0};
	struct counts_key key;

	(void)state;
	assert_int_equal(counts_key_decode(data, COUNTS_KEY_SIZE - 1, &key), -DCPI_EDAMAGED);
	assert_int_equal(counts_key_decode(data, COUNTS_KEY_SIZE + 1, &key), -DCPI_EDAMAGED);
}

static void
a_block_is_a_format_byte_and_distance_count_pairs(void **state)
{
	static const struct counts_pair pairs[] = {{0, 1}, {4, 300}, {4095, UINT64_MAX}};
	static const uint8_t expected[] = {1,    0,    1,    4,    0xac, 0x02, 0xfb, 0x1f, 0xff,
	                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct counts_pair back[COUNTS_BLOCK_SIZE];

	(void)state;
	counts_encode(pairs, 3, &writer);
	assert_int_equal(writer.size, sizeof(expected));
	assert_memory_equal(writer.data, expected, sizeof(expected));
	assert_int_equal(counts_decode(writer.data, writer.size, back), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(back[i].offset, pairs[i].offset);
		assert_true(back[i].count == pairs[i].count);
	}
	writer_fini(&writer);
}

static void
a_full_block_comes_back(void **state)
{
	struct counts_pair *pairs = calloc(COUNTS_BLOCK_SIZE, sizeof(*pairs));
	struct counts_pair *back = calloc(COUNTS_BLOCK_SIZE, sizeof(*back));
	struct byte_writer writer = BYTE_WRITER_INIT;

	(void)state;
	for (size_t i = 0; i < COUNTS_BLOCK_SIZE; i++) {
		pairs[i].offset = (uint16_t)i;
		pairs[i].count = i * i + 1;
	}
	counts_encode(pairs, COUNTS_BLOCK_SIZE, &writer);
	assert_int_equal(counts_decode(writer.data, writer.size, back), COUNTS_BLOCK_SIZE);
	for (size_t i = 0; i < COUNTS_BLOCK_SIZE; i++) {
		assert_int_equal(back[i].offset, i);
		assert_int_equal(back[i].count, i * i + 1);
	}
	writer_fini(&writer);
	free(pairs);
	free(back);
}

static void
assert_refused(const void *data, size_t size)
{
	struct counts_pair *pairs = calloc(COUNTS_BLOCK_SIZE, sizeof(*pairs));
	void *copy = malloc(size ? size : 1); /* of its exact size, for the sanitizer */

	memcpy(copy, data, size);
	assert_int_equal(counts_decode(copy, size, pairs), -DCPI_EDAMAGED);
	free(copy);
	free(pairs);
}

static void
what_is_no_block_is_refused(void **state)
{
	(void)state;
	assert_refused("", 0);
	assert_refused("\1", 1);                   /* no pair */
	assert_refused("\2\0\1", 3);               /* another format */
	assert_refused("\1\4", 2);                 /* a distance without a count */
	assert_refused("\1\4\0", 3);               /* a count of nothing */
	assert_refused("\1\4\1\0\1", 5);           /* an offset twice */
	assert_refused("\1\x80\x20\1", 4);         /* 4096 is not inside the block */
	assert_refused("\1\x80\x1f\1\x80\1\1", 7); /* 3968 + 128, too */
	assert_refused("\1\4\x80", 3);             /* a count that is cut */
}

static void
merging_adds_what_both_have_and_keeps_the_rest(void **state)
{
	static const struct counts_pair a[] = {{1, 10}, {5, 1}, {9, 2}};
	static const struct counts_pair b[] = {{0, 3}, {5, 4}, {10, 5}, {11, 6}};
	static const struct counts_pair expected[] = {{0, 3}, {1, 10}, {5, 5}, {9, 2}, {10, 5}, {11, 6}};
	struct counts_pair sum[COUNTS_BLOCK_SIZE];

	(void)state;
	assert_int_equal(counts_merge(a, 3, b, 4, sum), 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(sum[i].offset, expected[i].offset);
		assert_int_equal(sum[i].count, expected[i].count);
	}
	assert_int_equal(counts_merge(a, 0, b, 4, sum), 4);
	assert_int_equal(counts_merge(a, 3, b, 0, sum), 3);
}

static void
a_count_stays_at_its_maximum(void **state)
{
	static const struct counts_pair a = {1, UINT64_MAX - 1}, b = {1, 2};
	struct counts_pair sum;

	(void)state;
	assert_int_equal(counts_merge(&a, 1, &b, 1, &sum), 1);
	assert_true(sum.count == UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_its_numbers_in_big_endian_order),
		cmocka_unit_test(a_key_of_another_size_is_refused),
		cmocka_unit_test(a_block_is_a_format_byte_and_distance_count_pairs),
		cmocka_unit_test(a_full_block_comes_back),
		cmocka_unit_test(what_is_no_block_is_refused),
		cmocka_unit_test(merging_adds_what_both_have_and_keeps_the_rest),
		cmocka_unit_test(a_count_stays_at_its_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
