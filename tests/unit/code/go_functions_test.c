/* Tests of image/go_functions.h, and of what unwind_build() and symbols make of it. */
#include "tests/unit/code/unwind_fixture.h"

#include "base/array.h"
#include "image/go_functions.h"

/*
 * Six functions of 32 bytes, as Go 1.18 (LINE empty) or 1.20 (a number more) describes them. The depth of most is 0 for
 * eight bytes, 24 for sixteen, then 0 again: 24 is 48 in zigzag encoding, -24 is 47, and the first is 1 above -1.
 */
static const char source[] = "	.globl _start\n"
			     "	.text\n"
			     "	.balign 32\n"
			     "_start:	.space 192, 0x55\n"
			     "	.section SECTION\n"
			     "header:	.long MAGIC\n"
			     "	.byte 0, 0, QUANTUM, 8\n"
			     "	.quad 6, 0, TEXT, names - header, 0, 0, stacks - header, table - header\n"
			     "names:	.asciz \"_rt0_some_linux\"\n"
			     "plain:	.asciz \"main.(*T).plain\"\n"
			     "vdso:	.asciz \"runtime.nanotime1\"\n"
			     "hand:	.asciz \"main.hand\"\n"
			     "sys:	.asciz \"runtime.systemstack\"\n"
			     "bad:	.asciz \"main.bad\"\n"
			     "stacks:	.byte 2, 32 / QUANTUM, 0\n"
			     "usual:	.byte 2, 8 / QUANTUM, 48, 16 / QUANTUM, 47, 8 / QUANTUM, 0\n"
			     "negative:	.byte 2, 8 / QUANTUM, 47, 16 / QUANTUM, 0\n"
			     "	.balign 8\n"
			     "table:	.long 0, r0 - table, 32, r1 - table, 64, r2 - table, 96, r3 - table\n"
			     "	.long 128, r4 - table, 160, r5 - table, 192\n"
			     "	.macro record entry, name, stack, flags\n"
			     "	.long \\entry, \\name - names, 0, 0, \\stack - stacks, 0, 0, 0, 0 LINE\n"
			     "	.byte 0, \\flags, 0, 0\n"
			     "	.endm\n"
			     "r0:	record 0, names, stacks, 5\n"
			     "r1:	record 32, plain, usual, 0\n"
			     "r2:	record 64, vdso, usual, 6\n"
			     "r3:	record 96, hand, usual, 4\n"
			     "r4:	record 128, sys, stacks, 6\n"
			     "r5:	record 160, bad, negative, 0\n"
			     "	.section .note.GNU-stack,\"\",%progbits\n";

#define GO_1_18 "-DMAGIC=0xfffffff0 -DLINE="
#define GO_1_20 "-DMAGIC=0xfffffff1 -DLINE=,7"
#define STATIC  "-DSECTION=.gopclntab,\\\"a\\\" -DTEXT=_start -nostdlib -static"

static const char *
build_go(const struct folder *folder, const char *compiler, const char *options, char path[PATH_MAX])
{
	write_file(folder, "go.S", "%s", source);
	assert_true(run_in(folder, "%s %s -o go go.S", compiler, options));
	return path_in(folder, "go", path);
}

static uint64_t
start_offset(const char *path)
{
	const struct elf_layout layout = layout_of(path);
	struct elf_file file;
	uint64_t entry;

	assert_int_equal(elf_file_open(&file, path), 0);
	entry = file.header.e_entry;
	elf_file_close(&file);
	return code_offset(&layout, entry);
}

/* "REG+VALUE rN=KIND(VALUE) ...", of the registers that have rules. */
static const char *
rules_at(const struct unwind_table *table, uint64_t offset)
{
	static const char *const kinds[] = {"same", "lost", "cfa", "cfa+", "register"};
	static char text[256];
	const struct unwind_rules *rules = unwind_table_find(table, offset);
	size_t size;

	if (!rules)
		return "none";
	size = (size_t)snprintf(text, sizeof(text), "%u%+d", rules->cfa_register, rules->cfa_value);
	for (uint8_t i = 0; i < rules->count; i++) {
		const struct unwind_register_rule *rule = &table->register_rules[rules->first + i];

		assert_in_range(rule->kind, 0, ARRAY_COUNT(kinds) - 1);
		size += (size_t)snprintf(text + size, sizeof(text) - size, " r%u=%s(%d)", rule->number,
		                         kinds[rule->kind], rule->value);
	}
	return text;
}

static void
assert_x86_64_rules(const char *path)
{
	struct unwind_table *table = table_of_file(path);
	const uint64_t start = start_offset(path);

	assert_string_equal(rules_at(table, start), "7+0 r16=lost(0)");
	assert_string_equal(rules_at(table, start + 32), "7+8 r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 39), "7+8 r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 40), "7+32 r6=cfa(-16) r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 55), "7+32 r6=cfa(-16) r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 56), "7+8 r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 64 + 8), "6+16 r6=cfa(-16) r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 96 + 8), "7+32 r6=lost(0) r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 128 + 8), "7+0 r16=lost(0)");
	assert_string_equal(rules_at(table, start + 160), "7+8 r16=cfa(-8)");
	assert_string_equal(rules_at(table, start + 160 + 8), "none");
	unwind_table_free(table);
}

static void
frames_of_go_have_rules(void **state)
{
	char path[PATH_MAX];

	need_tool("gcc");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	assert_x86_64_rules(build_go(*state, "gcc -DQUANTUM=1", GO_1_18 " " STATIC, path));
	assert_x86_64_rules(build_go(*state, "gcc -DQUANTUM=1", GO_1_20 " " STATIC, path));
}

/* Where the text begins is then in a relocation; and from 1.26 on, it follows from the program's entry. */
static void
the_text_is_found_where_the_header_does_not_say_it(void **state)
{
	char path[PATH_MAX];

	need_tool("gcc");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	assert_x86_64_rules(build_go(*state, "gcc -DQUANTUM=1",
	                             GO_1_20 " -fPIC -DSECTION=.data.rel.ro.gopclntab,\\\"aw\\\" -DTEXT=_start "
	                                     "-nostdlib -static-pie",
	                             path));
	assert_x86_64_rules(build_go(*state, "gcc -DQUANTUM=1",
	                             GO_1_20 " -DSECTION=.gopclntab,\\\"a\\\" -DTEXT=0 -nostdlib -static", path));
}

static void
frames_of_go_on_arm_have_rules(void **state)
{
	struct unwind_table *table;
	char path[PATH_MAX];
	uint64_t start;

	need_tool("aarch64-linux-gnu-gcc");
	build_go(*state, "aarch64-linux-gnu-gcc -DQUANTUM=4", GO_1_20 " " STATIC, path);
	table = table_of_file(path);
	start = start_offset(path);
	assert_string_equal(rules_at(table, start), "31+0 r32=lost(0)");
	assert_string_equal(rules_at(table, start + 32), "31+0 r32=register(30)");
	assert_string_equal(rules_at(table, start + 40), "31+24 r29=cfa(-32) r30=cfa(-24) r32=cfa(-24)");
	assert_string_equal(rules_at(table, start + 64 + 8), "29+32 r29=cfa(-32) r30=cfa(-24) r32=cfa(-24)");
	assert_string_equal(rules_at(table, start + 96 + 8), "31+24 r29=lost(0) r30=cfa(-24) r32=cfa(-24)");
	unwind_table_free(table);
}

static int
add_name(void *context, const struct go_function *function)
{
	char *names = context;
	const size_t size = strlen(names);

	snprintf(names + size, 256 - size, "%s %" PRIu64 ", ", function->name, function->size);
	return 0;
}

static void
a_stripped_program_of_go_has_names(void **state)
{
	struct symbol_table *table;
	struct go_functions functions;
	struct image_file *file;
	struct image image;
	char path[PATH_MAX], names[256] = "";
	struct elf_file elf;
	uint64_t start;

	need_tool("gcc");
	build_go(*state, "gcc -DQUANTUM=1", GO_1_20 " " STATIC, path);
	assert_true(run_in(*state, "strip go"));
	assert_int_equal(elf_file_open(&elf, path), 0);
	assert_true(go_functions_find(&functions, &elf));
	assert_int_equal(go_functions_each(&functions, add_name, names), 0);
	assert_string_equal(names, "_rt0_some_linux 32, main.(*T).plain 32, runtime.nanotime1 32, main.hand 32, "
	                           "runtime.systemstack 32, main.bad 32, ");
	elf_file_close(&elf);
	start = start_offset(path);
	image = image_of(path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &table), 0);
	assert_string_equal(symbol_table_find(table, start + 32)->name, "main.(*T).plain");
	assert_string_equal(symbol_table_find(table, start + 127)->name, "main.hand");
	assert_int_equal(symbol_table_find(table, start + 127)->size, 32);
	assert_null(symbol_table_find(table, start + 192));
	symbol_table_free(table);
	image_file_close(file);
}

/* Any byte of the section is another: it is read as far as it goes. */
static void
damage_costs_rules_and_nothing_else(void **state)
{
	char path[PATH_MAX];
	struct elf_file file;
	GElf_Shdr header;
	uint8_t *bytes;
	size_t size;

	need_tool("gcc");
	build_go(*state, "gcc -DQUANTUM=1", GO_1_18 " " STATIC, path);
	assert_int_equal(elf_file_open(&file, path), 0);
	assert_non_null(elf_file_next_section(&file, NULL, ".gopclntab", &header));
	elf_file_close(&file);
	for (uint64_t i = 0; i < header.sh_size; i++) {
		FILE *stream = fopen(path, "r+b");
		int kept, err;

		assert_non_null(stream);
		assert_int_equal(fseek(stream, (long)(header.sh_offset + i), SEEK_SET), 0);
		kept = fgetc(stream);
		fseek(stream, -1, SEEK_CUR);
		fputc(kept ^ 0xff, stream);
		fflush(stream);
		assert_int_equal(elf_file_open(&file, path), 0);
		err = unwind_build(&file, NULL, &bytes, &size);
		elf_file_close(&file);
		if (err == 0)
			free(bytes);
		fseek(stream, -1, SEEK_CUR);
		fputc(kept, stream);
		fclose(stream);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(frames_of_go_have_rules),
		CASE(the_text_is_found_where_the_header_does_not_say_it),
		CASE(frames_of_go_on_arm_have_rules),
		CASE(a_stripped_program_of_go_has_names),
		CASE(damage_costs_rules_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
