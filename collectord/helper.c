#include "collectord/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define CHILD_SOCKET 3
#define LAST_WAIT_NS UINT64_C(100000000) /* for a child that was killed */
#define IDLE_WAIT_NS UINT64_C(20000000)  /* for a child that had nothing to do: it ends at once */

void
helper_init(struct helper *helper, helper_work *work)
{
	memset(helper, 0, sizeof(*helper));
	helper->work = work;
	helper->socket = -1;
}

int
helper_share(struct helper *helper, size_t size)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return -errno;
	helper->shared = shared;
	helper->shared_size = size;
	return 0;
}

/* Forget children that were left behind and have ended by now. */
static void
reap(struct helper *helper)
{
	size_t kept = 0;

	for (size_t i = 0; i < helper->stuck_count; i++)
		if (waitpid(helper->stuck[i], NULL, WNOHANG) == 0)
			helper->stuck[kept++] = helper->stuck[i];
	helper->stuck_count = kept;
}

/* As a program that has just begun: no handlers (the guard's would begin dcpid again), no descriptors of dcpid's. */
static void
become_child(int socket)
{
	const int nowhere = open("/dev/null", O_RDWR);
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL);
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGINT, &action, NULL); /* a terminal's: dcpid ends us when it has ended */
	(void)sigaction(SIGPIPE, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (nowhere < 0 || dup2(socket, CHILD_SOCKET) < 0)
		_exit(1);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(nowhere, fd);
	(void)syscall(SYS_close_range, CHILD_SOCKET + 1, ~0U, 0);
}

int
helper_start(struct helper *helper)
{
	sigset_t all, before;
	int sockets[2], err;
	pid_t pid;

	if (helper->socket >= 0)
		return 0;
	reap(helper);
	if (helper->stuck_count == HELPER_STUCK_MAX)
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0) {
		become_child(sockets[1]);
		helper->work(CHILD_SOCKET, helper->shared);
		_exit(0);
	}
	err = pid < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	if (err) {
		close(sockets[0]);
		return err;
	}
	helper->socket = sockets[0];
	helper->pid = pid;
	return 0;
}

void
helper_abandon(struct helper *helper)
{
	const pid_t pid = helper->pid;

	if (helper->socket < 0)
		return;
	close(helper->socket);
	helper->socket = -1;
	helper->pid = 0;
	(void)kill(pid, SIGKILL);
	if (waitpid(pid, NULL, WNOHANG) == 0 && helper->stuck_count < HELPER_STUCK_MAX)
		helper->stuck[helper->stuck_count++] = pid;
}

bool
helper_is_stuck(struct helper *helper, pid_t child)
{
	reap(helper);
	for (size_t i = 0; i < helper->stuck_count; i++)
		if (helper->stuck[i] == child)
			return true;
	return false;
}

static void
wait_for_ends(struct helper *helper, uint64_t time_ns)
{
	const uint64_t until_ns = monotonic_ns() + time_ns;
	const struct timespec moment = {.tv_nsec = 1000000};

	for (reap(helper); helper->stuck_count > 0 && monotonic_ns() < until_ns; reap(helper))
		nanosleep(&moment, NULL);
}

void
helper_dismiss(struct helper *helper)
{
	const bool waits = helper->socket >= 0 && helper->stuck_count == 0;

	helper_abandon(helper);
	if (waits)
		wait_for_ends(helper, IDLE_WAIT_NS);
}

void
helper_fini(struct helper *helper)
{
	helper_abandon(helper);
	wait_for_ends(helper, LAST_WAIT_NS);
	if (helper->shared)
		munmap(helper->shared, helper->shared_size);
	helper->shared = NULL;
}

/* A packet, and a descriptor with it; -1: none. 0 or -errno. */
static int
send_packet(int socket, const void *packet, size_t size, int fd, int flags)
{
	struct iovec part = {(void *)packet, size};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (fd >= 0) {
		message.msg_control = control.room;
		message.msg_controllen = sizeof(control.room);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return sent == (ssize_t)size ? 0 : -EMSGSIZE;
}

int
helper_send(struct helper *helper, const void *packet, size_t size, int fd)
{
	int err = helper_start(helper);

	if (err)
		return err;
	err = send_packet(helper->socket, packet, size, fd, MSG_DONTWAIT);
	if (err)
		helper_abandon(helper);
	return err;
}

/* A packet and a descriptor that may come with it, which is closed when `fd` is NULL; -1 and errno. */
static ssize_t
receive(int socket, void *packet, size_t size, int *fd, int flags)
{
	struct iovec part = {packet, size};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	const struct cmsghdr *header;
	int received = -1;
	ssize_t got;

	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	while (got < 0 && errno == EINTR);
	header = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&received, CMSG_DATA(header), sizeof(int));
	if (fd)
		*fd = received;
	else if (received >= 0)
		close(received);
	return got;
}

ssize_t
helper_receive(struct helper *helper, void *packet, size_t size, int *fd, int stop, uint64_t deadline_ns)
{
	int err = -ETIMEDOUT;
	uint64_t now_ns;

	if (fd)
		*fd = -1;
	while (helper->socket >= 0 && (now_ns = monotonic_ns()) < deadline_ns) {
		struct pollfd fds[] = {{.fd = helper->socket, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
		ssize_t got;

		if (poll(fds, 2, (int)((deadline_ns - now_ns) / 1000000) + 1) < 0 && errno != EINTR) {
			err = -errno;
			break;
		}
		if (fds[1].revents) {
			err = -ECANCELED;
			break;
		}
		if (!fds[0].revents)
			continue;
		got = receive(helper->socket, packet, size, fd, MSG_DONTWAIT);
		if (got > 0)
			return got;
		if (got < 0 && errno == EAGAIN)
			continue;
		err = got < 0 ? -errno : -ECHILD;
		break;
	}
	helper_abandon(helper);
	return err;
}

ssize_t
helper_try(struct helper *helper, void *packet, size_t size)
{
	ssize_t got;

	if (helper->socket < 0)
		return -ECHILD;
	got = receive(helper->socket, packet, size, NULL, MSG_DONTWAIT);
	if (got > 0)
		return got;
	got = got < 0 ? -errno : -ECHILD;
	if (got != -EAGAIN)
		helper_abandon(helper);
	return got;
}

uint64_t
helper_cpu_ns(const struct helper *helper)
{
	const pid_t pid = helper->pid;
	clockid_t clock;

	return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

size_t
helper_next(int socket, void *packet, size_t size, int *fd)
{
	const ssize_t got = receive(socket, packet, size, fd, 0);

	return got > 0 ? (size_t)got : 0;
}

bool
helper_answer(int socket, const void *packet, size_t size, int fd)
{
	return send_packet(socket, packet, size, fd, 0) == 0;
}

/* ---- devices whose file systems hang ---- */

bool
helper_devices_have(const struct silent_devices *devices, uint32_t major, uint32_t minor)
{
	const uint64_t now_ns = monotonic_ns();

	for (unsigned i = 0; i < SILENT_DEVICES_MAX; i++)
		if (devices->latest[i].until_ns > now_ns && devices->latest[i].major == major &&
		    devices->latest[i].minor == minor)
			return true;
	return false;
}

bool
helper_devices_add(struct silent_devices *devices, uint32_t major, uint32_t minor, const struct helper *helper)
{
	if (helper_devices_have(devices, major, minor))
		return false;
	memmove(&devices->latest[1], &devices->latest[0], sizeof(devices->latest) - sizeof(devices->latest[0]));
	devices->latest[0] = (struct silent_device){
		.major = major,
		.minor = minor,
		.child = helper->stuck_count ? helper->stuck[helper->stuck_count - 1] : 0, /* else it ended at once */
		.until_ns = monotonic_ns() + SILENT_NS,
	};
	return true;
}

void
helper_devices_renew(struct silent_devices *devices, struct helper *helper)
{
	for (unsigned i = 0; i < SILENT_DEVICES_MAX; i++) {
		struct silent_device *device = &devices->latest[i];

		if (device->child && !helper_is_stuck(helper, device->child))
			device->child = 0;
		if (device->child && device->until_ns < monotonic_ns() + SILENT_NS / 2)
			device->until_ns = monotonic_ns() + SILENT_NS / 2;
	}
}
