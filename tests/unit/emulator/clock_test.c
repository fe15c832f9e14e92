/* Tests of emulator/clock/clock.h: what system calls do to a thread's clock. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emulator/clock/clock.h"

#if defined(__x86_64__)
#define HERE "x86_64"
#else
#define HERE "aarch64"
#endif

#define CALL_CYCLES 200

struct clock_fixture {
	struct setup setup;
	struct clock *clock;
	struct clock_step step;
	struct record_counters counters[4];
};

static int
setup(void **state)
{
	struct clock_fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->setup = (struct setup){.threads = 4, .quantum_cycles = 100000, .seed = 1};
	fixture->setup.machine.clock_mhz = 1000; /* a cycle is a nanosecond */
	fixture->setup.machine.cores = 4;
	fixture->setup.machine.call_cycles = CALL_CYCLES;
	fixture->clock = clock_new(&fixture->setup, "/nonexistent", HERE);
	assert_non_null(fixture->clock);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_free(fixture->clock);
	free(fixture);
	return 0;
}

static void
begin(struct clock_fixture *fixture, unsigned vcpu, uint64_t now, long number, uint64_t a, uint64_t b, uint64_t c,
      uint64_t d)
{
	const struct clock_call call = {.number = number, .arguments = {a, b, c, d}};

	clock_call_began(fixture->clock, vcpu, now, &call);
}

static uint64_t
call(struct clock_fixture *fixture, uint64_t now, long number, uint64_t a, uint64_t b, uint64_t c)
{
	begin(fixture, 0, now, number, a, b, c, 0);
	clock_call_ended(fixture->clock, 0, now, 0, &fixture->step);
	return fixture->step.now;
}

static void
a_call_takes_the_machine_s_time(void **state)
{
	struct clock_fixture *fixture = *state;

	assert_int_equal(clock_thread_begin(fixture->clock, 0, &fixture->counters[0]), 0);
	assert_int_equal(call(fixture, 5000, SYS_getppid, 0, 0, 0), 5000 + CALL_CYCLES);
	assert_int_equal(fixture->step.call_cycles, CALL_CYCLES);
	assert_int_equal(fixture->step.blocked_cycles, 0);
	assert_true(fixture->step.limit > fixture->step.now);
	assert_int_equal(fixture->counters[0].calls, 1);
}

static void
bytes_that_are_copied_take_time(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 1000, SYS_read, 3, 0, 4096, 0);
	clock_call_ended(fixture->clock, 0, 1000, 4096, &fixture->step);
	assert_int_equal(fixture->step.now, 1000 + CALL_CYCLES + 4096 / 8);
}

static void
time_is_that_of_the_thread_s_clock(void **state)
{
	struct clock_fixture *fixture = *state;
	struct timespec shown = {0};
	struct timeval of_day = {0}, later = {0};

	clock_thread_begin(fixture->clock, 0, NULL);
	call(fixture, 5000, SYS_clock_gettime, CLOCK_MONOTONIC, (uintptr_t)&shown, 0);
	assert_int_equal(shown.tv_sec, 1000);
	assert_int_equal(shown.tv_nsec, 5000 + CALL_CYCLES);
	call(fixture, 1000000000, SYS_gettimeofday, (uintptr_t)&of_day, 0, 0);
	call(fixture, 3500000000, SYS_gettimeofday, (uintptr_t)&later, 0, 0);
	timersub(&later, &of_day, &later);
	assert_int_equal(later.tv_sec, 2);
	assert_int_equal(later.tv_usec, 500000);
}

static void
a_bad_address_does_no_harm(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, 0, NULL);
	assert_int_equal(call(fixture, 5000, SYS_clock_gettime, CLOCK_MONOTONIC, 16, 0), 5000 + CALL_CYCLES);
	assert_int_equal(call(fixture, 6000, SYS_nanosleep, 16, 0, 0), 6000 + CALL_CYCLES);
}

static void
a_sleep_takes_the_time_that_was_asked_for(void **state)
{
	struct clock_fixture *fixture = *state;
	const struct timespec span = {.tv_sec = 2, .tv_nsec = 7};

	clock_thread_begin(fixture->clock, 0, NULL);
	assert_int_equal(call(fixture, 5000, SYS_nanosleep, (uintptr_t)&span, 0, 0), 2000005007 + CALL_CYCLES);
	assert_int_equal(fixture->step.blocked_cycles, 2000000007);
	assert_int_equal(fixture->step.call_cycles, CALL_CYCLES);
}

static void
a_sleep_until_a_time_ends_then(void **state)
{
	struct clock_fixture *fixture = *state;
	const struct timespec until = {.tv_sec = 1000, .tv_nsec = 9000};

	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 5000, SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (uintptr_t)&until, 0);
	clock_call_ended(fixture->clock, 0, 5000, 0, &fixture->step);
	assert_int_equal(fixture->step.now, 9000 + CALL_CYCLES);
}

static void
a_wait_that_times_out_ends_then(void **state)
{
	struct clock_fixture *fixture = *state;
	const struct timespec span = {.tv_nsec = 30000};
	uint32_t word = 0;

	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 5000, SYS_futex, (uintptr_t)&word, FUTEX_WAIT_PRIVATE, 0, (uintptr_t)&span);
	clock_call_ended(fixture->clock, 0, 5000, -ETIMEDOUT, &fixture->step);
	assert_int_equal(fixture->step.now, 35000 + CALL_CYCLES);
	assert_int_equal(fixture->step.blocked_cycles, 30000);
}

static void
cpu_time_leaves_out_what_a_thread_waited(void **state)
{
	struct clock_fixture *fixture = *state;
	const struct timespec span = {.tv_sec = 2};
	struct timespec shown = {0};
	struct rusage usage = {0};

	clock_thread_begin(fixture->clock, 0, NULL);
	call(fixture, 5000, SYS_nanosleep, (uintptr_t)&span, 0, 0);
	call(fixture, fixture->step.now + 1000, SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (uintptr_t)&shown, 0);
	assert_int_equal(shown.tv_sec, 0);
	assert_int_equal(shown.tv_nsec, 6000 + 2 * CALL_CYCLES);
	call(fixture, fixture->step.now + 5000000, SYS_getrusage, RUSAGE_SELF, (uintptr_t)&usage, 0);
	assert_int_equal(usage.ru_utime.tv_sec, 0);
	assert_int_equal(usage.ru_utime.tv_usec, 5006);
	assert_int_equal(usage.ru_stime.tv_usec, 0); /* 600 ns */
}

/* The calling thread plays both: a new thread's parent is the one whose call is on its way. */
static void
a_thread_begins_at_its_parent_s_time(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 77000, SYS_clone, CLONE_VM | CLONE_CHILD_CLEARTID, 0, 0, 0);
	assert_int_equal(clock_thread_begin(fixture->clock, 1, NULL), 77000);
	clock_call_ended(fixture->clock, 0, 77000, 4711, &fixture->step);
	assert_int_equal(clock_thread_core(fixture->clock, 0), 0);
	assert_int_equal(clock_thread_core(fixture->clock, 1), 1);
}

static void *
wait_for_word(void *argument)
{
	struct clock_fixture *fixture = argument;
	static uint32_t word;

	begin(fixture, 1, 20000, SYS_futex, (uintptr_t)&word, FUTEX_WAIT_PRIVATE, 0, 0);
	begin(fixture, 0, 60000, SYS_futex, (uintptr_t)&word, FUTEX_WAKE_PRIVATE, 1, 0);
	clock_call_ended(fixture->clock, 0, 60000, 1, &fixture->step);
	clock_call_ended(fixture->clock, 1, 20000, 0, &fixture->step);
	return NULL;
}

static void
a_woken_thread_continues_at_its_waker_s_time(void **state)
{
	struct clock_fixture *fixture = *state;
	pthread_t thread;

	clock_thread_begin(fixture->clock, 0, NULL);
	clock_thread_begin(fixture->clock, 1, NULL);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_word, fixture), 0);
	pthread_join(thread, NULL);
	assert_int_equal(fixture->step.now, 60000 + CALL_CYCLES);
	assert_int_equal(fixture->step.blocked_cycles, 40000);
}

static void
a_joining_thread_continues_when_the_other_has_ended(void **state)
{
	struct clock_fixture *fixture = *state;
	uint32_t tid = 1;

	clock_thread_begin(fixture->clock, 0, NULL);
	clock_thread_begin(fixture->clock, 1, NULL);
	begin(fixture, 1, 100, SYS_set_tid_address, (uintptr_t)&tid, 0, 0, 0);
	clock_call_ended(fixture->clock, 1, 100, 1, &fixture->step);
	begin(fixture, 0, 500, SYS_futex, (uintptr_t)&tid, FUTEX_WAIT, 1, 0);
	begin(fixture, 1, 90000, SYS_exit, 0, 0, 0, 0);
	clock_thread_end(fixture->clock, 1, 90000);
	clock_call_ended(fixture->clock, 0, 500, 0, &fixture->step);
	assert_int_equal(fixture->step.now, 90000 + CALL_CYCLES);
}

/* Its wait was begun before, but the host was slow: the kernel finds the word changed, and says EAGAIN. */
static void
a_thread_that_joins_late_continues_when_the_other_has_ended(void **state)
{
	struct clock_fixture *fixture = *state;
	uint32_t tid = 1;

	clock_thread_begin(fixture->clock, 0, NULL);
	clock_thread_begin(fixture->clock, 1, NULL);
	begin(fixture, 1, 100, SYS_set_tid_address, (uintptr_t)&tid, 0, 0, 0);
	clock_call_ended(fixture->clock, 1, 100, 1, &fixture->step);
	begin(fixture, 0, 500, SYS_futex, (uintptr_t)&tid, FUTEX_WAIT, 1, 0);
	begin(fixture, 1, 90000, SYS_exit, 0, 0, 0, 0);
	clock_thread_end(fixture->clock, 1, 90000);
	clock_call_ended(fixture->clock, 0, 500, -EAGAIN, &fixture->step);
	assert_int_equal(fixture->step.now, 90000 + CALL_CYCLES);
}

/* Both wait for clients of a server; the other one has served until 90000. */
static void
a_thread_that_slept_continues_after_what_others_did_before_they_slept(void **state)
{
	static const struct timespec moment = {.tv_nsec = 2000000};
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, 0, NULL);
	clock_thread_begin(fixture->clock, 1, NULL);
	begin(fixture, 0, 500, SYS_epoll_wait, 9, 0, 1, UINT64_MAX);
	begin(fixture, 1, 90000, SYS_epoll_wait, 9, 0, 1, UINT64_MAX);
	nanosleep(&moment, NULL);
	clock_call_ended(fixture->clock, 0, 500, 1, &fixture->step);
	assert_int_equal(fixture->step.now, 90000 + CALL_CYCLES);
	assert_int_equal(fixture->step.blocked_cycles, 90000 - 500);
}

static void
the_guest_finds_the_target_s_processors(void **state)
{
	struct clock_fixture *fixture = *state;
	uint8_t mask[16];
	uint32_t core = 99, node = 99;

	memset(mask, 0xff, sizeof(mask));
	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 100, SYS_sched_getaffinity, 0, sizeof(mask), (uintptr_t)mask, 0);
	clock_call_ended(fixture->clock, 0, 100, 8, &fixture->step);
	assert_int_equal(mask[0], 0x0f);
	assert_int_equal(mask[7], 0);
	assert_int_equal(mask[8], 0xff); /* not the kernel's either */
	call(fixture, 1000, SYS_getcpu, (uintptr_t)&core, (uintptr_t)&node, 0);
	assert_int_equal(core, 0);
	assert_int_equal(node, 0);
}

/* The host, whose kernel needs 32 bytes, has no say in it. */
static void
a_thousand_processors_need_a_larger_mask(void **state)
{
	struct clock_fixture *fixture = *state;
	uint8_t mask[136];

	clock_free(fixture->clock);
	fixture->setup.threads = fixture->setup.machine.cores = 1000;
	fixture->clock = clock_new(&fixture->setup, "/nonexistent", HERE);
	clock_thread_begin(fixture->clock, 0, NULL);
	memset(mask, 0xaa, sizeof(mask));
	begin(fixture, 0, 100, SYS_sched_getaffinity, 0, sizeof(mask), (uintptr_t)mask, 0);
	clock_call_ended(fixture->clock, 0, 100, 32, &fixture->step);
	assert_int_equal(fixture->step.limit, fixture->step.now); /* the result is changed then: to 128 */
	for (unsigned i = 0; i < 125; i++)
		assert_int_equal(mask[i], 0xff);
	assert_int_equal(mask[125] | mask[126] | mask[127], 0);
	assert_int_equal(mask[128], 0xaa);
	clock_reached(fixture->clock, 0, fixture->step.now, &fixture->step);
	memset(mask, 0xaa, sizeof(mask));
	begin(fixture, 0, 1000, SYS_sched_getaffinity, 0, 32, (uintptr_t)mask, 0);
	clock_call_ended(fixture->clock, 0, 1000, 32, &fixture->step);
	assert_int_equal(fixture->step.limit, fixture->step.now); /* to EINVAL */
	assert_int_equal(mask[0], 0xaa);
}

static void
a_thread_is_pinned_to_a_core_that_the_host_does_not_have(void **state)
{
	struct clock_fixture *fixture = *state;
	const uint8_t wanted[8] = {0x08};
	uint8_t mask[8] = {0};
	uint32_t core = 99;

	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 100, SYS_sched_setaffinity, 0, sizeof(wanted), (uintptr_t)wanted, 0);
	clock_call_ended(fixture->clock, 0, 100, -EINVAL, &fixture->step);
	assert_int_equal(fixture->step.limit, fixture->step.now); /* the result is changed then */
	clock_reached(fixture->clock, 0, fixture->step.now, &fixture->step);
	assert_true(fixture->step.limit > fixture->step.now);
	call(fixture, 1000, SYS_getcpu, (uintptr_t)&core, 0, 0);
	assert_int_equal(core, 3);
	begin(fixture, 0, 2000, SYS_sched_getaffinity, 0, sizeof(mask), (uintptr_t)mask, 0);
	clock_call_ended(fixture->clock, 0, 2000, 8, &fixture->step);
	assert_int_equal(mask[0], 0x08);
}

/* The thread pins itself; the host has enough processors. */
static void
pin(struct clock_fixture *fixture, unsigned vcpu, uint64_t now, uint8_t cores)
{
	const uint8_t wanted[8] = {cores};

	begin(fixture, vcpu, now, SYS_sched_setaffinity, 0, sizeof(wanted), (uintptr_t)wanted, 0);
	clock_call_ended(fixture->clock, vcpu, now, -EINVAL, &fixture->step);
	clock_reached(fixture->clock, vcpu, fixture->step.now, &fixture->step);
}

static void
a_pinned_thread_moves_only_when_it_must(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, 0, NULL);
	pin(fixture, 0, 100, 0x0c);
	assert_int_equal(clock_thread_core(fixture->clock, 0), 2);
	pin(fixture, 0, 1000, 0x06);
	assert_int_equal(clock_thread_core(fixture->clock, 0), 2);
	pin(fixture, 0, 2000, 0x0b);
	assert_int_equal(clock_thread_core(fixture->clock, 0), 0);
}

static void
threads_are_pinned_as_the_one_that_makes_them(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, 0, NULL);
	pin(fixture, 0, 100, 0x0c);
	for (unsigned i = 1; i < 4; i++)
		clock_thread_begin(fixture->clock, i, NULL);
	assert_int_equal(clock_thread_core(fixture->clock, 1), 3);
	assert_int_equal(clock_thread_core(fixture->clock, 2), 2);
	assert_int_equal(clock_thread_core(fixture->clock, 3), 3);
}

static void
threads_that_are_pinned_to_one_core_share_it(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, 0, NULL);
	pin(fixture, 0, 0, 0x02);
	clock_thread_begin(fixture->clock, 1, NULL);
	clock_reached(fixture->clock, 0, 10000, &fixture->step);
	assert_int_equal(fixture->step.blocked_cycles, 10000 - CALL_CYCLES);
	clock_thread_end(fixture->clock, 1, 0);
	clock_reached(fixture->clock, 0, 40000, &fixture->step);
	assert_int_equal(fixture->step.blocked_cycles, 0);
}

static uint64_t
ask_for_random(struct clock_fixture *fixture, uint64_t now)
{
	uint64_t bytes = 0;

	begin(fixture, 0, now, SYS_getrandom, (uintptr_t)&bytes, sizeof(bytes), 0, 0);
	clock_call_ended(fixture->clock, 0, now, sizeof(bytes), &fixture->step);
	return bytes;
}

static void
random_numbers_are_the_seed_s(void **state)
{
	struct clock_fixture *fixture = *state;
	uint64_t first, second;

	clock_thread_begin(fixture->clock, 0, NULL);
	first = ask_for_random(fixture, 100);
	second = ask_for_random(fixture, 1000);
	assert_int_not_equal(first, 0);
	assert_int_not_equal(first, second);
	clock_free(fixture->clock);
	fixture->clock = clock_new(&fixture->setup, "/nonexistent", HERE);
	clock_thread_begin(fixture->clock, 0, NULL);
	assert_int_equal(ask_for_random(fixture, 700), first);
	clock_free(fixture->clock);
	fixture->setup.seed = 2;
	fixture->clock = clock_new(&fixture->setup, "/nonexistent", HERE);
	clock_thread_begin(fixture->clock, 0, NULL);
	assert_int_not_equal(ask_for_random(fixture, 100), first);
}

static void
the_random_device_is_the_seed_s_too_and_other_files_are_not(void **state)
{
	struct clock_fixture *fixture = *state;
	const int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	uint64_t bytes = 0;

	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 100, SYS_read, (uint64_t)zero, (uintptr_t)&bytes, sizeof(bytes), 0);
	clock_call_ended(fixture->clock, 0, 100, sizeof(bytes), &fixture->step);
	assert_int_equal(bytes, 0);
	begin(fixture, 0, 1000, SYS_read, (uint64_t)random, (uintptr_t)&bytes, sizeof(bytes), 0);
	clock_call_ended(fixture->clock, 0, 1000, sizeof(bytes), &fixture->step);
	assert_int_not_equal(bytes, 0);
	close(random);
	close(zero);
}

static void
more_threads_than_cores_share_them(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_free(fixture->clock);
	fixture->setup.threads = 2;
	fixture->clock = clock_new(&fixture->setup, "/nonexistent", HERE);
	for (unsigned i = 0; i < 3; i++)
		clock_thread_begin(fixture->clock, i, NULL);
	clock_reached(fixture->clock, 0, 40000, &fixture->step);
	assert_int_equal(fixture->step.now, 60000); /* two thirds of the time are its own */
	assert_int_equal(fixture->step.blocked_cycles, 20000);
	clock_thread_end(fixture->clock, 2, 0);
	clock_reached(fixture->clock, 0, 80000, &fixture->step);
	assert_int_equal(fixture->step.now, 80000);
}

static void
numbers_of_threads_beyond_all_are_harmless(void **state)
{
	struct clock_fixture *fixture = *state;

	clock_thread_begin(fixture->clock, CLOCK_VCPUS_MAX, NULL);
	begin(fixture, CLOCK_VCPUS_MAX, 5, SYS_getppid, 0, 0, 0, 0);
	clock_call_ended(fixture->clock, CLOCK_VCPUS_MAX, 5, 0, &fixture->step);
	clock_reached(fixture->clock, CLOCK_VCPUS_MAX, 5, &fixture->step);
	clock_thread_end(fixture->clock, CLOCK_VCPUS_MAX, 5);
	assert_int_equal(fixture->step.now, 5);
}

static void
a_reader_of_a_pipe_has_what_was_written_when_it_was(void **state)
{
	struct clock_fixture *fixture = *state;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	clock_thread_begin(fixture->clock, 0, NULL);
	clock_thread_begin(fixture->clock, 1, NULL);
	begin(fixture, 1, 50000, SYS_write, (uint64_t)ends[1], 0, 100, 0);
	clock_call_ended(fixture->clock, 1, 50000, 100, &fixture->step);
	begin(fixture, 1, 90000, SYS_write, (uint64_t)ends[1], 0, 100, 0);
	clock_call_ended(fixture->clock, 1, 90000, 100, &fixture->step);
	begin(fixture, 0, 1000, SYS_read, (uint64_t)ends[0], 0, 80, 0);
	clock_call_ended(fixture->clock, 0, 1000, 80, &fixture->step);
	assert_int_equal(fixture->step.now, 50000 + CALL_CYCLES + 80 / 8);
	assert_int_equal(fixture->step.blocked_cycles, 49000);
	begin(fixture, 0, 52000, SYS_read, (uint64_t)ends[0], 0, 80, 0);
	clock_call_ended(fixture->clock, 0, 52000, 80, &fixture->step);
	assert_int_equal(fixture->step.now, 90000 + CALL_CYCLES + 80 / 8);
	close(ends[0]);
	close(ends[1]);
}

/* In a child of this test, as the clock knows processes by their numbers. */
static void
a_wait_for_a_child_returns_at_its_last_time(void **state)
{
	struct clock_fixture *fixture = *state;
	pid_t child;
	int status;

	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 3000, SYS_clone, 0, 0, 0, 0);
	child = fork();
	if (child == 0) {
		clock_fork(fixture->clock);
		status = clock_start(fixture->clock) == 3000 ? 7 : 1;
		begin(fixture, 0, 80000, SYS_exit_group, 0, 0, 0, 0);
		_exit(status);
	}
	clock_call_ended(fixture->clock, 0, 3000, child, &fixture->step);
	begin(fixture, 0, 4000, SYS_wait4, (uint64_t)child, 0, 0, 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	clock_call_ended(fixture->clock, 0, 4000, child, &fixture->step);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(fixture->step.now, 80000 + CALL_CYCLES);
}

static void
a_program_that_is_executed_goes_on(void **state)
{
	struct clock_fixture *fixture = *state;
	char directory[] = "/tmp/dcpi-clock-XXXXXX", path[64];

	assert_non_null(mkdtemp(directory));
	clock_free(fixture->clock);
	fixture->clock = clock_new(&fixture->setup, directory, HERE);
	assert_int_equal(clock_start(fixture->clock), 0);
	clock_thread_begin(fixture->clock, 0, NULL);
	begin(fixture, 0, 12345, SYS_execve, 0, 0, 0, 0);
	clock_free(fixture->clock);
	fixture->clock = clock_new(&fixture->setup, directory, HERE);
	assert_int_equal(clock_start(fixture->clock), 12345);
	assert_int_equal(clock_thread_begin(fixture->clock, 0, NULL), 12345);
	snprintf(path, sizeof(path), "%s/times", directory);
	unlink(path);
	rmdir(directory);
}

static void
a_real_delay_spends_what_the_target_would(void **state)
{
	struct clock_fixture *fixture = *state;
	struct timespec before, after;
	int64_t ns;

	clock_free(fixture->clock);
	fixture->setup.delay = DELAY_REAL;
	fixture->setup.dilation = 5;
	clock_gettime(CLOCK_MONOTONIC, &before); /* the delay is counted from where the clock begins */
	fixture->clock = clock_new(&fixture->setup, "/nonexistent", HERE);
	clock_thread_begin(fixture->clock, 0, &fixture->counters[0]);
	clock_reached(fixture->clock, 0, 10000000, &fixture->step); /* 10 ms of the target */
	clock_gettime(CLOCK_MONOTONIC, &after);
	ns = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
	assert_true(ns > 45000000);
	assert_in_range(fixture->counters[0].delayed_ns, 1, 50000000);
}

static void
a_target_that_is_not_known_is_refused(void **state)
{
	struct clock_fixture *fixture = *state;

	errno = 0;
	assert_null(clock_new(&fixture->setup, "/nonexistent", "arm"));
	assert_int_equal(errno, ENOTSUP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_target_that_is_not_known_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_call_takes_the_machine_s_time, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes_that_are_copied_take_time, setup, teardown),
		cmocka_unit_test_setup_teardown(time_is_that_of_the_thread_s_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(a_bad_address_does_no_harm, setup, teardown),
		cmocka_unit_test_setup_teardown(a_sleep_takes_the_time_that_was_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_sleep_until_a_time_ends_then, setup, teardown),
		cmocka_unit_test_setup_teardown(a_wait_that_times_out_ends_then, setup, teardown),
		cmocka_unit_test_setup_teardown(cpu_time_leaves_out_what_a_thread_waited, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_begins_at_its_parent_s_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_woken_thread_continues_at_its_waker_s_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_joins_late_continues_when_the_other_has_ended, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_slept_continues_after_what_others_did_before_they_slept,
	                                        setup, teardown),
		cmocka_unit_test_setup_teardown(a_joining_thread_continues_when_the_other_has_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(the_guest_finds_the_target_s_processors, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thousand_processors_need_a_larger_mask, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_is_pinned_to_a_core_that_the_host_does_not_have, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(random_numbers_are_the_seed_s, setup, teardown),
		cmocka_unit_test_setup_teardown(the_random_device_is_the_seed_s_too_and_other_files_are_not, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_pinned_thread_moves_only_when_it_must, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_are_pinned_as_the_one_that_makes_them, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_that_are_pinned_to_one_core_share_it, setup, teardown),
		cmocka_unit_test_setup_teardown(more_threads_than_cores_share_them, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_of_a_pipe_has_what_was_written_when_it_was, setup, teardown),
		cmocka_unit_test_setup_teardown(a_wait_for_a_child_returns_at_its_last_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_is_executed_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(a_real_delay_spends_what_the_target_would, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_of_threads_beyond_all_are_harmless, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
