#include "tests/unit/test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "collectord/worker.h"

static void *
note_mask(void *context)
{
	pthread_sigmask(SIG_SETMASK, NULL, context);
	return NULL;
}

static void
run_noting_mask(sigset_t *mask)
{
	struct worker_thread worker;

	assert_int_equal(worker_start(&worker, note_mask, mask), 0);
	worker_stop(&worker);
	worker_fini(&worker);
}

static void
a_thread_leaves_all_signals_but_faults_to_the_event_loop(void **state)
{
	const int loops[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1, SIGRTMIN};
	static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT};
	sigset_t mask;

	(void)state;
	sigemptyset(&mask);
	run_noting_mask(&mask);
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		assert_int_equal(sigismember(&mask, loops[i]), 1);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		assert_int_equal(sigismember(&mask, faults[i]), 0);
}

static void
the_thread_that_starts_it_keeps_its_own_mask(void **state)
{
	sigset_t before, mask, after;

	(void)state;
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	run_noting_mask(&mask);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int number = 1; number < 32; number++)
		assert_int_equal(sigismember(&after, number), number == SIGUSR2);
}

static void *
wait_for_stop(void *context)
{
	struct worker_thread *worker = context;

	worker_lock(worker);
	while (!worker->stop)
		worker_wait(worker);
	worker_unlock(worker);
	return NULL;
}

/* With a condition of CLOCK_REALTIME, a monotonic time would be decades ago: no wait at all. */
static void
a_condition_waits_until_a_monotonic_time(void **state)
{
	const uint64_t until_ns = monotonic_ns() + 20000000;
	struct worker_thread worker;
	int err = 0;

	(void)state;
	assert_int_equal(worker_start(&worker, wait_for_stop, &worker), 0);
	worker_lock(&worker);
	while (err == 0)
		err = worker_wait_until(&worker, until_ns);
	worker_unlock(&worker);
	assert_int_equal(err, ETIMEDOUT);
	assert_true(monotonic_ns() >= until_ns);
	worker_stop(&worker);
	worker_fini(&worker);
}

static void
a_stopped_thread_has_rung_its_bell_and_keeps_its_lock(void **state)
{
	struct worker_thread worker;
	struct pollfd bell = {.events = POLLIN};

	(void)state;
	assert_int_equal(worker_start(&worker, wait_for_stop, &worker), 0);
	bell.fd = worker.stop_bell;
	assert_int_equal(poll(&bell, 1, 0), 0);
	worker_stop(&worker);
	assert_int_equal(poll(&bell, 1, 0), 1);
	worker_stop(&worker);
	worker_lock(&worker);
	worker_unlock(&worker);
	worker_fini(&worker);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_leaves_all_signals_but_faults_to_the_event_loop),
		cmocka_unit_test(the_thread_that_starts_it_keeps_its_own_mask),
		cmocka_unit_test(a_condition_waits_until_a_monotonic_time),
		cmocka_unit_test(a_stopped_thread_has_rung_its_bell_and_keeps_its_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
