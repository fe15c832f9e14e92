#include "tests/unit/image/nm_fixture.h"

static void
a_stripped_program_keeps_the_bounds_of_its_functions(void **state)
{
	static const char *const flags[] = {"-pie -fPIE", "-no-pie", "-Wl,-z,noseparate-code", "-fuse-ld=lld"};
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;

	need_binutils();
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strstr(flags[i], "lld") && !have_tool("ld.lld"))
			continue;
		image = build_stripped(*state, flags[i], path, twin);
		assert_int_equal(compare_with_nm(*state, &image, twin, true), 0);
	}
}

static void
a_program_without_section_headers_keeps_the_bounds_too(void **state)
{
	char path[PATH_MAX], twin[PATH_MAX];
	GElf_Ehdr header = {0};
	struct image image;
	FILE *file;

	need_binutils();
	build_stripped(*state, "", path, twin);
	file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	rewind(file);
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	image = image_of(path);
	assert_int_equal(compare_with_nm(*state, &image, twin, true), 0);
}

/* Every byte of code of a stripped program of the system that has a frame description has a symbol. */
struct coverage {
	const struct symbol_table *table;
	struct elf_layout layout;
	size_t frames;
};

static void
frame_line(void *context, const char *line)
{
	struct coverage *coverage = context;
	const char *bounds = strstr(line, " FDE ") ? strstr(line, "pc=") : NULL;
	uint64_t start, end;

	if (!bounds)
		return;
	assert_int_equal(sscanf(bounds, "pc=%" SCNx64 "..%" SCNx64, &start, &end), 2);
	coverage->frames++;
	for (uint64_t address = start; address < end; address++)
		assert_non_null(symbol_table_find(coverage->table, code_offset(&coverage->layout, address)));
}

static void
all_code_of_a_stripped_program_of_the_system_is_in_a_symbol(void **state)
{
	static const char path[] = "/bin/ls";
	struct coverage coverage = {.frames = 0};
	struct symbol_table *table;
	struct image image;

	need_tool("readelf");
	image = image_of(path);
	table = symbols_of(*state, &image);
	coverage.table = table;
	coverage.layout = layout_of(path);
	each_line(frame_line, &coverage, "readelf -W --debug-dump=frames %s 2>/dev/null", path);
	assert_true(coverage.frames > 50);
	symbol_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stripped_program_keeps_the_bounds_of_its_functions),
		cmocka_unit_test(a_program_without_section_headers_keeps_the_bounds_too),
		cmocka_unit_test(all_code_of_a_stripped_program_of_the_system_is_in_a_symbol),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
