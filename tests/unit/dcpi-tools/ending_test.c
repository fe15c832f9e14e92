#include "tests/unit/test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/common/ending.h"

static void
what_asks_to_end_waits_until_it_is_taken(void **state)
{
	sigset_t before;

	(void)state;
	ending_hold(&before);
	assert_int_equal(ending_take(), 0);
	raise(SIGTERM);
	assert_int_equal(ending_take(), SIGTERM);
	assert_int_equal(ending_take(), 0);
	ending_release(&before);
}

/* As under nohup(1). */
static void
what_is_ignored_asks_for_nothing(void **state)
{
	sigset_t before;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	ending_hold(&before);
	raise(SIGHUP);
	assert_false(ending_is_asked(SIGHUP));
	assert_int_equal(ending_take(), 0);
	ending_release(&before);
	signal(SIGHUP, SIG_DFL);
	assert_true(ending_is_asked(SIGHUP));
	assert_false(ending_is_asked(SIGUSR1));
	assert_false(ending_is_asked(SIGCHLD));
}

static int
status_of(void (*act)(void))
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
hold_and_release(void)
{
	sigset_t before;

	ending_hold(&before);
	raise(SIGINT);
	ending_release(&before);
}

static void
end_by_interrupt(void)
{
	sigset_t before;

	signal(SIGINT, SIG_IGN);
	ending_hold(&before);
	_exit(ending_by(SIGINT));
}

static void
what_was_not_taken_ends_us(void **state)
{
	int status;

	(void)state;
	status = status_of(hold_and_release);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
}

static void
who_was_asked_ends_as_asked(void **state)
{
	int status;

	(void)state;
	status = status_of(end_by_interrupt);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_asks_to_end_waits_until_it_is_taken),
		cmocka_unit_test(what_is_ignored_asks_for_nothing),
		cmocka_unit_test(what_was_not_taken_ends_us),
		cmocka_unit_test(who_was_asked_ends_as_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
