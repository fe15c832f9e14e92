/* Standard error is a pseudo terminal, or a pipe. */
#include "tests/unit/test.h"

#include <pty.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/common/message.h"

/* What work prints of 50 of 200 on a file descriptor; it is due at once, or later. */
static void
work(int target, bool is_due)
{
	struct progress progress;
	int kept = dup(STDERR_FILENO);

	dup2(target, STDERR_FILENO);
	progress_begin(&progress, "of the work done");
	if (is_due)
		progress.next_ns = 0;
	progress_show(&progress, 50, 200);
	progress_end(&progress);
	dup2(kept, STDERR_FILENO);
	close(kept);
}

/* All that was written before "end". */
static void
assert_printed(int source, int target, const char *expected)
{
	char text[256];
	size_t size = 0;

	assert_int_equal(write(target, "end", 3), 3);
	while (size < 3 || memcmp(text + size - 3, "end", 3) != 0) {
		const ssize_t got = read(source, text + size, sizeof(text) - 1 - size);

		assert_true(got > 0);
		size += (size_t)got;
	}
	text[size - 3] = '\0';
	assert_string_equal(text, expected);
}

static void
a_terminal_sees_how_far_it_is_and_nothing_afterwards(void **state)
{
	int source, target;

	(void)state;
	assert_int_equal(openpty(&source, &target, NULL, NULL, NULL), 0);
	work(target, true);
	assert_printed(source, target, "\rmessage_test:  25% of the work done\r\033[K");
	close(source);
	close(target);
}

static void
short_work_prints_nothing(void **state)
{
	int source, target;

	(void)state;
	assert_int_equal(openpty(&source, &target, NULL, NULL, NULL), 0);
	work(target, false);
	assert_printed(source, target, "");
	close(source);
	close(target);
}

static void
what_is_no_terminal_sees_nothing(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	work(ends[1], true);
	assert_printed(ends[0], ends[1], "");
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_sees_how_far_it_is_and_nothing_afterwards),
		cmocka_unit_test(short_work_prints_nothing),
		cmocka_unit_test(what_is_no_terminal_sees_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
