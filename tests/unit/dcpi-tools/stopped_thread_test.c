#include "tests/unit/test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/x/stopped_thread.h"

/* Shared with a child. */
struct child_memory {
	volatile int is_ready, turns, result, error;
};

static struct child_memory *shared;
static pid_t child;

static void
spin(void)
{
	for (;;)
		shared->turns++;
}

static volatile sig_atomic_t handled;

static void
handle(int number)
{
	(void)number;
	handled++;
}

static void
spin_until_handled(void)
{
	signal(SIGUSR1, handle);
	shared->is_ready = 1;
	while (!handled)
		shared->turns++;
	shared->result = handled;
}

static void
wait_in_epoll(void)
{
	int poller = epoll_create1(0);
	struct epoll_event event;

	shared->is_ready = 1;
	shared->result = epoll_wait(poller, &event, 1, 1000);
	shared->error = errno;
}

static void
begin(void (*body)(void))
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	shared->result = -77;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(7);
	}
	assert_true(child > 0);
	while (body != spin && !shared->is_ready)
		usleep(1000);
}

static int
end(void **state)
{
	(void)state;
	if (child > 0) {
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	child = 0;
	munmap(shared, sizeof(*shared));
	return 0;
}

static void
wait_until_it_turns(void)
{
	const int turns = shared->turns;

	while (shared->turns == turns)
		usleep(1000);
}

/* On a machine that is busy with other things it may take its time. */
static int
stop(struct stopped_thread *thread)
{
	int err;

	while ((err = stopped_thread_stop(child, thread)) == -EBUSY)
		while (running_tracer(child, child) == getpid()) {
			usleep(1000);
			stopped_thread_reap();
		}
	return err;
}

static void
a_seized_thread_stands_still_and_goes_on(void **state)
{
	struct stopped_thread thread;
	int turns;

	(void)state;
	begin(spin);
	wait_until_it_turns();
	assert_int_equal(stop(&thread), 0);
	turns = shared->turns;
	usleep(20000);
	assert_int_equal(shared->turns, turns);
	assert_false(thread.is_in_call);
	stopped_thread_release(&thread);
	wait_until_it_turns();
}

static void
a_thread_is_seized_again_and_again(void **state)
{
	struct stopped_thread thread;

	(void)state;
	begin(spin);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(stop(&thread), 0);
		stopped_thread_release(&thread);
	}
	wait_until_it_turns();
}

static void
a_signal_that_arrives_meanwhile_is_delivered(void **state)
{
	struct stopped_thread thread;
	int status;

	(void)state;
	begin(spin_until_handled);
	assert_int_equal(stop(&thread), 0);
	kill(child, SIGUSR1);
	stopped_thread_release(&thread);
	assert_int_equal(waitpid(child, &status, 0), child);
	child = 0;
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(shared->result, 1);
}

/* epoll_wait(2) says EINTR also when it was no handler that interrupted it. */
static void
a_call_that_waits_is_not_cut_short(void **state)
{
	struct stopped_thread thread;
	int status;

#if !defined(__x86_64__)
	skip_because("only calls of x86-64 are begun again");
#endif
	(void)state;
	begin(wait_in_epoll);
	while (running_state(child, child) != 'S')
		usleep(1000);
	assert_int_equal(stop(&thread), 0);
	assert_true(thread.is_in_call);
	stopped_thread_release(&thread);
	assert_int_equal(waitpid(child, &status, 0), child);
	child = 0;
	assert_int_equal(shared->result, 0);
}

static void
who_is_gone_cannot_be_seized(void **state)
{
	struct stopped_thread thread;

	(void)state;
	begin(spin);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(stop(&thread), -ESRCH);
	child = 0;
}

static uint64_t
count_up(void *context)
{
	return ++*(uint64_t *)context;
}

static void
a_thread_that_runs_is_chosen(void **state)
{
	struct running running = {0};
	uint64_t next = 0;
	pid_t tid = 0;

	(void)state;
	begin(spin);
	while (tid == 0)
		tid = running_choose(&running, child, count_up, &next);
	assert_int_equal(tid, child);
	running_fini(&running);
}

static void
none_is_chosen_of_a_process_that_waits(void **state)
{
	struct running running = {0};
	uint64_t next = 0;

	(void)state;
	begin(wait_in_epoll);
	while (running_state(child, child) != 'S')
		usleep(1000);
	assert_int_equal(running_choose(&running, child, count_up, &next), 0);
	running_fini(&running);
}

static void
a_process_that_is_a_zombie_has_ended(void **state)
{
	struct running running = {0};
	uint64_t next = 0;

	(void)state;
	begin(spin);
	kill(child, SIGKILL);
	while (running_state(child, child) != 'Z')
		usleep(1000);
	assert_int_equal(running_choose(&running, child, count_up, &next), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(running_choose(&running, child, count_up, &next), -ESRCH);
	child = 0;
	running_fini(&running);
}

static void
the_tracer_is_told(void **state)
{
	struct stopped_thread thread;

	(void)state;
	begin(spin);
	assert_int_equal(running_tracer(child, child), 0);
	assert_int_equal(stop(&thread), 0);
	assert_int_equal(running_tracer(child, child), getpid());
	stopped_thread_release(&thread);
	assert_int_equal(running_tracer(child, child), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_seized_thread_stands_still_and_goes_on, end),
		cmocka_unit_test_teardown(a_thread_is_seized_again_and_again, end),
		cmocka_unit_test_teardown(a_signal_that_arrives_meanwhile_is_delivered, end),
		cmocka_unit_test_teardown(a_call_that_waits_is_not_cut_short, end),
		cmocka_unit_test_teardown(who_is_gone_cannot_be_seized, end),
		cmocka_unit_test_teardown(a_thread_that_runs_is_chosen, end),
		cmocka_unit_test_teardown(none_is_chosen_of_a_process_that_waits, end),
		cmocka_unit_test_teardown(a_process_that_is_a_zombie_has_ended, end),
		cmocka_unit_test_teardown(the_tracer_is_told, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
