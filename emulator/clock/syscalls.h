/*
 * syscalls.h - the kind of a system call, by its number and the guest's architecture
 *
 * Only calls that matter to the clock have a kind of their own. Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_SYSCALLS_H
#define DCPI_EMULATOR_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

enum syscall_kind {
	CALL_OTHER,      /* does not block, and has nothing to do with time */
	CALL_READ,       /* into the second argument; may block; the result is how many bytes were copied */
	CALL_READ_OTHER, /* CALL_READ into vectors or messages, or at a position */
	CALL_WRITE,
	CALL_MAY_BLOCK, /* for a reason that the clock does not know */
	CALL_FUTEX,
	CALL_NANOSLEEP,
	CALL_CLOCK_NANOSLEEP,
	CALL_POLL,              /* milliseconds in the third argument */
	CALL_PPOLL,             /* struct timespec in the third */
	CALL_SELECT,            /* struct timeval in the fifth */
	CALL_PSELECT,           /* struct timespec in the fifth */
	CALL_EPOLL_WAIT,        /* milliseconds in the fourth */
	CALL_SIGNAL_TIMED_WAIT, /* struct timespec in the third */
	CALL_WAIT4,
	CALL_WAITID,
	CALL_SETITIMER,
	CALL_ALARM,
	CALL_TIMER_SET, /* timer_settime() */
	CALL_TIMER_DELETE,
	CALL_TIMERFD_SET,
	CALL_CLOSE,
	CALL_CLOCK_GETTIME,
	CALL_GETTIMEOFDAY,
	CALL_TIME,
	CALL_TIMES,
	CALL_GETRUSAGE,
	CALL_GETRANDOM,
	CALL_GETAFFINITY,
	CALL_SETAFFINITY,
	CALL_GETCPU,
	CALL_OPEN, /* path in the first argument */
	CALL_OPENAT,
	CALL_CLONE,
	CALL_SET_CHILD_ADDRESS, /* set_tid_address() */
	CALL_EXIT,
	CALL_EXIT_GROUP,
	CALL_EXEC,
};

/* is_x86_64 false: aarch64 or riscv64, whose numbers are equal. */
enum syscall_kind syscall_kind_of(bool is_x86_64, int64_t number);

/* Whether the call may wait for another thread, a device or a timer. */
bool syscall_may_block(enum syscall_kind kind);

bool syscall_sets_timer(enum syscall_kind kind);

/* Whether the call's result is the number of bytes that the kernel copied. */
bool syscall_copies(enum syscall_kind kind);

#endif
