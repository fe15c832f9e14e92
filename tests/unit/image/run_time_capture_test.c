#include "tests/unit/image/jitdump_file.h"

#include "image/run_time_capture.h"
#include "process/jit.h"

#define BASE UINT64_C(0x7f0000200000)

static struct run_time_capture captured; /* it points into itself */

static void
capture(int fd, uint64_t base, const uint32_t *blocks, size_t count)
{
	const struct run_time_request request = {base, blocks, count, 0};

	assert_int_equal(run_time_capture(fd, &request, &captured), 0);
	close(fd);
}

static int
teardown(void **state)
{
	(void)state;
	run_time_capture_fini(&captured);
	return 0;
}

static void
assert_symbol(size_t index, uint64_t offset, uint64_t size, const char *name)
{
	assert_true(index < captured.symbol_count);
	assert_int_equal(captured.symbols[index].offset, offset);
	assert_int_equal(captured.symbols[index].size, size);
	assert_string_equal(captured.symbols[index].name, name);
}

static void
functions_of_sampled_blocks_are_named(void **state)
{
	static const char map[] = "7f0000200100 100 cold neighbour\n"
				  "7f0000201ff0 20 across\n"
				  "7f0000203000 10 elsewhere\n"
				  "7f0000204000 3000 long\n";
	static const uint32_t blocks[] = {0, 2, 5};

	(void)state;
	capture(file_of(map, sizeof(map) - 1), BASE, blocks, 3);
	assert_int_equal(captured.symbol_count, 3);
	assert_symbol(0, 0x100, 0x100, "cold neighbour");
	assert_symbol(1, 0x1ff0, 0x20, "across");
	assert_symbol(2, 0x4000, 0x3000, "long");
	assert_int_equal(captured.block_count, 0);
	assert_int_equal(captured.layout.section_count, 0);
}

/* What lies below the base has offsets at the end of the span, and comes last. */
static void
functions_on_both_sides_of_the_base_are_in_order(void **state)
{
	static const char map[] = "7f00001ff010 10 below\n7f0000200010 10 above\n";
	static const uint32_t blocks[] = {0, UINT32_MAX};

	(void)state;
	capture(file_of(map, sizeof(map) - 1), BASE, blocks, 2);
	assert_int_equal(captured.symbol_count, 2);
	assert_symbol(0, 0x10, 0x10, "above");
	assert_symbol(1, JIT_SPAN - 0xff0, 0x10, "below");
}

static void
memory_that_was_used_again_is_told(void **state)
{
	static const char map[] = "7f0000200010 10 before\n7f0000205010 10 quiet\n"
				  "7f0000200010 10 after\n7f0000205010 10 quiet after\n";
	static const uint32_t blocks[] = {0};
	struct run_time_request request = {BASE, blocks, 1, 0};
	const int fd = file_of(map, sizeof(map) - 1);

	(void)state;
	assert_int_equal(run_time_capture(fd, &request, &captured), 0);
	assert_symbol(0, 0x10, 0x10, "after");
	assert_false(captured.is_reused);
	run_time_capture_fini(&captured);
	request.seen = 45; /* two lines */
	assert_int_equal(run_time_capture(fd, &request, &captured), 0);
	close(fd);
	assert_int_equal(captured.symbol_count, 1);
	assert_symbol(0, 0x10, 0x10, "before");
	assert_true(captured.is_reused);
}

static void
code_of_a_jitdump_is_where_it_ran(void **state)
{
	static const uint32_t blocks[] = {1};
	struct byte_writer file = BYTE_WRITER_INIT;
	uint8_t text[0x1800];

	(void)state;
	memset(text, 0x90, sizeof(text));
	text[sizeof(text) - 1] = 0xc3;
	put_header(&file, JITDUMP_MAGIC, 40);
	put_load(&file, BASE + 0x800, "two blocks", text, sizeof(text));
	put_load(&file, BASE + 0x5000, "not sampled", text, 16);
	capture(file_of(file.data, file.size), BASE, blocks, 1);
	writer_fini(&file);
	assert_int_equal(captured.symbol_count, 1);
	assert_symbol(0, 0x800, 0x1800, "two blocks");
	assert_int_equal(captured.block_count, 2);
	assert_int_equal(captured.blocks[0].number, 0);
	assert_int_equal(captured.blocks[1].number, 1);
	assert_int_equal(captured.blocks[0].bytes[0x7ff], 0);
	assert_int_equal(captured.blocks[0].bytes[0x800], 0x90);
	assert_int_equal(captured.blocks[1].bytes[0xfff], 0xc3);
	assert_int_equal(captured.layout.machine, EM_X86_64);
	assert_int_equal(captured.layout.section_count, 1);
	assert_int_equal(captured.layout.sections[0].address, BASE);
	assert_int_equal(captured.layout.sections[0].size, 0x2000);
	assert_true(captured.layout.sections[0].is_code);
}

static void
the_layout_tells_the_address_of_every_offset(void **state)
{
	static const uint32_t blocks[] = {0, UINT32_MAX - 1};
	struct byte_writer file = BYTE_WRITER_INIT;
	const struct captured_segment *segments = captured.segments;

	(void)state;
	put_header(&file, JITDUMP_MAGIC, 40);
	put_load(&file, BASE + 0x10, "above", "\xc3", 1);
	put_load(&file, BASE - 0x1010, "below", "\x90\xc3", 2);
	capture(file_of(file.data, file.size), BASE, blocks, 2);
	writer_fini(&file);
	assert_int_equal(captured.layout.segment_count, 2);
	assert_int_equal(segments[0].address - segments[0].offset, BASE);
	assert_int_equal(segments[1].address - segments[1].offset, BASE - JIT_SPAN);
	assert_int_equal(segments[1].offset + segments[1].size, JIT_SPAN);
	assert_int_equal(segments[0].offset + segments[0].size, segments[1].offset);
	assert_int_equal(captured.layout.section_count, 2);
	assert_int_equal(captured.layout.sections[0].address, BASE - 0x2000);
	assert_int_equal(captured.layout.sections[1].address, BASE);
	assert_int_equal(captured.blocks[1].bytes[0xff1], 0xc3);
}

static void
an_empty_file_has_nothing(void **state)
{
	static const uint32_t blocks[] = {0};

	(void)state;
	capture(file_of("", 0), BASE, blocks, 1);
	assert_int_equal(captured.symbol_count, 0);
	assert_int_equal(captured.block_count, 0);
}

/* 2,000 functions of a block each: names have room, code of 4 MiB has. */
static void
code_has_a_limit_and_names_have_another(void **state)
{
	struct byte_writer file = BYTE_WRITER_INIT;
	static uint32_t blocks[2000];
	uint8_t text[4096];

	(void)state;
	memset(text, 0x90, sizeof(text));
	put_header(&file, JITDUMP_MAGIC, 40);
	for (uint32_t i = 0; i < 2000; i++) {
		put_load(&file, BASE + i * UINT64_C(4096), "f", text, sizeof(text));
		blocks[i] = i;
	}
	capture(file_of(file.data, file.size), BASE, blocks, 2000);
	writer_fini(&file);
	assert_int_equal(captured.symbol_count, 2000);
	assert_int_equal(captured.block_count, RUN_TIME_BLOCKS_MAX);
	assert_int_equal(captured.blocks[RUN_TIME_BLOCKS_MAX - 1].bytes[4095], 0x90);
}

/* The header says where the code is, and the process has cut the file since. */
static void
code_that_is_gone_is_left_out(void **state)
{
	static const uint32_t blocks[] = {0};
	struct byte_writer file = BYTE_WRITER_INIT;

	(void)state;
	put_header(&file, JITDUMP_MAGIC, 40);
	put_load(&file, BASE, "whole", "\xc3", 1);
	put_load(&file, BASE + 0x10, "cut", "\x90\x90\xc3", 3);
	capture(file_of(file.data, file.size - 1), BASE, blocks, 1);
	writer_fini(&file);
	assert_int_equal(captured.symbol_count, 1);
	assert_symbol(0, 0, 1, "whole");
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_of_sampled_blocks_are_named),
		TEST(functions_on_both_sides_of_the_base_are_in_order),
		TEST(memory_that_was_used_again_is_told),
		TEST(code_of_a_jitdump_is_where_it_ran),
		TEST(the_layout_tells_the_address_of_every_offset),
		TEST(an_empty_file_has_nothing),
		TEST(code_has_a_limit_and_names_have_another),
		TEST(code_that_is_gone_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
