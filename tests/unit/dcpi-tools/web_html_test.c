#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/web/command.h"
#include "dcpi-tools/web/html.h"

/* What a buffer holds, in a text that the next call replaces. */
static const char *
taken(struct html *out)
{
	static char text[1024];
	const int size = evbuffer_remove(out->buffer, text, sizeof(text) - 1);

	assert_false(out->failed);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

static struct html
begin(void)
{
	return (struct html){.buffer = evbuffer_new()};
}

static void
writes_text(const char *text, const char *expected)
{
	struct html out = begin();

	html_text(&out, text);
	assert_string_equal(taken(&out), expected);
	evbuffer_free(out.buffer);
}

static void
text_cannot_be_markup(void **state)
{
	(void)state;
	writes_text("<script>alert(\"x\" & 'y')</script>",
	            "&lt;script&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/script&gt;");
	writes_text("plain", "plain");
	writes_text("", "");
}

/* Browsers guess at broken UTF-8, and a guess may swallow the quote behind it. */
static void
text_is_well_formed(void **state)
{
	(void)state;
	writes_text("caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80");
	writes_text("\xc3\"", "\xef\xbf\xbd&quot;");                         /* no continuation */
	writes_text("\x80x", "\xef\xbf\xbdx");                               /* a stray one */
	writes_text("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
	writes_text("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
	writes_text("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	writes_text("\xe6\x97", "\xef\xbf\xbd\xef\xbf\xbd"); /* cut */
	writes_text("a\x1b[31m\x7f\x01", "a\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd");
	writes_text("a\tb\nc", "a\tb\nc");
}

static void
attributes_and_links_are_quoted(void **state)
{
	struct html out = begin();

	(void)state;
	html_attribute(&out, "title", "a\" onclick=\"b");
	assert_string_equal(taken(&out), " title=\"a&quot; onclick=&quot;b\"");
	html_link(&out, "/calc?a=1&b=2", "<x>");
	assert_string_equal(taken(&out), "<a href=\"/calc?a=1&amp;b=2\">&lt;x&gt;</a>");
	evbuffer_free(out.buffer);
}

static void
numbers_are_for_readers(void **state)
{
	struct html out = begin();

	(void)state;
	html_count(&out, 0);
	html(&out, " ");
	html_count(&out, 999);
	html(&out, " ");
	html_count(&out, 1234567);
	assert_string_equal(taken(&out), "0 999 1,234,567");
	html_real(&out, 1.005e6, 1);
	html(&out, " ");
	html_real(&out, NAN, 1);
	assert_string_equal(taken(&out), "1005000.0 -");
	html_real(&out, 0, 2);
	html(&out, " ");
	html_real(&out, 0.05, 1);
	html(&out, " ");
	html_real(&out, -12.345, 2);
	html(&out, " ");
	html_real(&out, -0.001, 2); /* no -0.00 */
	html(&out, " ");
	html_real(&out, 99.995, 2);
	html(&out, " ");
	html_real(&out, 7, 0);
	assert_string_equal(taken(&out), "0.00 0.1 -12.35 0.00 100.00 7");
	html_real(&out, 123456789012345678.0, 1);
	html(&out, " ");
	html_real(&out, 0.000123, 6);
	assert_string_equal(taken(&out), "123456789012345680.0 0.000123");
	html_number_attribute(&out, "x", INFINITY);
	assert_string_equal(taken(&out), " x=\"0.00\"");
	html_bar(&out, 250, "bar");
	assert_non_null(strstr(taken(&out), "width=\"100.00\""));
	evbuffer_free(out.buffer);
}

static void
a_url_is_plain(void **state)
{
	struct html out = begin();

	(void)state;
	assert_int_equal(url_append(out.buffer, "/a-b_c.~1 ?&#%\"<\xc3\xa9+"), 0);
	assert_string_equal(taken(&out), "/a-b_c.~1%20%3F%26%23%25%22%3C%C3%A9%2B");
	evbuffer_free(out.buffer);
}

/* ---- command lines ---- */

static void
a_command_is_shown_as_a_shell_takes_it(void **state)
{
	struct tool_command command;
	struct html out = begin();

	(void)state;
	command_begin(&command, "dcpicalc", "/var/lib/my db");
	command_option(&command, "image", "it's");
	command_option(&command, "event", NULL);
	command_word(&command, "--");
	command_word(&command, "--help; rm -rf /");
	command_set_json(&command);
	assert_false(command.failed);
	command_show(&command, &out);
	assert_string_equal(taken(&out), "dcpicalc --json &#39;--db=/var/lib/my db&#39; "
	                                 "&#39;--image=it&#39;\\&#39;&#39;s&#39; -- &#39;--help; rm -rf /&#39;");
	assert_null(command.words[command.count]);
	command_fini(&command);
	evbuffer_free(out.buffer);
}

static void
a_command_has_so_many_words(void **state)
{
	struct tool_command command;

	(void)state;
	command_begin(&command, "dcpiprof", NULL);
	assert_int_equal(command.count, 1);
	for (int i = 0; i < COMMAND_WORDS_MAX - 1; i++)
		command_word(&command, "x");
	assert_false(command.failed);
	command_word(&command, "x");
	assert_true(command.failed);
	command_fini(&command);
}

static bool
is_relative(const char *option, const char *value)
{
	struct tool_command command;
	bool relative;

	command_begin(&command, "dcpiprof", NULL);
	command_option(&command, option, value);
	relative = command.is_relative;
	command_fini(&command);
	return relative;
}

static void
a_time_may_be_relative_to_the_present(void **state)
{
	(void)state;
	assert_true(is_relative("since", "2h"));
	assert_true(is_relative("until", "14:30"));
	assert_false(is_relative("since", "2026-11-21 14:30"));
	assert_false(is_relative("until", "@1795271400"));
	assert_false(is_relative("label", "2h"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_cannot_be_markup),
		cmocka_unit_test(text_is_well_formed),
		cmocka_unit_test(attributes_and_links_are_quoted),
		cmocka_unit_test(numbers_are_for_readers),
		cmocka_unit_test(a_url_is_plain),
		cmocka_unit_test(a_command_is_shown_as_a_shell_takes_it),
		cmocka_unit_test(a_command_has_so_many_words),
		cmocka_unit_test(a_time_may_be_relative_to_the_present),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
