#include "tests/unit/image/nm_fixture.h"

#include <unistd.h>

#include "image/symbols.h"
#include "profile/profile.h"

static void
a_program_has_the_functions_that_nm_lists(void **state)
{
	static const char *const flags[] = {"-pie -fPIE", "-no-pie", "-static", "-shared -fPIC",
	                                    "-Wl,-z,noseparate-code"};
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;

	need_binutils();
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		image = build_program(*state, flags[i], path, twin);
		assert_true(compare_with_nm(*state, &image, twin, false) > 3);
	}
}

static void
labels_in_assembly_are_functions_and_local_ones_are_not(void **state)
{
	char path[PATH_MAX], twin[PATH_MAX];
	struct symbol_table *table;
	struct image image;
	uint64_t offset;

	need_binutils();
	image = build_program(*state, "", path, twin);
	table = symbols_of(*state, &image);
	offset = offset_of(path, "hand_written");
	for (int i = 0; i < 4; i++)
		assert_string_equal(symbol_table_find(table, offset + (uint64_t)i)->name, "hand_written");
	assert_string_equal(symbol_table_find(table, offset + 4)->name, "behind");
	assert_string_equal(symbol_table_find(table, offset_of(path, "_start"))->name, "_start");
	symbol_table_free(table);
}

static void
mangled_line(void *context, const char *line)
{
	struct nm_listing *listing = context;
	const struct symbol *symbol;
	uint64_t address;
	char type, name[4096], *text;

	if (sscanf(line, "%" SCNx64 " %*x %c %4095[^\n]", &address, &type, name) != 3 || !strchr("tTwW", type))
		return;
	symbol = symbol_table_find(listing->table, code_offset(&listing->layout, address));
	assert_non_null(symbol);
	text = symbol_demangle(symbol->name);
	if (text && strcmp(text, name) == 0)
		listing->count++;
	free(text);
}

/* How many functions have the names that nm gives them when it demangles, cut at `cut` (a sed script). */
static size_t
count_demangled(const struct folder *folder, const char *path, const char *cut)
{
	struct image image = image_of(path);
	struct symbol_table *table = symbols_of(folder, &image);
	struct nm_listing listing = {.table = table, .layout = layout_of(path)};

	each_line(mangled_line, &listing, "nm -S -C --defined-only '%s' | sed '%s'", path, cut);
	symbol_table_free(table);
	return listing.count;
}

static void
functions_of_a_cplusplus_program_have_readable_names(void **state)
{
	char path[PATH_MAX];

	need_tool("g++");
	need_tool("nm");
	write_file(
		*state, "program.cc",
		"namespace shop { struct till { int add(int); long add(long); }; }\n"
		"int shop::till::add(int x) { return x + 1; }\n"
		"long shop::till::add(long x) { return x + 2; }\n"
		"template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
		"int main(int count, char **) { shop::till t; return t.add(twice(count)) + twice(2L) + t.add(3L); }\n");
	assert_true(run_in(*state, "g++ -O1 -o program program.cc"));
	/* two of add, two of twice, whose result nm shows before their name */
	assert_int_equal(count_demangled(*state, path_in(*state, "program", path), "s/(.*//; s/ [a-z]* twice/ twice/"),
	                 4);
}

static void
functions_of_a_rust_program_have_readable_names(void **state)
{
	static const char *const mangling[] = {"legacy", "v0"};
	char path[PATH_MAX];

	if (!run_in(*state, "rustc --version"))
		skip_because("there is no rustc here");
	need_tool("nm");
	write_file(*state, "shop.rs",
	           "#![crate_type = \"cdylib\"]\n"
	           "pub mod till {\n"
	           "    #[inline(never)] pub fn add(x: i32) -> i32 { x + std::env::args().count() as i32 }\n"
	           "}\n"
	           "#[no_mangle] pub extern \"C\" fn entry(x: i32) -> i32 { till::add(x) * 3 }\n");
	for (size_t i = 0; i < 2; i++) {
		/* the variable lets a stable compiler take -Z, without which it does not do the older mangling */
		if (!run_in(*state,
		            "RUSTC_BOOTSTRAP=1 rustc -O -Z unstable-options -C symbol-mangling-version=%s "
		            "-o libshop.so shop.rs",
		            mangling[i]))
			skip_because("this rustc does not know one of the two manglings");
		assert_true(count_demangled(*state, path_in(*state, "libshop.so", path), "/ shop::till::add$/!d") == 1);
	}
}

/* A function of the C library that is chosen at run time: the name is that of its resolver. */
static void
indirect_functions_of_the_c_library_have_names(void **state)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6",
	                                    "/lib64/libc.so.6", "/lib/libc.so.6"};
	const char *path = NULL;
	struct symbol_table *table;
	struct image_file *file;
	struct image image;
	struct elf_layout layout;
	char line[256] = "";
	uint64_t address;

	(void)state;
	need_tool("readelf");
	for (size_t i = 0; !path && i < sizeof(paths) / sizeof(paths[0]); i++)
		path = access(paths[i], R_OK) == 0 ? paths[i] : NULL;
	if (!path)
		skip_because("the C library is not where it is looked for");
	each_line(find_line, line, "readelf --dyn-syms -W %s | awk '$4 == \"IFUNC\" && $8 ~ /^memcpy@@/ { print $2 }'",
	          path);
	if (sscanf(line, "%" SCNx64, &address) != 1)
		skip_because("memcpy is not an indirect function of this C library");
	image = image_of(path);
	layout = layout_of(path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &table), 0);
	assert_string_equal(symbol_table_find(table, code_offset(&layout, address))->name, "memcpy");
	symbol_table_free(table);
	image_file_close(file);
}

static struct symbol_table *
make_table(const struct symbol *symbols, size_t count)
{
	struct profile_symbol *captured = calloc(count + 1, sizeof(*captured));
	struct symbol_table *table;

	assert_non_null(captured);
	for (size_t i = 0; i < count; i++)
		captured[i] = (struct profile_symbol){symbols[i].offset, symbols[i].name, symbols[i].size};
	assert_int_equal(symbol_table_from_captured(captured, count, &table), 0);
	free(captured);
	return table;
}

static void
assert_name(const struct symbol_table *table, uint64_t offset, const char *expected)
{
	const struct symbol *symbol = symbol_table_find(table, offset);

	assert_non_null(symbol);
	assert_string_equal(symbol->name, expected);
}

static void
a_symbol_holds_its_first_byte_but_not_the_one_behind(void **state)
{
	static const struct symbol symbols[] = {{0x100, 0x10, "first"}, {0x110, 0x10, "second"}, {0x200, 1, "far"}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_int_equal(symbol_table_size(table), 3);
	assert_null(symbol_table_find(table, 0xff));
	assert_name(table, 0x100, "first");
	assert_name(table, 0x10f, "first");
	assert_name(table, 0x110, "second");
	assert_null(symbol_table_find(table, 0x120));
	assert_name(table, 0x200, "far");
	assert_null(symbol_table_find(table, 0x201));
	symbol_table_free(table);
}

static void
a_symbol_without_size_lasts_until_the_next(void **state)
{
	static const struct symbol symbols[] = {{0, 0, "_stext"}, {0x40, 0, "middle"}, {0x80, 0, "last"}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_name(table, 0x3f, "_stext");
	assert_name(table, 0x40, "middle");
	assert_int_equal(symbol_table_find(table, 0x7f)->size, 0x40);
	assert_name(table, UINT64_MAX - 1, "last");
	assert_int_equal(symbol_table_find(table, 0x80)->size, 0);
	symbol_table_free(table);
}

static void
the_inner_of_two_symbols_has_the_code(void **state)
{
	static const struct symbol symbols[] = {{0, 100, "outer"}, {20, 40, "inner"}, {30, 10, "innermost"}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_name(table, 19, "outer");
	assert_name(table, 20, "inner");
	assert_name(table, 30, "innermost");
	assert_name(table, 40, "inner");
	assert_name(table, 60, "outer");
	assert_name(table, 99, "outer");
	assert_int_equal(symbol_table_find(table, 99)->offset, 0);
	assert_null(symbol_table_find(table, 100));
	symbol_table_free(table);
}

static void
of_two_that_overlap_the_later_has_the_code(void **state)
{
	static const struct symbol symbols[] = {{0, 50, "early"}, {30, 50, "late"}};
	struct symbol_table *table = make_table(symbols, 2);

	(void)state;
	assert_name(table, 29, "early");
	assert_name(table, 30, "late");
	assert_name(table, 79, "late");
	assert_null(symbol_table_find(table, 80));
	symbol_table_free(table);
}

static void
a_label_inside_of_a_function_does_not_cut_it(void **state)
{
	static const struct symbol symbols[] = {{0, 100, "function"}, {40, 0, "label"}};
	struct symbol_table *table = make_table(symbols, 2);

	(void)state;
	assert_int_equal(symbol_table_size(table), 1);
	assert_name(table, 50, "function");
	symbol_table_free(table);
}

static void
the_alias_with_fewer_underscores_names_the_symbol(void **state)
{
	static const struct symbol symbols[] = {{0, 8, "__libc_read"}, {0, 8, "read"},   {0, 8, "__read"},
	                                        {16, 8, "longer"},     {16, 8, "short"}, {32, 0, "sizeless"},
	                                        {32, 8, "sized_name"}};
	struct symbol_table *table = make_table(symbols, 7);

	(void)state;
	assert_int_equal(symbol_table_size(table), 3);
	assert_name(table, 0, "read");
	assert_name(table, 16, "short");
	assert_name(table, 32, "sized_name");
	symbol_table_free(table);
}

static void
code_without_a_name_fills_only_what_names_leave_open(void **state)
{
	static const struct symbol symbols[] = {{0, 100, NULL}, {40, 20, "named"}, {200, 10, NULL}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_null(symbol_table_find(table, 39)->name);
	assert_int_equal(symbol_table_find(table, 39)->offset, 0);
	assert_name(table, 40, "named");
	assert_null(symbol_table_find(table, 60)->name);
	assert_int_equal(symbol_table_find(table, 60)->offset, 60);
	assert_null(symbol_table_find(table, 209)->name);
	assert_null(symbol_table_find(table, 210));
	symbol_table_free(table);
}

static void
an_empty_list_makes_an_empty_table(void **state)
{
	struct symbol_table *table = make_table(NULL, 0);

	(void)state;
	assert_int_equal(symbol_table_size(table), 0);
	assert_null(symbol_table_find(table, 0));
	symbol_table_free(table);
}

#define COUNT 200u

static void
add(struct symbol_builder *builder, uint64_t offset, const char *name)
{
	const struct symbol_candidate candidate = {
		.offset = offset,
		.size = 8,
		.limit = UINT64_C(1) << 20,
		.name = name,
		.name_length = strlen(name),
	};

	assert_int_equal(symbol_builder_add(builder, &candidate), 0);
}

static void
candidates_added_after_a_search_are_in_order(void **state)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	struct symbol_table *table;

	(void)state;
	for (uint64_t i = COUNT; i > 0; i--) /* at 16, 32, ... 3200, the last first */
		add(&builder, 16 * i, "first");
	assert_string_equal(symbol_builder_best(&builder, 160)->name, "first");
	assert_null(symbol_builder_best(&builder, 168));
	for (uint64_t i = COUNT; i > 0; i -= 2) /* at 40, 72, ... 3208 */
		add(&builder, 16 * i + 8, "between");
	add(&builder, 8, "before");
	add(&builder, 8000, "behind");
	add(&builder, 160, "a_longer_name"); /* the shorter one is better */
	add(&builder, 176, "best");
	assert_string_equal(symbol_builder_best(&builder, 168)->name, "between");
	assert_string_equal(symbol_builder_best(&builder, 160)->name, "first");
	assert_string_equal(symbol_builder_best(&builder, 176)->name, "best");
	assert_int_equal(symbol_builder_finish(&builder, &table), 0);
	symbol_builder_fini(&builder);
	assert_int_equal(symbol_table_size(table), COUNT + COUNT / 2 + 2);
	for (uint64_t offset = 16; offset <= 16 * (uint64_t)COUNT; offset += 16) {
		const struct symbol *symbol = symbol_table_find(table, offset);

		assert_non_null(symbol);
		assert_int_equal(symbol->offset, offset);
		assert_string_equal(symbol->name, offset == 176 ? "best" : "first");
	}
	assert_string_equal(symbol_table_find(table, 15)->name, "before");
	assert_string_equal(symbol_table_find(table, 40)->name, "between");
	assert_string_equal(symbol_table_find(table, 8007)->name, "behind");
	symbol_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_has_the_functions_that_nm_lists),
		cmocka_unit_test(labels_in_assembly_are_functions_and_local_ones_are_not),
		cmocka_unit_test(functions_of_a_cplusplus_program_have_readable_names),
		cmocka_unit_test(functions_of_a_rust_program_have_readable_names),
		cmocka_unit_test(indirect_functions_of_the_c_library_have_names),
		cmocka_unit_test(a_symbol_holds_its_first_byte_but_not_the_one_behind),
		cmocka_unit_test(a_symbol_without_size_lasts_until_the_next),
		cmocka_unit_test(the_inner_of_two_symbols_has_the_code),
		cmocka_unit_test(of_two_that_overlap_the_later_has_the_code),
		cmocka_unit_test(a_label_inside_of_a_function_does_not_cut_it),
		cmocka_unit_test(the_alias_with_fewer_underscores_names_the_symbol),
		cmocka_unit_test(code_without_a_name_fills_only_what_names_leave_open),
		cmocka_unit_test(an_empty_list_makes_an_empty_table),
		cmocka_unit_test(candidates_added_after_a_search_are_in_order),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
