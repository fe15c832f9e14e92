/* Lengths and fields: by hand from the manuals' diagrams of the encodings. tests/system/decode.sh has the lengths of
 * real programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "code/x86_64_encoding.h"

#define PARSE(encoding, ...)                                                                                           \
	x86_encoding_parse((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), encoding)

/* add $0x12345678,%rax; add $0x1234,%ax; mov $0x1122334455667788,%rax; mov 0x1122334455667788,%al */
static void
immediates_have_the_size_that_prefixes_give_them(void **state)
{
	struct x86_encoding encoding;

	(void)state;
	assert_int_equal(PARSE(&encoding, 0x48, 0x05, 0x78, 0x56, 0x34, 0x12), 0);
	assert_int_equal(encoding.size, 6);
	assert_int_equal(encoding.immediate, 0x12345678);
	assert_int_equal(PARSE(&encoding, 0x66, 0x05, 0x34, 0x12, 0x90, 0x90), 0);
	assert_int_equal(encoding.size, 4);
	assert_int_equal(PARSE(&encoding, 0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11), 0);
	assert_int_equal(encoding.size, 10);
	assert_int_equal(PARSE(&encoding, 0xa0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11), 0);
	assert_int_equal(encoding.size, 9);
}

/* test $1,%al has an immediate, not %al has none: one opcode */
static void
a_field_of_modrm_may_decide_about_the_immediate(void **state)
{
	struct x86_encoding encoding;

	(void)state;
	assert_int_equal(PARSE(&encoding, 0xf6, 0xc0, 0x01), 0);
	assert_int_equal(encoding.size, 3);
	assert_int_equal(PARSE(&encoding, 0xf6, 0xd0, 0x01), 0);
	assert_int_equal(encoding.size, 2);
}

/* mov -8(%r12,%r9,4),%r10; mov 0x100(%rip),%eax; mov 0x100(,%rax,8),%eax */
static void
memory_has_base_index_and_displacement(void **state)
{
	struct x86_encoding encoding;

	(void)state;
	assert_int_equal(PARSE(&encoding, 0x4f, 0x8b, 0x54, 0x8c, 0xf8), 0);
	assert_int_equal(encoding.reg, 10);
	assert_int_equal(encoding.base, 12);
	assert_int_equal(encoding.index, 9);
	assert_int_equal(encoding.scale, 4);
	assert_int_equal(encoding.displacement, -8);
	assert_int_equal(PARSE(&encoding, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00), 0);
	assert_true(encoding.is_rip_relative);
	assert_int_equal(encoding.displacement_at, 2);
	assert_int_equal(PARSE(&encoding, 0x8b, 0x04, 0xc5, 0x00, 0x01, 0x00, 0x00), 0);
	assert_int_equal(encoding.base, 0xff);
	assert_int_equal(encoding.index, 0);
}

/* vpaddd %zmm21,%zmm22,%zmm20{%k3}{z} */
static void
evex_has_registers_of_five_bits_and_a_mask(void **state)
{
	struct x86_encoding encoding;

	(void)state;
	assert_int_equal(PARSE(&encoding, 0x62, 0xa1, 0x4d, 0xc3, 0xfe, 0xe5), 0);
	assert_int_equal(encoding.kind, ENCODING_EVEX);
	assert_int_equal(encoding.reg, 20);
	assert_int_equal(encoding.other, 22);
	assert_int_equal(encoding.rm, 21);
	assert_int_equal(encoding.mask, 3);
	assert_true(encoding.clears_mask);
	assert_int_equal(encoding.length, 2);
	assert_int_equal(encoding.prefix, 0x66);
}

/* The REX before the prefix counts for nothing: 48 66 89 c8 is mov %cx,%ax */
static void
a_rex_before_another_prefix_counts_for_nothing(void **state)
{
	struct x86_encoding encoding;

	(void)state;
	assert_int_equal(PARSE(&encoding, 0x48, 0x66, 0x89, 0xc8), 0);
	assert_int_equal(encoding.rex, 0);
	assert_true(encoding.has_operand_size);
}

static void
what_is_cut_off_too_long_or_invalid_is_refused(void **state)
{
	struct x86_encoding encoding;

	(void)state;
	assert_int_equal(PARSE(&encoding, 0x48), -1);
	assert_int_equal(PARSE(&encoding, 0x8b, 0x84, 0x24, 0x01), -1);
	assert_int_equal(PARSE(&encoding, 0x06, 0x90), -1);
	assert_int_equal(PARSE(&encoding, 0x66, 0x62, 0xa1, 0x4d, 0xc3, 0xfe, 0xe5), -1);
	/* 14 prefixes and two bytes are one byte more than an instruction may have */
	assert_int_equal(PARSE(&encoding, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
	                       0x66, 0x89, 0xc8),
	                 -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(immediates_have_the_size_that_prefixes_give_them),
		cmocka_unit_test(a_field_of_modrm_may_decide_about_the_immediate),
		cmocka_unit_test(memory_has_base_index_and_displacement),
		cmocka_unit_test(evex_has_registers_of_five_bits_and_a_mask),
		cmocka_unit_test(a_rex_before_another_prefix_counts_for_nothing),
		cmocka_unit_test(what_is_cut_off_too_long_or_invalid_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
