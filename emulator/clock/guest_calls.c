#include "emulator/clock/guest_calls.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 512
#define NONE    (-1) /* this architecture has no such call */

struct guest_calls {
	uint8_t call[NUMBERS];
};

/* Linux's numbers: arch/x86/entry/syscalls/syscall_64.tbl, and include/uapi/asm-generic/unistd.h for all others. */
static const struct {
	int16_t x86_64, generic;
	uint8_t call;
} numbers[] = {
	{0, 63, CALL_READ},      /* read */
	{17, 67, CALL_READS},    /* pread64 */
	{19, 65, CALL_READS},    /* readv */
	{295, 69, CALL_READS},   /* preadv */
	{327, 286, CALL_READS},  /* preadv2 */
	{45, 207, CALL_READS},   /* recvfrom */
	{47, 212, CALL_READS},   /* recvmsg */
	{1, 64, CALL_WRITES},    /* write */
	{18, 68, CALL_WRITES},   /* pwrite64 */
	{20, 66, CALL_WRITES},   /* writev */
	{296, 70, CALL_WRITES},  /* pwritev */
	{328, 287, CALL_WRITES}, /* pwritev2 */
	{44, 206, CALL_WRITES},  /* sendto */
	{46, 211, CALL_WRITES},  /* sendmsg */
	{40, 71, CALL_WAITS},    /* sendfile */
	{275, 76, CALL_WAITS},   /* splice */
	{276, 77, CALL_WAITS},   /* tee */
	{278, 75, CALL_WAITS},   /* vmsplice */
	{326, 285, CALL_WAITS},  /* copy_file_range */
	{42, 203, CALL_WAITS},   /* connect */
	{43, 202, CALL_WAITS},   /* accept */
	{288, 242, CALL_WAITS},  /* accept4 */
	{299, 243, CALL_WAITS},  /* recvmmsg */
	{307, 269, CALL_WAITS},  /* sendmmsg */
	{34, NONE, CALL_WAITS},  /* pause */
	{130, 133, CALL_WAITS},  /* rt_sigsuspend */
	{72, 25, CALL_WAITS},    /* fcntl: locks */
	{73, 32, CALL_WAITS},    /* flock */
	{74, 82, CALL_WAITS},    /* fsync */
	{75, 83, CALL_WAITS},    /* fdatasync */
	{162, 81, CALL_WAITS},   /* sync */
	{16, 29, CALL_WAITS},    /* ioctl */
	{69, 189, CALL_WAITS},   /* msgsnd */
	{70, 188, CALL_WAITS},   /* msgrcv */
	{65, 193, CALL_WAITS},   /* semop */
	{220, 192, CALL_WAITS},  /* semtimedop */
	{242, 182, CALL_WAITS},  /* mq_timedsend */
	{243, 183, CALL_WAITS},  /* mq_timedreceive */
	{208, 4, CALL_WAITS},    /* io_getevents */
	{426, 426, CALL_WAITS},  /* io_uring_enter */
	{202, 98, CALL_FUTEX},
	{35, 101, CALL_NANOSLEEP},
	{230, 115, CALL_CLOCK_NANOSLEEP},
	{7, NONE, CALL_POLL},
	{271, 73, CALL_PPOLL},
	{23, NONE, CALL_SELECT},
	{270, 72, CALL_PSELECT},
	{232, NONE, CALL_EPOLL_WAIT},
	{281, 22, CALL_EPOLL_WAIT}, /* epoll_pwait */
	{128, 137, CALL_SIGNAL_TIMED_WAIT},
	{61, 260, CALL_WAIT4},
	{247, 95, CALL_WAITID},
	{38, 103, CALL_SETITIMER},
	{37, NONE, CALL_ALARM},
	{223, 110, CALL_TIMER_SET},
	{226, 111, CALL_TIMER_DELETE},
	{286, 86, CALL_TIMERFD_SET},
	{3, 57, CALL_CLOSE},
	{228, 113, CALL_CLOCK_GETTIME},
	{96, 169, CALL_GETTIMEOFDAY},
	{201, NONE, CALL_TIME},
	{100, 153, CALL_TIMES},
	{98, 165, CALL_GETRUSAGE},
	{318, 278, CALL_GETRANDOM},
	{204, 123, CALL_GETAFFINITY},
	{203, 122, CALL_SETAFFINITY},
	{309, 168, CALL_GETCPU},
	{2, NONE, CALL_OPEN},
	{257, 56, CALL_OPENAT},
	{56, 220, CALL_CLONE},
	{435, 435, CALL_CLONE}, /* clone3: QEMU refuses it */
	{57, NONE, CALL_CLONE}, /* fork */
	{58, NONE, CALL_CLONE}, /* vfork */
	{218, 96, CALL_SET_CHILD_ADDRESS},
	{60, 93, CALL_EXIT},
	{231, 94, CALL_EXIT_GROUP},
	{59, 221, CALL_EXEC},
	{322, 281, CALL_EXEC}, /* execveat */
};

struct guest_calls *
guest_calls_new(const char *target)
{
	const bool is_x86_64 = strcmp(target, "x86_64") == 0;
	struct guest_calls *calls;

	if (!is_x86_64 && strcmp(target, "aarch64") != 0 && strcmp(target, "riscv64") != 0) {
		errno = ENOTSUP;
		return NULL;
	}
	calls = calloc(1, sizeof(*calls));
	if (!calls)
		return NULL;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const int number = is_x86_64 ? numbers[i].x86_64 : numbers[i].generic;

		if (number != NONE)
			calls->call[number] = numbers[i].call;
	}
	return calls;
}

void
guest_calls_free(struct guest_calls *calls)
{
	free(calls);
}

enum guest_call
guest_call_of(const struct guest_calls *calls, int64_t number)
{
	if (number < 0 || number >= NUMBERS)
		return CALL_PLAIN;
	return (enum guest_call)calls->call[number];
}

bool
guest_call_sets_timer(enum guest_call call)
{
	return call >= CALL_SETITIMER && call <= CALL_TIMERFD_SET && call != CALL_TIMER_DELETE;
}

bool
guest_call_may_block(enum guest_call call)
{
	return call >= CALL_READ && call <= CALL_WAITID;
}

bool
guest_call_copies(enum guest_call call)
{
	return call == CALL_READ || call == CALL_READS || call == CALL_WRITES || call == CALL_GETRANDOM;
}
