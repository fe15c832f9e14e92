#include "tests/unit/image/nm_fixture.h"

#include <unistd.h>

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
	struct listing *listing = context;
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
	struct listing listing = {.table = table, .layout = layout_of(path)};

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
	struct layout layout;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_has_the_functions_that_nm_lists),
		cmocka_unit_test(labels_in_assembly_are_functions_and_local_ones_are_not),
		cmocka_unit_test(functions_of_a_cplusplus_program_have_readable_names),
		cmocka_unit_test(functions_of_a_rust_program_have_readable_names),
		cmocka_unit_test(indirect_functions_of_the_c_library_have_names),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
