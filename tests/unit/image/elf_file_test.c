/* Sonames and sources are compared with what the linker and the compiler were given, segments with readelf. */
#include "tests/unit/image/nm_fixture.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "image/elf_file.h"
#include "image/image_file.h"
#include "image/lines.h"

#define DATA_PROGRAM                                                                                                   \
	"static int data[5000] = {1};\nint main(int count, char **list)\n{\n\treturn data[count] + !list;\n}\n"

static void
assert_layout(const struct elf_segments *table, const struct elf_layout *layout)
{
	size_t executable = 0;

	assert_int_equal(table->count, layout->count);
	for (size_t i = 0; i < table->count; i++) {
		assert_int_equal(table->list[i].executable, layout->loads[i].executable);
		if (!table->list[i].executable)
			continue;
		executable++;
		assert_int_equal(table->list[i].offset, layout->loads[i].offset);
		assert_int_equal(table->list[i].address, layout->loads[i].address);
		assert_int_equal(table->list[i].size, layout->loads[i].size);
	}
	assert_true(executable > 0);
}

static void
the_segments_are_those_that_readelf_prints(void **state)
{
	struct elf_segments table;
	char path[PATH_MAX] = "";
	struct elf_layout layout;
	struct elf_file file;

	(void)state;
	need_tool("readelf");
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	layout = layout_of(path);
	assert_int_equal(elf_file_open(&file, path), 0);
	assert_int_equal(elf_segments_read(&table, &file), 0);
	assert_layout(&table, &layout);
	elf_file_close(&file);
}

/* Split a program and compare the segments worked out from its debug file with the real ones. */
static void
assert_debug_file_tells_layout(const struct folder *folder, const char *flags)
{
	char path[PATH_MAX], debug[PATH_MAX];
	struct elf_segments table;
	struct elf_layout layout;
	struct elf_file file;

	write_file(folder, "program.c", "%s", DATA_PROGRAM);
	assert_true(run_in(folder, "gcc -g %s -o program program.c", flags));
	assert_true(run_in(folder, "objcopy --only-keep-debug program program.debug"));
	layout = layout_of(path_in(folder, "program", path));
	assert_int_equal(elf_file_open(&file, path_in(folder, "program.debug", debug)), 0);
	assert_int_equal(elf_segments_read_debug(&table, &file), 0);
	assert_layout(&table, &layout);
	elf_file_close(&file);
}

static void
a_debug_file_has_the_offsets_of_the_code(void **state)
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
a_debug_file_of_lld_has_the_offsets_of_the_code(void **state)
{
	need_tool("gcc");
	need_tool("objcopy");
	need_tool("ld.lld");
	assert_debug_file_tells_layout(*state, "-fuse-ld=lld");
	assert_debug_file_tells_layout(*state, "-fuse-ld=lld -no-pie");
	assert_debug_file_tells_layout(*state, "-fuse-ld=lld -static");
}

static void
a_debug_file_of_gold_has_the_offsets_of_the_code(void **state)
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
	static const struct elf_segments table = {
		.list = {{.offset = 0x1000, .address = 0x401000, .size = 0x200, .executable = true}}, .count = 1};

	(void)state;
	assert_null(elf_segments_at_offset(&table, 0xfff));
	assert_ptr_equal(elf_segments_at_offset(&table, 0x1000), &table.list[0]);
	assert_ptr_equal(elf_segments_at_offset(&table, 0x11ff), &table.list[0]);
	assert_null(elf_segments_at_offset(&table, 0x1200));
	assert_null(elf_segments_at_address(&table, 0x400fff));
	assert_ptr_equal(elf_segments_at_address(&table, 0x4011ff), &table.list[0]);
	assert_null(elf_segments_at_address(&table, 0x401200));
}

static struct image
image_at(const struct folder *folder, const char *name, char path[PATH_MAX])
{
	struct stat status;

	snprintf(path, PATH_MAX, "%s/%s", folder->path, name);
	assert_int_equal(stat(path, &status), 0);
	return (struct image){
		.kind = IMAGE_USER,
		.path = path,
		.inode = status.st_ino,
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
	};
}

static int
soname_of(const struct folder *folder, const char *name, char **soname)
{
	char path[PATH_MAX];
	const struct image image = image_at(folder, name, path);
	struct image_file *file;
	int err;

	assert_int_equal(image_file_open(&image, &file), 0);
	err = image_file_soname(file, soname);
	image_file_close(file);
	return err;
}

static void
a_library_says_what_to_look_for(void **state)
{
	const struct folder *folder = *state;
	char *soname;

	need_tool("gcc");
	assert_true(run_in(folder, "echo 'int f(void) { return 1; }' >lib.c && gcc -shared -fPIC -Wl,--build-id=none "
	                           "-Wl,-soname,libseven.so.7 -o library lib.c"));
	assert_int_equal(soname_of(folder, "library", &soname), 0);
	assert_string_equal(soname, "libseven.so.7");
	free(soname);
}

static void
a_program_says_nothing(void **state)
{
	const struct folder *folder = *state;
	char *soname;

	need_tool("gcc");
	assert_true(run_in(folder, "echo 'int main(void) { return 0; }' >main.c && gcc -Wl,--build-id=none -o program "
	                           "main.c && gcc -static -Wl,--build-id=none -o static main.c"));
	assert_int_equal(soname_of(folder, "program", &soname), -ENOENT);
	assert_null(soname);
	assert_int_equal(soname_of(folder, "static", &soname), -ENOENT);
}

/* Where the names should be, there are none: the table ends before the soname's place. */
static void
a_soname_outside_of_the_names_is_damage(void **state)
{
	const struct folder *folder = *state;
	char *soname;

	need_tool("gcc");
	need_tool("python3");
	assert_true(run_in(folder, "gcc -shared -fPIC -Wl,--build-id=none -Wl,-soname,libx.so -o broken lib.c"));
	assert_true(run_in(folder, "python3 -c '\n"
	                           "import struct\n"
	                           "data = bytearray(open(\"broken\", \"rb\").read())\n"
	                           "shoff, = struct.unpack_from(\"<Q\", data, 40)\n"
	                           "count, = struct.unpack_from(\"<H\", data, 60)\n"
	                           "for i in range(count):\n"
	                           "    kind, = struct.unpack_from(\"<I\", data, shoff + 64 * i + 4)\n"
	                           "    if kind != 6: continue\n"
	                           "    at, size = struct.unpack_from(\"<QQ\", data, shoff + 64 * i + 24)\n"
	                           "    for k in range(at, at + size, 16):\n"
	                           "        if data[k] == 14: struct.pack_into(\"<Q\", data, k + 8, 1 << 40)\n"
	                           "open(\"broken\", \"wb\").write(data)'"));
	assert_int_equal(soname_of(folder, "broken", &soname), -DCPI_EDAMAGED);
	assert_null(soname);
}

static void
the_first_unit_says_what_it_was_compiled_from(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], expected[PATH_MAX], *source;
	struct symbol_table *symbols;
	struct image_lines *lines;
	struct image_file *file;
	struct image image;

	need_tool("gcc");
	assert_true(run_in(folder, "gcc -g -shared -fPIC -Wl,--build-id=none -o lined lib.c"));
	image = image_at(folder, "lined", path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &lines), 0);
	assert_int_equal(image_lines_source(lines, &source), 0);
	snprintf(expected, sizeof(expected), "%s/lib.c", folder->path);
	assert_string_equal(source, expected);
	free(source);
	image_lines_free(lines);
	symbol_table_free(symbols);
	image_file_close(file);
}

/* As Fedora's find-debuginfo does it: the symbols of functions that .dynsym lacks, xz, into .gnu_debugdata. */
static void
minidebuginfo_names_the_functions(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;

	need_binutils();
	need_tool("xz");
	image = build_program(folder, "", path, twin);
	assert_true(run_in(
		folder, "nm -D program --format=posix --defined-only | awk '{ print $1 }' | sort > dynsyms;"
			"nm program --format=posix --defined-only | awk '$2 ~ /[tT]/ { print $1 }' | sort > funcsyms;"
			"comm -13 dynsyms funcsyms > keep && objcopy --only-keep-debug program debug.full &&"
			"objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep "
			"debug.full mini && rm -f mini.xz && xz mini && strip program && "
			"objcopy --add-section .gnu_debugdata=mini.xz program"));
	assert_true(compare_with_nm(folder, &image, twin, false) > 3);
	assert_true(run_in(folder, "printf x | dd of=mini.xz bs=1 seek=100 conv=notrunc && "
	                           "objcopy --update-section .gnu_debugdata=mini.xz program"));
	assert_int_equal(compare_with_nm(folder, &image, twin, true), 0);
}

/* 21 kB that become 140 MB; a hundred times that would end the tool for lack of memory. */
static void
minidebuginfo_that_becomes_huge_is_not_used(void **state)
{
	char path[PATH_MAX];
	struct elf_file file, mini;

	need_binutils();
	need_tool("xz");
	write_file(*state, "tiny.c", "int main(void) { return 0; }\n");
	assert_true(run_in(*state, "head -c 140M /dev/zero | xz -0 > huge.xz && gcc -o tiny tiny.c && "
	                           "objcopy --add-section .gnu_debugdata=huge.xz tiny"));
	assert_int_equal(elf_file_open(&file, path_in(*state, "tiny", path)), 0);
	assert_int_equal(elf_file_open_minidebug(&mini, &file), -DCPI_EDAMAGED);
	elf_file_close(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_segments_are_those_that_readelf_prints),
		cmocka_unit_test(a_debug_file_has_the_offsets_of_the_code),
		cmocka_unit_test(a_debug_file_of_lld_has_the_offsets_of_the_code),
		cmocka_unit_test(a_debug_file_of_gold_has_the_offsets_of_the_code),
		cmocka_unit_test(offsets_and_addresses_outside_of_every_segment_are_in_none),
		cmocka_unit_test(a_library_says_what_to_look_for),
		cmocka_unit_test(a_program_says_nothing),
		cmocka_unit_test(a_soname_outside_of_the_names_is_damage),
		cmocka_unit_test(the_first_unit_says_what_it_was_compiled_from),
		cmocka_unit_test(minidebuginfo_names_the_functions),
		cmocka_unit_test(minidebuginfo_that_becomes_huge_is_not_used),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
