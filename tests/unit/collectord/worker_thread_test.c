#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "collectord/worker_thread.h"

static void *
note_mask(void *context)
{
	pthread_sigmask(SIG_SETMASK, NULL, context);
	return NULL;
}

static void
a_thread_leaves_all_signals_but_faults_to_the_event_loop(void **state)
{
	const int loops[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1, SIGRTMIN};
	static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT};
	pthread_t thread;
	sigset_t mask;

	(void)state;
	sigemptyset(&mask);
	assert_int_equal(worker_thread_start(&thread, note_mask, &mask), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		assert_int_equal(sigismember(&mask, loops[i]), 1);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		assert_int_equal(sigismember(&mask, faults[i]), 0);
}

static void
who_starts_it_keeps_its_own_mask(void **state)
{
	sigset_t before, mask, after;
	pthread_t thread;

	(void)state;
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(worker_thread_start(&thread, note_mask, &mask), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int number = 1; number < 32; number++)
		assert_int_equal(sigismember(&after, number), number == SIGUSR2);
}

/* With a condition of CLOCK_REALTIME, a monotonic time would be decades ago: no wait at all. */
static void
a_condition_waits_until_a_monotonic_time(void **state)
{
	const uint64_t until_ns = monotonic_ns() + 20000000;
	const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition;
	int err = 0;

	(void)state;
	worker_condition_init(&condition);
	pthread_mutex_lock(&lock);
	while (err == 0)
		err = pthread_cond_timedwait(&condition, &lock, &until);
	pthread_mutex_unlock(&lock);
	assert_int_equal(err, ETIMEDOUT);
	assert_true(monotonic_ns() >= until_ns);
	pthread_cond_destroy(&condition);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_leaves_all_signals_but_faults_to_the_event_loop),
		cmocka_unit_test(who_starts_it_keeps_its_own_mask),
		cmocka_unit_test(a_condition_waits_until_a_monotonic_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
