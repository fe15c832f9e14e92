#include "tests/unit/image/elf_fixture.h"

#include <unistd.h>

#include "image/segments.h"

#define PROGRAM "static int data[5000] = {1};\nint main(int count, char **list)\n{\n\treturn data[count] + !list;\n}\n"

static void
assert_layout(const struct segment_table *table, const struct layout *layout)
{
	size_t executable = 0;

	assert_int_equal(table->count, layout->count);
	for (size_t i = 0; i < table->count; i++) {
		assert_int_equal(table->segments[i].executable, layout->loads[i].executable);
		if (!table->segments[i].executable)
			continue;
		executable++;
		assert_int_equal(table->segments[i].offset, layout->loads[i].offset);
		assert_int_equal(table->segments[i].address, layout->loads[i].address);
		assert_int_equal(table->segments[i].size, layout->loads[i].size);
	}
	assert_true(executable > 0);
}

static void
the_segments_are_those_that_readelf_prints(void **state)
{
	struct segment_table table;
	char path[PATH_MAX] = "";
	struct layout layout;
	struct elf_file file;

	(void)state;
	need_tool("readelf");
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	layout = layout_of(path);
	assert_int_equal(elf_file_open(&file, path), 0);
	assert_int_equal(segment_table_read(&table, &file), 0);
	assert_layout(&table, &layout);
	elf_file_close(&file);
}

/* Split a program and compare the segments worked out from its debug file with the real ones. */
static void
assert_debug_file_tells_layout(const struct folder *folder, const char *flags)
{
	char path[PATH_MAX], debug[PATH_MAX];
	struct segment_table table;
	struct layout layout;
	struct elf_file file;

	write_file(folder, "program.c", "%s", PROGRAM);
	assert_true(run_in(folder, "gcc -g %s -o program program.c", flags));
	assert_true(run_in(folder, "objcopy --only-keep-debug program program.debug"));
	layout = layout_of(path_in(folder, "program", path));
	assert_int_equal(elf_file_open(&file, path_in(folder, "program.debug", debug)), 0);
	assert_int_equal(segment_table_read_debug(&table, &file), 0);
	assert_layout(&table, &layout);
	elf_file_close(&file);
}

static void
a_debug_file_tells_where_the_code_was(void **state)
{
	need_tool("gcc");
	need_tool("objcopy");
	assert_debug_file_tells_layout(*state, "-pie -fPIE");
	assert_debug_file_tells_layout(*state, "-no-pie");
	assert_debug_file_tells_layout(*state, "-static");
	assert_debug_file_tells_layout(*state, "-shared -fPIC");
	assert_debug_file_tells_layout(*state, "-Wl,-z,noseparate-code");
	assert_debug_file_tells_layout(*state, "-Wl,-z,max-page-size=0x200000");
}

static void
a_debug_file_of_lld_tells_where_the_code_was(void **state)
{
	need_tool("gcc");
	need_tool("objcopy");
	need_tool("ld.lld");
	assert_debug_file_tells_layout(*state, "-fuse-ld=lld");
	assert_debug_file_tells_layout(*state, "-fuse-ld=lld -no-pie");
	assert_debug_file_tells_layout(*state, "-fuse-ld=lld -static");
}

static void
a_debug_file_of_gold_tells_where_the_code_was(void **state)
{
	need_tool("gcc");
	need_tool("objcopy");
	need_tool("ld.gold");
	assert_debug_file_tells_layout(*state, "-fuse-ld=gold");
	assert_debug_file_tells_layout(*state, "-fuse-ld=gold -no-pie");
}

static void
offsets_and_addresses_outside_of_every_segment_are_in_none(void **state)
{
	static const struct segment_table table = {
		.segments = {{.offset = 0x1000, .address = 0x401000, .size = 0x200, .executable = true}}, .count = 1};

	(void)state;
	assert_null(segment_at_offset(&table, 0xfff));
	assert_ptr_equal(segment_at_offset(&table, 0x1000), &table.segments[0]);
	assert_ptr_equal(segment_at_offset(&table, 0x11ff), &table.segments[0]);
	assert_null(segment_at_offset(&table, 0x1200));
	assert_null(segment_at_address(&table, 0x400fff));
	assert_ptr_equal(segment_at_address(&table, 0x4011ff), &table.segments[0]);
	assert_null(segment_at_address(&table, 0x401200));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_segments_are_those_that_readelf_prints),
		cmocka_unit_test(a_debug_file_tells_where_the_code_was),
		cmocka_unit_test(a_debug_file_of_lld_tells_where_the_code_was),
		cmocka_unit_test(a_debug_file_of_gold_tells_where_the_code_was),
		cmocka_unit_test(offsets_and_addresses_outside_of_every_segment_are_in_none),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
