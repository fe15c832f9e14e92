/*
 * waits - computes a little and waits a little, again and again, by every system call that a stop of the thread could
 * interrupt, for as many seconds as the argument says
 *
 * Prints how many of the waits said EINTR or came back early, which is none unless somebody interferes: "waits N wrong
 * M".
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS 300000

static int pipe_ends[2], pair[2], poller, semaphore;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static const struct timespec pause_time = {.tv_nsec = WAIT_NS};

static int
by_nanosleep(void)
{
	return nanosleep(&pause_time, NULL);
}

static int
by_poll(void)
{
	struct pollfd one = {pipe_ends[0], POLLIN, 0};

	return ppoll(&one, 1, &pause_time, NULL);
}

static int
by_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipe_ends[0], &set);
	return pselect(pipe_ends[0] + 1, &set, NULL, NULL, &pause_time, NULL);
}

static int
by_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(poller, &event, 1, 1);
}

static int
by_futex(void)
{
	static int word;

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &pause_time, NULL, 0) < 0 && errno == ETIMEDOUT ? 0
	                                                                                                        : -1;
}

static int
by_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &pause_time) < 0 && errno == EAGAIN ? 0 : -1;
}

static int
by_semaphore(void)
{
	struct sembuf down = {.sem_op = -1};

	return semtimedop(semaphore, &down, 1, &pause_time) < 0 && errno == EAGAIN ? 0 : -1;
}

static int
by_receive(void)
{
	char byte;

	return recv(pair[0], &byte, 1, 0) < 0 && errno == EAGAIN ? 0 : -1;
}

static int (*const waits[])(void) = {
	by_nanosleep, by_poll, by_select, by_epoll, by_futex, by_signals, by_semaphore, by_receive,
};

static void
open_all(void)
{
	const struct timeval limit = {.tv_usec = WAIT_NS / 1000};
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	poller = epoll_create1(0);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || poller < 0 || semaphore < 0 ||
	    epoll_ctl(poller, EPOLL_CTL_ADD, pipe_ends[0], &event) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		abort();
}

int
main(int argc, char **argv)
{
	const uint64_t end_ns = now_ns() + strtoull(argc > 1 ? argv[1] : "1", NULL, 10) * 1000000000;
	unsigned long count = 0, wrong = 0;
	volatile unsigned work = 0;

	open_all();
	while (now_ns() < end_ns) {
		const unsigned which = count++ % (sizeof(waits) / sizeof(waits[0]));
		uint64_t begin_ns;

		for (unsigned i = 0; i < 100000; i++)
			work += i;
		begin_ns = now_ns();
		if (waits[which]() != 0 || now_ns() - begin_ns < WAIT_NS) {
			fprintf(stderr, "wait %u: errno %d after %lu ns\n", which, errno,
			        (unsigned long)(now_ns() - begin_ns));
			wrong++;
		}
	}
	semctl(semaphore, 0, IPC_RMID);
	printf("waits %s wrong %lu\n", count > 10 ? "many" : "few", wrong);
	return 0;
}
