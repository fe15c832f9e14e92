/* Texts as objdump writes them, blanks aside. */
#include "tests/unit/code/describe.h"

static void
squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (from[0] != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = '\0';
}

/* clang-format off */
static const struct {
	const char *hex, *text;
} listed[] = {
		{"48 01 c8", "add %rcx,%rax"},
		{"83 04 b7 01", "addl $0x1,(%rdi,%rsi,4)"},
		{"c7 44 07 08 01 00 00 00", "movl $0x1,0x8(%rdi,%rax,1)"},
		{"0f 6f 07", "movq (%rdi),%mm0"},
		{"64 48 8b 04 25 28 00 00 00", "mov %fs:0x28,%rax"},
		{"d3 27", "shll %cl,(%rdi)"},
		{"0f b6 07", "movzbl (%rdi),%eax"},
		{"f2 0f 2a c0", "cvtsi2sd %eax,%xmm0"},
		{"f2 0f 2a 07", "cvtsi2sdl (%rdi),%xmm0"},
		{"ff 50 10", "call *0x10(%rax)"},
		{"53", "push %rbx"},
		{"c3", "ret"},
		{"f0 48 0f b1 0f", "lock cmpxchg %rcx,(%rdi)"},
		{"62 e1 fe 48 6f 4f 01", "vmovdqu64 0x40(%rdi),%zmm17"},
		{"62 f3 75 22 3e 4c 07 01 01", "vpcmpltub 0x20(%rdi,%rax,1),%ymm17,%k1{%k2}"},
		{"62 f1 6d d9 fe 1f", "vpaddd (%rdi){1to16},%zmm2,%zmm3{%k1}{z}"},
		{"c5 fb 93 c1", "kmovd %k1,%eax"},
		{"0f 01 ee", "rdpkru"},
		{"48 b8 00 00 00 00 00 00 00 f0", "movabs $0xf000000000000000,%rax"},
		{"66 48 0f 6e c0", "movq %rax,%xmm0"},
		{"48 c7 04 24 ff ff ff ff", "movq $0xffffffffffffffff,(%rsp)"},
		{"91", "xchg %eax,%ecx"},
		{"41 90", "xchg %eax,%r8d"},
		{"48 93", "xchg %rax,%rbx"},
		{"41 d1 69 10", "shrl 0x10(%r9)"},
		{"d1 e8", "shr %eax"},
		{"df 76 cf", "fbstp -0x31(%rsi)"},
		{"df f5", "fcomip %st(5)"},
		{"40 f6 c0 b6", "test $0xb6,%al"},
		{"a8 b6", "test $0xb6,%al"},
		{"0f 38 cb ca", "sha256rnds2 %xmm0,%xmm2,%xmm1"},
		{"3e ff e0", "notrack jmp *%rax"},
		{"f3 c3", "repz ret"},
};
/* clang-format on */

static void
texts_of_x86_are_those_of_objdump(void **state)
{
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);

	(void)state;
	assert_non_null(decoder);
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		uint8_t bytes[16];
		char text[INSTRUCTION_TEXT_SIZE];
		size_t size = bytes_of_hex(listed[i].hex, bytes, sizeof(bytes));

		decoder_text(decoder, bytes, size, 0, LISTING_ATT, text, sizeof(text));
		squeeze(text);
		assert_string_equal(text, listed[i].text);
	}
	decoder_free(decoder);
}

static void
check_text(enum architecture architecture, enum listing_syntax syntax, const char *hex, uint64_t address,
           const char *expected)
{
	struct decoder *decoder = decoder_new(architecture);
	char text[INSTRUCTION_TEXT_SIZE];
	uint8_t bytes[16];

	assert_non_null(decoder);
	decoder_text(decoder, bytes, bytes_of_hex(hex, bytes, sizeof(bytes)), address, syntax, text, sizeof(text));
	assert_string_equal(text, expected);
	decoder_free(decoder);
}

static void
operands_begin_in_one_column(void **state)
{
	(void)state;
	check_text(ARCHITECTURE_X86_64, LISTING_ATT, "48 01 c8", 0, "add    %rcx,%rax");
	check_text(ARCHITECTURE_X86_64, LISTING_ATT, "c3", 0, "ret");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "20 00 02 8b", 0, "add    x0, x1, x2");
}

static void
targets_are_addresses(void **state)
{
	(void)state;
	check_text(ARCHITECTURE_X86_64, LISTING_ATT, "75 3e", 0x1000, "jne    0x1040");
	check_text(ARCHITECTURE_X86_64, LISTING_ATT, "e8 fb 00 00 00", 0x1000, "call   0x1100");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "10 00 00 94", 0x1000, "bl     #0x1040");
}

static void
intel_syntax_has_the_destination_first(void **state)
{
	(void)state;
	check_text(ARCHITECTURE_X86_64, LISTING_INTEL, "48 01 c8", 0, "add    rax, rcx");
	/* kmovq (%rdi),%k1 and vpaddd %zmm1,%zmm2,%zmm0{%k1} */
	check_text(ARCHITECTURE_X86_64, LISTING_INTEL, "c4 e1 f8 90 0f", 0, "kmovq  k1, qword ptr [rdi]");
	check_text(ARCHITECTURE_X86_64, LISTING_INTEL, "c5 fb 93 c1", 0, "kmovd  eax, k1");
}

static void
newer_instructions_of_arm_have_their_names(void **state)
{
	(void)state;
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "41 00 e0 f8", 0, "ldaddal x0, x1, [x2]");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "41 80 20 38", 0, "swpb   w0, w1, [x2]");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "5f 24 03 d5", 0, "bti c");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "7f 0c 1f d6", 0, "brabz  x3");
}

/* Capstone 4 has no name for what 5 knows; both are read. */
static void
scalable_instructions_of_arm_have_a_name_or_are_a_number(void **state)
{
	static const uint8_t bytes[] = {0xe0, 0xe3, 0x18, 0x25};
	struct decoder *decoder = decoder_new(ARCHITECTURE_AARCH64);
	char text[INSTRUCTION_TEXT_SIZE];

	(void)state;
	assert_non_null(decoder);
	decoder_text(decoder, bytes, sizeof(bytes), 0, LISTING_ATT, text, sizeof(text));
	if (strcmp(text, "ptrue  p0.b") != 0)
		assert_string_equal(text, ".inst  0x2518e3e0");
	decoder_free(decoder);
}

/* As objdump has them, but for numbers below ten and signs. */
static void
numbers_that_arm_moves_are_whole(void **state)
{
	(void)state;
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "00 00 80 52", 0, "mov    w0, #0");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "20 00 a0 d2", 0, "mov    x0, #0x10000");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "00 00 80 12", 0, "mov    w0, #-1");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "e0 03 01 b2", 0, "mov    x0, #-0x7fffffff80000000");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "00 01 c0 f2", 0, "movk   x0, #8, lsl #32");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "7f e4 02 f2", 0, "tst    x3, #0xcccccccccccccccc");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "40 70 df 4c", 0, "ld1    {v0.16b}, [x2], #0x10");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "00 06 05 6e", 0, "mov    v0.b[2], v16.b[0]");
}

static void
sizes_of_memory_are_what_is_read(void **state)
{
	(void)state;
	check_text(ARCHITECTURE_X86_64, LISTING_INTEL, "0f 2f 05 10 00 00 00", 0,
	           "comiss xmm0, dword ptr [rip + 0x10]");
	check_text(ARCHITECTURE_X86_64, LISTING_INTEL, "c4 42 7d 5a 33", 0, "vbroadcasti128 ymm14, xmmword ptr [r11]");
	check_text(ARCHITECTURE_X86_64, LISTING_INTEL, "d1 29", 0, "shr    dword ptr [rcx], 1");
}

static void
what_is_no_instruction_is_bad(void **state)
{
	(void)state;
	check_text(ARCHITECTURE_X86_64, LISTING_ATT, "06", 0, "(bad)");
	check_text(ARCHITECTURE_X86_64, LISTING_ATT, "48 8b", 0, "(bad)");
	check_text(ARCHITECTURE_AARCH64, LISTING_ATT, "1f 20", 0, "(bad)");
}

static void
a_text_is_cut_off_at_its_size(void **state)
{
	static const uint8_t code[] = {0x48, 0x01, 0xc8};
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	char text[8] = "1234567";

	(void)state;
	assert_non_null(decoder);
	decoder_text(decoder, code, sizeof(code), 0, LISTING_ATT, text, 6);
	assert_string_equal(text, "add  ");
	decoder_text(decoder, code, sizeof(code), 0, LISTING_ATT, text, 0);
	assert_string_equal(text, "add  ");
	assert_int_equal(text[6], '7');
	decoder_free(decoder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_x86_are_those_of_objdump),
		cmocka_unit_test(operands_begin_in_one_column),
		cmocka_unit_test(targets_are_addresses),
		cmocka_unit_test(intel_syntax_has_the_destination_first),
		cmocka_unit_test(newer_instructions_of_arm_have_their_names),
		cmocka_unit_test(scalable_instructions_of_arm_have_a_name_or_are_a_number),
		cmocka_unit_test(numbers_that_arm_moves_are_whole),
		cmocka_unit_test(sizes_of_memory_are_what_is_read),
		cmocka_unit_test(what_is_no_instruction_is_bad),
		cmocka_unit_test(a_text_is_cut_off_at_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
