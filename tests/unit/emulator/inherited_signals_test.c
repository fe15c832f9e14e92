#include "tests/unit/test.h"

#include <signal.h>

#include "emulator/inherited_signals.h"

static void
handle(int signal)
{
	(void)signal;
}

static void
assert_handler(int signal, void (*handler)(int))
{
	struct sigaction action;

	assert_int_equal(sigaction(signal, NULL, &action), 0);
	assert_true(action.sa_handler == handler);
}

static void
what_was_ignored_is_so_again_once(void **state)
{
	uint32_t signals;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_DFL);
	signals = inherited_signals_read();
	assert_int_equal(signals & (1U << (SIGHUP - 1)), 1U << (SIGHUP - 1));
	assert_int_equal(signals & (1U << (SIGPIPE - 1)), 1U << (SIGPIPE - 1));
	assert_int_equal(signals & (1U << (SIGUSR1 - 1)), 0);
	signal(SIGHUP, handle);
	signal(SIGPIPE, handle);
	signal(SIGUSR1, handle);
	inherited_signals_ignore(&signals);
	assert_handler(SIGHUP, SIG_IGN);
	assert_handler(SIGPIPE, SIG_IGN);
	assert_handler(SIGUSR1, handle);
	signal(SIGHUP, handle); /* by the guest */
	inherited_signals_ignore(&signals);
	assert_handler(SIGHUP, handle);
}

/* The emulator needs to see them. */
static void
faults_are_left_alone(void **state)
{
	uint32_t signals;

	(void)state;
	signal(SIGSEGV, SIG_IGN);
	signals = inherited_signals_read();
	signal(SIGSEGV, handle);
	inherited_signals_ignore(&signals);
	assert_handler(SIGSEGV, handle);
	signal(SIGSEGV, SIG_DFL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_ignored_is_so_again_once),
		cmocka_unit_test(faults_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
