/* Tests of emulator/clock/quantum.h, with real threads. */
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "emulator/clock/quantum.h"

#define QUANTUM 1000

struct walker {
	struct quantum *quantum;
	unsigned slot;
	uint64_t clock, end, step;
	uint64_t farthest; /* ahead of the slowest, after it waited */
	unsigned gave_up;
	atomic_bool is_done;
};

/* Goes on in steps, and notes how far ahead it was each time it was let go. */
static void *
walk(void *argument)
{
	struct walker *walker = argument;

	quantum_bind(walker->quantum, walker->slot);
	while (walker->clock < walker->end) {
		uint64_t slowest;

		walker->clock += walker->step;
		if (quantum_wait(walker->quantum, walker->slot, walker->clock) == QUANTUM_GAVE_UP)
			walker->gave_up++;
		slowest = quantum_slowest(walker->quantum, walker->slot);
		if (slowest < walker->clock && walker->clock - slowest > walker->farthest)
			walker->farthest = walker->clock - slowest;
	}
	quantum_end(walker->quantum, walker->slot);
	atomic_store(&walker->is_done, true);
	return NULL;
}

static void
walk_together(unsigned count, unsigned host_cores, struct walker *walkers)
{
	struct quantum *quantum = quantum_new(64, QUANTUM, host_cores);
	pthread_t threads[64];

	for (unsigned i = 0; i < count; i++) {
		walkers[i].quantum = quantum;
		walkers[i].slot = i;
		quantum_begin(quantum, i, 0);
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk, &walkers[i]), 0);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(quantum_running(quantum), 0);
	quantum_free(quantum);
}

static void
two_threads_stay_within_the_quantum(void **state)
{
	struct walker walkers[2] = {{.end = 400000, .step = 500}, {.end = 400000, .step = 130}};

	(void)state;
	walk_together(2, 2, walkers);
	assert_in_range(walkers[0].farthest, 1, QUANTUM);
	assert_int_equal(walkers[0].gave_up + walkers[1].gave_up, 0);
}

static void
eighteen_threads_stay_within_the_quantum_on_two_cores(void **state)
{
	struct walker walkers[18] = {{0}};

	(void)state;
	for (unsigned i = 0; i < 18; i++)
		walkers[i] = (struct walker){.end = 60000, .step = 300 + 20 * i};
	walk_together(18, 2, walkers);
	for (unsigned i = 0; i < 18; i++) {
		assert_in_range(walkers[i].farthest, 0, QUANTUM);
		assert_int_equal(walkers[i].gave_up, 0);
	}
}

static void
without_a_quantum_no_thread_waits(void **state)
{
	struct quantum *quantum = quantum_new(4, 0, 2);

	(void)state;
	quantum_begin(quantum, 0, 0);
	quantum_begin(quantum, 1, 0);
	assert_int_equal(quantum_wait(quantum, 0, 1000000000), QUANTUM_NEAR);
	quantum_free(quantum);
}

static void
a_thread_in_a_call_that_blocks_is_not_waited_for(void **state)
{
	struct quantum *quantum = quantum_new(4, QUANTUM, 2);

	(void)state;
	quantum_begin(quantum, 0, 0);
	quantum_begin(quantum, 1, 0); /* no thread is bound to it: it does not run on the host */
	quantum_leave(quantum, 1);
	assert_int_equal(quantum_wait(quantum, 0, 1000000), QUANTUM_NEAR);
	assert_int_equal(quantum_slowest(quantum, 0), QUANTUM_NONE);
	quantum_return(quantum, 1, 990000);
	assert_int_equal(quantum_slowest(quantum, 0), 990000);
	quantum_free(quantum);
}

/* Before a barrier's wait the host may take the core of a thread away: the wait then fails, and it did not sleep. */
static void
a_thread_that_has_not_got_to_its_call_is_waited_for(void **state)
{
	struct quantum *quantum = quantum_new(4, QUANTUM, 2);
	struct walker walker = {.quantum = quantum, .slot = 0, .clock = 5000, .end = 5600, .step = 600};
	pthread_t thread;

	(void)state;
	quantum_begin(quantum, 0, 5000);
	quantum_begin(quantum, 1, 4200);
	quantum_bind(quantum, 1);
	quantum_leave(quantum, 1);
	assert_int_equal(quantum_slowest(quantum, 0), QUANTUM_NONE);
	assert_int_equal(pthread_create(&thread, NULL, walk, &walker), 0);
	for (unsigned i = 0; i < 2000000; i++)
		assert_false(atomic_load(&walker.is_done));
	quantum_return(quantum, 1, 4700);
	pthread_join(thread, NULL);
	assert_int_equal(walker.gave_up, 0);
	assert_int_equal(walker.farthest, 900);
	quantum_free(quantum);
}

static void
a_thread_that_ends_is_not_waited_for(void **state)
{
	struct quantum *quantum = quantum_new(4, QUANTUM, 2);

	(void)state;
	quantum_begin(quantum, 0, 0);
	quantum_begin(quantum, 1, 0);
	quantum_end(quantum, 1);
	assert_int_equal(quantum_wait(quantum, 0, 1000000), QUANTUM_NEAR);
	assert_int_equal(quantum_running(quantum), 1);
	quantum_free(quantum);
}

/* Begins and ends slot 1 again and again, at a clock of 5000. */
static void *
begin_and_end(void *argument)
{
	struct walker *walker = argument;

	while (!atomic_load(&walker->is_done)) {
		quantum_begin(walker->quantum, 1, 5000);
		quantum_end(walker->quantum, 1);
	}
	return NULL;
}

static void
a_thread_that_ends_is_never_seen_at_another_clock(void **state)
{
	struct walker walker = {.quantum = quantum_new(4, QUANTUM, 2)};
	pthread_t thread;

	(void)state;
	quantum_begin(walker.quantum, 0, 5000);
	assert_int_equal(pthread_create(&thread, NULL, begin_and_end, &walker), 0);
	for (unsigned seen = 0; seen < 200000;) {
		const uint64_t slowest = quantum_slowest(walker.quantum, 0);

		assert_true(slowest == QUANTUM_NONE || slowest == 5000);
		seen += slowest == 5000;
	}
	atomic_store(&walker.is_done, true);
	pthread_join(thread, NULL);
	quantum_free(walker.quantum);
}

/* The waiting one must not be let go before the other has come near, however late that is. */
static void
a_woken_thread_is_waited_for_before_it_returns(void **state)
{
	struct quantum *quantum = quantum_new(4, QUANTUM, 2);
	struct walker walker = {.quantum = quantum, .slot = 0, .clock = 5000, .end = 5600, .step = 600};
	pthread_t thread;

	(void)state;
	quantum_begin(quantum, 0, 5000);
	quantum_begin(quantum, 1, 4000);
	quantum_bind(quantum, 1); /* this thread runs while the other one waits for it: it is no sleeper */
	quantum_leave(quantum, 1);
	quantum_wake(quantum, 1, 4200);
	assert_int_equal(pthread_create(&thread, NULL, walk, &walker), 0);
	for (unsigned i = 0; i < 2000000; i++)
		assert_false(atomic_load(&walker.is_done));
	quantum_return(quantum, 1, 4700);
	pthread_join(thread, NULL);
	assert_int_equal(walker.gave_up, 0);
	assert_int_equal(walker.farthest, 900);
	quantum_free(quantum);
}

static void
waking_one_that_runs_does_not_set_it_back(void **state)
{
	struct quantum *quantum = quantum_new(4, QUANTUM, 2);

	(void)state;
	quantum_begin(quantum, 0, 0);
	quantum_begin(quantum, 1, 7000);
	quantum_wake(quantum, 1, 100);
	assert_int_equal(quantum_slowest(quantum, 0), 7000);
	assert_int_equal(quantum_running(quantum), 2);
	quantum_free(quantum);
}

struct quantum_sleeper {
	struct quantum *quantum;
	bool is_in_call, leaves;
	atomic_bool is_bound;
	int pipe[2];
};

static void *
sleep_in_read(void *argument)
{
	struct quantum_sleeper *sleeper = argument;
	char byte;

	quantum_bind(sleeper->quantum, 1);
	quantum_set_in_call(sleeper->quantum, 1, sleeper->is_in_call);
	if (sleeper->leaves)
		quantum_leave(sleeper->quantum, 1);
	atomic_store(&sleeper->is_bound, true);
	assert_int_equal(read(sleeper->pipe[0], &byte, 1), 1);
	return NULL;
}

/* The result for slot 0, far ahead of slot 1, whose host thread sleeps. */
static enum quantum_result
wait_for_sleeper(bool is_in_call, bool leaves, unsigned *running)
{
	struct quantum_sleeper sleeper = {
		.quantum = quantum_new(4, QUANTUM, 2), .is_in_call = is_in_call, .leaves = leaves};
	enum quantum_result wait;
	pthread_t thread;

	assert_int_equal(pipe(sleeper.pipe), 0);
	quantum_begin(sleeper.quantum, 0, 0);
	quantum_begin(sleeper.quantum, 1, 0);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_read, &sleeper), 0);
	while (!atomic_load(&sleeper.is_bound))
		usleep(100);
	wait = quantum_wait(sleeper.quantum, 0, 100000);
	*running = quantum_running(sleeper.quantum);
	assert_int_equal(write(sleeper.pipe[1], "", 1), 1);
	pthread_join(thread, NULL);
	close(sleeper.pipe[0]);
	close(sleeper.pipe[1]);
	quantum_free(sleeper.quantum);
	return wait;
}

static void
a_thread_that_sleeps_in_the_emulator_is_given_up(void **state)
{
	unsigned running;

	(void)state;
	assert_int_equal(wait_for_sleeper(false, false, &running), QUANTUM_GAVE_UP);
	assert_int_equal(running, 2);
}

static void
a_call_that_blocks_unexpectedly_is_no_longer_waited_for(void **state)
{
	unsigned running;

	(void)state;
	assert_int_equal(wait_for_sleeper(true, false, &running), QUANTUM_WAITED);
	assert_int_equal(running, 1);
}

static void
a_thread_that_sleeps_in_its_call_is_not_waited_for(void **state)
{
	unsigned running;

	(void)state;
	assert_int_not_equal(wait_for_sleeper(true, true, &running), QUANTUM_GAVE_UP);
	assert_int_equal(running, 1);
}

static void
when_the_process_ends_no_thread_waits(void **state)
{
	struct quantum *quantum = quantum_new(4, QUANTUM, 2);
	struct walker walker = {.quantum = quantum, .slot = 0, .clock = 5000, .end = 5600, .step = 600};
	pthread_t thread;

	(void)state;
	quantum_begin(quantum, 0, 5000);
	quantum_begin(quantum, 1, 0);
	quantum_bind(quantum, 1);
	assert_int_equal(pthread_create(&thread, NULL, walk, &walker), 0);
	quantum_release_all(quantum);
	pthread_join(thread, NULL);
	assert_int_equal(walker.gave_up, 0);
	quantum_free(quantum);
}

static void
after_a_fork_only_the_child_is_there(void **state)
{
	struct quantum *quantum = quantum_new(4, QUANTUM, 2);

	(void)state;
	quantum_begin(quantum, 0, 100);
	quantum_begin(quantum, 2, 5000);
	quantum_fork(quantum, 2);
	assert_int_equal(quantum_running(quantum), 1);
	assert_int_equal(quantum_slowest(quantum, 0), 5000);
	assert_int_equal(quantum_wait(quantum, 2, 100000), QUANTUM_NEAR);
	quantum_free(quantum);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_threads_stay_within_the_quantum),
		cmocka_unit_test(eighteen_threads_stay_within_the_quantum_on_two_cores),
		cmocka_unit_test(without_a_quantum_no_thread_waits),
		cmocka_unit_test(a_thread_in_a_call_that_blocks_is_not_waited_for),
		cmocka_unit_test(a_thread_that_has_not_got_to_its_call_is_waited_for),
		cmocka_unit_test(a_thread_that_ends_is_not_waited_for),
		cmocka_unit_test(a_thread_that_ends_is_never_seen_at_another_clock),
		cmocka_unit_test(a_woken_thread_is_waited_for_before_it_returns),
		cmocka_unit_test(waking_one_that_runs_does_not_set_it_back),
		cmocka_unit_test(a_thread_that_sleeps_in_the_emulator_is_given_up),
		cmocka_unit_test(a_call_that_blocks_unexpectedly_is_no_longer_waited_for),
		cmocka_unit_test(a_thread_that_sleeps_in_its_call_is_not_waited_for),
		cmocka_unit_test(when_the_process_ends_no_thread_waits),
		cmocka_unit_test(after_a_fork_only_the_child_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
