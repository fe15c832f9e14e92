/* Tests of dcpi-tools/diff/align.h: what a diff leaves as it is. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/diff/align.h"

/* Each character is an element; partners as digits, - for none. */
static void
assert_aligned(const char *one, const char *other, const char *expected)
{
	uint64_t numbers[2][16];
	uint32_t partners[16];
	char text[17] = "";

	for (size_t i = 0; one[i]; i++)
		numbers[0][i] = (uint64_t)one[i];
	for (size_t i = 0; other[i]; i++)
		numbers[1][i] = (uint64_t)other[i];
	assert_int_equal(align_sequences(numbers[0], strlen(one), numbers[1], strlen(other), partners), 0);
	for (size_t i = 0; one[i]; i++)
		text[i] = (char)(partners[i] == ALIGN_NONE ? '-' : '0' + (char)partners[i]);
	assert_string_equal(text, expected);
}

static void
what_is_equal_is_aligned(void **state)
{
	(void)state;
	assert_aligned("abc", "abc", "012");
	assert_aligned("", "", "");
	assert_aligned("abc", "", "---");
	assert_aligned("", "abc", "");
}

static void
insertions_move_what_follows(void **state)
{
	(void)state;
	assert_aligned("abc", "xxabc", "234");
	assert_aligned("abc", "axxbc", "034");
	assert_aligned("abc", "abcxx", "012");
}

static void
deletions_and_changes_have_no_partner(void **state)
{
	(void)state;
	assert_aligned("abcde", "ade", "0--12");
	assert_aligned("abc", "axc", "0-2");
	assert_aligned("abc", "xyz", "---");
}

/* The example of Wagner and Fischer's problem in every textbook: ABCBDAB and BDCABA have BCBA or others of four. */
static void
as_much_is_common_as_can_be(void **state)
{
	const char *one = "ABCBDAB", *other = "BDCABA";
	uint64_t numbers[2][7];
	uint32_t partners[7], last = 0;
	size_t common = 0;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		numbers[0][i] = (uint64_t)one[i];
	for (size_t i = 0; i < 6; i++)
		numbers[1][i] = (uint64_t)other[i];
	assert_int_equal(align_sequences(numbers[0], 7, numbers[1], 6, partners), 0);
	for (size_t i = 0; i < 7; i++) {
		if (partners[i] == ALIGN_NONE)
			continue;
		assert_int_equal(one[i], other[partners[i]]);
		assert_true(common == 0 || partners[i] > last);
		last = partners[i];
		common++;
	}
	assert_int_equal(common, 4);
}

/* 5,000 by 5,000 are more cells than are compared. */
static void
what_is_too_large_has_its_ends_aligned(void **state)
{
	const size_t count = 5000;
	uint64_t *one = calloc(count, sizeof(*one)), *other = calloc(count, sizeof(*other));
	uint32_t *partners = calloc(count, sizeof(*partners));

	(void)state;
	for (size_t i = 0; i < count; i++) {
		one[i] = i;
		other[i] = i == 0 || i + 1 == count ? i : count + i;
	}
	assert_int_equal(align_sequences(one, count, other, count, partners), 0);
	assert_int_equal(partners[0], 0);
	assert_int_equal(partners[count - 1], count - 1);
	assert_int_equal(partners[count / 2], ALIGN_NONE);
	free(partners);
	free(other);
	free(one);
}

static void
blanks_do_not_make_a_text_another(void **state)
{
	(void)state;
	assert_true(align_text_hash("  a = b;  ") == align_text_hash("a =\tb;"));
	assert_true(align_text_hash("a = b;") != align_text_hash("a=b;"));
	assert_true(align_text_hash("") == align_text_hash("   "));
}

static void
addresses_do_not_make_an_instruction_another(void **state)
{
	(void)state;
	assert_true(align_instruction_hash("jne    0x1017") == align_instruction_hash("jne    0x2a4"));
	assert_true(align_instruction_hash("jne    0x1017") != align_instruction_hash("je     0x1017"));
	assert_true(align_instruction_hash("mov    0x8(%rax),%rcx") != align_instruction_hash("mov    0x8(%rax),%rdx"));
	assert_true(align_instruction_hash("xor    %eax,%eax") == align_text_hash("xor %eax,%eax"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_equal_is_aligned),
		cmocka_unit_test(insertions_move_what_follows),
		cmocka_unit_test(deletions_and_changes_have_no_partner),
		cmocka_unit_test(as_much_is_common_as_can_be),
		cmocka_unit_test(what_is_too_large_has_its_ends_aligned),
		cmocka_unit_test(blanks_do_not_make_a_text_another),
		cmocka_unit_test(addresses_do_not_make_an_instruction_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
