#include "tests/unit/test.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "unwind/expression.h"

/* Memory of one word, at 0x1000. */
static bool
read_word(void *context, uint64_t address, size_t size, uint64_t *value)
{
	const uint8_t *word = context;

	if (address < 0x1000 || address - 0x1000 > 8 || size > 8 - (address - 0x1000))
		return false;
	*value = 0;
	memcpy(value, word + (address - 0x1000), size);
	return true;
}

/* Register i is 100 * i; registers 8 and above are not known. */
static int
evaluate(const uint8_t *bytes, size_t size, uint64_t *result)
{
	static uint8_t word[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint64_t registers[UNWIND_REGISTERS];
	const struct expression_inputs inputs = {registers, 0xff, read_word, word};

	for (size_t i = 0; i < UNWIND_REGISTERS; i++)
		registers[i] = 100 * i;
	return expression_evaluate(bytes, size, &inputs, NULL, result);
}

#define assert_value(expected, ...)                                                                                    \
	do {                                                                                                           \
		const uint8_t expression[] = {__VA_ARGS__};                                                            \
		uint64_t result = 0;                                                                                   \
		assert_int_equal(evaluate(expression, sizeof(expression), &result), 0);                                \
		assert_int_equal(result, (uint64_t)(expected));                                                        \
	} while (0)

#define assert_error(expected, ...)                                                                                    \
	do {                                                                                                           \
		const uint8_t expression[] = {__VA_ARGS__};                                                            \
		uint64_t ignored;                                                                                      \
		assert_int_equal(evaluate(expression, sizeof(expression), &ignored), (expected));                      \
	} while (0)

static void
constants_and_registers(void **state)
{
	(void)state;
	assert_value(31, DW_OP_lit31);
	assert_value(255, DW_OP_const1u, 0xff);
	assert_value(-1, DW_OP_const1s, 0xff);
	assert_value(0x8001, DW_OP_const2u, 0x01, 0x80);
	assert_value(-0x7fff, DW_OP_const2s, 0x01, 0x80);
	assert_value(0x80000001, DW_OP_const4u, 1, 0, 0, 0x80);
	assert_value(-0x7fffffff, DW_OP_const4s, 1, 0, 0, 0x80);
	assert_value(0x0807060504030201, DW_OP_const8u, 1, 2, 3, 4, 5, 6, 7, 8);
	assert_value(300, DW_OP_constu, 0xac, 0x02);
	assert_value(-2, DW_OP_consts, 0x7e);
	assert_value(708, DW_OP_breg7, 8);
	assert_value(692, DW_OP_breg7, 0x78);
	assert_value(301, DW_OP_bregx, 3, 1);
}

static void
arithmetic(void **state)
{
	(void)state;
	assert_value(5, DW_OP_lit2, DW_OP_lit3, DW_OP_plus);
	assert_value(-1, DW_OP_lit2, DW_OP_lit3, DW_OP_minus);
	assert_value(6, DW_OP_lit2, DW_OP_lit3, DW_OP_mul);
	assert_value(-3, DW_OP_const1s, 0xfa, DW_OP_lit2, DW_OP_div);
	assert_value(2, DW_OP_lit8, DW_OP_lit3, DW_OP_mod);
	assert_value(16, DW_OP_lit2, DW_OP_lit3, DW_OP_shl);
	assert_value(1, DW_OP_lit8, DW_OP_lit3, DW_OP_shr);
	assert_value(-1, DW_OP_const1s, 0xf8, DW_OP_lit3, DW_OP_shra);
	assert_value(0, DW_OP_lit1, DW_OP_const1u, 64, DW_OP_shl);
	assert_value(2, DW_OP_lit6, DW_OP_lit3, DW_OP_and);
	assert_value(7, DW_OP_lit6, DW_OP_lit3, DW_OP_or);
	assert_value(5, DW_OP_lit6, DW_OP_lit3, DW_OP_xor);
	assert_value(6, DW_OP_const1s, 0xfa, DW_OP_abs);
	assert_value(-6, DW_OP_lit6, DW_OP_neg);
	assert_value(-7, DW_OP_lit6, DW_OP_not);
	assert_value(306, DW_OP_lit6, DW_OP_plus_uconst, 0xac, 0x02);
	assert_value(1, DW_OP_const1s, 0xff, DW_OP_lit0, DW_OP_lt);
	assert_value(0, DW_OP_const1s, 0xff, DW_OP_lit0, DW_OP_ge);
	assert_value(1, DW_OP_lit3, DW_OP_lit3, DW_OP_le);
	assert_value(0, DW_OP_lit3, DW_OP_lit3, DW_OP_gt);
	assert_value(1, DW_OP_lit3, DW_OP_lit3, DW_OP_eq);
	assert_value(0, DW_OP_lit3, DW_OP_lit3, DW_OP_ne);
}

static void
the_stack_and_jumps(void **state)
{
	(void)state;
	assert_value(8, DW_OP_lit4, DW_OP_dup, DW_OP_plus);
	assert_value(4, DW_OP_lit4, DW_OP_lit5, DW_OP_drop);
	assert_value(4, DW_OP_lit4, DW_OP_lit5, DW_OP_over);
	assert_value(4, DW_OP_lit4, DW_OP_lit5, DW_OP_lit6, DW_OP_pick, 2);
	assert_value(1, DW_OP_lit4, DW_OP_lit5, DW_OP_swap, DW_OP_minus);
	/* 1 2 3 becomes 3 1 2: 3 - (1 - 2) */
	assert_value(4, DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_minus, DW_OP_minus);
	assert_value(1, DW_OP_lit1, DW_OP_skip, 1, 0, DW_OP_lit2, DW_OP_nop);
	assert_value(7, DW_OP_lit7, DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit2);
	assert_value(2, DW_OP_lit7, DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit2);
	/* counts down from 3 */
	assert_value(0, DW_OP_lit3, DW_OP_lit1, DW_OP_minus, DW_OP_dup, DW_OP_bra, 0xfa, 0xff);
}

static void
memory(void **state)
{
	(void)state;
	assert_value(0x0807060504030201, DW_OP_const2u, 0x00, 0x10, DW_OP_deref);
	assert_value(0x0403, DW_OP_const2u, 0x02, 0x10, DW_OP_deref_size, 2);
	assert_error(-ENOENT, DW_OP_const2u, 0x01, 0x10, DW_OP_deref);
	assert_error(-EBADMSG, DW_OP_const2u, 0x00, 0x10, DW_OP_deref_size, 9);
	assert_error(-EBADMSG, DW_OP_const2u, 0x00, 0x10, DW_OP_deref_size, 0);
}

/* The CFA of a PLT: 8 more above the stack pointer when its second instruction has been executed. */
static void
the_expression_of_a_plt(void **state)
{
	static const uint8_t plt[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	uint64_t registers[UNWIND_REGISTERS] = {[7] = 0x7ff0, [16] = 0x401020};
	const struct expression_inputs inputs = {registers, 1 << 7 | 1 << 16, read_word, NULL};
	uint64_t cfa;

	(void)state;
	assert_int_equal(expression_evaluate(plt, sizeof(plt), &inputs, NULL, &cfa), 0);
	assert_int_equal(cfa, 0x7ff8);
	registers[16] = 0x40102b;
	assert_int_equal(expression_evaluate(plt, sizeof(plt), &inputs, NULL, &cfa), 0);
	assert_int_equal(cfa, 0x8000);
}

static void
what_is_not_valid_is_an_error(void **state)
{
	static const uint8_t endless[] = {DW_OP_skip, 0xfd, 0xff};
	static uint8_t deep[EXPRESSION_DEPTH_MAX + 1];
	const uint64_t cfa = 1;
	const struct expression_inputs inputs = {0};
	uint64_t result;

	(void)state;
	assert_error(-ENOENT, DW_OP_breg8, 0);
	assert_error(-EBADMSG, DW_OP_bregx, 33, 0);
	assert_error(-EBADMSG, DW_OP_bregx, 0xff, 0xff, 0xff, 0xff, 0x0f, 0);
	assert_error(-EBADMSG, DW_OP_lit1, DW_OP_lit0, DW_OP_div);
	assert_error(-EBADMSG, DW_OP_lit1, DW_OP_lit0, DW_OP_mod);
	assert_error(-EBADMSG, DW_OP_plus);
	assert_error(-EBADMSG, DW_OP_lit1, DW_OP_plus);
	assert_error(-EBADMSG, DW_OP_lit1, DW_OP_pick, 1);
	assert_error(-EBADMSG, DW_OP_const8u, 1, 2, 3);
	assert_error(-EBADMSG, DW_OP_lit1, DW_OP_skip, 1, 0);
	assert_error(-EBADMSG, DW_OP_lit1, DW_OP_skip, 0xfb, 0xff);
	assert_error(-EBADMSG, DW_OP_addr, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_error(-EBADMSG, DW_OP_call_frame_cfa);
	assert_int_equal(evaluate(endless, sizeof(endless), &result), -EBADMSG);
	memset(deep, DW_OP_lit1, sizeof(deep));
	assert_int_equal(evaluate(deep, sizeof(deep), &result), -EBADMSG);
	assert_int_equal(evaluate(deep, sizeof(deep) - 1, &result), 0);
	assert_int_equal(evaluate(deep, 0, &result), -EBADMSG);
	assert_int_equal(expression_evaluate(NULL, 0, &inputs, &cfa, &result), 0);
	assert_int_equal(result, 1);
}

/* The one quotient that does not fit: it must not be left to the processor. */
static void
the_smallest_number_is_divided_by_minus_one(void **state)
{
	(void)state;
	assert_value(UINT64_C(1) << 63, DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80, DW_OP_const1s, 0xff, DW_OP_div);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_and_registers),
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(the_stack_and_jumps),
		cmocka_unit_test(memory),
		cmocka_unit_test(the_expression_of_a_plt),
		cmocka_unit_test(what_is_not_valid_is_an_error),
		cmocka_unit_test(the_smallest_number_is_divided_by_minus_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
