#include "emulator/clock/syscalls.h"

#include <stddef.h>

#define NONE (-1) /* this architecture has no such call */

/* Linux's numbers: arch/x86/entry/syscalls/syscall_64.tbl, and include/uapi/asm-generic/unistd.h for all others. */
static const struct {
	int16_t x86_64, generic;
	uint8_t kind;
} numbers[] = {
	{0, 63, CALL_READ},          /* read */
	{17, 67, CALL_READ_OTHER},   /* pread64 */
	{19, 65, CALL_READ_OTHER},   /* readv */
	{295, 69, CALL_READ_OTHER},  /* preadv */
	{327, 286, CALL_READ_OTHER}, /* preadv2 */
	{45, 207, CALL_READ_OTHER},  /* recvfrom */
	{47, 212, CALL_READ_OTHER},  /* recvmsg */
	{1, 64, CALL_WRITE},         /* write */
	{18, 68, CALL_WRITE},        /* pwrite64 */
	{20, 66, CALL_WRITE},        /* writev */
	{296, 70, CALL_WRITE},       /* pwritev */
	{328, 287, CALL_WRITE},      /* pwritev2 */
	{44, 206, CALL_WRITE},       /* sendto */
	{46, 211, CALL_WRITE},       /* sendmsg */
	{40, 71, CALL_MAY_BLOCK},    /* sendfile */
	{275, 76, CALL_MAY_BLOCK},   /* splice */
	{276, 77, CALL_MAY_BLOCK},   /* tee */
	{278, 75, CALL_MAY_BLOCK},   /* vmsplice */
	{326, 285, CALL_MAY_BLOCK},  /* copy_file_range */
	{42, 203, CALL_MAY_BLOCK},   /* connect */
	{43, 202, CALL_MAY_BLOCK},   /* accept */
	{288, 242, CALL_MAY_BLOCK},  /* accept4 */
	{299, 243, CALL_MAY_BLOCK},  /* recvmmsg */
	{307, 269, CALL_MAY_BLOCK},  /* sendmmsg */
	{34, NONE, CALL_MAY_BLOCK},  /* pause */
	{130, 133, CALL_MAY_BLOCK},  /* rt_sigsuspend */
	{72, 25, CALL_MAY_BLOCK},    /* fcntl: locks */
	{73, 32, CALL_MAY_BLOCK},    /* flock */
	{74, 82, CALL_MAY_BLOCK},    /* fsync */
	{75, 83, CALL_MAY_BLOCK},    /* fdatasync */
	{162, 81, CALL_MAY_BLOCK},   /* sync */
	{16, 29, CALL_MAY_BLOCK},    /* ioctl */
	{69, 189, CALL_MAY_BLOCK},   /* msgsnd */
	{70, 188, CALL_MAY_BLOCK},   /* msgrcv */
	{65, 193, CALL_MAY_BLOCK},   /* semop */
	{220, 192, CALL_MAY_BLOCK},  /* semtimedop */
	{242, 182, CALL_MAY_BLOCK},  /* mq_timedsend */
	{243, 183, CALL_MAY_BLOCK},  /* mq_timedreceive */
	{208, 4, CALL_MAY_BLOCK},    /* io_getevents */
	{426, 426, CALL_MAY_BLOCK},  /* io_uring_enter */
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

enum syscall_kind
syscall_kind_of(bool is_x86_64, int64_t number)
{
	for (size_t i = 0; number >= 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (number == (is_x86_64 ? numbers[i].x86_64 : numbers[i].generic))
			return (enum syscall_kind)numbers[i].kind;
	return CALL_OTHER;
}

bool
syscall_may_block(enum syscall_kind kind)
{
	return kind >= CALL_READ && kind <= CALL_WAITID;
}

bool
syscall_sets_timer(enum syscall_kind kind)
{
	return kind >= CALL_SETITIMER && kind <= CALL_TIMERFD_SET && kind != CALL_TIMER_DELETE;
}

bool
syscall_copies(enum syscall_kind kind)
{
	return kind == CALL_READ || kind == CALL_READ_OTHER || kind == CALL_WRITE || kind == CALL_GETRANDOM;
}
