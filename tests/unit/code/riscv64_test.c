/*
 * Tests of riscv64's decoder. Bytes are the assembler's; texts are objdump's, but for names of targets.
 */
#include "tests/unit/test.h"

#include <string.h>

#include <errno.h>

#include "code/decoder.h"
#include "tests/unit/code/describe.h"

#define SKIP_IF_NOT_DECODED()                                                                                          \
	do {                                                                                                           \
		const char *trouble = architecture_trouble(ARCHITECTURE_RISCV64);                                      \
                                                                                                                       \
		if (trouble)                                                                                           \
			skip_because(trouble);                                                                         \
	} while (0)

static void
integers_are_computed(void **state)
{
	static const struct example examples[] = {
		{"33 85 c5 00", "add a0,a1,a2", "integer: x11 x12 -> x10"},
		{"13 85 05 ff", "addi a0,a1,-16", "integer: x11 -> x10"},
		{"2e 85", "mv a0,a1", "move: x11 -> x10"},
		{"01 45", "li a0,0", "integer: -> x10"},
		{"01 00", "nop", "nop:"},
		{"37 15 00 00", "lui a0,0x1", "integer: -> x10"},
		{"17 15 00 00", "auipc a0,0x1", "address: -> x10"},
		{"13 15 35 00", "slli a0,a0,0x3", "shift: x10 -> x10"},
		{"1b 55 35 00", "srliw a0,a0,0x3", "shift: x10 -> x10"},
		{"33 05 c5 02", "mul a0,a0,a2", "multiply: x10 x12 -> x10"},
		{"33 45 c5 02", "div a0,a0,a2", "divide: x10 x12 -> x10, wide"},
		{"3b 45 c5 02", "divw a0,a0,a2", "divide: x10 x12 -> x10"},
		{"0d 8d", "sub a0,a0,a1", "integer: x10 x11 -> x10"},
		{"2d 9d", "addw a0,a0,a1", "integer: x10 x11 -> x10"},
		{"13 05 00 40", "li a0,1024", "integer: -> x10"},
		{"7d 15", "addi a0,a0,-1", "integer: x10 -> x10"},
		{"41 11", "addi sp,sp,-16", "integer: x2 -> x2"},
		{"08 08", "addi a0,sp,16", "integer: x2 -> x10"},
		{"0e 05", "slli a0,a0,0x3", "shift: x10 -> x10"},
		{"33 25 b5 20", "sh1add a0,a0,a1", "unknown:"}, /* Zba: capstone 5.0 does not know it */
	};

	(void)state;
	SKIP_IF_NOT_DECODED();
	CHECK_EXAMPLES(ARCHITECTURE_RISCV64, examples);
}

static void
memory_is_loaded_and_stored(void **state)
{
	static const struct example examples[] = {
		{"08 61", "ld a0,0(a0)", "load: [x10] -> x10, loads 8"},
		{"03 a5 85 00", "lw a0,8(a1)", "load: [x11] -> x10, loads 4"},
		{"03 c5 15 00", "lbu a0,1(a1)", "load: [x11] -> x10, loads 1"},
		{"a2 60", "ld ra,8(sp)", "load: [x2] -> x1, loads 8"},
		{"06 e4", "sd ra,8(sp)", "store: x1 [x2], stores 8"},
		{"23 ac a5 fe", "sw a0,-8(a1)", "store: x10 [x11], stores 4"},
		{"08 21", "fld fa0,0(a0)", "load: [x10] -> v10, loads 8"},
		{"27 20 a5 00", "fsw fa0,0(a0)", "store: v10 [x10], stores 4"},
		{"2f b5 c5 00", "amoadd.d a0,a2,(a1)", "atomic: x12 [x11] -> x10, loads, stores 8"},
		{"2f a5 05 10", "lr.w a0,(a1)", "atomic: [x11] -> x10, loads 4"},
		{"2f a5 c5 18", "sc.w a0,a2,(a1)", "atomic: x12 [x11] -> x10, stores 4"},
		{"0f 00 f0 0f", "fence iorw,iorw", "barrier:"},
	};

	(void)state;
	SKIP_IF_NOT_DECODED();
	CHECK_EXAMPLES(ARCHITECTURE_RISCV64, examples);
}

static void
control_flows(void **state)
{
	static const struct example examples[] = {
		{"63 08 b5 00", "beq a0,a1,0x1010", "branch: x10 x11, branch 1010"},
		{"01 c5", "beqz a0,0x1008", "branch: x10, branch 1008"},
		{"6f 00 00 01", "j 0x1010", "jump:, jump 1010"},
		{"01 a8", "j 0x1010", "jump:, jump 1010"},
		{"ef 00 00 01", "jal 0x1010", "call: -> x1, call 1010"},
		{"82 80", "ret", "return: x1, return"},
		{"67 80 00 00", "ret", "return: x1, return"},
		{"82 82", "jr t0", "return: x5, return"},
		{"67 80 07 01", "jr 16(a5)", "jump: x15, jump indirect"},
		{"67 85 07 00", "jalr a0,a5", "call: x15 -> x10, call indirect"},
		{"ef 02 00 01", "jal t0,0x1010", "call: -> x5, call 1010"},
		{"82 87", "jr a5", "jump: x15, jump indirect"},
		{"82 97", "jalr a5", "call: x15 -> x1, call indirect"},
		{"e7 80 80 00", "jalr 8(ra)", "call: x1 -> x1, call indirect"},
		{"73 10 15 00", "fsflags a0", "system: x10"},
		{"f3 15 15 00", "fsflags a1,a0", "system: x10 -> x11"},
		{"73 00 00 00", "ecall", "system: x10 x11 x12 x13 x14 x15 -> x10"},
		{"02 90", "ebreak", "system:, stop"},
	};

	(void)state;
	SKIP_IF_NOT_DECODED();
	CHECK_EXAMPLES(ARCHITECTURE_RISCV64, examples);
}

static void
floating_point_is_computed(void **state)
{
	static const struct example examples[] = {
		{"53 75 b5 02", "fadd.d fa0,fa0,fa1", "float add: v10 v11 -> v10"},
		{"53 75 b5 12", "fmul.d fa0,fa0,fa1", "float multiply: v10 v11 -> v10"},
		{"53 75 b5 1a", "fdiv.d fa0,fa0,fa1", "float divide: v10 v11 -> v10"},
		{"53 75 05 5a", "fsqrt.d fa0,fa0", "float root: v10 -> v10"},
		{"43 75 b5 62", "fmadd.d fa0,fa0,fa1,fa2", "float fused: v10 v11 v12 -> v10"},
		{"53 25 b5 a2", "feq.d a0,fa0,fa1", "float compare: v10 v11 -> x10"},
		{"53 15 05 c2", "fcvt.w.d a0,fa0,rtz", "float convert: v10 -> x10"},
		{"53 05 05 f2", "fmv.d.x fa0,a0", "float move: x10 -> v10"},
		{"53 85 b5 22", "fmv.d fa0,fa1", "float move: v11 -> v10"},
	};

	(void)state;
	SKIP_IF_NOT_DECODED();
	CHECK_EXAMPLES(ARCHITECTURE_RISCV64, examples);
}

static void
texts_are_those_of_objdump(void **state)
{
	static const struct {
		const char *hex, *text;
	} examples[] = {
		{"33 85 c5 00", "add    a0,a1,a2"},
		{"13 85 05 ff", "addi   a0,a1,-16"},
		{"01 45", "li     a0,0"},
		{"2e 85", "mv     a0,a1"},
		{"13 05 00 40", "li     a0,1024"},
		{"41 11", "addi   sp,sp,-16"},
		{"06 e4", "sd     ra,8(sp)"},
		{"7d 75", "lui    a0,0xfffff"},
		{"01 25", "sext.w a0,a0"},
		{"13 75 f5 0f", "zext.b a0,a0"},
		{"0e 05", "slli   a0,a0,0x3"},
		{"01 a8", "j      0x1010"},
		{"82 82", "jr     t0"},
		{"67 85 87 00", "jalr   a0,8(a5)"},
		{"37 15 00 00", "lui    a0,0x1"},
		{"23 ac a5 fe", "sw     a0,-8(a1)"},
		{"2f b5 c5 06", "amoadd.d.aqrl a0,a2,(a1)"},
		{"0f 00 30 03", "fence  rw,rw"},
		{"63 08 b5 00", "beq    a0,a1,0x1010"},
		{"01 c5", "beqz   a0,0x1008"},
		{"82 80", "ret"},
		{"e7 80 80 00", "jalr   8(ra)"},
		{"53 15 05 c2", "fcvt.w.d a0,fa0,rtz"},
		{"53 75 b5 02", "fadd.d fa0,fa0,fa1"},
		{"53 85 b5 22", "fmv.d  fa0,fa1"},
		{"73 25 10 00", "frflags a0"},
		{"f3 27 00 c0", "rdcycle a5"},
		{"f3 27 30 00", "frcsr  a5"},
		{"73 10 00 c0", "unimp"},
		{"0f 00 f0 0f", "fence"},
		{"00 00", "(bad)"},
		{"0b 00 00 00", ".inst  0x0000000b"},
		{"33", "(bad)"},
	};
	struct decoder *decoder;

	(void)state;
	SKIP_IF_NOT_DECODED();
	decoder = decoder_new(ARCHITECTURE_RISCV64);
	assert_non_null(decoder);
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		char text[INSTRUCTION_TEXT_SIZE];
		uint8_t bytes[4];
		size_t size = bytes_of_hex(examples[i].hex, bytes, sizeof(bytes));

		decoder_text(decoder, bytes, size, 0x1000, LISTING_ATT, text, sizeof(text));
		assert_string_equal(text, examples[i].text);
	}
	decoder_free(decoder);
}

static void
what_is_no_instruction_has_its_length(void **state)
{
	static const uint8_t zeros[4] = {0}, custom[4] = {0x0b}, cut[3] = {0x33, 0x85, 0xc5};
	struct decoder *decoder;
	struct instruction instruction;

	(void)state;
	SKIP_IF_NOT_DECODED();
	decoder = decoder_new(ARCHITECTURE_RISCV64);
	assert_non_null(decoder);
	assert_int_equal(decoder_decode_one(decoder, zeros, 4, 0, &instruction), 2);
	assert_int_equal(instruction.class, CLASS_UNKNOWN);
	assert_int_equal(decoder_decode_one(decoder, custom, 4, 0, &instruction), 4);
	assert_int_equal(instruction.class, CLASS_UNKNOWN);
	assert_int_equal(decoder_decode_one(decoder, cut, 3, 0, &instruction), 3);
	assert_int_equal(instruction.class, CLASS_UNKNOWN);
	assert_int_equal(decoder_decode_one(decoder, zeros, 1, 0, &instruction), 1);
	assert_int_equal(instruction.size, 1);
	decoder_free(decoder);
}

static void
operands_have_their_values(void **state)
{
	static const uint8_t store[4] = {0x23, 0xac, 0xa5, 0xfe}, branch[4] = {0x63, 0x08, 0xb5, 0x00};
	struct decoder *decoder;
	struct instruction_detail detail;

	(void)state;
	SKIP_IF_NOT_DECODED();
	decoder = decoder_new(ARCHITECTURE_RISCV64);
	assert_non_null(decoder);
	assert_int_equal(decoder_detail(decoder, store, 4, 0x1000, &detail), 0);
	assert_string_equal(detail.mnemonic, "sw");
	assert_int_equal(detail.operand_count, 2);
	assert_int_equal(detail.operands[0].reg, 10);
	assert_int_equal(detail.operands[1].kind, OPERAND_MEMORY);
	assert_int_equal(detail.operands[1].base, 11);
	assert_int_equal(detail.operands[1].value, -8);
	assert_int_equal(decoder_detail(decoder, branch, 4, 0x1000, &detail), 0);
	assert_int_equal(detail.operands[2].value, 0x1010);
	decoder_free(decoder);
}

/* Capstone before 5 does not know RISC-V: nothing is decoded then, and the reason says what to do. */
static void
a_build_without_it_says_so(void **state)
{
	const char *trouble = architecture_trouble(ARCHITECTURE_RISCV64);
	struct decoder *decoder;

	(void)state;
	errno = 0;
	decoder = decoder_new(ARCHITECTURE_RISCV64);
	assert_int_equal(decoder == NULL, trouble != NULL);
	assert_int_equal(errno, trouble ? ENOTSUP : 0);
	if (trouble)
		assert_non_null(strstr(trouble, "capstone 5"));
	decoder_free(decoder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_computed),
		cmocka_unit_test(memory_is_loaded_and_stored),
		cmocka_unit_test(control_flows),
		cmocka_unit_test(floating_point_is_computed),
		cmocka_unit_test(texts_are_those_of_objdump),
		cmocka_unit_test(what_is_no_instruction_has_its_length),
		cmocka_unit_test(operands_have_their_values),
		cmocka_unit_test(a_build_without_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
