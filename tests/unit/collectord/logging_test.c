#include "collectord/logging.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

static void
assert_line(bool to_journal, enum log_level level, const char *message, const char *expected)
{
	char line[64];
	size_t length = logging_format(to_journal, level, message, line, sizeof(line));

	assert_string_equal(line, expected);
	assert_int_equal(length, strlen(expected));
}

static void
the_journal_gets_the_level_as_a_number(void **state)
{
	(void)state;
	assert_line(true, LOG_LEVEL_ERROR, "no", "<3>no\n");
	assert_line(true, LOG_LEVEL_INFO, "yes", "<6>yes\n");
}

static void
people_get_a_word_where_it_tells_something(void **state)
{
	(void)state;
	assert_line(false, LOG_LEVEL_ERROR, "/x: another", "dcpid: /x: another\n");
	assert_line(false, LOG_LEVEL_WARNING, "hm", "dcpid: warning: hm\n");
	assert_line(false, LOG_LEVEL_NOTICE, "look", "dcpid: look\n");
	assert_line(false, LOG_LEVEL_INFO, "well", "dcpid: well\n");
	assert_line(false, LOG_LEVEL_DEBUG, "so", "dcpid: debug: so\n");
}

static void
a_message_cannot_begin_a_line_of_its_own(void **state)
{
	(void)state;
	assert_line(true, LOG_LEVEL_INFO, "a\n<0>b\x1b[2J", "<6>a?<0>b?[2J\n");
}

static void
a_message_too_long_is_cut(void **state)
{
	char line[16];

	(void)state;
	assert_int_equal(logging_format(false, LOG_LEVEL_INFO, "0123456789", line, sizeof(line)), 15);
	assert_string_equal(line, "dcpid: 0123456\n");
}

/* Point standard error to a file for the length of one message. */
static void
the_limit_is_kept_and_a_line_is_written(void **state)
{
	char path[] = "/tmp/dcpi-logging.XXXXXX", text[64];
	int file = mkstemp(path), saved = dup(STDERR_FILENO);
	struct logging logging;
	ssize_t length;

	(void)state;
	unlink(path);
	fflush(stderr);
	dup2(file, STDERR_FILENO);
	logging_init(&logging, LOG_LEVEL_NOTICE, NULL);
	log_write(&logging.log, LOG_LEVEL_INFO, "not this");
	log_write(&logging.log, LOG_LEVEL_NOTICE, "%d times", 3);
	dup2(saved, STDERR_FILENO);
	close(saved);
	length = pread(file, text, sizeof(text) - 1, 0);
	close(file);
	assert_true(length >= 0);
	text[length] = '\0';
	assert_string_equal(text, "dcpid: 3 times\n");
}

static void
the_journal_is_known_by_device_and_inode(void **state)
{
	struct logging logging;
	struct stat status;
	char stream[64];

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
	         (unsigned long long)status.st_ino);
	logging_init(&logging, LOG_LEVEL_INFO, stream);
	assert_true(logging.to_journal);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
	         (unsigned long long)status.st_ino + 1);
	logging_init(&logging, LOG_LEVEL_INFO, stream);
	assert_false(logging.to_journal);
	logging_init(&logging, LOG_LEVEL_INFO, "journal");
	assert_false(logging.to_journal);
	logging_init(&logging, LOG_LEVEL_INFO, NULL);
	assert_false(logging.to_journal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_journal_gets_the_level_as_a_number),
		cmocka_unit_test(people_get_a_word_where_it_tells_something),
		cmocka_unit_test(a_message_cannot_begin_a_line_of_its_own),
		cmocka_unit_test(a_message_too_long_is_cut),
		cmocka_unit_test(the_limit_is_kept_and_a_line_is_written),
		cmocka_unit_test(the_journal_is_known_by_device_and_inode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
