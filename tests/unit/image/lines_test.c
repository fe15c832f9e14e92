/* Tests of image/lines.h; expected is what llvm-symbolizer says: addr2line of binutils 2.40 has the wrong file for
 * DWARF 5. */
#include "tests/unit/image/elf_fixture.h"

#include <errno.h>

#include "image/lines.h"

struct tried {
	struct image_lines *lines;
	size_t known, unknown, wrong;
};

/* "0x1139", "/tmp/x/one.c:3 (discriminator 1)" or "??:?", by turns. */
static void
compare_line(void *context, const char *line)
{
	static uint64_t address;
	struct tried *tried = context;
	struct source_place place;
	const char *colon;
	int err;

	if (sscanf(line, "0x%" SCNx64, &address) == 1)
		return;
	err = image_lines_find(tried->lines, address, &place);
	colon = strrchr(line, ':');
	if (!colon || strncmp(line, "??", 2) == 0 || colon[1] == '?' || colon[1] == '0') {
		tried->unknown++;
		tried->wrong += err != -ENOENT;
		return;
	}
	tried->known++;
	if (err || place.line != strtoul(colon + 1, NULL, 10) || strlen(place.path) != (size_t)(colon - line) ||
	    strncmp(place.path, line, (size_t)(colon - line)) != 0) {
		tried->wrong++;
		print_error("%#" PRIx64 ": %s:%u, expected %s", address, err ? "?" : place.path, err ? 0 : place.line,
		            line);
	}
}

/* Of every instruction of `path`, by the lines that `twin` has. */
static struct tried
compare_lines(const struct image *image, const char *twin)
{
	struct tried tried = {0};
	struct symbol_table *symbols;
	struct image_file *file;

	assert_int_equal(image_file_open(image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &tried.lines), 0);
	each_line(compare_line, &tried,
	          "objdump -d -j .text '%s' | sed -n 's/^ *\\([0-9a-f]*\\):\\t.*/0x\\1/p' | llvm-symbolizer --obj='%s' "
	          "--no-inlines --functions=none --output-style=GNU -a",
	          twin, twin);
	image_lines_free(tried.lines);
	symbol_table_free(symbols);
	image_file_close(file);
	return tried;
}

static void
write_sources(const struct folder *folder)
{
	write_file(folder, "twice.h",
	           "static inline int\ntwice(int x)\n{\n\tint y = x * x;\n\n\treturn y + y %% 7;\n}\n");
	write_file(folder, "one.c",
	           "#include \"twice.h\"\nint other(int);\nint\nmain(int count, char **texts)\n{\n\tint sum = 0;\n\n"
	           "\tfor (int i = 0; i < count; i++)\n\t\tsum += twice(texts[i][0]) + other(i);\n\treturn sum;\n}\n");
	write_file(folder, "two.c",
	           "#include \"twice.h\"\nint other(int);\nint\nother(int x)\n{\n\treturn twice(x + 1);\n}\n");
}

static void
need_tools(void)
{
	need_tool("gcc");
	need_tool("llvm-symbolizer");
}

static void
assert_all_right(struct tried tried)
{
	assert_int_equal(tried.wrong, 0);
	assert_true(tried.known > 20);
}

static void
lines_are_those_of_llvm_symbolizer(void **state)
{
	static const char *const options[] = {"-O2", "-O0", "-O2 -gdwarf-4", "-O2 -gdwarf-3", "-O2 -flto"};
	const struct folder *folder = *state;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		assert_true(run_in(folder, "gcc -g %s -o program $PWD/one.c $PWD/two.c", options[i]));
		image = image_of(path);
		assert_all_right(compare_lines(&image, path));
	}
}

/* clang writes no .debug_aranges. */
static void
lines_are_found_without_a_table_of_units(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	assert_true(run_in(folder, "gcc -g -O2 -o program $PWD/one.c $PWD/two.c && objcopy -R .debug_aranges program"));
	image = image_of(path);
	assert_all_right(compare_lines(&image, path));
}

static void
lines_of_a_stripped_image_are_in_its_debug_file(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	path_in(folder, "twin", twin);
	assert_true(run_in(folder, "gcc -g -O2 -o twin $PWD/one.c $PWD/two.c && cp twin program && "
	                           "objcopy --only-keep-debug program link.debug && strip program && "
	                           "objcopy --add-gnu-debuglink=link.debug program"));
	image = image_of(path);
	assert_all_right(compare_lines(&image, twin));
}

static void
an_image_without_line_numbers_says_so(void **state)
{
	const struct folder *folder = *state;
	struct image_lines *lines;
	struct symbol_table *symbols;
	struct image_file *file;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "plain", path);
	assert_true(run_in(folder, "gcc -O2 -s -o plain one.c two.c"));
	image = image_of(path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &lines), -ENOENT);
	assert_null(lines);
	symbol_table_free(symbols);
	image_file_close(file);
}

static void
an_address_in_no_unit_has_no_line(void **state)
{
	static const uint64_t addresses[] = {0, 1, 0x10000000, UINT64_MAX};
	const struct folder *folder = *state;
	struct image_lines *lines;
	struct symbol_table *symbols;
	struct image_file *file;
	struct source_place place;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	assert_true(run_in(folder, "gcc -g -O2 -o program one.c two.c"));
	image = image_of(path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &lines), 0);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		assert_int_equal(image_lines_find(lines, addresses[i], &place), -ENOENT);
	image_lines_free(lines);
	symbol_table_free(symbols);
	image_file_close(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_llvm_symbolizer),
		cmocka_unit_test(lines_are_found_without_a_table_of_units),
		cmocka_unit_test(lines_of_a_stripped_image_are_in_its_debug_file),
		cmocka_unit_test(an_image_without_line_numbers_says_so),
		cmocka_unit_test(an_address_in_no_unit_has_no_line),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
