#include "tests/unit/process/fake.h"

#include <errno.h>
#include <sys/mman.h>

#include "process/lines.h"

static struct line_reader *
reader_of(void **state, const char *text, size_t size)
{
	struct line_reader *reader = *state;
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	lines_init(reader, fd);
	return reader;
}

static int
setup(void **state)
{
	*state = malloc(sizeof(struct line_reader));
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	close(((struct line_reader *)*state)->fd);
	free(*state);
	return 0;
}

static void
each_line_is_given_without_its_newline(void **state)
{
	struct line_reader *reader = reader_of(state, "one\n\ntwo\nlast", 13);
	char *line;

	assert_int_equal(lines_next(reader, &line), 1);
	assert_string_equal(line, "one");
	assert_int_equal(lines_next(reader, &line), 1);
	assert_string_equal(line, "");
	assert_int_equal(lines_next(reader, &line), 1);
	assert_string_equal(line, "two");
	assert_int_equal(lines_next(reader, &line), 1);
	assert_string_equal(line, "last");
	assert_int_equal(lines_next(reader, &line), 0);
	assert_int_equal(lines_next(reader, &line), 0);
}

static void
lines_meet_the_end_of_the_buffer_whole(void **state)
{
	size_t size = 0, capacity = 400000;
	char *text = malloc(capacity), expected[64], *line;
	struct line_reader *reader;
	unsigned count = 0;

	while (size + 64 < capacity)
		size += (size_t)snprintf(text + size, capacity - size, "line %u of many\n", count++);
	reader = reader_of(state, text, size);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(lines_next(reader, &line), 1);
		snprintf(expected, sizeof(expected), "line %u of many", i);
		assert_string_equal(line, expected);
	}
	assert_int_equal(lines_next(reader, &line), 0);
	free(text);
}

static void
a_line_too_long_is_left_out_whole(void **state)
{
	size_t size = 3 * LINES_BUFFER_SIZE;
	char *text = malloc(size + 16), *line;
	struct line_reader *reader;

	memcpy(text, "before\n", 7);
	memset(text + 7, 'x', size - 7);
	memcpy(text + size, "\nafter\n", 7);
	reader = reader_of(state, text, size + 7);
	assert_int_equal(lines_next(reader, &line), 1);
	assert_string_equal(line, "before");
	assert_int_equal(lines_next(reader, &line), 1);
	assert_string_equal(line, "after");
	assert_int_equal(lines_next(reader, &line), 0);
	free(text);
}

static void
an_error_of_reading_is_given(void **state)
{
	struct line_reader *reader = *state;
	char *line;

	lines_init(reader, open("/", O_RDONLY | O_CLOEXEC));
	assert_int_equal(lines_next(reader, &line), -EISDIR);
}

static void
numbers_are_read_up_to_64_bits(void **state)
{
	const char *at = "fFfFffffffffffff-1";
	uint64_t value;

	(void)state;
	assert_true(parse_hex(&at, &value));
	assert_true(value == UINT64_MAX);
	assert_string_equal(at, "-1");
	assert_false(parse_hex(&at, &value));
	at = "10000000000000000";
	assert_false(parse_hex(&at, &value));
	at = "18446744073709551615 ";
	assert_true(parse_decimal(&at, &value));
	assert_true(value == UINT64_MAX);
	at = "18446744073709551616";
	assert_false(parse_decimal(&at, &value));
	at = "a";
	assert_false(parse_decimal(&at, &value));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_line_is_given_without_its_newline, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_meet_the_end_of_the_buffer_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_too_long_is_left_out_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(an_error_of_reading_is_given, setup, teardown),
		cmocka_unit_test(numbers_are_read_up_to_64_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
