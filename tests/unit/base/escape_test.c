#include "tests/unit/test.h"

#include "base/text.h"

static void
assert_shown(const char *text, const char *expected)
{
	char shown[64];

	assert_string_equal(escape_text(text, shown, sizeof(shown)), expected);
}

static void
plain_names_stay(void **state)
{
	(void)state;
	assert_shown("/usr/bin/gzip", "/usr/bin/gzip");
	assert_shown("naïve-名", "naïve-名");
}

static void
a_terminal_is_not_driven(void **state)
{
	(void)state;
	assert_shown("\033[2J", "\\x1b[2J");
	assert_shown("a\nb", "a\\x0ab");
	assert_shown("\xc2\x9b", "\\xc2\\x9b"); /* C1 control sequence introducer */
	assert_shown("\x7f", "\\x7f");
}

static void
malformed_utf8_is_shown_as_bytes(void **state)
{
	(void)state;
	assert_shown("\xff", "\\xff");
	assert_shown("\xc0\xaf", "\\xc0\\xaf");          /* overlong slash */
	assert_shown("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
	assert_shown("\xe5\x90", "\\xe5\\x90");          /* cut short */
}

static void
a_backslash_cannot_be_mistaken_for_an_escape(void **state)
{
	(void)state;
	assert_shown("\\x1b", "\\\\x1b");
}

static void
what_does_not_fit_is_cut_at_a_whole_character(void **state)
{
	char shown[6];

	(void)state;
	assert_string_equal(escape_text("abc名x", shown, sizeof(shown)), "abc");
	assert_string_equal(escape_text("ab\033", shown, sizeof(shown)), "ab");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_names_stay),
		cmocka_unit_test(a_terminal_is_not_driven),
		cmocka_unit_test(malformed_utf8_is_shown_as_bytes),
		cmocka_unit_test(a_backslash_cannot_be_mistaken_for_an_escape),
		cmocka_unit_test(what_does_not_fit_is_cut_at_a_whole_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
