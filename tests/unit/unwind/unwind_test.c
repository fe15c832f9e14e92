#include "tests/unit/unwind/table_fixture.h"

#include <dwarf.h>

#include "unwind/unwind.h"

#define STACK  UINT64_C(0x7fff0000) /* the stack pointer */
#define CODE   UINT64_C(0x400000)   /* where file offset 0 is mapped */
#define JIT    UINT64_C(0x700000)
#define SYSTEM UINT64_C(0x800000) /* code without a table */

/* A process: one image with a table, code made at run time, and code without a table, 64 KiB each. */
struct unwind_scene {
	struct unwind_writer *writer;
	struct unwind_table *table;
	uint64_t words[16]; /* of the stack */
	size_t copied;      /* bytes of them */
	struct unwind_registers registers;
	enum unwind_machine machine;
	struct unwind_frame frames[8];
	size_t capacity, count;
};

static enum unwind_code
find(void *context, uint64_t pc, const struct unwind_table **table, uint64_t *offset)
{
	const struct unwind_scene *scene = context;

	switch (pc >> 16) {
	case CODE >> 16:
		*table = scene->table;
		*offset = pc - CODE;
		return UNWIND_CODE_TABLE;
	case JIT >> 16:
		return UNWIND_CODE_FRAME_POINTER;
	case SYSTEM >> 16:
		return UNWIND_CODE_WITHOUT_TABLE;
	default:
		return UNWIND_CODE_NONE;
	}
}

static struct unwind_scene
scene_of(enum unwind_machine machine)
{
	struct unwind_scene scene = {.machine = machine, .writer = unwind_writer_new(machine), .capacity = 8};

	scene.copied = sizeof(scene.words);
	return scene;
}

static void
set_register(struct unwind_scene *scene, unsigned number, uint64_t value)
{
	scene->registers.values[number] = value;
	scene->registers.known |= UINT64_C(1) << number;
}

/* Unwind from `pc`, with the stack pointer at the first word; the scene is over then. */
static enum unwind_end
unwind_from(struct unwind_scene *scene, uint64_t pc)
{
	const struct unwind_process process = {scene->machine, find, scene};
	const struct unwind_stack stack = {STACK, (const uint8_t *)scene->words, scene->copied};
	const bool is_arm = scene->machine == UNWIND_AARCH64;
	enum unwind_end end;

	scene->table = table_of(scene->writer);
	set_register(scene, is_arm ? UNWIND_AARCH64_SP : UNWIND_X86_64_RSP, STACK);
	set_register(scene, is_arm ? UNWIND_AARCH64_PC : UNWIND_X86_64_RIP, pc);
	end = unwind_stack(&process, &scene->registers, &stack, scene->frames, scene->capacity, &scene->count);
	unwind_table_free(scene->table);
	return end;
}

static void
assert_pcs(const struct unwind_scene *scene, size_t count, const uint64_t *pcs)
{
	assert_int_equal(scene->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(scene->frames[i].pc, pcs[i]);
}

#define assert_frames(scene, ...)                                                                                      \
	do {                                                                                                           \
		const uint64_t pcs[] = {__VA_ARGS__};                                                                  \
		assert_pcs((scene), sizeof(pcs) / sizeof(pcs[0]), pcs);                                                \
	} while (0)

/* Rows: at 0x100 a leaf, CFA = rsp + 8; at 0x200 rsp + 24; at 0x300 the outermost function; none from 0x400 on. */
static void
add_three_functions(struct unwind_writer *writer)
{
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_X86_64_RSP, 8);

	add_row(writer, 0x100, &rules);
	rules.cfa.value = 24;
	add_row(writer, 0x200, &rules);
	rules.registers[UNWIND_X86_64_RIP].kind = UNWIND_UNDEFINED;
	add_row(writer, 0x300, &rules);
	add_row(writer, 0x400, NULL);
}

static void
callers_are_found_up_to_the_outermost(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	add_three_functions(scene.writer);
	scene.words[0] = CODE + 0x210; /* returns to the second function, whose frame is words 1 to 3 */
	scene.words[3] = CODE + 0x220;
	scene.words[6] = CODE + 0x310;
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x100, CODE + 0x210, CODE + 0x220, CODE + 0x310);
	assert_true(scene.frames[0].is_exact);
	assert_false(scene.frames[1].is_exact);
	assert_false(scene.frames[3].is_exact);
}

/* A function may end with a call that does not return: its return address is where the next function begins. */
static void
a_return_address_belongs_to_the_call_before_it(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	add_three_functions(scene.writer);
	scene.words[0] = CODE + 0x300; /* of a call in the function at 0x200 */
	scene.words[3] = CODE + 0x400; /* of one in the outermost */
	assert_int_equal(unwind_from(&scene, CODE + 0x180), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x180, CODE + 0x300, CODE + 0x400);
}

static void
registers_that_a_callee_saved_come_back(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_X86_64_RSP, 16);

	(void)state;
	rules.registers[UNWIND_X86_64_RBP] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -16};
	add_row(scene.writer, 0x100, &rules);
	rules = x86_64_rules(UNWIND_X86_64_RBP, 16);
	add_row(scene.writer, 0x200, &rules);
	rules.registers[UNWIND_X86_64_RIP].kind = UNWIND_UNDEFINED;
	add_row(scene.writer, 0x300, &rules);
	scene.words[0] = STACK + 8 * 8; /* rbp of the caller, which keeps a frame pointer */
	scene.words[1] = CODE + 0x210;
	scene.words[9] = CODE + 0x310;
	set_register(&scene, UNWIND_X86_64_RBP, 1);
	assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x110, CODE + 0x210, CODE + 0x310);
}

/* A function that aligns its stack (gcc's DRAP): the CFA is in memory, where rbp points. */
static void
a_cfa_may_be_an_expression(void **state)
{
	static const uint8_t saved[] = {DW_OP_breg6, 0x78, DW_OP_deref}; /* at rbp - 8 */
	struct unwind_scene scene = scene_of(UNWIND_X86_64);
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_CFA_EXPRESSION, 0);

	(void)state;
	rules.cfa = (struct unwind_rule){.expression = saved, .size = sizeof(saved)};
	add_row(scene.writer, 0x100, &rules);
	rules.registers[UNWIND_X86_64_RIP].kind = UNWIND_UNDEFINED;
	add_row(scene.writer, 0x200, &rules);
	set_register(&scene, UNWIND_X86_64_RBP, STACK + 16);
	scene.words[1] = STACK + 80;
	scene.words[9] = CODE + 0x210;
	assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x110, CODE + 0x210);
}

/* Rules use the callee's registers, also those that other rules of the set change. */
static void
rules_do_not_see_each_other(void **state)
{
	static const uint8_t of_rbx[] = {DW_OP_breg3, 8};
	struct unwind_scene scene = scene_of(UNWIND_X86_64);
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_X86_64_RSP, 8);

	(void)state;
	rules.registers[3] = (struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = 12};
	rules.registers[12] = (struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = 3};
	rules.registers[13] =
		(struct unwind_rule){.kind = UNWIND_EXPRESSION_VALUE, .expression = of_rbx, .size = sizeof(of_rbx)};
	rules.registers[14] =
		(struct unwind_rule){.kind = UNWIND_AT_EXPRESSION, .expression = of_rbx, .size = sizeof(of_rbx)};
	rules.registers[15] = (struct unwind_rule){.kind = UNWIND_CFA_PLUS, .value = 24};
	add_row(scene.writer, 0x100, &rules);
	rules = x86_64_rules(3, 0); /* rbx: was r12 */
	add_row(scene.writer, 0x200, &rules);
	rules = x86_64_rules(13, 0);
	add_row(scene.writer, 0x300, &rules);
	rules = x86_64_rules(14, 0);
	add_row(scene.writer, 0x400, &rules);
	rules = x86_64_rules(15, 32);
	add_row(scene.writer, 0x500, &rules);
	rules.registers[UNWIND_X86_64_RIP].kind = UNWIND_UNDEFINED;
	add_row(scene.writer, 0x600, &rules);
	set_register(&scene, 3, STACK + 24);
	set_register(&scene, 12, STACK + 16);
	scene.words[0] = CODE + 0x201;
	scene.words[1] = CODE + 0x301; /* CFA = r12 = STACK + 16 */
	scene.words[3] = CODE + 0x401; /* CFA = r13 = rbx + 8 */
	scene.words[4] = STACK + 48;   /* r14, at rbx + 8; CFA */
	scene.words[5] = CODE + 0x501;
	scene.words[7] = CODE + 0x601; /* CFA = r15 + 32 = STACK + 8 + 24 + 32 */
	assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x110, CODE + 0x201, CODE + 0x301, CODE + 0x401, CODE + 0x501, CODE + 0x601);
}

static void
code_that_a_signal_interrupted_is_exact(void **state)
{
	static const uint8_t saved_sp[] = {DW_OP_breg7, 16, DW_OP_deref}, saved_pc[] = {DW_OP_breg7, 24};
	struct unwind_scene scene = scene_of(UNWIND_X86_64);
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_CFA_EXPRESSION, 0);

	(void)state;
	add_three_functions(scene.writer);
	rules.is_signal_frame = true;
	rules.cfa = (struct unwind_rule){.expression = saved_sp, .size = sizeof(saved_sp)};
	rules.registers[UNWIND_X86_64_RIP] =
		(struct unwind_rule){.kind = UNWIND_AT_EXPRESSION, .expression = saved_pc, .size = sizeof(saved_pc)};
	add_row(scene.writer, 0x4ff, &rules); /* what a handler returns to: found by the byte before it */
	scene.words[0] = CODE + 0x500;
	scene.words[3] = STACK + 64; /* sp and pc of what was interrupted */
	scene.words[4] = CODE + 0x200;
	scene.words[10] = CODE + 0x310; /* the CFA is sp + 24, not + 8 as one byte before */
	assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x110, CODE + 0x500, CODE + 0x200, CODE + 0x310);
	assert_false(scene.frames[1].is_exact);
	assert_true(scene.frames[2].is_exact);
	assert_false(scene.frames[3].is_exact);
}

/* A handler on a stack of its own: what it interrupted is known, but its stack was not copied. */
static void
the_stack_below_an_alternate_one_is_beyond_the_copy(void **state)
{
	static const uint8_t saved_sp[] = {DW_OP_breg7, 16, DW_OP_deref}, saved_pc[] = {DW_OP_breg7, 24};

	(void)state;
	for (int is_above = 0; is_above < 2; is_above++) {
		struct unwind_scene scene = scene_of(UNWIND_X86_64);
		struct unwind_frame_rules rules = x86_64_rules(UNWIND_CFA_EXPRESSION, 0);

		add_three_functions(scene.writer);
		rules.is_signal_frame = true;
		rules.cfa = (struct unwind_rule){.expression = saved_sp, .size = sizeof(saved_sp)};
		rules.registers[UNWIND_X86_64_RIP] = (struct unwind_rule){
			.kind = UNWIND_AT_EXPRESSION, .expression = saved_pc, .size = sizeof(saved_pc)};
		add_row(scene.writer, 0x4ff, &rules);
		scene.words[0] = CODE + 0x500;
		scene.words[3] = is_above ? STACK + 0x10000 : STACK - 0x10000;
		scene.words[4] = CODE + 0x200;
		assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_BEYOND_COPY);
		assert_frames(&scene, CODE + 0x110, CODE + 0x500, CODE + 0x200);
	}
}

static void
code_without_rules_ends_the_stack(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	add_three_functions(scene.writer);
	scene.words[0] = SYSTEM + 0x10;
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_NO_TABLE);
	assert_frames(&scene, CODE + 0x100, SYSTEM + 0x10);
	scene = scene_of(UNWIND_X86_64);
	add_three_functions(scene.writer);
	scene.words[0] = CODE + 0x410;
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_NO_TABLE);
	assert_frames(&scene, CODE + 0x100, CODE + 0x410);
}

static void
a_table_of_another_machine_is_none(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	add_three_functions(scene.writer);
	scene.machine = UNWIND_AARCH64;
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_NO_TABLE);
}

static void
a_caller_behind_the_copy_ends_the_stack(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	add_three_functions(scene.writer);
	scene.words[0] = CODE + 0x210;
	scene.copied = 31; /* one byte is missing of the second return address */
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_BEYOND_COPY);
	assert_frames(&scene, CODE + 0x100, CODE + 0x210);
	scene = scene_of(UNWIND_X86_64);
	add_three_functions(scene.writer);
	scene.copied = 0;
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_BEYOND_COPY);
	assert_frames(&scene, CODE + 0x100);
}

/* The register that was saved behind the copy is needed only a frame later. */
static void
a_register_saved_behind_the_copy_ends_the_stack_where_it_is_needed(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_X86_64_RSP, 8);

	(void)state;
	rules.registers[UNWIND_X86_64_RBP] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = 400};
	add_row(scene.writer, 0x100, &rules);
	rules = x86_64_rules(UNWIND_X86_64_RBP, 16);
	add_row(scene.writer, 0x200, &rules);
	scene.words[0] = CODE + 0x210;
	assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_BEYOND_COPY);
	assert_frames(&scene, CODE + 0x110, CODE + 0x210);
}

static void
what_cannot_be_a_caller_ends_the_stack(void **state)
{
	static const struct {
		uint8_t cfa_register;
		int64_t cfa_offset;
		uint64_t rbp, return_address;
		size_t count;
	} bad[] = {
		{UNWIND_X86_64_RSP, 8, 0, 0, 1},                     /* no code at 0 */
		{UNWIND_X86_64_RSP, 8, 0, STACK, 1},                 /* the stack is no code */
		{UNWIND_X86_64_RBP, 0, STACK, CODE + 0x100, 1},      /* the stack pointer does not move */
		{UNWIND_X86_64_RBP, 8, STACK - 16, CODE + 0x100, 1}, /* it moves down */
		{UNWIND_X86_64_RBP, 12, STACK, CODE + 0x100, 1},     /* it is not aligned */
		{3, 8, 0, CODE + 0x100, 1},                          /* rbx is not known */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct unwind_scene scene = scene_of(UNWIND_X86_64);
		const struct unwind_frame_rules rules = x86_64_rules(bad[i].cfa_register, bad[i].cfa_offset);

		add_row(scene.writer, 0x100, &rules);
		set_register(&scene, UNWIND_X86_64_RBP, bad[i].rbp);
		for (size_t k = 0; k < 16; k++)
			scene.words[k] = bad[i].return_address;
		assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_BAD_FRAME);
		assert_int_equal(scene.count, bad[i].count);
	}
}

static void
a_pc_that_is_no_code_has_no_frame(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	assert_int_equal(unwind_from(&scene, 16), UNWIND_BAD_FRAME);
	assert_int_equal(scene.count, 0);
}

static void
more_frames_than_there_is_room_for_are_cut(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	add_three_functions(scene.writer);
	for (size_t i = 0; i < 16; i++)
		scene.words[i] = CODE + 0x110;
	scene.capacity = 5;
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_DEPTH_LIMIT);
	assert_int_equal(scene.count, 5);
}

/*
 * A hostile file's: 899 operations for the CFA and for each of three registers. After five frames and a half, nothing
 * is left.
 */
static void
expressions_of_a_stack_have_a_common_limit(void **state)
{
	/* 224 times: count down; then what a call leaves (the CFA), or nothing of use */
	static const uint8_t cfa[] = {DW_OP_const1u, 224,  DW_OP_lit1, DW_OP_minus, DW_OP_dup, DW_OP_bra,
	                              0xfa,          0xff, DW_OP_drop, DW_OP_breg7, 8};
	static const uint8_t value[] = {DW_OP_const1u, 224,  DW_OP_lit1, DW_OP_minus, DW_OP_dup,
	                                DW_OP_bra,     0xfa, 0xff,       DW_OP_drop,  DW_OP_lit0};
	struct unwind_scene scene = scene_of(UNWIND_X86_64);
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_X86_64_RSP, 8);

	(void)state;
	rules.cfa_register = UNWIND_CFA_EXPRESSION;
	rules.cfa = (struct unwind_rule){UNWIND_EXPRESSION_VALUE, 0, cfa, sizeof(cfa)};
	for (unsigned i = 12; i < 15; i++)
		rules.registers[i] = (struct unwind_rule){UNWIND_EXPRESSION_VALUE, 0, value, sizeof(value)};
	add_row(scene.writer, 0x100, &rules);
	for (size_t i = 0; i < 16; i++)
		scene.words[i] = CODE + 0x200;
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_BAD_FRAME);
	assert_int_equal(scene.count, 7);
}

/* An interpreter with a table calls code made at run time, which calls back. */
static void
code_made_at_run_time_is_unwound_by_frame_pointers(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	add_three_functions(scene.writer);
	scene.words[0] = JIT + 0x10;
	scene.words[3] = STACK + 56; /* where rbp points: the caller's rbp, and the return address */
	scene.words[4] = JIT + 0x20;
	scene.words[7] = 12345;
	scene.words[8] = CODE + 0x210; /* the stack pointer is known: word 9 */
	scene.words[11] = CODE + 0x310;
	set_register(&scene, UNWIND_X86_64_RBP, STACK + 24);
	assert_int_equal(unwind_from(&scene, CODE + 0x100), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x100, JIT + 0x10, JIT + 0x20, CODE + 0x210, CODE + 0x310);
}

static void
a_frame_pointer_of_zero_is_the_outermost(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_X86_64);

	(void)state;
	scene.words[0] = 0;
	scene.words[1] = JIT + 0x20;
	set_register(&scene, UNWIND_X86_64_RBP, STACK);
	assert_int_equal(unwind_from(&scene, JIT + 0x10), UNWIND_OUTERMOST);
	assert_frames(&scene, JIT + 0x10, JIT + 0x20);
}

static void
a_frame_pointer_that_is_none_ends_the_stack(void **state)
{
	struct unwind_scene scene;

	(void)state;
	scene = scene_of(UNWIND_X86_64);
	assert_int_equal(unwind_from(&scene, JIT + 0x10), UNWIND_BAD_FRAME);
	scene = scene_of(UNWIND_X86_64);
	set_register(&scene, UNWIND_X86_64_RBP, STACK - 8);
	assert_int_equal(unwind_from(&scene, JIT + 0x10), UNWIND_BAD_FRAME);
	scene = scene_of(UNWIND_X86_64);
	set_register(&scene, UNWIND_X86_64_RBP, STACK + 1);
	scene.words[1] = scene.words[2] = UINT64_C(0x7000) << 8 | 0x7000;
	assert_int_equal(unwind_from(&scene, JIT + 0x10), UNWIND_BAD_FRAME);
	scene = scene_of(UNWIND_X86_64);
	set_register(&scene, UNWIND_X86_64_RBP, STACK + 15 * 8);
	assert_int_equal(unwind_from(&scene, JIT + 0x10), UNWIND_BEYOND_COPY);
}

/* aarch64: x30 has the return address until it is saved, also signed; the rule of the pc is that of x30. */
static void
arm_returns_by_the_link_register(void **state)
{
	const uint64_t signature = UINT64_C(0x00ab) << 48;
	struct unwind_scene scene = scene_of(UNWIND_AARCH64);
	struct unwind_frame_rules rules = {.cfa_register = UNWIND_AARCH64_SP};

	(void)state;
	rules.registers[UNWIND_AARCH64_PC] =
		(struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = UNWIND_AARCH64_LR};
	add_row(scene.writer, 0x100, &rules); /* a leaf: no stack, nothing saved */
	rules.cfa.value = 32;
	rules.registers[UNWIND_AARCH64_FP] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -32};
	rules.registers[UNWIND_AARCH64_LR] = rules.registers[UNWIND_AARCH64_PC] =
		(struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -24};
	add_row(scene.writer, 0x200, &rules);
	rules.registers[UNWIND_AARCH64_PC].kind = UNWIND_UNDEFINED;
	add_row(scene.writer, 0x300, &rules);
	set_register(&scene, UNWIND_AARCH64_LR, signature | (CODE + 0x210));
	scene.words[1] = signature | (CODE + 0x220);
	scene.words[5] = CODE + 0x310;
	assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_OUTERMOST);
	assert_frames(&scene, CODE + 0x110, CODE + 0x210, CODE + 0x220, CODE + 0x310);
}

/* Only the innermost function may have its return address in a register: a second one would return to itself. */
static void
a_caller_that_returns_to_itself_ends_the_stack(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_AARCH64);
	struct unwind_frame_rules rules = {.cfa_register = UNWIND_AARCH64_SP};

	(void)state;
	rules.registers[UNWIND_AARCH64_PC] =
		(struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = UNWIND_AARCH64_LR};
	add_row(scene.writer, 0x100, &rules);
	set_register(&scene, UNWIND_AARCH64_LR, CODE + 0x180);
	assert_int_equal(unwind_from(&scene, CODE + 0x110), UNWIND_BAD_FRAME);
	assert_frames(&scene, CODE + 0x110, CODE + 0x180);
}

/* On aarch64 a frame record does not show the stack pointer, which the next function's rules may need. */
static void
arm_frame_pointers_do_not_give_the_stack_pointer(void **state)
{
	struct unwind_scene scene = scene_of(UNWIND_AARCH64);
	struct unwind_frame_rules rules = {.cfa_register = UNWIND_AARCH64_FP, .cfa.value = 32};

	(void)state;
	rules.registers[UNWIND_AARCH64_PC] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -24};
	add_row(scene.writer, 0x100, &rules);
	rules.cfa_register = UNWIND_AARCH64_SP;
	add_row(scene.writer, 0x200, &rules);
	scene.words[0] = STACK + 32;
	scene.words[1] = JIT + 0x20;
	scene.words[4] = STACK + 64;
	scene.words[5] = CODE + 0x110; /* whose CFA is x29 + 32 */
	scene.words[9] = CODE + 0x210;
	scene.words[13] = JIT + 0x30;
	set_register(&scene, UNWIND_AARCH64_FP, STACK);
	scene.capacity = 4;
	assert_int_equal(unwind_from(&scene, JIT + 0x10), UNWIND_DEPTH_LIMIT);
	assert_frames(&scene, JIT + 0x10, JIT + 0x20, CODE + 0x110, CODE + 0x210);
	scene = scene_of(UNWIND_AARCH64);
	add_row(scene.writer, 0x200, &rules);
	scene.words[0] = STACK + 32;
	scene.words[1] = CODE + 0x210;
	set_register(&scene, UNWIND_AARCH64_FP, STACK);
	assert_int_equal(unwind_from(&scene, JIT + 0x10), UNWIND_BAD_FRAME);
	assert_frames(&scene, JIT + 0x10, CODE + 0x210);
}

/* perf's order is that of asm/perf_regs.h: ax bx cx dx si di bp sp ip, flags and segments, r8 to r15. */
static void
registers_of_perf_get_the_numbers_of_dwarf(void **state)
{
	uint64_t values[33];
	struct unwind_registers registers;

	(void)state;
	for (uint64_t i = 0; i < 33; i++)
		values[i] = 1000 + i;
	unwind_registers_from_perf(UNWIND_X86_64, 0xff0fff, values, 20, &registers);
	assert_int_equal(registers.known, 0x1ffff);
	assert_int_equal(registers.values[0], 1000);  /* rax */
	assert_int_equal(registers.values[3], 1001);  /* rbx */
	assert_int_equal(registers.values[1], 1003);  /* rdx */
	assert_int_equal(registers.values[6], 1006);  /* rbp */
	assert_int_equal(registers.values[7], 1007);  /* rsp */
	assert_int_equal(registers.values[16], 1008); /* rip */
	assert_int_equal(registers.values[8], 1012);  /* r8, behind flags, cs and ss */
	assert_int_equal(registers.values[15], 1019);
	unwind_registers_from_perf(UNWIND_AARCH64, 0x1ffffffff, values, 33, &registers);
	assert_int_equal(registers.known, 0x1ffffffff);
	for (uint64_t i = 0; i < 33; i++)
		assert_int_equal(registers.values[i], 1000 + i);
	unwind_registers_from_perf(UNWIND_AARCH64, 0x1e0000000, values, 3, &registers); /* fp lr sp pc, one missing */
	assert_int_equal(registers.known, 0xe0000000);
	assert_int_equal(registers.values[31], 1002);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_are_found_up_to_the_outermost),
		cmocka_unit_test(a_return_address_belongs_to_the_call_before_it),
		cmocka_unit_test(registers_that_a_callee_saved_come_back),
		cmocka_unit_test(a_cfa_may_be_an_expression),
		cmocka_unit_test(rules_do_not_see_each_other),
		cmocka_unit_test(code_that_a_signal_interrupted_is_exact),
		cmocka_unit_test(the_stack_below_an_alternate_one_is_beyond_the_copy),
		cmocka_unit_test(code_without_rules_ends_the_stack),
		cmocka_unit_test(a_table_of_another_machine_is_none),
		cmocka_unit_test(a_caller_behind_the_copy_ends_the_stack),
		cmocka_unit_test(a_register_saved_behind_the_copy_ends_the_stack_where_it_is_needed),
		cmocka_unit_test(what_cannot_be_a_caller_ends_the_stack),
		cmocka_unit_test(a_pc_that_is_no_code_has_no_frame),
		cmocka_unit_test(more_frames_than_there_is_room_for_are_cut),
		cmocka_unit_test(expressions_of_a_stack_have_a_common_limit),
		cmocka_unit_test(code_made_at_run_time_is_unwound_by_frame_pointers),
		cmocka_unit_test(a_frame_pointer_of_zero_is_the_outermost),
		cmocka_unit_test(a_frame_pointer_that_is_none_ends_the_stack),
		cmocka_unit_test(arm_returns_by_the_link_register),
		cmocka_unit_test(a_caller_that_returns_to_itself_ends_the_stack),
		cmocka_unit_test(arm_frame_pointers_do_not_give_the_stack_pointer),
		cmocka_unit_test(registers_of_perf_get_the_numbers_of_dwarf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
