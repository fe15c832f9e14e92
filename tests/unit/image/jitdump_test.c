#include "tests/unit/image/jitdump_file.h"

#include "base/error.h"
#include "image/jitdump.h"

struct story {
	struct byte_writer file;
	struct run_time_code *code;
	struct jitdump_header header;
};

static int
setup(void **state)
{
	struct story *story = calloc(1, sizeof(*story));

	if (!story)
		return -1;
	story->code = run_time_code_new();
	*state = story;
	return story->code ? 0 : -1;
}

static int
teardown(void **state)
{
	struct story *story = *state;

	writer_fini(&story->file);
	run_time_code_free(story->code);
	free(story);
	return 0;
}

static int
read_file(struct story *story)
{
	int fd = file_of(story->file.data, story->file.size);
	int err;

	err = jitdump_read(fd, story->code, &story->header);
	run_time_code_finish(story->code, 0);
	close(fd);
	return err;
}

static void
code_is_told_with_its_place_and_its_bytes(void **state)
{
	struct story *story = *state;
	const struct run_time_function *function;

	put_header(&story->file, JITDUMP_MAGIC, 40);
	put_load(&story->file, 0x7f0000001000, "fib", "\x90\x90\xc3", 3);
	put_load(&story->file, 0x7f0000002000, "main loop", "\xc3", 1);
	assert_int_equal(read_file(story), 0);
	assert_int_equal(story->header.machine, EM_X86_64);
	assert_int_equal(story->header.pid, 4711);
	assert_int_equal(run_time_code_count(story->code), 2);
	function = run_time_code_at(story->code, 0);
	assert_int_equal(function->address, 0x7f0000001000);
	assert_int_equal(function->size, 3);
	assert_string_equal(function->name, "fib");
	assert_int_equal(function->code_at, 40 + 16 + 40 + 4);
	assert_memory_equal(story->file.data + function->code_at, "\x90\x90\xc3", 3);
	assert_string_equal(run_time_code_at(story->code, 1)->name, "main loop");
}

static void
records_of_other_kinds_and_longer_headers_are_passed_by(void **state)
{
	struct story *story = *state;

	put_header(&story->file, JITDUMP_MAGIC, 48);
	put_prefix(&story->file, 2, 24); /* where lines are */
	put_u64(&story->file, 0x1000);
	put_prefix(&story->file, 3, 16); /* the end, which a fork may write */
	put_prefix(&story->file, 4711, 17);
	write_u8(&story->file, 0xff);
	put_load(&story->file, 0x1000, "f", "\xc3", 1);
	assert_int_equal(read_file(story), 0);
	assert_int_equal(run_time_code_count(story->code), 1);
}

static void
code_that_moved_keeps_name_and_bytes(void **state)
{
	struct story *story = *state;
	const struct run_time_function *function;

	put_header(&story->file, JITDUMP_MAGIC, 40);
	put_load(&story->file, 0x1000, "f", "\xc3", 1);
	put_move(&story->file, 0x1000, 0x9000, 1);
	assert_int_equal(read_file(story), 0);
	function = run_time_code_find(story->code, 0x9000);
	assert_non_null(function);
	assert_string_equal(function->name, "f");
	assert_int_equal(function->code_at, 40 + 16 + 40 + 2);
}

static void
a_record_that_is_not_whole_ends_the_reading(void **state)
{
	struct story *story = *state;

	put_header(&story->file, JITDUMP_MAGIC, 40);
	put_load(&story->file, 0x1000, "f", "\xc3", 1);
	put_load(&story->file, 0x2000, "g", "\x90\xc3", 2);
	story->file.size--;
	assert_int_equal(read_file(story), 0);
	assert_int_equal(run_time_code_count(story->code), 1);
	assert_int_equal(run_time_code_complaints(story->code), 0);
}

static void
what_is_no_jitdump_is_refused(void **state)
{
	struct story *story = *state;

	write_bytes(&story->file, "1000 10 this is a map and no dump, to be sure\n", 46);
	assert_int_equal(read_file(story), -DCPI_EDAMAGED);
	story->file.size = 0;
	assert_int_equal(read_file(story), -DCPI_EDAMAGED);
	put_header(&story->file, 0x4454694a, 40);
	assert_int_equal(read_file(story), -ENOTSUP);
	assert_int_equal(run_time_code_complaints(story->code), 3);
	story->file.size = 0;
	put_header(&story->file, JITDUMP_MAGIC, 39);
	assert_int_equal(read_file(story), -DCPI_EDAMAGED);
}

static void
a_record_that_cannot_be_ends_the_reading_with_an_error(void **state)
{
	struct story *story = *state;

	put_header(&story->file, JITDUMP_MAGIC, 40);
	put_load(&story->file, 0x1000, "f", "\xc3", 1);
	put_prefix(&story->file, 0, 15); /* less than its own prefix: for ever on the spot */
	assert_int_equal(read_file(story), -DCPI_EDAMAGED);
	assert_int_equal(run_time_code_count(story->code), 1);
	assert_int_equal(run_time_code_complaints(story->code), 1);
}

static void
code_larger_than_its_record_is_an_error(void **state)
{
	struct story *story = *state;
	const uint64_t size = UINT64_MAX - 10;

	put_header(&story->file, JITDUMP_MAGIC, 40);
	put_load(&story->file, 0x1000, "f", "\xc3", 1);
	memcpy(story->file.data + 40 + 16 + 24, &size, sizeof(size));
	assert_int_equal(read_file(story), -DCPI_EDAMAGED);
	assert_int_equal(run_time_code_count(story->code), 0);
}

/* It takes a read of some bytes only, not of the code: the window is a megabyte. */
static void
code_of_three_megabytes_is_told_like_any_other(void **state)
{
	const size_t size = (size_t)3 << 20;
	struct story *story = *state;
	char *text = calloc(1, size);

	assert_non_null(text);
	put_header(&story->file, JITDUMP_MAGIC, 40);
	put_load(&story->file, 0x1000000, "large", text, size);
	put_load(&story->file, 0x1000, "small", text, 1);
	assert_int_equal(read_file(story), 0);
	assert_int_equal(run_time_code_count(story->code), 2);
	assert_int_equal(run_time_code_at(story->code, 1)->size, size);
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_is_told_with_its_place_and_its_bytes),
		TEST(records_of_other_kinds_and_longer_headers_are_passed_by),
		TEST(code_that_moved_keeps_name_and_bytes),
		TEST(a_record_that_is_not_whole_ends_the_reading),
		TEST(what_is_no_jitdump_is_refused),
		TEST(a_record_that_cannot_be_ends_the_reading_with_an_error),
		TEST(code_larger_than_its_record_is_an_error),
		TEST(code_of_three_megabytes_is_told_like_any_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
