#include "control/request.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/test.h"

static struct control_request request;
static char why[256];

static int
parse(const char *line)
{
	return request_parse(line, strlen(line), &request, why, sizeof(why));
}

static void
assert_refused(const char *line, const char *sentence)
{
	assert_int_equal(parse(line), -EINVAL);
	assert_string_equal(why, sentence);
}

static void
each_command_is_understood(void **state)
{
	static const char *const lines[COMMANDS] = {
		"{\"command\":\"status\"}", "{\"command\":\"flush\"}", "{\"command\":\"epoch\"}",
		"{\"command\":\"reload\"}", "{\"command\":\"quit\"}",  "{\"command\":\"compact\"}",
	};

	(void)state;
	for (int i = 0; i < COMMAND_LABEL; i++) {
		assert_int_equal(parse(lines[i]), 0);
		assert_int_equal(request.command, i);
		assert_string_equal(request.label, "");
	}
	assert_int_equal(parse("{\"command\":\"refresh\"}"), 0);
	assert_int_equal(request.command, COMMAND_REFRESH);
}

static void
an_epoch_may_have_a_label(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"command\":\"epoch\",\"label\":\"nightly \xc3\xa4\"}"), 0);
	assert_int_equal(request.command, COMMAND_EPOCH);
	assert_string_equal(request.label, "nightly \xc3\xa4");
}

static void
a_misspelt_command_is_named_with_what_was_meant(void **state)
{
	(void)state;
	assert_refused("{\"command\":\"fulsh\"}", "there is no command fulsh (did you mean flush?)");
	assert_refused("{\"command\":\"\"}", "there is no command ");
	assert_refused("{\"command\":\"a\\u001bb\"}", "there is no command a\\x1bb");
}

static void
what_is_no_request_is_refused(void **state)
{
	(void)state;
	assert_refused("{\"commands\":\"flush\"}", "the request has no \"command\"");
	assert_refused("{\"command\":5}", "the request has no \"command\"");
	assert_refused("[1]", "the request has no \"command\"");
	assert_int_equal(parse(""), -EINVAL);
	assert_int_equal(parse("flush"), -EINVAL);
	assert_int_equal(parse("{\"command\":\"flush\",\"command\":\"quit\"}"), -EINVAL);
	assert_int_equal(parse("{\"command\":\"flush\"} x"), -EINVAL);
}

static void
a_label_goes_with_an_epoch_only(void **state)
{
	(void)state;
	assert_refused("{\"command\":\"flush\",\"label\":\"x\"}", "flush takes no label");
	assert_refused("{\"command\":\"epoch\",\"label\":5}", "the label is not a string");
}

static void
a_process_tree_is_labelled_with_a_label(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"command\":\"label\",\"label\":\"run1\"}"), 0);
	assert_int_equal(request.command, COMMAND_LABEL);
	assert_string_equal(request.label, "run1");
	assert_int_equal(request.pid, 0);
	assert_refused("{\"command\":\"label\"}", "which label?");
	assert_refused("{\"command\":\"label\",\"label\":\"\"}", "the label is empty");
	assert_refused("{\"command\":\"label\",\"label\":\"a/b\"}",
	               "the label may have neither \"/\", \"\\\" nor control characters");
}

static void
a_process_is_named_by_a_whole_number(void **state)
{
	static const char *const wrong[] = {"0", "-1", "1.5", "\"1\"", "2147483648", "null"};
	char line[128];

	(void)state;
	assert_int_equal(parse("{\"command\":\"label\",\"label\":\"run1\",\"pid\":2147483647}"), 0);
	assert_int_equal(request.pid, 2147483647);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(line, sizeof(line), "{\"command\":\"label\",\"label\":\"run1\",\"pid\":%s}", wrong[i]);
		assert_refused(line, "the pid is not a number from 1 on");
	}
	assert_refused("{\"command\":\"flush\",\"pid\":1}", "flush takes no pid");
}

static void
a_label_of_63_bytes_is_the_longest(void **state)
{
	char label[EPOCH_LABEL_SIZE + 1];

	(void)state;
	memset(label, 'x', sizeof(label));
	label[EPOCH_LABEL_SIZE - 1] = '\0';
	assert_int_equal(request_check_label(label, why, sizeof(why)), 0);
	label[EPOCH_LABEL_SIZE - 1] = 'x';
	label[EPOCH_LABEL_SIZE] = '\0';
	assert_int_equal(request_check_label(label, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "the label is 64 bytes long; at most 63 are accepted");
}

static void
a_label_has_no_slash_and_no_control_characters(void **state)
{
	static const char *const wrong[] = {"a/b", "a\nb", "a\x1b[31m", "a\\b", "\xff", "a\x7f"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(request_check_label(wrong[i], why, sizeof(why)), -EINVAL);
		assert_string_equal(why, "the label may have neither \"/\", \"\\\" nor control characters");
	}
}

static void
a_line_too_long_is_refused_unread(void **state)
{
	char line[REQUEST_SIZE_MAX + 1];

	(void)state;
	memset(line, ' ', sizeof(line));
	memcpy(line, "{\"command\":\"quit\"}", 18);
	assert_int_equal(request_parse(line, REQUEST_SIZE_MAX, &request, why, sizeof(why)), 0);
	assert_int_equal(request_parse(line, REQUEST_SIZE_MAX + 1, &request, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "the request is longer than 4096 bytes");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_is_understood),
		cmocka_unit_test(an_epoch_may_have_a_label),
		cmocka_unit_test(a_misspelt_command_is_named_with_what_was_meant),
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(a_label_goes_with_an_epoch_only),
		cmocka_unit_test(a_process_tree_is_labelled_with_a_label),
		cmocka_unit_test(a_process_is_named_by_a_whole_number),
		cmocka_unit_test(a_label_of_63_bytes_is_the_longest),
		cmocka_unit_test(a_label_has_no_slash_and_no_control_characters),
		cmocka_unit_test(a_line_too_long_is_refused_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
