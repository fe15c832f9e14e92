/* Tests of emulator/clock/syscalls.h; numbers are those of the C library where this is compiled. */
#include "tests/unit/test.h"

#include <sys/syscall.h>

#include "emulator/clock/syscalls.h"

#if defined(__x86_64__)
#define IS_X86_64 true
#else
#define IS_X86_64 false
#endif

/* Numbers of arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h. */
static const struct {
	long here;
	int x86_64, generic;
	enum syscall_kind call;
} known[] = {
	{SYS_read, 0, 63, CALL_READ},
	{SYS_readv, 19, 65, CALL_READ_OTHER},
	{SYS_write, 1, 64, CALL_WRITE},
	{SYS_futex, 202, 98, CALL_FUTEX},
	{SYS_nanosleep, 35, 101, CALL_NANOSLEEP},
	{SYS_clock_nanosleep, 230, 115, CALL_CLOCK_NANOSLEEP},
	{SYS_ppoll, 271, 73, CALL_PPOLL},
	{SYS_pselect6, 270, 72, CALL_PSELECT},
	{SYS_epoll_pwait, 281, 22, CALL_EPOLL_WAIT},
	{SYS_rt_sigtimedwait, 128, 137, CALL_SIGNAL_TIMED_WAIT},
	{SYS_wait4, 61, 260, CALL_WAIT4},
	{SYS_waitid, 247, 95, CALL_WAITID},
	{SYS_setitimer, 38, 103, CALL_SETITIMER},
	{SYS_timer_settime, 223, 110, CALL_TIMER_SET},
	{SYS_timer_delete, 226, 111, CALL_TIMER_DELETE},
	{SYS_timerfd_settime, 286, 86, CALL_TIMERFD_SET},
	{SYS_close, 3, 57, CALL_CLOSE},
	{SYS_clock_gettime, 228, 113, CALL_CLOCK_GETTIME},
	{SYS_gettimeofday, 96, 169, CALL_GETTIMEOFDAY},
	{SYS_times, 100, 153, CALL_TIMES},
	{SYS_getrusage, 98, 165, CALL_GETRUSAGE},
	{SYS_getrandom, 318, 278, CALL_GETRANDOM},
	{SYS_sched_getaffinity, 204, 123, CALL_GETAFFINITY},
	{SYS_sched_setaffinity, 203, 122, CALL_SETAFFINITY},
	{SYS_getcpu, 309, 168, CALL_GETCPU},
	{SYS_openat, 257, 56, CALL_OPENAT},
	{SYS_clone, 56, 220, CALL_CLONE},
	{SYS_set_tid_address, 218, 96, CALL_SET_CHILD_ADDRESS},
	{SYS_exit, 60, 93, CALL_EXIT},
	{SYS_exit_group, 231, 94, CALL_EXIT_GROUP},
	{SYS_execve, 59, 221, CALL_EXEC},
	{SYS_getppid, 110, 173, CALL_OTHER},
	{SYS_mmap, 9, 222, CALL_OTHER},
	{SYS_accept4, 288, 242, CALL_MAY_BLOCK},
	{SYS_flock, 73, 32, CALL_MAY_BLOCK},
};

static void
calls_of_this_machine_are_known_by_their_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(syscall_kind_of(IS_X86_64, known[i].here), known[i].call);
}

static void
both_numberings_are_known_on_each_machine(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(syscall_kind_of(true, known[i].x86_64), known[i].call);
		assert_int_equal(syscall_kind_of(false, known[i].generic), known[i].call);
	}
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
		cmocka_unit_test(both_numberings_are_known_on_each_machine),
		cmocka_unit_test(numbers_out_of_range_are_of_other_calls),
		cmocka_unit_test(calls_that_wait_may_block_and_those_that_ask_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
