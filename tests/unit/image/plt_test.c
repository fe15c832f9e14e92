#include "tests/unit/image/nm_fixture.h"

#include <elf.h>

#include "image/plt.h"

/* The stubs that objdump disassembles. */
struct stubs {
	const struct symbol_table *table;
	struct elf_layout layout;
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
		struct elf_layout layout;
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

/* Instructions as binutils and lld write them, read off objdump; addresses worked out by hand. */

static void
assert_slot(const struct plt_code *plt, size_t *at, size_t start, size_t size, uint64_t slot)
{
	struct plt_stub stub;

	assert_true(plt_code_next(plt, at, &stub));
	assert_int_equal(stub.at, start);
	assert_int_equal(stub.size, size);
	assert_true(stub.has_slot);
	assert_int_equal(stub.slot, slot);
}

static void
assert_no_more(const struct plt_code *plt, size_t *at)
{
	struct plt_stub stub;

	assert_false(plt_code_next(plt, at, &stub));
}

static void
lazy_stubs_follow_the_one_that_calls_the_loader(void **state)
{
	static const uint8_t code[] = {
		0xff, 0x35, 0xca, 0x2f, 0, 0, 0xff, 0x25, 0xcc, 0x2f, 0, 0,    0x0f, 0x1f, 0x40, 0x00,
		0xff, 0x25, 0xca, 0x2f, 0, 0, 0x68, 0,    0,    0,    0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
		0xff, 0x25, 0xc2, 0x2f, 0, 0, 0x68, 1,    0,    0,    0, 0xe9, 0xd0, 0xff, 0xff, 0xff,
	};
	const struct plt_code plt = {EM_X86_64, code, sizeof(code), 0x1020};
	size_t at = 0;

	(void)state;
	assert_slot(&plt, &at, 16, 16, 0x4000); /* 0x1030 + 6 + 0x2fca */
	assert_slot(&plt, &at, 32, 16, 0x4008); /* 0x1040 + 6 + 0x2fc2 */
	assert_no_more(&plt, &at);
}

static void
stubs_with_ibt_jump_in_one_table_and_push_an_index_in_the_other(void **state)
{
	static const uint8_t jumps[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xb5,
	                                0x2f, 0,    0,    0x0f, 0x1f, 0x44, 0,    0};
	static const uint8_t pushes[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x68, 3,    0,    0,
	                                 0,    0xf2, 0xe9, 0xb1, 0xff, 0xff, 0xff, 0x90};
	const struct plt_code eager = {EM_X86_64, jumps, sizeof(jumps), 0x1050};
	const struct plt_code lazy = {EM_X86_64, pushes, sizeof(pushes), 0x1030};
	struct plt_stub stub;
	size_t at = 0;

	(void)state;
	assert_slot(&eager, &at, 0, 16, 0x4010); /* 0x1050 + 11 + 0x2fb5 */
	assert_no_more(&eager, &at);
	at = 0;
	assert_true(plt_code_next(&lazy, &at, &stub));
	assert_false(stub.has_slot);
	assert_int_equal(stub.index, 3);
	assert_int_equal(stub.size, 16);
	assert_no_more(&lazy, &at);
}

static void
stubs_of_static_programs_have_eight_bytes(void **state)
{
	static const uint8_t code[] = {0xff, 0x25, 0xe2, 0x2f, 0x0a, 0x00, 0x66, 0x90,
	                               0xff, 0x25, 0xe2, 0x2f, 0x0a, 0x00, 0x66, 0x90};
	const struct plt_code plt = {EM_X86_64, code, sizeof(code), 0x401018};
	size_t at = 0;

	(void)state;
	assert_slot(&plt, &at, 0, 8, 0x4a4000); /* 0x401018 + 6 + 0xa2fe2 */
	assert_slot(&plt, &at, 8, 8, 0x4a4008);
	assert_no_more(&plt, &at);
}

static void
stubs_of_mold_load_the_index_before_they_jump(void **state)
{
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 7,    0,
	                               0,    0,    0xff, 0x25, 0xf0, 0xff, 0xff, 0xff};
	const struct plt_code plt = {EM_X86_64, code, sizeof(code), 0x1000};
	size_t at = 0;

	(void)state;
	assert_slot(&plt, &at, 0, 16, 0x1000); /* 0x1000 + 16 - 0x10 */
	assert_no_more(&plt, &at);
}

static void
stubs_of_aarch64_add_a_page_and_an_offset(void **state)
{
	static const uint8_t code[] = {
		0xf0, 0x7b, 0xbf, 0xa9, 0x10, 0x01, 0x00, 0x90, 0x11, 0xd2, 0x42, 0xf9, 0x10, 0x82, 0x16, 0x91,
		0x20, 0x02, 0x1f, 0xd6, 0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5,
		0x10, 0x01, 0x00, 0x90, 0x11, 0xd6, 0x42, 0xf9, 0x10, 0xa2, 0x16, 0x91, 0x20, 0x02, 0x1f, 0xd6,
	};
	const struct plt_code plt = {EM_AARCH64, code, sizeof(code), 0x10490};
	size_t at = 0;

	(void)state;
	assert_slot(&plt, &at, 4, 16, 0x305a0); /* the first jumps to the loader, through the third word */
	assert_slot(&plt, &at, 32, 16, 0x305a8);
	assert_no_more(&plt, &at);
}

/* bti c; adrp x16, one page back; ldr x17, [x16, #8]; add x16, x16, #8; autia1716; br x17 */
static void
stubs_of_aarch64_may_be_guarded(void **state)
{
	static const uint8_t code[] = {
		0x5f, 0x24, 0x03, 0xd5, 0xf0, 0xff, 0xff, 0xf0, 0x11, 0x06, 0x40, 0xf9,
		0x10, 0x22, 0x00, 0x91, 0x9f, 0x21, 0x03, 0xd5, 0x20, 0x02, 0x1f, 0xd6,
	};
	const struct plt_code plt = {EM_AARCH64, code, sizeof(code), 0x104c0};
	size_t at = 0;

	(void)state;
	assert_slot(&plt, &at, 0, 24, 0xf008); /* 0x10000 - 0x1000 + 8 */
	assert_no_more(&plt, &at);
}

static void
code_that_ends_early_has_no_stub(void **state)
{
	static const uint8_t x86[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xb5, 0x2f, 0, 0};
	static const uint8_t a64[] = {0x10, 0x01, 0x00, 0x90, 0x11, 0xd2, 0x42, 0xf9};
	struct plt_stub stub;

	(void)state;
	for (size_t size = 0; size < sizeof(x86); size++) {
		const struct plt_code plt = {EM_X86_64, x86, size, 0};
		size_t at = 0;

		assert_false(plt_code_next(&plt, &at, &stub));
	}
	for (size_t size = 0; size < sizeof(a64); size++) {
		const struct plt_code plt = {EM_AARCH64, a64, size, 0};
		size_t at = 0;

		assert_false(plt_code_next(&plt, &at, &stub));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stubs_of_the_plt_have_the_names_that_objdump_gives),
		cmocka_unit_test(stubs_for_aarch64_have_the_names_that_objdump_gives),
		cmocka_unit_test(stubs_of_indirect_functions_have_their_names),
		cmocka_unit_test(lazy_stubs_follow_the_one_that_calls_the_loader),
		cmocka_unit_test(stubs_with_ibt_jump_in_one_table_and_push_an_index_in_the_other),
		cmocka_unit_test(stubs_of_static_programs_have_eight_bytes),
		cmocka_unit_test(stubs_of_mold_load_the_index_before_they_jump),
		cmocka_unit_test(stubs_of_aarch64_add_a_page_and_an_offset),
		cmocka_unit_test(stubs_of_aarch64_may_be_guarded),
		cmocka_unit_test(code_that_ends_early_has_no_stub),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
