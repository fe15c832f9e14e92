/* Tests of emulator/clock/syscalls.h; numbers are those of the C library where this is compiled. */
#include "tests/unit/test.h"

#include <sys/syscall.h>

#include "emulator/clock/syscalls.h"

#if defined(__x86_64__)
#define IS_X86_64 true
#else
#define IS_X86_64 false
#endif

static void
calls_of_this_machine_are_known_by_their_numbers(void **state)
{
	static const struct {
		long number;
		enum syscall_kind call;
	} known[] = {
		{SYS_read, CALL_READ},
		{SYS_readv, CALL_READ_OTHER},
		{SYS_write, CALL_WRITE},
		{SYS_futex, CALL_FUTEX},
		{SYS_nanosleep, CALL_NANOSLEEP},
		{SYS_clock_nanosleep, CALL_CLOCK_NANOSLEEP},
		{SYS_ppoll, CALL_PPOLL},
		{SYS_pselect6, CALL_PSELECT},
		{SYS_epoll_pwait, CALL_EPOLL_WAIT},
		{SYS_rt_sigtimedwait, CALL_SIGNAL_TIMED_WAIT},
		{SYS_wait4, CALL_WAIT4},
		{SYS_waitid, CALL_WAITID},
		{SYS_setitimer, CALL_SETITIMER},
		{SYS_timer_settime, CALL_TIMER_SET},
		{SYS_timer_delete, CALL_TIMER_DELETE},
		{SYS_timerfd_settime, CALL_TIMERFD_SET},
		{SYS_close, CALL_CLOSE},
		{SYS_clock_gettime, CALL_CLOCK_GETTIME},
		{SYS_gettimeofday, CALL_GETTIMEOFDAY},
		{SYS_times, CALL_TIMES},
		{SYS_getrusage, CALL_GETRUSAGE},
		{SYS_getrandom, CALL_GETRANDOM},
		{SYS_sched_getaffinity, CALL_GETAFFINITY},
		{SYS_sched_setaffinity, CALL_SETAFFINITY},
		{SYS_getcpu, CALL_GETCPU},
		{SYS_openat, CALL_OPENAT},
		{SYS_clone, CALL_CLONE},
		{SYS_set_tid_address, CALL_SET_CHILD_ADDRESS},
		{SYS_exit, CALL_EXIT},
		{SYS_exit_group, CALL_EXIT_GROUP},
		{SYS_execve, CALL_EXEC},
		{SYS_getppid, CALL_OTHER},
		{SYS_mmap, CALL_OTHER},
		{SYS_accept4, CALL_MAY_BLOCK},
		{SYS_flock, CALL_MAY_BLOCK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(syscall_kind_of(IS_X86_64, known[i].number), known[i].call);
}

static void
other_machines_have_the_generic_numbers(void **state)
{
	(void)state;
	assert_int_equal(syscall_kind_of(false, 98), CALL_FUTEX); /* asm-generic/unistd.h */
}

static void
numbers_out_of_range_are_of_other_calls(void **state)
{
	(void)state;
	assert_int_equal(syscall_kind_of(true, -1), CALL_OTHER);
	assert_int_equal(syscall_kind_of(false, -1), CALL_OTHER);
	assert_int_equal(syscall_kind_of(true, INT64_MAX), CALL_OTHER);
}

static void
calls_that_wait_may_block_and_those_that_ask_do_not(void **state)
{
	(void)state;
	assert_true(syscall_may_block(CALL_READ));
	assert_true(syscall_may_block(CALL_FUTEX));
	assert_true(syscall_may_block(CALL_WAITID));
	assert_false(syscall_may_block(CALL_OTHER));
	assert_false(syscall_may_block(CALL_CLOCK_GETTIME));
	assert_false(syscall_may_block(CALL_CLONE));
	assert_false(syscall_may_block(CALL_SETITIMER));
	assert_true(syscall_sets_timer(CALL_SETITIMER));
	assert_true(syscall_sets_timer(CALL_TIMERFD_SET));
	assert_false(syscall_sets_timer(CALL_TIMER_DELETE));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_this_machine_are_known_by_their_numbers),
		cmocka_unit_test(other_machines_have_the_generic_numbers),
		cmocka_unit_test(numbers_out_of_range_are_of_other_calls),
		cmocka_unit_test(calls_that_wait_may_block_and_those_that_ask_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
