#include "tests/unit/image/nm_fixture.h"

/* The stubs that objdump disassembles. */
struct stubs {
	const struct symbol_table *table;
	struct layout layout;
	size_t count;
};

static void
stub_line(void *context, const char *line)
{
	struct stubs *stubs = context;
	const struct symbol *symbol;
	char name[1024];
	uint64_t address;

	if (sscanf(line, "%" SCNx64 " <%1023[^>]>:", &address, name) != 2 || !strstr(name, "@plt") ||
	    strstr(name, "@plt-"))
		return;
	if (strchr(name, '@') != strstr(name, "@plt")) /* objdump keeps the version: puts@GLIBC_2.2.5@plt */
		snprintf(strchr(name, '@'), sizeof("@plt"), "@plt");
	symbol = symbol_table_find(stubs->table, code_offset(&stubs->layout, address));
	if (!symbol || !symbol->name)
		fail_msg("%s at 0x%" PRIx64 " has no name", name, address);
	if (name[0] != '*') /* an indirect function, of which objdump knows only the address */
		assert_string_equal(symbol->name, name);
	else
		assert_non_null(strstr(symbol->name, "@plt"));
	assert_int_equal(symbol->offset, code_offset(&stubs->layout, address));
	stubs->count++;
}

static size_t
compare_stubs(const struct folder *folder, const char *objdump, const char *path)
{
	struct image image = image_of(path);
	struct symbol_table *table = symbols_of(folder, &image);
	struct stubs stubs = {.table = table, .layout = layout_of(path)};

	each_line(stub_line, &stubs, "%s -d '%s'", objdump, path);
	symbol_table_free(table);
	return stubs.count;
}

static void
stubs_of_the_plt_have_the_names_that_objdump_gives(void **state)
{
	static const char *const flags[] = {
		"",
		"-no-pie",
		"-Wl,-z,now",
		"-fcf-protection=full -Wl,-z,ibtplt", /* .plt.sec */
		"-fuse-ld=lld",
	};
	char path[PATH_MAX], twin[PATH_MAX];

	need_binutils();
	need_tool("objdump");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strstr(flags[i], "lld") && !have_tool("ld.lld"))
			continue;
		build_program(*state, flags[i], path, twin);
		assert_true(compare_stubs(*state, "objdump", path) >= 2);
		assert_true(run_in(*state, "strip program"));
		assert_true(compare_stubs(*state, "objdump", path) >= 2);
	}
}

static void
stubs_for_aarch64_have_the_names_that_objdump_gives(void **state)
{
	static const char *const flags[] = {"", "-mbranch-protection=standard -Wl,-z,force-bti -Wl,-z,pac-plt"};
	char path[PATH_MAX];

	need_tool("clang");
	need_tool("ld.lld");
	need_tool("llvm-objdump");
	write_file(*state, "foreign.c", "%s", PLAIN_PROGRAM);
	path_in(*state, "foreign", path);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!run_in(*state,
		            "clang --target=aarch64-linux-gnu -O1 -nostdlib -shared -fPIC -fuse-ld=lld %s "
		            "-o foreign foreign.c",
		            flags[i]))
			skip_because("clang cannot compile for AArch64 here");
		assert_true(compare_stubs(*state, "llvm-objdump", path) >= 2);
	}
}

static void
call_line(void *context, const char *line)
{
	const char *call = strstr(line, "\tcall ");

	if (call)
		assert_int_equal(sscanf(call, " call %" SCNx64, (uint64_t *)context), 1);
}

/* objdump does not know where these stubs lead; the program has but one call in main, through such a stub. */
static void
stubs_of_indirect_functions_have_their_names(void **state)
{
	static const char *const flags[] = {"-static", "-pie -fPIE", "-no-pie"};
	char path[PATH_MAX];

	need_binutils();
	need_tool("objdump");
	write_file(*state, "indirect.c",
	           "static int one(int x) { return x + 1; }\n"
	           "static int (*resolve(void))(int) { return one; }\n"
	           "int chosen(int) __attribute__((ifunc(\"resolve\")));\n"
	           "int main(int count, char **list) { (void)list; return chosen(count) + 1; }\n");
	path_in(*state, "indirect", path);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const struct symbol *symbol;
		struct symbol_table *table;
		uint64_t target = 0;
		struct layout layout;
		struct image image;

		assert_true(run_in(*state, "gcc -O1 %s -o indirect indirect.c", flags[i]));
		each_line(call_line, &target, "objdump -d --disassemble=main '%s'", path);
		image = image_of(path);
		layout = layout_of(path);
		table = symbols_of(*state, &image);
		symbol = symbol_table_find(table, code_offset(&layout, target));
		assert_non_null(symbol);
		assert_string_equal(symbol->name, "chosen@plt");
		assert_int_equal(symbol->offset, code_offset(&layout, target));
		symbol_table_free(table);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stubs_of_the_plt_have_the_names_that_objdump_gives),
		cmocka_unit_test(stubs_for_aarch64_have_the_names_that_objdump_gives),
		cmocka_unit_test(stubs_of_indirect_functions_have_their_names),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
