/* Tests of emulator/guest_code.h. */
#include "tests/unit/test.h"

#include "emulator/guest_code.h"

static void
strings_behind_rep_repeat(void **state)
{
	static const uint8_t rep_movsb[] = {0xf3, 0xa4}, repne_scasb[] = {0xf2, 0xae};
	static const uint8_t rep_stosq[] = {0xf3, 0x48, 0xab}, segment[] = {0x64, 0xf3, 0xa5};

	(void)state;
	assert_true(guest_code_repeats(rep_movsb, sizeof(rep_movsb)));
	assert_true(guest_code_repeats(repne_scasb, sizeof(repne_scasb)));
	assert_true(guest_code_repeats(rep_stosq, sizeof(rep_stosq)));
	assert_true(guest_code_repeats(segment, sizeof(segment)));
}

static void
others_do_not_repeat(void **state)
{
	static const uint8_t movsb[] = {0xa4}, rep_ret[] = {0xf3, 0xc3}, movss[] = {0xf3, 0x0f, 0x10, 0xa4};

	(void)state;
	assert_false(guest_code_repeats(movsb, sizeof(movsb)));
	assert_false(guest_code_repeats(rep_ret, sizeof(rep_ret)));
	assert_false(guest_code_repeats(movss, sizeof(movss))); /* its last byte is no opcode */
	assert_false(guest_code_repeats(rep_ret, 1));
}

static void
an_instruction_that_goes_on_in_the_next_page_is_cut_off(void **state)
{
	static const uint8_t call[] = {0xe8, 0x01, 0x00, 0x00, 0x00};

	(void)state;
	assert_true(guest_code_is_cut_off(0x401ffe, call, 2));
	assert_false(guest_code_is_cut_off(0x401ffb, call, 5)); /* ends with the page */
	assert_false(guest_code_is_cut_off(0x401800, call, 2)); /* in the middle of one: it is what it is */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_behind_rep_repeat),
		cmocka_unit_test(others_do_not_repeat),
		cmocka_unit_test(an_instruction_that_goes_on_in_the_next_page_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
