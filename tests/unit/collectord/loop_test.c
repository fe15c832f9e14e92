#include "collectord/loop.h"

#include <event2/event.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "tests/unit/test.h"

struct call_counter {
	struct event_base *loop;
	int calls;
	int leave_after;
	int fd; /* read from at each call; -1: none */
};

static void
count_call(void *context)
{
	struct call_counter *counter = context;
	char byte;

	if (counter->fd >= 0)
		assert_int_equal(read(counter->fd, &byte, 1), 1);
	if (++counter->calls == counter->leave_after)
		event_base_loopbreak(counter->loop);
}

static int
make_counter(void **state)
{
	struct call_counter *counter = calloc(1, sizeof(*counter));

	counter->loop = loop_new();
	counter->fd = -1;
	*state = counter;
	return counter->loop ? 0 : -1;
}

static int
free_counter(void **state)
{
	struct call_counter *counter = *state;

	loop_free(counter->loop);
	free(counter);
	return 0;
}

static void
a_timer_comes_again_and_again(void **state)
{
	struct call_counter *counter = *state;
	const uint64_t start_ns = machine_clock_ns(CLOCK_MONOTONIC);
	struct loop_watch *timer = loop_watch_timer(counter->loop, 20000000, count_call, counter);

	counter->leave_after = 3;
	assert_int_equal(loop_run(counter->loop), 0);
	assert_true(machine_clock_ns(CLOCK_MONOTONIC) - start_ns >= 55000000);
	loop_watch_free(timer);
}

static void
an_alarm_comes_once_for_each_time_it_is_armed(void **state)
{
	struct call_counter *counter = *state, end = {.loop = counter->loop, .fd = -1, .leave_after = 1};
	struct loop_watch *alarm = loop_watch_alarm(counter->loop, count_call, counter);
	struct loop_watch *timer = loop_watch_timer(counter->loop, 60000000, count_call, &end);

	assert_int_equal(loop_watch_arm(alarm, 10000000), 0);
	assert_int_equal(loop_watch_arm(alarm, UINT64_C(60000000000)), 0); /* it has its time already */
	assert_int_equal(loop_run(counter->loop), 0);
	assert_int_equal(counter->calls, 1);
	assert_int_equal(loop_watch_arm(alarm, 10000000), 0);
	end.leave_after = 2;
	assert_int_equal(loop_run(counter->loop), 0);
	assert_int_equal(counter->calls, 2);
	loop_watch_free(alarm);
	loop_watch_free(timer);
}

static void
an_alarm_that_is_armed_again_gets_the_new_time(void **state)
{
	struct call_counter *counter = *state;
	struct loop_watch *alarm = loop_watch_alarm(counter->loop, count_call, counter);

	assert_int_equal(loop_watch_arm(alarm, UINT64_C(60000000000)), 0);
	assert_int_equal(loop_watch_rearm(alarm, 10000000), 0);
	counter->leave_after = 1;
	assert_int_equal(loop_run(counter->loop), 0); /* the runner ends a test that takes a minute */
	assert_int_equal(counter->calls, 1);
	loop_watch_free(alarm);
}

static void
a_descriptor_is_watched_as_long_as_it_is_readable(void **state)
{
	struct call_counter *counter = *state;
	struct loop_watch *watch;
	int pipe_ends[2];

	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(write(pipe_ends[1], "abc", 3), 3);
	counter->fd = pipe_ends[0];
	counter->leave_after = 3;
	watch = loop_watch_descriptor(counter->loop, pipe_ends[0], count_call, counter);
	assert_int_equal(loop_run(counter->loop), 0);
	assert_int_equal(counter->calls, 3);
	loop_watch_free(watch);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void
map_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(code != MAP_FAILED);
	munmap(code, 4096);
}

/* A perf event whose ring becomes readable with each executable mapping of this process. */
static int
open_ring(void **memory)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.exclude_kernel = 1,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	assert_true(fd >= 0);
	*memory = mmap(NULL, (size_t)9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(*memory != MAP_FAILED);
	return fd;
}

static void
a_ring_that_is_disabled_wakes_nobody_nor_does_it_when_enabled_again(void **state)
{
	struct call_counter *counter = *state, end = {.loop = counter->loop, .fd = -1, .leave_after = 1};
	void *memory;
	const int fd = open_ring(&memory);
	struct loop_watch *ring = loop_watch_descriptor(counter->loop, fd, count_call, counter);
	struct loop_watch *timer = loop_watch_timer(counter->loop, 30000000, count_call, &end);

	loop_watch_enable(ring, false);
	loop_watch_enable(ring, false);
	map_code();
	assert_int_equal(loop_run(counter->loop), 0);
	assert_int_equal(counter->calls, 0);
	loop_watch_enable(ring, true);
	end.leave_after = 2;
	assert_int_equal(loop_run(counter->loop), 0);
	assert_int_equal(counter->calls, 0);
	map_code();
	end.leave_after = 3;
	assert_int_equal(loop_run(counter->loop), 0);
	assert_true(counter->calls > 0);
	loop_watch_free(ring);
	loop_watch_free(timer);
	munmap(memory, (size_t)9 * 4096);
	close(fd);
}

static void
a_signal_is_an_event_and_no_interruption(void **state)
{
	struct call_counter *counter = *state;
	struct loop_watch *watch = loop_watch_signal(counter->loop, SIGUSR1, count_call, counter);

	counter->leave_after = 1;
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(loop_run(counter->loop), 0);
	assert_int_equal(counter->calls, 1);
	loop_watch_free(watch);
}

static void
what_is_no_longer_watched_calls_nobody(void **state)
{
	struct call_counter *counter = *state, other = {.loop = counter->loop, .fd = -1, .leave_after = 1};
	struct loop_watch *first = loop_watch_timer(counter->loop, 1000000, count_call, counter);
	struct loop_watch *second = loop_watch_timer(counter->loop, 30000000, count_call, &other);

	loop_watch_free(first);
	assert_int_equal(loop_run(counter->loop), 0);
	assert_int_equal(counter->calls, 0);
	assert_int_equal(other.calls, 1);
	loop_watch_free(second);
	loop_watch_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_timer_comes_again_and_again, make_counter, free_counter),
		cmocka_unit_test_setup_teardown(an_alarm_that_is_armed_again_gets_the_new_time, make_counter,
	                                        free_counter),
		cmocka_unit_test_setup_teardown(an_alarm_comes_once_for_each_time_it_is_armed, make_counter,
	                                        free_counter),
		cmocka_unit_test_setup_teardown(a_descriptor_is_watched_as_long_as_it_is_readable, make_counter,
	                                        free_counter),
		cmocka_unit_test_setup_teardown(a_ring_that_is_disabled_wakes_nobody_nor_does_it_when_enabled_again,
	                                        make_counter, free_counter),
		cmocka_unit_test_setup_teardown(a_signal_is_an_event_and_no_interruption, make_counter, free_counter),
		cmocka_unit_test_setup_teardown(what_is_no_longer_watched_calls_nobody, make_counter, free_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
