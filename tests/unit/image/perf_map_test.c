#include "tests/unit/image/jitdump_file.h"

#include "image/perf_map.h"

static struct run_time_code *
read_bytes_of(const void *text, size_t size)
{
	struct run_time_code *code = run_time_code_new();
	int fd = file_of(text, size);

	assert_non_null(code);
	assert_int_equal(perf_map_read(fd, code), 0);
	run_time_code_finish(code, 0);
	close(fd);
	return code;
}

static struct run_time_code *
read_text(const char *text)
{
	return read_bytes_of(text, strlen(text));
}

static void
assert_function(const struct run_time_code *code, size_t index, uint64_t address, uint64_t size, const char *name)
{
	const struct run_time_function *function = run_time_code_at(code, index);

	assert_int_equal(function->address, address);
	assert_int_equal(function->size, size);
	assert_string_equal(function->name, name);
	assert_true(function->code_at == RUN_TIME_NO_CODE);
}

/* Lines that node 20 wrote. */
static void
a_line_is_an_address_a_size_and_a_name_with_spaces(void **state)
{
	struct run_time_code *code = read_text("1ec22c28b17e 2a JS:~fib /tmp/f.js:1:13\n"
	                                       "7ff1077c5b80 180 JS:*fib /tmp/f.js:1:13\n");

	(void)state;
	assert_int_equal(run_time_code_count(code), 2);
	assert_function(code, 0, 0x1ec22c28b17e, 0x2a, "JS:~fib /tmp/f.js:1:13");
	assert_function(code, 1, 0x7ff1077c5b80, 0x180, "JS:*fib /tmp/f.js:1:13");
	assert_int_equal(run_time_code_complaints(code), 0);
	run_time_code_free(code);
}

static void
numbers_may_begin_with_0x_and_lines_end_as_on_windows(void **state)
{
	struct run_time_code *code = read_text("0x1000 0X20 f\r\n  1000 10 no\n1040\t10\tg\n");

	(void)state;
	assert_int_equal(run_time_code_count(code), 2);
	assert_function(code, 0, 0x1000, 0x20, "f");
	assert_function(code, 1, 0x1040, 0x10, "g");
	assert_int_equal(run_time_code_complaints(code), 1);
	run_time_code_free(code);
}

/* The process is in the middle of writing it: a part of a name is a wrong name. */
static void
a_last_line_without_its_end_is_left_for_later(void **state)
{
	struct run_time_code *code = read_text("1000 10 whole\n2000 10 hal");

	(void)state;
	assert_int_equal(run_time_code_count(code), 1);
	assert_function(code, 0, 0x1000, 0x10, "whole");
	run_time_code_free(code);
}

static void
lines_of_anything_else_are_counted_and_left_out(void **state)
{
	struct run_time_code *code = read_text("\n\nfunction f\n1000\n1000 \n1000 10\n1000 10 \nzz 10 f\n"
	                                       "11112222333344445 10 f\n-1 10 f\n2000 10 good\n");

	(void)state;
	assert_int_equal(run_time_code_count(code), 1);
	assert_function(code, 0, 0x2000, 0x10, "good");
	assert_int_equal(run_time_code_complaints(code), 10);
	run_time_code_free(code);
}

static void
nul_bytes_end_a_name_and_harm_nothing(void **state)
{
	static const char text[] = "1000 10 one\0two\n2000 10 three\n\0\0\0";
	struct run_time_code *code = read_bytes_of(text, sizeof(text) - 1);

	(void)state;
	assert_int_equal(run_time_code_count(code), 2);
	assert_function(code, 0, 0x1000, 0x10, "one");
	assert_function(code, 1, 0x2000, 0x10, "three");
	run_time_code_free(code);
}

static void
a_line_of_a_megabyte_is_left_out_whole(void **state)
{
	const size_t size = 1 << 20;
	struct run_time_code *code;
	char *text = malloc(size + 32);

	(void)state;
	assert_non_null(text);
	memset(text, '1', size);
	memcpy(text, "1000 10 ", 8);
	memcpy(text + size, "\n2000 10 f\n", 12);
	code = read_text(text);
	assert_int_equal(run_time_code_count(code), 1);
	assert_function(code, 0, 0x2000, 0x10, "f");
	run_time_code_free(code);
	free(text);
}

static void
an_error_of_the_file_is_told(void **state)
{
	struct run_time_code *code = run_time_code_new();

	(void)state;
	assert_int_equal(perf_map_read(-1, code), -EBADF);
	run_time_code_free(code);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_an_address_a_size_and_a_name_with_spaces),
		cmocka_unit_test(numbers_may_begin_with_0x_and_lines_end_as_on_windows),
		cmocka_unit_test(a_last_line_without_its_end_is_left_for_later),
		cmocka_unit_test(lines_of_anything_else_are_counted_and_left_out),
		cmocka_unit_test(nul_bytes_end_a_name_and_harm_nothing),
		cmocka_unit_test(a_line_of_a_megabyte_is_left_out_whole),
		cmocka_unit_test(an_error_of_the_file_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
