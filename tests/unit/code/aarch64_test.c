/* What aarch64's instructions are and do. Expected by hand; bytes by GNU as. */
#include "tests/unit/code/describe.h"

/* clang-format off */
static void
integer_instructions_write_the_flags_they_set(void **state)
{
	static const struct example examples[] = {
		{"20 00 02 8b", "add x0,x1,x2", "integer: x1 x2 -> x0"},
		{"20 c8 22 8b", "add x0,x1,w2,sxtw #2", "integer: x1 x2 -> x0"},
		{"20 10 00 31", "adds w0,w1,#4", "integer: x1 -> x0 flags"},
		{"1f 0c 00 f1", "cmp x0,#3", "integer: x0 -> flags"},
		{"1f 00 01 ea", "tst x0,x1", "integer: x0 x1 -> flags"},
		{"20 00 02 9a", "adc x0,x1,x2", "integer: x1 x2 flags -> x0"},
		{"20 00 02 fa", "sbcs x0,x1,x2", "integer: x1 x2 flags -> x0 flags"},
		{"e0 03 01 cb", "neg x0,x1", "integer: x1 -> x0"},
		{"e0 03 21 aa", "mvn x0,x1", "integer: x1 -> x0"},
		{"ff 83 00 d1", "sub sp,sp,#32", "integer: sp -> sp"},
		{"e0 43 00 91", "add x0,sp,#16", "integer: sp -> x0"},
		{"00 00 41 fa", "ccmp x0,x1,#0,eq", "integer: x0 x1 flags -> flags"},
		{"a0 00 a0 f2", "movk x0,#5,lsl #16", "integer: x0 -> x0"},
		{"a0 00 80 52", "mov w0,#5", "integer: -> x0"},
		{"e0 03 1f aa", "mov x0,xzr", "integer: -> x0"},
		{"e0 03 01 aa", "mov x0,x1", "move: x1 -> x0"},
		{"fd 03 00 91", "mov x29,sp", "move: sp -> x29"},
		{"40 00 00 10", "adr x0,.+8", "address: -> x0"},
		{"00 00 00 90", "adrp x0,.", "address: -> x0"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
shifts_fields_multiplications_and_divisions(void **state)
{
	static const struct example examples[] = {
		{"20 f0 7d d3", "lsl x0,x1,#3", "shift: x1 -> x0"},
		{"20 20 c2 9a", "lsl x0,x1,x2", "shift: x1 x2 -> x0"},
		{"20 18 43 d3", "ubfx x0,x1,#3,#4", "bit: x1 -> x0"},
		{"20 0c 7d b3", "bfi x0,x1,#3,#4", "bit: x0 x1 -> x0"},
		{"20 7c 40 93", "sxtw x0,w1", "bit: x1 -> x0"},
		{"20 10 c0 da", "clz x0,x1", "bit: x1 -> x0"},
		{"20 0c c2 93", "extr x0,x1,x2,#3", "bit: x1 x2 -> x0"},
		{"20 7c 02 9b", "mul x0,x1,x2", "multiply: x1 x2 -> x0"},
		{"20 0c 02 9b", "madd x0,x1,x2,x3", "multiply: x1 x2 x3 -> x0"},
		{"20 7c c2 9b", "umulh x0,x1,x2", "multiply: x1 x2 -> x0"},
		{"20 0c 22 9b", "smaddl x0,w1,w2,x3", "multiply: x1 x2 x3 -> x0"},
		{"20 08 c2 9a", "udiv x0,x1,x2", "divide: x1 x2 -> x0, wide"},
		{"20 08 c2 1a", "udiv w0,w1,w2", "divide: x1 x2 -> x0"},
		{"20 4c c2 9a", "crc32x w0,w1,x2", "multiply: x1 x2 -> x0"},
		{"20 00 82 9a", "csel x0,x1,x2,eq", "select: x1 x2 flags -> x0"},
		{"e0 07 9f 1a", "cset w0,ne", "select: flags -> x0"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
loads_and_stores_move_their_base(void **state)
{
	static const struct example examples[] = {
		{"20 04 40 f9", "ldr x0,[x1,#8]", "load: [x1] -> x0, loads 8"},
		{"20 84 40 f8", "ldr x0,[x1],#8", "load: [x1] -> x0 x1, loads 8"},
		{"20 8c 40 f8", "ldr x0,[x1,#8]!", "load: [x1] -> x0 x1, loads 8"},
		{"20 58 62 b8", "ldr w0,[x1,w2,uxtw #2]", "load: [x1 x2] -> x0, loads 4"},
		{"80 00 00 58", "ldr x0,.+16", "load: -> x0, loads 8"},
		{"20 00 40 39", "ldrb w0,[x1]", "load: [x1] -> x0, loads 1"},
		{"20 00 80 b9", "ldrsw x0,[x1]", "load: [x1] -> x0, loads 4"},
		{"20 d0 5f f8", "ldur x0,[x1,#-3]", "load: [x1] -> x0, loads 8"},
		{"fd 7b c1 a8", "ldp x29,x30,[sp],#16", "load: [sp] -> x29 x30 sp, loads 16"},
		{"40 04 40 69", "ldpsw x0,x1,[x2]", "load: [x2] -> x0 x1, loads 8"},
		{"20 68 e2 3c", "ldr q0,[x1,x2]", "load: [x1 x2] -> v0, loads 16"},
		{"20 fc df c8", "ldar x0,[x1]", "load: [x1] -> x0, loads 8"},
		{"20 04 00 f9", "str x0,[x1,#8]", "store: x0 [x1], stores 8"},
		{"ff 07 00 f9", "str xzr,[sp,#8]", "store: [sp], stores 8"},
		{"20 00 00 79", "strh w0,[x1]", "store: x0 [x1], stores 2"},
		{"20 00 00 bd", "str s0,[x1]", "store: v0 [x1], stores 4"},
		{"fd 7b bf a9", "stp x29,x30,[sp,#-16]!", "store: x29 x30 [sp] -> sp, stores 16"},
		{"00 04 00 ad", "stp q0,q1,[x0]", "store: v0 v1 [x0], stores 32"},
		{"00 00 80 f9", "prfm pldl1keep,[x0]", "prefetch: [x0]"},
		{"00 20 df 4c", "ld1 {v0.16b-v3.16b},[x0],#64", "load: [x0] -> v0 v1 v2 v3 x0, loads 64"},
		{"00 08 c1 4c", "ld4 {v0.4s-v3.4s},[x0],x1", "load: x1 [x0] -> v0 v1 v2 v3 x0, loads 64"},
		{"00 90 40 0d", "ld1 {v0.s}[1],[x0]", "load: v0 [x0] -> v0, loads"},
		{"00 c8 40 4d", "ld1r {v0.4s},[x0]", "load: [x0] -> v0, loads"},
		{"00 a0 00 0c", "st1 {v0.8b,v1.8b},[x0]", "store: v0 v1 [x0], stores 16"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
atomics(void **state)
{
	static const struct example examples[] = {
		{"20 7c 5f c8", "ldxr x0,[x1]", "atomic: [x1] -> x0, loads 8"},
		{"41 7c 00 c8", "stxr w0,x1,[x2]", "atomic: x1 [x2] -> x0, stores 8"},
		{"41 fc 00 08", "stlxrb w0,w1,[x2]", "atomic: x1 [x2] -> x0, stores 1"},
		{"40 84 7f c8", "ldaxp x0,x1,[x2]", "atomic: [x2] -> x0 x1, loads 16"},
		{"41 00 e0 f8", "ldaddal x0,x1,[x2]", "atomic: x0 [x2] -> x1, loads, stores 8"},
		{"5f 00 20 b8", "stadd w0,[x2]", "atomic: x0 [x2], loads, stores 4"},
		{"41 80 20 38", "swpb w0,w1,[x2]", "atomic: x0 [x2] -> x1, loads, stores 1"},
		{"e1 ff e0 88", "casal w0,w1,[sp]", "atomic: x0 x1 [sp] -> x0, loads, stores 4"},
		{"82 7c 20 48", "casp x0,x1,x2,x3,[x4]", "atomic: x0 x1 x2 x3 [x4] -> x0 x1, loads, stores 8"},
		{"20 c0 bf f8", "ldapr x0,[x1]", "load: [x1] -> x0, loads 8"},
		{"bf 3b 03 d5", "dmb ish", "barrier:"},
		{"df 3f 03 d5", "isb", "barrier:"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
every_kind_of_control_flow_is_told_apart(void **state)
{
	static const struct example examples[] = {
		{"10 00 00 14", "b .+64", "jump:, jump 1040"},
		{"00 fe ff 54", "b.eq .-64", "branch: flags, branch fc0"},
		{"00 02 00 b4", "cbz x0,.+64", "branch: x0, branch 1040"},
		{"01 02 00 35", "cbnz w1,.+64", "branch: x1, branch 1040"},
		{"03 02 40 b6", "tbz x3,#40,.+64", "branch: x3, branch 1040"},
		{"03 fe 27 37", "tbnz w3,#4,.-64", "branch: x3, branch fc0"},
		{"20 00 1f d6", "br x1", "jump: x1, jump indirect"},
		{"10 00 00 94", "bl .+64", "call: -> x30, call 1040"},
		{"20 00 3f d6", "blr x1", "call: x1 -> x30, call indirect"},
		{"c0 03 5f d6", "ret", "return: x30, return"},
		{"60 00 5f d6", "ret x3", "return: x3, return"},
		{"20 00 20 d4", "brk #1", "system:, stop"},
		{"20 00 40 d4", "hlt #1", "system:, stop"},
		{"03 00 00 00", "udf #3", "system:, stop"},
		{"1f 08 1f d7", "braa x0,sp", "jump: x0 sp, jump indirect"},
		{"7f 0c 1f d6", "brabz x3", "jump: x3, jump indirect"},
		{"01 08 3f d7", "blraa x0,x1", "call: x0 x1 -> x30, call indirect"},
		{"ff 0b 5f d6", "retaa", "return: x30 sp, return"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
hints_are_hints_and_some_are_landing_pads(void **state)
{
	static const struct example examples[] = {
		{"1f 20 03 d5", "nop", "nop:"},
		{"3f 20 03 d5", "yield", "nop:"},
		{"9f 22 03 d5", "csdb", "nop:"},
		{"5f 24 03 d5", "bti c", "nop:, landing pad"},
		{"9f 24 03 d5", "bti j", "nop:, landing pad"},
		{"df 24 03 d5", "bti jc", "nop:, landing pad"},
		{"1f 24 03 d5", "bti", "nop:"},
		{"3f 23 03 d5", "paciasp", "integer: x30 sp -> x30, landing pad"},
		{"bf 23 03 d5", "autiasp", "integer: x30 sp -> x30"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
the_system(void **state)
{
	static const struct example examples[] = {
		{"01 00 00 d4", "svc #0", "system: x0 x1 x2 x3 x4 x8 -> x0"},
		{"40 d0 3b d5", "mrs x0,tpidr_el0", "system: -> x0"},
		{"40 d0 1b d5", "msr tpidr_el0,x0", "system: x0"},
		{"00 42 3b d5", "mrs x0,nzcv", "system: flags -> x0"},
		{"00 42 1b d5", "msr nzcv,x0", "system: x0 -> flags"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
floating_point_and_vectors_share_registers(void **state)
{
	static const struct example examples[] = {
		{"20 28 62 1e", "fadd d0,d1,d2", "float add: v1 v2 -> v0"},
		{"20 dc 22 6e", "fmul v0.4s,v1.4s,v2.4s", "float multiply: v1 v2 -> v0"},
		{"20 0c 42 1f", "fmadd d0,d1,d2,d3", "float fused: v1 v2 v3 -> v0"},
		{"20 10 a2 4f", "fmla v0.4s,v1.4s,v2.s[1]", "float fused: v0 v1 v2 -> v0"},
		{"20 18 22 1e", "fdiv s0,s1,s2", "float divide: v1 v2 -> v0"},
		{"20 c0 61 1e", "fsqrt d0,d1", "float root: v1 -> v0"},
		{"00 20 61 1e", "fcmp d0,d1", "float compare: v0 v1 -> flags"},
		{"08 20 60 1e", "fcmp d0,#0.0", "float compare: v0 -> flags"},
		{"00 04 61 1e", "fccmp d0,d1,#0,eq", "float compare: v0 v1 flags -> flags"},
		{"20 bc 62 1e", "fcsel d0,d1,d2,lt", "select: v1 v2 flags -> v0"},
		{"00 00 62 9e", "scvtf d0,x0", "float convert: x0 -> v0"},
		{"00 00 78 9e", "fcvtzs x0,d0", "float convert: v0 -> x0"},
		{"00 00 66 9e", "fmov x0,d0", "float move: v0 -> x0"},
		{"00 10 6e 1e", "fmov d0,#1.0", "float move: -> v0"},
		{"20 0c 04 4e", "dup v0.4s,w1", "float move: x1 -> v0"},
		{"20 1c 0c 4e", "mov v0.s[1],w1", "float move: v0 x1 -> v0"},
		{"20 3c 0c 0e", "mov w0,v1.s[1]", "float move: v1 -> x0"},
		{"20 04 00 4f", "movi v0.4s,#1", "float move: -> v0"},
		{"20 14 00 4f", "orr v0.4s,#1", "vector integer: v0 -> v0"},
		{"20 1c a2 4e", "orr v0.16b,v1.16b,v2.16b", "vector integer: v1 v2 -> v0"},
		{"20 84 a2 4e", "add v0.4s,v1.4s,v2.4s", "vector integer: v1 v2 -> v0"},
		{"20 b8 b1 4e", "addv s0,v1.4s", "vector integer: v1 -> v0"},
		{"20 98 a0 4e", "cmeq v0.4s,v1.4s,#0", "vector integer: v1 -> v0"},
		{"20 28 21 4e", "xtn2 v0.16b,v1.8h", "vector integer: v0 v1 -> v0"},
		{"20 9c a2 4e", "mul v0.4s,v1.4s,v2.4s", "vector multiply: v1 v2 -> v0"},
		{"20 80 22 2e", "umlal v0.8h,v1.8b,v2.8b", "vector multiply: v0 v1 v2 -> v0"},
		{"20 94 82 4e", "sdot v0.4s,v1.16b,v2.16b", "vector multiply: v0 v1 v2 -> v0"},
		{"20 20 03 4e", "tbl v0.16b,{v1.16b,v2.16b},v3.16b", "shuffle: v1 v2 v3 -> v0"},
		{"20 10 03 4e", "tbx v0.16b,{v1.16b},v3.16b", "shuffle: v0 v1 v3 -> v0"},
		{"20 38 82 4e", "zip1 v0.4s,v1.4s,v2.4s", "shuffle: v1 v2 -> v0"},
		{"20 48 28 4e", "aese v0.16b,v1.16b", "crypto: v0 v1 -> v0"},
		{"20 e0 e2 0e", "pmull v0.1q,v1.1d,v2.1d", "crypto: v1 v2 -> v0"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

static void
what_is_newer_than_the_tables_is_four_bytes_of_nothing(void **state)
{
	static const struct example examples[] = {
		{"e0 e3 18 25", "ptrue p0.b", "unknown:"},
		{"20 10 df 9a", "irg x0,x1", "unknown:"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_AARCH64, examples);
}

/* clang-format on */

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integer_instructions_write_the_flags_they_set),
		cmocka_unit_test(shifts_fields_multiplications_and_divisions),
		cmocka_unit_test(loads_and_stores_move_their_base),
		cmocka_unit_test(atomics),
		cmocka_unit_test(every_kind_of_control_flow_is_told_apart),
		cmocka_unit_test(hints_are_hints_and_some_are_landing_pads),
		cmocka_unit_test(the_system),
		cmocka_unit_test(floating_point_and_vectors_share_registers),
		cmocka_unit_test(what_is_newer_than_the_tables_is_four_bytes_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
