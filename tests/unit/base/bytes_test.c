#include "tests/unit/test.h"

#include <string.h>

#include "base/bytes.h"

static void
numbers_come_back_as_they_were_written(void **state)
{
	static const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct byte_reader reader;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		write_varint(&writer, numbers[i]);
	reader_init(&reader, writer.data, writer.size);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(read_varint(&reader), numbers[i]);
	assert_false(reader.failed);
	assert_int_equal(reader_left(&reader), 0);
	writer_fini(&writer);
}

static void
a_varint_takes_seven_bits_a_byte(void **state)
{
	static const uint8_t expected[] = {0x7f, 0x80, 0x01, 0xac, 0x02};
	struct byte_writer writer = BYTE_WRITER_INIT;

	(void)state;
	write_varint(&writer, 127);
	write_varint(&writer, 128);
	write_varint(&writer, 300);
	assert_int_equal(writer.size, sizeof(expected));
	assert_memory_equal(writer.data, expected, sizeof(expected));
	writer_fini(&writer);
}

static void
a_varint_past_64_bits_fails(void **state)
{
	static const uint8_t too_big[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
	static const uint8_t too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
	struct byte_reader reader;

	(void)state;
	reader_init(&reader, too_big, sizeof(too_big));
	assert_int_equal(read_varint(&reader), 0);
	assert_true(reader.failed);
	reader_init(&reader, too_long, sizeof(too_long));
	assert_int_equal(read_varint(&reader), 0);
	assert_true(reader.failed);
}

static void
a_read_past_the_end_fails_and_stays_failed(void **state)
{
	static const uint8_t data[] = {1, 2, 3};
	struct byte_reader reader;

	(void)state;
	reader_init(&reader, data, sizeof(data));
	assert_int_equal(read_u16_be(&reader), 0x0102);
	assert_int_equal(read_u16_be(&reader), 0);
	assert_true(reader.failed);
	assert_int_equal(read_u8(&reader), 0);
	assert_null(read_bytes(&reader, 0));
	assert_int_equal(reader_left(&reader), 0);
}

static void
strings_come_back_or_fail_whole(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct byte_reader reader;
	char text[8];

	(void)state;
	write_string(&writer, "gzip");
	reader_init(&reader, writer.data, writer.size);
	read_string(&reader, text, sizeof(text));
	assert_string_equal(text, "gzip");
	assert_false(reader.failed);

	reader_init(&reader, writer.data, writer.size);
	read_string(&reader, text, 4); /* no room for the NUL */
	assert_true(reader.failed);
	assert_string_equal(text, "");

	writer.data[2] = '\0';
	reader_init(&reader, writer.data, writer.size);
	read_string(&reader, text, sizeof(text));
	assert_true(reader.failed);
	assert_string_equal(text, "");
	writer_fini(&writer);
}

/* The examples of DWARF 5, table 7.8. */
static void
a_signed_leb128_is_extended_from_its_last_byte(void **state)
{
	static const struct {
		uint8_t bytes[10];
		size_t size;
		int64_t value;
	} examples[] = {
		{{0x02}, 1, 2},          {{0x7e}, 1, -2},
		{{0xff, 0x00}, 2, 127},  {{0x81, 0x7f}, 2, -127},
		{{0x80, 0x01}, 2, 128},  {{0x80, 0x7f}, 2, -128},
		{{0xff, 0x7e}, 2, -129}, {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 10, INT64_MIN},
	};
	struct byte_reader reader;

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		reader_init(&reader, examples[i].bytes, examples[i].size);
		assert_true(read_sleb(&reader) == examples[i].value);
		assert_false(reader.failed);
		assert_int_equal(reader_left(&reader), 0);
		reader_init(&reader, examples[i].bytes, examples[i].size - 1);
		read_sleb(&reader);
		assert_true(reader.failed);
	}
}

static void
zigzag_makes_small_numbers_of_small_distances(void **state)
{
	(void)state;
	assert_int_equal(zigzag(0), 0);
	assert_int_equal(zigzag((uint64_t)-1), 1);
	assert_int_equal(zigzag(1), 2);
	assert_int_equal(zigzag((uint64_t)-2), 3);
	assert_true(unzigzag(zigzag(UINT64_C(1) << 63)) == UINT64_C(1) << 63);
	assert_true(unzigzag(3) == (uint64_t)-2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back_as_they_were_written),
		cmocka_unit_test(a_signed_leb128_is_extended_from_its_last_byte),
		cmocka_unit_test(zigzag_makes_small_numbers_of_small_distances),
		cmocka_unit_test(a_varint_takes_seven_bits_a_byte),
		cmocka_unit_test(a_varint_past_64_bits_fails),
		cmocka_unit_test(a_read_past_the_end_fails_and_stays_failed),
		cmocka_unit_test(strings_come_back_or_fail_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
