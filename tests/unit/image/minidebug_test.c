#include "tests/unit/image/nm_fixture.h"

#include "base/error.h"
#include "image/minidebug.h"

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
	assert_int_equal(minidebug_open(&mini, &file), -DCPI_EDAMAGED);
	elf_file_close(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(minidebuginfo_names_the_functions),
		cmocka_unit_test(minidebuginfo_that_becomes_huge_is_not_used),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
