#include "tests/unit/code/unwind_fixture.h"

#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

/* ---- every row of programs of the system is what readelf says ---- */

/* readelf's rows, which are all of one description until the next header: "LOC CFA rbx rbp ... ra". */
struct row_listing {
	const struct unwind_table *table;
	struct elf_layout layout;
	const char *const *names; /* of registers, by DWARF number; the last is the return address */
	uint8_t columns[64];
	size_t column_count;
	uint64_t start, end; /* of the description */
	size_t rows, expressions;
};

static const char *const x86_64_names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                           "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra",  NULL};

static uint8_t
register_number(const struct row_listing *listing, const char *name, size_t length)
{
	for (uint8_t i = 0; listing->names[i]; i++)
		if (strlen(listing->names[i]) == length && strncmp(listing->names[i], name, length) == 0)
			return i;
	return UINT8_MAX;
}

static const struct unwind_register_rule *
rule_of(const struct unwind_table *table, const struct unwind_rules *rules, uint8_t number)
{
	for (uint8_t i = 0; i < rules->count; i++)
		if (table->register_rules[rules->first + i].number == number)
			return &table->register_rules[rules->first + i];
	return NULL;
}

/* "u" not saved, "s" same, "c-16" at the CFA - 16, "v+8" the CFA + 8, "r9" in a register, "exp", "vexp". */
static void
compare_rule(struct row_listing *listing, const struct unwind_rules *rules, uint8_t number, const char *text,
             uint64_t address)
{
	const struct unwind_register_rule *rule = rule_of(listing->table, rules, number);
	enum unwind_rule_kind kind = rule ? (enum unwind_rule_kind)rule->kind : UNWIND_SAME;
	bool is_right;

	if (strcmp(text, "u") == 0)
		is_right = kind == UNWIND_SAME || kind == UNWIND_UNDEFINED;
	else if (strcmp(text, "s") == 0)
		is_right = kind == UNWIND_SAME;
	else if (text[0] == 'c' && kind == UNWIND_SAME) /* it was popped, and its place is below the stack pointer */
		is_right = rules->cfa_register == UNWIND_X86_64_RSP && rules->cfa_value + atoi(text + 1) < 0;
	else if (text[0] == 'c')
		is_right = kind == UNWIND_AT_CFA && rule->value == atoi(text + 1);
	else if (strcmp(text, "exp") == 0)
		is_right = kind == UNWIND_AT_EXPRESSION;
	else if (strcmp(text, "vexp") == 0)
		is_right = kind == UNWIND_EXPRESSION_VALUE;
	else if (text[0] == 'v')
		is_right = kind == UNWIND_CFA_PLUS && rule->value == atoi(text + 1);
	else
		is_right = kind == UNWIND_IN_REGISTER && rule->value == atoi(text + 1);
	if (!is_right)
		fail_msg("at %#" PRIx64 ", register %u: kind %u, value %d, not %s", address, number, kind,
		         rule ? rule->value : 0, text);
}

static void
compare_row(struct row_listing *listing, uint64_t address, char *words)
{
	const uint64_t offset = code_offset(&listing->layout, address);
	const struct unwind_rules *rules = unwind_table_find(listing->table, offset);
	char *rest, *cfa = strtok_r(words, " \n", &rest), *word;
	const size_t name = strcspn(cfa, "+-");

	if (!rules)
		fail_msg("no rules at %#" PRIx64, address);
	if (strcmp(cfa, "exp") == 0) {
		assert_int_equal(rules->cfa_register, UNWIND_CFA_EXPRESSION);
		listing->expressions++;
	} else if (rules->cfa_register != register_number(listing, cfa, name) || rules->cfa_value != atoi(cfa + name)) {
		fail_msg("at %#" PRIx64 " the CFA is register %u + %d, not %s", address, rules->cfa_register,
		         rules->cfa_value, cfa);
	}
	for (size_t i = 0; (word = strtok_r(NULL, " \n", &rest)) && i < listing->column_count;) {
		if (word[0] == '(') /* r1 (rdx) */
			continue;
		if (listing->columns[i] != UINT8_MAX)
			compare_rule(listing, rules, listing->columns[i], word, address);
		i++;
	}
	listing->rows++;
}

static void
row_line(void *context, const char *line)
{
	struct row_listing *listing = context;
	char words[1024], *word, *rest;
	uint64_t address;
	int at = 0;

	snprintf(words, sizeof(words), "%s", line);
	if (strstr(line, " FDE ") || strstr(line, " CIE ")) {
		const char *bounds = strstr(line, " FDE ") ? strstr(line, "pc=") : NULL;

		listing->start = listing->end = 0;
		if (bounds)
			assert_int_equal(sscanf(bounds, "pc=%" SCNx64 "..%" SCNx64, &listing->start, &listing->end), 2);
	} else if (strncmp(line, "   LOC", 6) == 0) {
		listing->column_count = 0;
		strtok_r(words, " \n", &rest);
		strtok_r(NULL, " \n", &rest);
		while ((word = strtok_r(NULL, " \n", &rest)) && listing->column_count < 64)
			listing->columns[listing->column_count++] = register_number(listing, word, strlen(word));
	} else if (sscanf(words, "%16" SCNx64 " %n", &address, &at) == 1 && at == 17 && address >= listing->start &&
	           address < listing->end) {
		compare_row(listing, address, words + at);
	}
}

static void
rows_are_those_that_readelf_prints(void **state)
{
	static const char *const paths[] = {"/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6",
	                                    "/lib64/ld-linux-x86-64.so.2"};
	size_t files = 0;

	(void)state;
	need_tool("readelf");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct row_listing listing = {.names = x86_64_names};
		struct unwind_table *table;

		if (access(paths[i], R_OK))
			continue;
		table = table_of_file(paths[i]);
		if (table->machine == UNWIND_X86_64) {
			listing.table = table;
			listing.layout = layout_of(paths[i]);
			each_line(row_line, &listing, "readelf -W --debug-dump=frames-interp %s 2>/dev/null || true",
			          paths[i]);
			assert_true(listing.rows > 500);
			assert_true(listing.expressions > 0);
			files++;
		}
		unwind_table_free(table);
	}
	if (files == 0)
		skip_because("there are no programs of x86-64 here");
}

/* ---- call frame instructions that compilers use rarely ---- */

static const char frame_source[] = "	.text\n"
				   "	.globl	_start, described, other, popped\n"
				   "described:\n"
				   "	.cfi_startproc\n"
				   "	.skip	0x10, 0x90\n" /* what precedes an advance goes into the CIE */
				   "	.cfi_def_cfa 7, 32\n"
				   "	.cfi_val_offset 3, -16\n"
				   "	.cfi_register 1, 2\n"
				   "	.cfi_undefined 0\n"
				   "	.cfi_remember_state\n"
				   "	.skip	0x10, 0x90\n"
				   "	.cfi_same_value 0\n"
				   "	.cfi_restore 1\n"
				   "	.cfi_def_cfa_offset 48\n"
				   "	.cfi_escape 0x0f, 3, 0x76, 0, 0x06\n" /* def_cfa_expression */
				   "	.cfi_escape 0x10, 4, 2, 0x76, 8\n"    /* expression */
				   "	.cfi_escape 0x16, 5, 2, 0x76, 16\n"   /* val_expression */
				   "	.skip	0x200, 0x90\n"
				   "	.cfi_restore_state\n"
				   "	.skip	0x10, 0x90\n"
				   "	.cfi_escape 0x3f\n" /* an instruction that there is not */
				   "	.skip	0x10, 0x90\n"
				   "	.cfi_endproc\n"
				   "other:\n"
				   "	.cfi_startproc\n"
				   "	.cfi_signal_frame\n"
				   "	.cfi_def_cfa 7, 64\n"
				   "	ret\n"
				   "	.cfi_endproc\n"
				   "	.skip	8, 0x90\n" /* padding */
				   "	.cfi_startproc\n"
				   "	.cfi_def_cfa 7, 72\n"
				   "	ret\n"
				   "	.cfi_endproc\n"
				   "undescribed:\n"
				   "	ret\n"
				   "	.skip	0x200, 0xff\n"
				   "_start:\n"
				   "	nop\n"
				   "	ret\n"
				   "	.skip	0x200, 0xff\n"
				   "popped:\n" /* from the stack, and what never was there */
				   "	.cfi_startproc\n"
				   "	.cfi_offset 12, -24\n"
				   "	push	%rbp\n"
				   "	.cfi_def_cfa_offset 16\n"
				   "	.cfi_offset 6, -16\n"
				   "	mov	%rsp, %rbp\n"
				   "	.cfi_def_cfa_register 6\n"
				   "	.cfi_remember_state\n"
				   "	pop	%rbp\n"
				   "	.cfi_def_cfa 7, 8\n"
				   "	ret\n"
				   "	.cfi_restore_state\n"
				   "	nop\n"
				   "	.cfi_endproc\n";

static struct unwind_table *
build_frames(const struct folder *folder, const char *flags, const char *section)
{
	char path[PATH_MAX];
	FILE *file = fopen(path_in(folder, "frames.S", path), "w");

	assert_non_null(file);
	if (section)
		fprintf(file, "\t.cfi_sections %s\n", section);
	fputs(frame_source, file);
	assert_int_equal(fclose(file), 0);
	assert_true(run_in(folder, "gcc -nostdlib -static %s -o frames frames.S", flags));
	return table_of_file(path_in(folder, "frames", path));
}

static uint64_t
offset_in(const struct folder *folder, const char *file, const char *name)
{
	char path[PATH_MAX];
	struct elf_layout layout;

	path_in(folder, file, path);
	layout = layout_of(path);
	return code_offset(&layout, nm_address_of(path, name));
}

static uint64_t
offset_of(const struct folder *folder, const char *name)
{
	return offset_in(folder, "frames", name);
}

static const struct unwind_register_rule *
rule_at(const struct unwind_table *table, uint64_t offset, uint8_t number)
{
	const struct unwind_rules *rules = unwind_table_find(table, offset);

	assert_non_null(rules);
	return rule_of(table, rules, number);
}

static void
assert_rule_at(const struct unwind_table *table, uint64_t offset, uint8_t number, enum unwind_rule_kind kind,
               int32_t value)
{
	const struct unwind_register_rule *rule = rule_at(table, offset, number);

	assert_non_null(rule);
	assert_int_equal(rule->kind, kind);
	assert_int_equal(rule->value, value);
}

/* Where they were saved is below the copy of a stack; what a function saved there without a push has not been popped.
 */
static void
registers_that_were_popped_have_the_callers_value(void **state)
{
	struct unwind_table *table;
	uint64_t start;

	need_tool("gcc");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	table = build_frames(*state, "-no-pie", NULL);
	start = offset_of(*state, "popped");
	assert_null(rule_at(table, start, UNWIND_X86_64_RBP));
	assert_rule_at(table, start, 12, UNWIND_AT_CFA, -24);
	assert_rule_at(table, start + 1, UNWIND_X86_64_RBP, UNWIND_AT_CFA, -16);
	assert_rule_at(table, start + 4, UNWIND_X86_64_RBP, UNWIND_AT_CFA, -16);
	assert_null(rule_at(table, start + 5, UNWIND_X86_64_RBP));
	assert_rule_at(table, start + 5, UNWIND_X86_64_RIP, UNWIND_AT_CFA, -8);
	assert_rule_at(table, start + 6, UNWIND_X86_64_RBP, UNWIND_AT_CFA, -16);
	unwind_table_free(table);
}

/* Of either section. */
static void
all_call_frame_instructions_are_followed(void **state)
{
	static const char *const sections[] = {NULL, ".debug_frame", ".eh_frame, .debug_frame"};

	need_tool("gcc");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		struct unwind_table *table = build_frames(*state, "-no-pie", sections[i]);
		const uint64_t start = offset_of(*state, "described") + 0x10;

		for (uint64_t at = start; at <= start + 0x210; at += 0x210) {
			assert_int_equal(unwind_table_find(table, at)->cfa_register, 7);
			assert_int_equal(unwind_table_find(table, at)->cfa_value, 32);
			assert_false(unwind_table_find(table, at)->is_signal_frame);
			assert_rule_at(table, at, 3, UNWIND_CFA_PLUS, -16);
			assert_rule_at(table, at, 1, UNWIND_IN_REGISTER, 2);
			assert_rule_at(table, at, 0, UNWIND_UNDEFINED, 0);
			assert_rule_at(table, at, UNWIND_X86_64_RIP, UNWIND_AT_CFA, -8);
			assert_null(rule_at(table, at, 4));
		}
		assert_int_equal(unwind_table_find(table, start + 0x20f)->cfa_register, UNWIND_CFA_EXPRESSION);
		assert_null(rule_at(table, start + 0x10, 0));
		assert_null(rule_at(table, start + 0x10, 1));
		assert_rule_at(table, start + 0x10, 3, UNWIND_CFA_PLUS, -16);
		assert_int_equal(rule_at(table, start + 0x10, 4)->kind, UNWIND_AT_EXPRESSION);
		assert_int_equal(rule_at(table, start + 0x10, 5)->kind, UNWIND_EXPRESSION_VALUE);
		assert_null(unwind_table_find(table, start - 0x11));
		assert_null(unwind_table_find(table, start + 0x220)); /* behind what is no instruction */
		unwind_table_free(table);
	}
}

static void
a_compressed_debug_frame_is_read(void **state)
{
	struct unwind_table *table;
	char path[PATH_MAX];

	need_tool("gcc");
	write_file(*state, "many.c",
	           "#define F(n) __attribute__((noinline)) int f##n(volatile int *a) { *a = n; return *a; }\n"
	           "#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)\n"
	           "T(1) T(2) T(3) T(4) T(5)\nvoid _start(void) { f10(0); }\n");
	assert_true(run_in(*state, "gcc -O1 -g -fno-asynchronous-unwind-tables -Wl,--compress-debug-sections=zlib "
	                           "-nostdlib -static -no-pie -o frames many.c"));
	assert_true(run_in(*state, "readelf -SW frames | grep -q 'debug_frame .* C '"));
	table = table_of_file(path_in(*state, "frames", path));
	assert_non_null(unwind_table_find(table, offset_of(*state, "f59")));
	unwind_table_free(table);
}

static void
code_between_functions_has_rules_only_if_it_is_padding(void **state)
{
	struct unwind_table *table;
	uint64_t other, undescribed;

	need_tool("gcc");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	table = build_frames(*state, "-no-pie", NULL);
	other = offset_of(*state, "other");
	undescribed = offset_of(*state, "undescribed");
	assert_true(unwind_table_find(table, other)->is_signal_frame);
	assert_int_equal(unwind_table_find(table, other)->cfa_value, 64);
	assert_int_equal(unwind_table_find(table, other + 8)->cfa_value, 64);
	assert_int_equal(unwind_table_find(table, other + 9)->cfa_value, 72);
	assert_int_equal(undescribed, other + 10);
	assert_null(unwind_table_find(table, undescribed));
	unwind_table_free(table);
}

/* As the dynamic linker's, which is not described. */
static void
the_entry_has_no_caller(void **state)
{
	struct unwind_table *table;
	uint64_t entry;

	need_tool("gcc");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	table = build_frames(*state, "-no-pie", NULL);
	entry = offset_of(*state, "_start");
	assert_null(unwind_table_find(table, entry - 1));
	assert_rule_at(table, entry, UNWIND_X86_64_RIP, UNWIND_UNDEFINED, 0);
	assert_null(unwind_table_find(table, entry + 128));
	unwind_table_free(table);
}

/* As in the vdso of aarch64: mov x8, #139 (__NR_rt_sigreturn); svc #0. */
static void
what_a_signal_handler_of_arm_returns_to_is_found(void **state)
{
	static const uint8_t of_sp[] = {0x8f, 0xb0, 0x04, 0x06}, of_pc[] = {0x8f, 0xb8, 0x04, 0x96};
	const struct unwind_register_rule *rule;
	const struct unwind_rules *rules;
	struct unwind_table *table;
	char path[PATH_MAX];
	uint64_t at;

	need_tool("aarch64-linux-gnu-gcc");
	write_file(*state, "frames.S",
	           "	.globl _start, sigreturn\n"
	           "_start:\n	.cfi_startproc\n	ret\n	.cfi_endproc\n"
	           "	nop\n"
	           "sigreturn:\n	mov x8, #139\n	svc #0\n	nop\n");
	assert_true(run_in(*state, "aarch64-linux-gnu-gcc -nostdlib -static -o frames frames.S"));
	table = table_of_file(path_in(*state, "frames", path));
	assert_int_equal(table->machine, UNWIND_AARCH64);
	at = offset_of(*state, "_start");
	assert_rule_at(table, at, UNWIND_AARCH64_PC, UNWIND_IN_REGISTER, UNWIND_AARCH64_LR);
	at = offset_of(*state, "sigreturn");
	rules = unwind_table_find(table, at - 1);
	assert_non_null(rules);
	assert_ptr_equal(unwind_table_find(table, at + 7), rules);
	assert_null(unwind_table_find(table, at + 8));
	assert_true(rules->is_signal_frame);
	assert_int_equal(rules->cfa_register, UNWIND_CFA_EXPRESSION);
	/* sp is at 128 + 176 + 8 + 31 * 8 = 560 (0xb0 0x04), the pc behind it */
	assert_int_equal(table->expression_ends[0], sizeof(of_sp));
	assert_memory_equal(table->expression_bytes, of_sp, sizeof(of_sp));
	rule = rule_at(table, at, UNWIND_AARCH64_PC);
	assert_int_equal(rule->kind, UNWIND_AT_EXPRESSION);
	assert_memory_equal(table->expression_bytes + table->expression_ends[rule->value - 1], of_pc, sizeof(of_pc));
	unwind_table_free(table);
}

static void
a_signed_return_address_of_arm_is_no_obstacle(void **state)
{
	struct unwind_table *table;
	char path[PATH_MAX];
	uint64_t at;

	need_tool("aarch64-linux-gnu-gcc");
	write_file(*state, "frames.S",
	           "	.globl _start\n"
	           "_start:\n	.cfi_startproc\n	paciasp\n	.cfi_negate_ra_state\n"
	           "	stp x29, x30, [sp, #-32]!\n	.cfi_def_cfa_offset 32\n	.cfi_offset 29, -32\n"
	           "	.cfi_offset 30, -24\n	ret\n	.cfi_endproc\n");
	assert_true(run_in(*state, "aarch64-linux-gnu-gcc -march=armv8.3-a -nostdlib -static -o frames frames.S"));
	table = table_of_file(path_in(*state, "frames", path));
	at = offset_of(*state, "_start");
	assert_rule_at(table, at + 4, UNWIND_AARCH64_PC, UNWIND_IN_REGISTER, UNWIND_AARCH64_LR);
	assert_int_equal(unwind_table_find(table, at + 8)->cfa_value, 32);
	assert_rule_at(table, at + 8, UNWIND_AARCH64_PC, UNWIND_AT_CFA, -24);
	assert_rule_at(table, at + 8, UNWIND_AARCH64_LR, UNWIND_AT_CFA, -24);
	unwind_table_free(table);
}

static void
plt_line(void *context, const char *line)
{
	uint64_t *offset = context;

	sscanf(line, " [%*[ 0-9]] .plt PROGBITS %*x %" SCNx64, offset);
}

/* A library that calls another's function. */
static struct unwind_table *
build_plt(const struct folder *folder, const char *compiler, uint64_t *plt)
{
	char path[PATH_MAX];

	write_file(folder, "stubs.c", "void other(void), third(void);\nvoid f(void)\n{\n\tother();\n\tthird();\n}\n");
	assert_true(run_in(folder, "%s -O1 -nostdlib -shared -fPIC -Wl,-z,lazy -o stubs.so stubs.c", compiler));
	each_line(plt_line, plt, "readelf -SW '%s'", path_in(folder, "stubs.so", path));
	assert_true(*plt != 0);
	return table_of_file(path);
}

/* GNU ld describes its PLT, lld does not. */
static void
stubs_of_x86_64_have_the_rules_that_gnu_ld_gives_them(void **state)
{
	static const uint8_t pushed[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	static const char *const compilers[] = {"gcc", "gcc -fuse-ld=lld"};

	need_tool("gcc");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
		struct unwind_table *table;
		uint64_t plt = 0;

		if (i > 0 && !have_tool("ld.lld"))
			continue;
		table = build_plt(*state, compilers[i], &plt);
		assert_int_equal(unwind_table_find(table, plt)->cfa_value, 16);
		assert_int_equal(unwind_table_find(table, plt + 6)->cfa_value, 24);
		for (uint64_t at = plt + 16; at < plt + 48; at++) {
			assert_int_equal(unwind_table_find(table, at)->cfa_register, UNWIND_CFA_EXPRESSION);
			assert_rule_at(table, at, UNWIND_X86_64_RIP, UNWIND_AT_CFA, -8);
		}
		assert_int_equal(table->expression_count, 1);
		assert_memory_equal(table->expression_bytes, pushed, sizeof(pushed));
		unwind_table_free(table);
	}
}

static void
stubs_of_arm_have_rules(void **state)
{
	static const char *const compilers[] = {"aarch64-linux-gnu-gcc",
	                                        "aarch64-linux-gnu-gcc -mbranch-protection=standard -Wl,-z,force-bti"};

	need_tool("aarch64-linux-gnu-gcc");
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
		uint64_t plt = 0, saved;
		struct unwind_table *table = build_plt(*state, compilers[i], &plt);

		saved = plt + (i == 0 ? 4 : 8); /* bti c comes first */
		assert_int_equal(unwind_table_find(table, saved - 4)->cfa_value, 0);
		assert_rule_at(table, saved - 4, UNWIND_AARCH64_PC, UNWIND_IN_REGISTER, UNWIND_AARCH64_LR);
		for (uint64_t at = saved; at < plt + 32; at += 4) {
			assert_int_equal(unwind_table_find(table, at)->cfa_value, 16);
			assert_rule_at(table, at, UNWIND_AARCH64_PC, UNWIND_AT_CFA, -8);
			assert_rule_at(table, at, UNWIND_AARCH64_LR, UNWIND_AT_CFA, -8);
		}
		for (uint64_t at = plt + 32; at < plt + 64; at += 4) {
			assert_int_equal(unwind_table_find(table, at)->cfa_register, UNWIND_AARCH64_SP);
			assert_int_equal(unwind_table_find(table, at)->cfa_value, 0);
			assert_rule_at(table, at, UNWIND_AARCH64_PC, UNWIND_IN_REGISTER, UNWIND_AARCH64_LR);
		}
		unwind_table_free(table);
	}
}

/* objdump's instructions, and how far the CFA is above the stack pointer at each. */
struct startup {
	const struct unwind_table *table;
	struct elf_layout layout;
	int called; /* when a function begins */
	int distance;
	unsigned functions, instructions;
	bool is_static;
	bool is_wanted;
};

static void
startup_line(void *context, const char *line)
{
	static const char *const without_descriptions[] = {"<_init>:",
	                                                   "<_fini>:",
	                                                   "<deregister_tm_clones>:",
	                                                   "<register_tm_clones>:",
	                                                   "<__do_global_dtors_aux>:",
	                                                   "<frame_dummy>:"};
	struct startup *startup = context;
	const struct unwind_rules *rules;
	const char *name = strchr(line, '<');
	char *code;
	uint64_t at;

	if (name && line[0] != ' ') {
		startup->is_wanted = false;
		for (size_t i = 0; i < ARRAY_COUNT(without_descriptions); i++)
			startup->is_wanted |= strstr(name, without_descriptions[i]) != NULL;
		startup->is_wanted &= !startup->is_static || !strstr(name, "frame_dummy");
		startup->functions += startup->is_wanted;
		startup->distance = startup->called;
		return;
	}
	at = strtoull(line, &code, 16);
	/* what is behind the last instruction is padding, which may have the rules of what is next to it */
	if (!startup->is_wanted || code[0] != ':' || strstr(code, "nop") || strstr(code, "xchg"))
		return;
	rules = unwind_table_find(startup->table, code_offset(&startup->layout, at));
	assert_non_null(rules);
	if (rules->cfa_value != startup->distance)
		fail_msg("%s: the CFA is %d above, not %d", line, rules->cfa_value, startup->distance);
	startup->instructions++;
	if (strstr(code, "ret"))
		startup->distance = startup->called;
	else if (strstr(code, "push") || (strstr(code, "sub") && strstr(code, "$0x8,%rsp")))
		startup->distance += 8;
	else if (strstr(code, "pop") || (strstr(code, "add") && strstr(code, "$0x8,%rsp")))
		startup->distance -= 8;
	else if (strstr(code, "stp"))
		startup->distance += 16;
	else if (strstr(code, "ldp"))
		startup->distance -= 16;
}

/* GCC compiles crtbegin.o without descriptions, and crti.o of glibc has none: a page fault there has a stack, too. */
static void
what_runs_before_and_after_a_program_has_rules(void **state)
{
	static const char *const kinds[] = {"-shared -fPIC", "-no-pie", "-static", "-static-pie -fPIE"};

	need_tool("gcc");
	need_tool("objdump");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	write_file(*state, "startup.c", "int main(void)\n{\n\treturn 0;\n}\n");
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		struct startup startup = {.called = 8, .is_static = strcmp(kinds[i], "-static") == 0};
		struct unwind_table *table;
		char path[PATH_MAX];

		assert_true(run_in(*state, "gcc %s -o startup startup.c", kinds[i]));
		table = table_of_file(path_in(*state, "startup", path));
		startup.table = table;
		startup.layout = layout_of(path);
		each_line(startup_line, &startup, "objdump -d --no-show-raw-insn '%s'", path);
		assert_int_equal(startup.functions, startup.is_static ? 5 : 6);
		assert_in_range(startup.instructions, 30, 100);
		unwind_table_free(table);
	}
}

static void
what_runs_before_and_after_a_program_of_arm_has_rules(void **state)
{
	struct startup startup = {0};
	struct unwind_table *table;
	char path[PATH_MAX];

	need_tool("aarch64-linux-gnu-gcc");
	write_file(*state, "startup.c", "int main(void)\n{\n\treturn 0;\n}\n");
	assert_true(run_in(*state, "aarch64-linux-gnu-gcc -shared -fPIC -o startup startup.c"));
	table = table_of_file(path_in(*state, "startup", path));
	startup.table = table;
	startup.layout = layout_of(path);
	each_line(startup_line, &startup, "aarch64-linux-gnu-objdump -d -j .init -j .fini --no-show-raw-insn '%s'",
	          path);
	assert_int_equal(startup.functions, 2);
	assert_in_range(startup.instructions, 8, 16);
	unwind_table_free(table);
}

/* Some linkers put the beginning of the code there: it is called like other code. */
static void
the_entry_of_a_library_is_none(void **state)
{
	struct unwind_table *table;
	char path[PATH_MAX];
	uint64_t at;

	need_tool("gcc");
	write_file(*state, "entry.S", "	.globl f\nf:	nop\n	ret\n	.section .note.GNU-stack,\"\",@progbits\n");
	write_file(*state, "needed.c", "int main(void)\n{\n\treturn 0;\n}\n");
	assert_true(run_in(
		*state,
		"gcc -nostartfiles -shared -fPIC -Wl,--no-as-needed -Wl,-e,f -o library.so needed.c entry.S -lc"));
	table = table_of_file(path_in(*state, "library.so", path));
	at = offset_in(*state, "library.so", "f");
	assert_null(unwind_table_find(table, at));
	unwind_table_free(table);
	assert_true(run_in(*state, "gcc -nostdlib -shared -fPIC -Wl,-e,f -o linker.so needed.c entry.S"));
	table = table_of_file(path_in(*state, "linker.so", path));
	at = offset_in(*state, "linker.so", "f");
	assert_non_null(unwind_table_find(table, at)); /* as the dynamic linker */
	unwind_table_free(table);
}

/* It would be read again for each of the descriptions that refer to it. */
static void
a_common_entry_that_no_compiler_makes_is_skipped(void **state)
{
	static const char *const lengths[] = {"8", "5000"};
	struct unwind_table *table;
	char text[1024], path[PATH_MAX];

	need_tool("gcc");
	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		snprintf(text, sizeof(text),
		         "	.text\nf:	.skip 64, 0x90\n	ret\ng:	.skip 64, 0x91\n	ret\n"
		         "	.section .debug_frame\n"
		         "1:	.long 3f - 2f\n2:	.long 0xffffffff\n	.byte 1, 0\n	.uleb128 1\n	"
		         ".sleb128 -8\n"
		         "	.byte 16, 12, 7, 8, 0x90, 1\n	.skip %s\n	.balign 8\n"
		         "3:	.long 5f - 4f\n4:	.long 0\n	.quad f, 65\n	.balign 8\n5:\n",
		         lengths[i]);
		write_file(*state, "cie.s", text);
		assert_true(run_in(*state, "gcc -nostdlib -static -Wl,-Ttext=0x401000,-e,0x401041 -o cie cie.s"));
		table = table_of_file(path_in(*state, "cie", path));
		if (i == 0)
			assert_non_null(unwind_table_find(table, 0x1010));
		else
			assert_null(unwind_table_find(table, 0x1010));
		unwind_table_free(table);
	}
}

/* ---- code without descriptions that keeps frame pointers ---- */

struct frame_listing {
	const struct unwind_table *described, *found; /* of one program, with its descriptions and without them */
	struct elf_layout layout;
	size_t same, unknown;
};

/* "  401000:	push   %rbp" */
static void
frame_line(void *context, const char *line)
{
	struct frame_listing *listing = context;
	const struct unwind_rules *described, *found;
	uint64_t address, offset;

	if (line[0] != ' ' || sscanf(line, "%" SCNx64, &address) != 1 || strstr(line, "nop") ||
	    strstr(line, "xchg   %ax,%ax"))
		return;
	offset = code_offset(&listing->layout, address);
	described = unwind_table_find(listing->described, offset);
	found = unwind_table_find(listing->found, offset);
	assert_non_null(described);
	if (!found) { /* what is not sure is not there */
		listing->unknown++;
		return;
	}
	if (found->cfa_register != described->cfa_register || found->cfa_value != described->cfa_value)
		fail_msg("the CFA is %u + %d in %s", found->cfa_register, found->cfa_value, line);
	for (uint8_t number = UNWIND_X86_64_RBP; number <= UNWIND_X86_64_RIP; number += 10) {
		const struct unwind_register_rule *a = rule_of(listing->described, described, number);
		const struct unwind_register_rule *b = rule_of(listing->found, found, number);

		if (!a != !b || (a && (a->kind != b->kind || a->value != b->value)))
			fail_msg("register %u is elsewhere in %s", number, line);
	}
	listing->same++;
}

/* What the compiler said of the program is removed, and found again. */
static void
frame_pointers_take_the_place_of_descriptions(void **state)
{
	static const char source[] = "#define F(n) __attribute__((noinline)) long f##n(long a, long *b) \\\n"
				     "{ if (a < n) return b[1]; if (b[a] == n) return g(b + 1) * n; \\\n"
				     "  switch (a & 7) { case 0: return g(b); case 1: a += g(b + n); break; \\\n"
				     "  case 2: b[n] = a; break; case 3: h(); case 4: a ^= n; } \\\n"
				     "  for (long i = 0; i < a; i++) b[i] += g(b + i) + n; return b[0]; }\n"
				     "long g(long *b); void h(void) __attribute__((noreturn));\n"
				     "#define G(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)\n"
				     "G(1) G(2) G(3) G(4) G(5) G(6) G(7) G(8) G(9)\n"
				     "long g(long *b) { return f11(b[2], b + 1) + 1; }\n"
				     "void h(void) { for (;;) g(0); }\n";
	struct frame_listing listing = {0};
	struct unwind_table *described, *found;
	char path[PATH_MAX];
	struct elf_file file;
	uint8_t *bytes;
	size_t size;

	need_tool("gcc");
	need_tool("objcopy");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	write_file(*state, "kept.c", "%s", source);
	assert_true(run_in(*state, "gcc -O2 -nostdlib -shared -fPIC -fno-omit-frame-pointer"
	                           " -fasynchronous-unwind-tables -o kept.so kept.c"
	                           " && objcopy -R .eh_frame -R .eh_frame_hdr kept.so bare.so"));
	described = table_of_file(path_in(*state, "kept.so", path));
	found = table_of_file(path_in(*state, "bare.so", path));
	listing = (struct frame_listing){described, found, layout_of(path), 0, 0};
	each_line(frame_line, &listing, "objdump -d -j .text --no-show-raw-insn '%s'", path);
	assert_true(listing.same > 72 * 20);
	assert_true(listing.unknown * 50 < listing.same);
	assert_rule_at(found, offset_in(*state, "kept.so", "f11") + 4, 3, UNWIND_UNDEFINED, 0);
	unwind_table_free(described);
	unwind_table_free(found);

	/* of the same program without frame pointers, nothing is known */
	assert_true(run_in(*state, "gcc -O2 -nostdlib -shared -fPIC -fomit-frame-pointer -o none.so kept.c"
	                           " && objcopy -R .eh_frame -R .eh_frame_hdr none.so"));
	assert_int_equal(elf_file_open(&file, path_in(*state, "none.so", path)), 0);
	if (unwind_build(&file, NULL, &bytes, &size) == 0) { /* stubs have rules */
		assert_int_equal(unwind_table_load(bytes, size, &found), 0);
		assert_null(unwind_table_find(found, offset_in(*state, "none.so", "f11")));
		unwind_table_free(found);
		free(bytes);
	}
	elf_file_close(&file);
}

static void
files_that_have_no_table_say_why(void **state)
{
	struct elf_file file;
	char path[PATH_MAX];
	uint8_t *bytes;
	size_t size;

	need_tool("gcc");
	write_file(*state, "data.S", "	.data\n	.long 1\n");
	assert_true(run_in(*state, "gcc -nostdlib -shared -o data.so data.S"));
	assert_int_equal(elf_file_open(&file, path_in(*state, "data.so", path)), 0);
	assert_int_equal(unwind_build(&file, NULL, &bytes, &size), -ENOENT);
	file.header.e_machine = EM_RISCV;
	assert_int_equal(unwind_build(&file, NULL, &bytes, &size), -ENOTSUP);
	elf_file_close(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_that_readelf_prints),
		cmocka_unit_test(all_call_frame_instructions_are_followed),
		cmocka_unit_test(registers_that_were_popped_have_the_callers_value),
		cmocka_unit_test(a_compressed_debug_frame_is_read),
		cmocka_unit_test(code_between_functions_has_rules_only_if_it_is_padding),
		cmocka_unit_test(the_entry_has_no_caller),
		cmocka_unit_test(what_a_signal_handler_of_arm_returns_to_is_found),
		cmocka_unit_test(a_signed_return_address_of_arm_is_no_obstacle),
		cmocka_unit_test(stubs_of_x86_64_have_the_rules_that_gnu_ld_gives_them),
		cmocka_unit_test(stubs_of_arm_have_rules),
		cmocka_unit_test(what_runs_before_and_after_a_program_has_rules),
		cmocka_unit_test(what_runs_before_and_after_a_program_of_arm_has_rules),
		cmocka_unit_test(the_entry_of_a_library_is_none),
		cmocka_unit_test(a_common_entry_that_no_compiler_makes_is_skipped),
		cmocka_unit_test(frame_pointers_take_the_place_of_descriptions),
		cmocka_unit_test(files_that_have_no_table_say_why),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
