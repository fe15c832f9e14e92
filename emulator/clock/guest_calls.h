/*
 * guest_calls.h - which system call a number is, by the guest's architecture
 *
 * Only those that the clock is about; all others are CALL_PLAIN. Thread rule: constant once made, for any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_CALLS_H
#define DCPI_EMULATOR_GUEST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum guest_call {
	CALL_PLAIN, /* neither blocks nor is about time */
	CALL_READ,  /* may block; its result is how many bytes were copied */
	CALL_READS, /* the same, not simply to the second argument */
	CALL_WRITES,
	CALL_WAITS, /* may block, for what is not known here */
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

struct guest_calls;

/* Of this target, as the emulator calls it; NULL and errno: ENOTSUP, ENOMEM. */
struct guest_calls *guest_calls_new(const char *target);
void guest_calls_free(struct guest_calls *calls);

enum guest_call guest_call_of(const struct guest_calls *calls, int64_t number);

/* The thread may be away for as long as others, or a device, want. */
bool guest_call_may_block(enum guest_call call);

bool guest_call_sets_timer(enum guest_call call);

/* Its result is how many bytes the kernel copied. */
bool guest_call_copies(enum guest_call call);

#endif
