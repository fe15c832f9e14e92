#include "tests/unit/test.h"

#include <elf.h>

#include "image/plt_code.h"

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
		cmocka_unit_test(lazy_stubs_follow_the_one_that_calls_the_loader),
		cmocka_unit_test(stubs_with_ibt_jump_in_one_table_and_push_an_index_in_the_other),
		cmocka_unit_test(stubs_of_static_programs_have_eight_bytes),
		cmocka_unit_test(stubs_of_mold_load_the_index_before_they_jump),
		cmocka_unit_test(stubs_of_aarch64_add_a_page_and_an_offset),
		cmocka_unit_test(stubs_of_aarch64_may_be_guarded),
		cmocka_unit_test(code_that_ends_early_has_no_stub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
