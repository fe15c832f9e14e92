#include "tests/unit/image/jitdump_file.h"

#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/jit_code.h"
#include "process/jit.h"

static int
code_setup(void **state)
{
	*state = jit_code_new();
	return *state ? 0 : -1;
}

static int
code_teardown(void **state)
{
	jit_code_free(*state);
	return 0;
}

static void
add(struct jit_code *code, uint64_t address, uint64_t size, const char *name)
{
	assert_int_equal(jit_code_add(code, address, size, JIT_CODE_NOWHERE, name, strlen(name)), 0);
}

static void
assert_name(const struct jit_code *code, uint64_t address, const char *name)
{
	const struct jit_function *function = jit_code_find(code, address);

	if (!name) {
		assert_null(function);
		return;
	}
	assert_non_null(function);
	assert_string_equal(function->name, name);
}

static void
an_address_has_the_function_that_holds_it(void **state)
{
	struct jit_code *code = *state;

	add(code, 0x2000, 0x10, "second");
	add(code, 0x1000, 0x20, "first");
	jit_code_finish(code, 0);
	assert_int_equal(jit_code_count(code), 2);
	assert_string_equal(jit_code_at(code, 0)->name, "first");
	assert_name(code, 0xfff, NULL);
	assert_name(code, 0x1000, "first");
	assert_name(code, 0x101f, "first");
	assert_name(code, 0x1020, NULL);
	assert_name(code, 0x200f, "second");
	assert_name(code, 0x2010, NULL);
}

static void
memory_used_again_has_the_last_function(void **state)
{
	struct jit_code *code = *state;

	add(code, 0x1000, 0x100, "old");
	add(code, 0x1100, 0x100, "kept");
	add(code, 0x1080, 0x80, "new");
	add(code, 0x3000, 0x10, "same place, before");
	add(code, 0x3000, 0x10, "same place, after");
	jit_code_finish(code, 0);
	assert_int_equal(jit_code_count(code), 3);
	assert_name(code, 0x1000, NULL);
	assert_name(code, 0x1080, "new");
	assert_name(code, 0x1100, "kept");
	assert_name(code, 0x3000, "same place, after");
}

/* The samples before were those of the old one. */
static void
functions_of_the_last_capture_stay_and_are_contested(void **state)
{
	struct jit_code *code = *state;

	add(code, 0x1000, 0x100, "gone before");
	jit_code_set_position(code, 10);
	add(code, 0x1000, 0x100, "there");
	add(code, 0x2000, 0x100, "there and told again");
	add(code, 0x3000, 0x100, "never touched");
	jit_code_set_position(code, 20);
	add(code, 0x1080, 0x100, "new");
	add(code, 0x0f80, 0x100, "new below");
	add(code, 0x2000, 0x100, "there and told again");
	add(code, 0x4000, 0x100, "elsewhere");
	jit_code_finish(code, 20);
	assert_int_equal(jit_code_count(code), 4);
	assert_name(code, 0x1080, "there");
	assert_true(jit_code_find(code, 0x1080)->is_contested);
	assert_name(code, 0x1100, NULL);
	assert_false(jit_code_find(code, 0x2000)->is_contested);
	assert_false(jit_code_find(code, 0x3000)->is_contested);
	assert_name(code, 0x4000, "elsewhere");
	assert_false(jit_code_find(code, 0x4000)->is_contested);
}

static void
one_that_covers_several_takes_their_place(void **state)
{
	struct jit_code *code = *state;

	add(code, 0x1000, 0x10, "a");
	add(code, 0x1010, 0x10, "b");
	add(code, 0x1020, 0x10, "c");
	add(code, 0x1008, 0x20, "large");
	jit_code_finish(code, 0);
	assert_int_equal(jit_code_count(code), 1);
	assert_name(code, 0x1018, "large");
}

static void
a_function_that_moved_is_where_it_went(void **state)
{
	struct jit_code *code = *state;

	add(code, 0x1000, 0x10, "wanderer");
	assert_int_equal(jit_code_move(code, 0x1000, 0x5000), 0);
	add(code, 0x1000, 0x10, "successor");
	assert_int_equal(jit_code_move(code, 0x9000, 0x7000), 0);
	jit_code_finish(code, 0);
	assert_name(code, 0x1000, "successor");
	assert_name(code, 0x5008, "wanderer");
	assert_name(code, 0x7000, NULL);
	assert_int_equal(jit_code_malformed(code), 1);
}

static void
what_cannot_be_a_function_is_left_out(void **state)
{
	struct jit_code *code = *state;

	add(code, 0x1000, 0, "of no size");
	add(code, 0, 16, "at nothing");
	add(code, 0x1000, UINT64_MAX, "of all memory");
	add(code, UINT64_C(0xffffffff81000000), 16, "the kernel's");
	add(code, JIT_CODE_ADDRESS_END - 8, 16, "at the end of memory");
	add(code, 0x1000, 16, "");
	jit_code_finish(code, 0);
	assert_int_equal(jit_code_count(code), 0);
	assert_int_equal(jit_code_malformed(code), 6);
	assert_false(jit_code_is_cut(code));
}

static void
a_long_name_is_cut(void **state)
{
	struct jit_code *code = *state;
	char name[2 * JIT_CODE_NAME_MAX];

	memset(name, 'x', sizeof(name));
	assert_int_equal(jit_code_add(code, 0x1000, 16, 0, name, sizeof(name)), 0);
	jit_code_finish(code, 0);
	assert_int_equal(strlen(jit_code_at(code, 0)->name), JIT_CODE_NAME_MAX);
}

static void
a_name_ends_at_a_nul(void **state)
{
	struct jit_code *code = *state;

	assert_int_equal(jit_code_add(code, 0x1000, 16, 0, "one\0two", 7), 0);
	jit_code_finish(code, 0);
	assert_name(code, 0x1000, "one");
}

/* A name of 1,023 bytes takes 1,024: 65,536 of them are 64 MiB, and one more is too many. */
static void
names_have_a_limit(void **state)
{
	struct jit_code *code = *state;
	char name[JIT_CODE_NAME_MAX];

	memset(name, 'x', sizeof(name));
	for (uint64_t i = 0; i < 65537; i++)
		assert_int_equal(jit_code_add(code, 0x1000 + 16 * i, 16, 0, name, sizeof(name)), 0);
	assert_true(jit_code_is_cut(code));
	jit_code_finish(code, 0);
	assert_int_equal(jit_code_count(code), 65536);
}

/* Each of 40,000 moves of what nobody told of would look through 20,000 functions: that is over soon. */
static void
the_search_for_what_moved_has_a_limit(void **state)
{
	struct jit_code *code = *state;

	for (uint64_t i = 0; i < 20000; i++)
		add(code, 0x1000 + 16 * i, 16, "f");
	for (uint64_t i = 0; i < 40000; i++)
		assert_int_equal(jit_code_move(code, 0x900000, 0xa00000), 0);
	assert_true(jit_code_is_cut(code));
	jit_code_finish(code, 0);
	assert_int_equal(jit_code_count(code), 20000);
}

#define CODE_TEST(name) cmocka_unit_test_setup_teardown(name, code_setup, code_teardown)

static struct jit_code *
read_bytes_of(const void *text, size_t size)
{
	struct jit_code *code = jit_code_new();
	int fd = file_of(text, size);

	assert_non_null(code);
	assert_int_equal(jit_code_read_perf_map(fd, code), 0);
	jit_code_finish(code, 0);
	close(fd);
	return code;
}

static struct jit_code *
read_text(const char *text)
{
	return read_bytes_of(text, strlen(text));
}

static void
assert_function(const struct jit_code *code, size_t index, uint64_t address, uint64_t size, const char *name)
{
	const struct jit_function *function = jit_code_at(code, index);

	assert_int_equal(function->address, address);
	assert_int_equal(function->size, size);
	assert_string_equal(function->name, name);
	assert_true(function->code_at == JIT_CODE_NOWHERE);
}

/* Lines that node 20 wrote. */
static void
a_line_is_an_address_a_size_and_a_name_with_spaces(void **state)
{
	struct jit_code *code = read_text("1ec22c28b17e 2a JS:~fib /tmp/f.js:1:13\n"
	                                  "7ff1077c5b80 180 JS:*fib /tmp/f.js:1:13\n");

	(void)state;
	assert_int_equal(jit_code_count(code), 2);
	assert_function(code, 0, 0x1ec22c28b17e, 0x2a, "JS:~fib /tmp/f.js:1:13");
	assert_function(code, 1, 0x7ff1077c5b80, 0x180, "JS:*fib /tmp/f.js:1:13");
	assert_int_equal(jit_code_malformed(code), 0);
	jit_code_free(code);
}

static void
numbers_may_begin_with_0x_and_lines_end_as_on_windows(void **state)
{
	struct jit_code *code = read_text("0x1000 0X20 f\r\n  1000 10 no\n1040\t10\tg\n");

	(void)state;
	assert_int_equal(jit_code_count(code), 2);
	assert_function(code, 0, 0x1000, 0x20, "f");
	assert_function(code, 1, 0x1040, 0x10, "g");
	assert_int_equal(jit_code_malformed(code), 1);
	jit_code_free(code);
}

/* The process is in the middle of writing it: a part of a name is a wrong name. */
static void
a_last_line_without_its_end_is_left_for_later(void **state)
{
	struct jit_code *code = read_text("1000 10 whole\n2000 10 hal");

	(void)state;
	assert_int_equal(jit_code_count(code), 1);
	assert_function(code, 0, 0x1000, 0x10, "whole");
	jit_code_free(code);
}

static void
lines_of_anything_else_are_counted_and_left_out(void **state)
{
	struct jit_code *code = read_text("\n\nfunction f\n1000\n1000 \n1000 10\n1000 10 \nzz 10 f\n"
	                                  "11112222333344445 10 f\n-1 10 f\n2000 10 good\n");

	(void)state;
	assert_int_equal(jit_code_count(code), 1);
	assert_function(code, 0, 0x2000, 0x10, "good");
	assert_int_equal(jit_code_malformed(code), 10);
	jit_code_free(code);
}

static void
nul_bytes_end_a_name_and_harm_nothing(void **state)
{
	static const char text[] = "1000 10 one\0two\n2000 10 three\n\0\0\0";
	struct jit_code *code = read_bytes_of(text, sizeof(text) - 1);

	(void)state;
	assert_int_equal(jit_code_count(code), 2);
	assert_function(code, 0, 0x1000, 0x10, "one");
	assert_function(code, 1, 0x2000, 0x10, "three");
	jit_code_free(code);
}

static void
a_line_of_a_megabyte_is_left_out_whole(void **state)
{
	const size_t size = 1 << 20;
	struct jit_code *code;
	char *text = malloc(size + 32);

	(void)state;
	assert_non_null(text);
	memset(text, '1', size);
	memcpy(text, "1000 10 ", 8);
	memcpy(text + size, "\n2000 10 f\n", 12);
	code = read_text(text);
	assert_int_equal(jit_code_count(code), 1);
	assert_function(code, 0, 0x2000, 0x10, "f");
	jit_code_free(code);
	free(text);
}

static void
an_error_of_the_file_is_returned(void **state)
{
	struct jit_code *code = jit_code_new();

	(void)state;
	assert_int_equal(jit_code_read_perf_map(-1, code), -EBADF);
	jit_code_free(code);
}

struct jitdump {
	struct byte_writer file;
	struct jit_code *code;
	struct jitdump_header header;
};

static int
jitdump_setup(void **state)
{
	struct jitdump *dump = calloc(1, sizeof(*dump));

	if (!dump)
		return -1;
	dump->code = jit_code_new();
	*state = dump;
	return dump->code ? 0 : -1;
}

static int
jitdump_teardown(void **state)
{
	struct jitdump *dump = *state;

	writer_fini(&dump->file);
	jit_code_free(dump->code);
	free(dump);
	return 0;
}

static int
read_file(struct jitdump *dump)
{
	int fd = file_of(dump->file.data, dump->file.size);
	int err;

	err = jit_code_read_jitdump(fd, dump->code, &dump->header);
	jit_code_finish(dump->code, 0);
	close(fd);
	return err;
}

static void
a_load_record_gives_name_place_and_bytes(void **state)
{
	struct jitdump *dump = *state;
	const struct jit_function *function;

	put_header(&dump->file, JITDUMP_MAGIC, 40);
	put_load(&dump->file, 0x7f0000001000, "fib", "\x90\x90\xc3", 3);
	put_load(&dump->file, 0x7f0000002000, "main loop", "\xc3", 1);
	assert_int_equal(read_file(dump), 0);
	assert_int_equal(dump->header.machine, EM_X86_64);
	assert_int_equal(dump->header.pid, 4711);
	assert_int_equal(jit_code_count(dump->code), 2);
	function = jit_code_at(dump->code, 0);
	assert_int_equal(function->address, 0x7f0000001000);
	assert_int_equal(function->size, 3);
	assert_string_equal(function->name, "fib");
	assert_int_equal(function->code_at, 40 + 16 + 40 + 4);
	assert_memory_equal(dump->file.data + function->code_at, "\x90\x90\xc3", 3);
	assert_string_equal(jit_code_at(dump->code, 1)->name, "main loop");
}

static void
records_of_other_kinds_and_longer_headers_are_skipped(void **state)
{
	struct jitdump *dump = *state;

	put_header(&dump->file, JITDUMP_MAGIC, 48);
	put_prefix(&dump->file, 2, 24); /* where lines are */
	put_u64(&dump->file, 0x1000);
	put_prefix(&dump->file, 3, 16); /* the end, which a fork may write */
	put_prefix(&dump->file, 4711, 17);
	write_u8(&dump->file, 0xff);
	put_load(&dump->file, 0x1000, "f", "\xc3", 1);
	assert_int_equal(read_file(dump), 0);
	assert_int_equal(jit_code_count(dump->code), 1);
}

static void
code_that_moved_keeps_name_and_bytes(void **state)
{
	struct jitdump *dump = *state;
	const struct jit_function *function;

	put_header(&dump->file, JITDUMP_MAGIC, 40);
	put_load(&dump->file, 0x1000, "f", "\xc3", 1);
	put_move(&dump->file, 0x1000, 0x9000, 1);
	assert_int_equal(read_file(dump), 0);
	function = jit_code_find(dump->code, 0x9000);
	assert_non_null(function);
	assert_string_equal(function->name, "f");
	assert_int_equal(function->code_at, 40 + 16 + 40 + 2);
}

static void
a_record_that_is_not_whole_ends_the_reading(void **state)
{
	struct jitdump *dump = *state;

	put_header(&dump->file, JITDUMP_MAGIC, 40);
	put_load(&dump->file, 0x1000, "f", "\xc3", 1);
	put_load(&dump->file, 0x2000, "g", "\x90\xc3", 2);
	dump->file.size--;
	assert_int_equal(read_file(dump), 0);
	assert_int_equal(jit_code_count(dump->code), 1);
	assert_int_equal(jit_code_malformed(dump->code), 0);
}

static void
what_is_no_jitdump_is_refused(void **state)
{
	struct jitdump *dump = *state;

	write_bytes(&dump->file, "1000 10 this is a map and no dump, to be sure\n", 46);
	assert_int_equal(read_file(dump), -DCPI_EDAMAGED);
	dump->file.size = 0;
	assert_int_equal(read_file(dump), -DCPI_EDAMAGED);
	put_header(&dump->file, 0x4454694a, 40);
	assert_int_equal(read_file(dump), -ENOTSUP);
	assert_int_equal(jit_code_malformed(dump->code), 3);
	dump->file.size = 0;
	put_header(&dump->file, JITDUMP_MAGIC, 39);
	assert_int_equal(read_file(dump), -DCPI_EDAMAGED);
}

static void
a_record_that_cannot_be_ends_the_reading_with_an_error(void **state)
{
	struct jitdump *dump = *state;

	put_header(&dump->file, JITDUMP_MAGIC, 40);
	put_load(&dump->file, 0x1000, "f", "\xc3", 1);
	put_prefix(&dump->file, 0, 15); /* less than its own prefix: for ever on the spot */
	assert_int_equal(read_file(dump), -DCPI_EDAMAGED);
	assert_int_equal(jit_code_count(dump->code), 1);
	assert_int_equal(jit_code_malformed(dump->code), 1);
}

static void
code_larger_than_its_record_is_an_error(void **state)
{
	struct jitdump *dump = *state;
	const uint64_t size = UINT64_MAX - 10;

	put_header(&dump->file, JITDUMP_MAGIC, 40);
	put_load(&dump->file, 0x1000, "f", "\xc3", 1);
	memcpy(dump->file.data + 40 + 16 + 24, &size, sizeof(size));
	assert_int_equal(read_file(dump), -DCPI_EDAMAGED);
	assert_int_equal(jit_code_count(dump->code), 0);
}

/* It takes a read of some bytes only, not of the code: the window is a megabyte. */
static void
code_of_three_megabytes_is_read(void **state)
{
	const size_t size = (size_t)3 << 20;
	struct jitdump *dump = *state;
	char *text = calloc(1, size);

	assert_non_null(text);
	put_header(&dump->file, JITDUMP_MAGIC, 40);
	put_load(&dump->file, 0x1000000, "large", text, size);
	put_load(&dump->file, 0x1000, "small", text, 1);
	assert_int_equal(read_file(dump), 0);
	assert_int_equal(jit_code_count(dump->code), 2);
	assert_int_equal(jit_code_at(dump->code, 1)->size, size);
	free(text);
}

#define JITDUMP_TEST(name) cmocka_unit_test_setup_teardown(name, jitdump_setup, jitdump_teardown)

#define BASE UINT64_C(0x7f0000200000)

static struct jit_capture captured; /* it points into itself */

static void
capture(int fd, uint64_t base, const uint32_t *blocks, size_t count)
{
	const struct jit_capture_request request = {base, blocks, count, 0};

	assert_int_equal(jit_capture_make(fd, &request, &captured), 0);
	close(fd);
}

static int
capture_teardown(void **state)
{
	(void)state;
	jit_capture_fini(&captured);
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
memory_that_was_used_again_is_reported(void **state)
{
	static const char map[] = "7f0000200010 10 before\n7f0000205010 10 quiet\n"
				  "7f0000200010 10 after\n7f0000205010 10 quiet after\n";
	static const uint32_t blocks[] = {0};
	struct jit_capture_request request = {BASE, blocks, 1, 0};
	const int fd = file_of(map, sizeof(map) - 1);

	(void)state;
	assert_int_equal(jit_capture_make(fd, &request, &captured), 0);
	assert_symbol(0, 0x10, 0x10, "after");
	assert_false(captured.is_reused);
	jit_capture_fini(&captured);
	request.seen = 45; /* two lines */
	assert_int_equal(jit_capture_make(fd, &request, &captured), 0);
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
the_layout_gives_the_address_of_every_offset(void **state)
{
	static const uint32_t blocks[] = {0, CAPTURED_BLOCK_UNWIND - 1};
	struct byte_writer file = BYTE_WRITER_INIT;
	const struct captured_segment *segments = captured.segments;

	(void)state;
	put_header(&file, JITDUMP_MAGIC, 40);
	put_load(&file, BASE + 0x10, "above", "\xc3", 1);
	put_load(&file, BASE - 0x2010, "below", "\x90\xc3", 2);
	capture(file_of(file.data, file.size), BASE, blocks, 2);
	writer_fini(&file);
	assert_int_equal(captured.layout.segment_count, 2);
	assert_int_equal(segments[0].address - segments[0].offset, BASE);
	assert_int_equal(segments[1].address - segments[1].offset, BASE - JIT_SPAN);
	assert_int_equal(segments[1].offset + segments[1].size, JIT_SPAN);
	assert_int_equal(segments[0].offset + segments[0].size, segments[1].offset);
	assert_int_equal(captured.layout.section_count, 2);
	assert_int_equal(captured.layout.sections[0].address, BASE - 0x3000);
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
	assert_int_equal(captured.block_count, JIT_CAPTURE_BLOCKS_MAX);
	assert_int_equal(captured.blocks[JIT_CAPTURE_BLOCKS_MAX - 1].bytes[4095], 0x90);
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

#define CAPTURE_TEST(name) cmocka_unit_test_teardown(name, capture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CODE_TEST(an_address_has_the_function_that_holds_it),
		CODE_TEST(memory_used_again_has_the_last_function),
		CODE_TEST(functions_of_the_last_capture_stay_and_are_contested),
		CODE_TEST(one_that_covers_several_takes_their_place),
		CODE_TEST(a_function_that_moved_is_where_it_went),
		CODE_TEST(what_cannot_be_a_function_is_left_out),
		CODE_TEST(a_long_name_is_cut),
		CODE_TEST(a_name_ends_at_a_nul),
		CODE_TEST(names_have_a_limit),
		CODE_TEST(the_search_for_what_moved_has_a_limit),
		cmocka_unit_test(a_line_is_an_address_a_size_and_a_name_with_spaces),
		cmocka_unit_test(numbers_may_begin_with_0x_and_lines_end_as_on_windows),
		cmocka_unit_test(a_last_line_without_its_end_is_left_for_later),
		cmocka_unit_test(lines_of_anything_else_are_counted_and_left_out),
		cmocka_unit_test(nul_bytes_end_a_name_and_harm_nothing),
		cmocka_unit_test(a_line_of_a_megabyte_is_left_out_whole),
		cmocka_unit_test(an_error_of_the_file_is_returned),
		JITDUMP_TEST(a_load_record_gives_name_place_and_bytes),
		JITDUMP_TEST(records_of_other_kinds_and_longer_headers_are_skipped),
		JITDUMP_TEST(code_that_moved_keeps_name_and_bytes),
		JITDUMP_TEST(a_record_that_is_not_whole_ends_the_reading),
		JITDUMP_TEST(what_is_no_jitdump_is_refused),
		JITDUMP_TEST(a_record_that_cannot_be_ends_the_reading_with_an_error),
		JITDUMP_TEST(code_larger_than_its_record_is_an_error),
		JITDUMP_TEST(code_of_three_megabytes_is_read),
		CAPTURE_TEST(functions_of_sampled_blocks_are_named),
		CAPTURE_TEST(functions_on_both_sides_of_the_base_are_in_order),
		CAPTURE_TEST(memory_that_was_used_again_is_reported),
		CAPTURE_TEST(code_of_a_jitdump_is_where_it_ran),
		CAPTURE_TEST(the_layout_gives_the_address_of_every_offset),
		CAPTURE_TEST(an_empty_file_has_nothing),
		CAPTURE_TEST(code_has_a_limit_and_names_have_another),
		CAPTURE_TEST(code_that_is_gone_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
