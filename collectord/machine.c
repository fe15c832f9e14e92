#include "collectord/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/small_file.h"

#define LARGE_BYTES (128 << 10) /* glibc's, which it would raise by itself */

static void
raise_limit(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	if (limit.rlim_max == RLIM_INFINITY || (most != RLIM_INFINITY && limit.rlim_max > most))
		most = limit.rlim_max;
	/* more than the hard limit is for the privileged only; all of it is for everybody */
	if (setrlimit(resource, &(struct rlimit){.rlim_cur = most, .rlim_max = most}) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

void
machine_raise_limits(void)
{
	raise_limit(RLIMIT_NOFILE, 1 << 20); /* a descriptor per event and CPU; fs.nr_open, which is the ceiling */
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

void
machine_tune_allocator(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

void
machine_trim_heap(void)
{
	malloc_trim(0);
}

uint64_t
machine_usage_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * SECOND_NS +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

uint64_t
machine_cpu_time_ns(void)
{
	struct rusage usage, others;

	if (getrusage(RUSAGE_SELF, &usage) || getrusage(RUSAGE_CHILDREN, &others))
		return 0;
	return machine_usage_ns(&usage) + machine_usage_ns(&others);
}

uint64_t
machine_busy_ns(const char *procfs)
{
	unsigned long long ticks[8] = {0}; /* user, nice, system, idle, iowait, irq, softirq, steal */
	uint64_t busy = 0;
	char text[256];

	if (small_file_read(text, sizeof(text), "%s/stat", procfs))
		return 0;
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2], &ticks[3],
	           &ticks[4], &ticks[5], &ticks[6], &ticks[7]) < 4)
		return 0;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		if (i != 3 && i != 4)
			busy += ticks[i];
	return busy * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

void
machine_memory(struct machine_memory *memory)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long total, resident, shared;
	char text[128];

	*memory = (struct machine_memory){0};
	if (small_file_read(text, sizeof(text), "/proc/self/statm"))
		return;
	if (sscanf(text, "%llu %llu %llu", &total, &resident, &shared) != 3 || shared > resident)
		return;
	memory->resident_bytes = resident * page;
	memory->own_bytes = (resident - shared) * page;
}

uint64_t
machine_clock_ns(int clock_id)
{
	struct timespec now;

	if (clock_gettime((clockid_t)clock_id, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- changes ---- */

#define KERNEL_GROUP 1
#define NAP_NS       1000000 /* ns: shorter sleeps of the machine are ignored */

#define WORD(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* By how much one clock is ahead of CLOCK_MONOTONIC: they cannot be read at once, so it lies between two numbers. */
struct clock_lead {
	int64_t least_ns, most_ns;
};

/* A file whose text is compared with what it was; 4 KiB is the most that sysfs gives. */
struct watched_file {
	int fd;
	char text[4096];
};

struct machine_watch {
	struct watched_file online, uevents, rate_limit;
	int device_fd; /* readable when a device goes online or offline; negative: not available */
	int clock_fd;  /* readable when CLOCK_REALTIME is set or the machine slept; negative: not available */
	int epoll_fd;  /* of the uevent socket and the clock timer */
	struct clock_lead boot, wall;
};

/* ---- devices that go online or offline ---- */

/* A message begins with "online@/devices/..."; what containers make and remove all the time must not wake dcpid. */
static int
let_through_online_and_offline(int fd)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('o', 'n', 'l', 'i'), 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('o', 'f', 'f', 'l'), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog filter = {
		.len = sizeof(instructions) / sizeof(instructions[0]),
		.filter = instructions,
	};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ? -errno : 0;
}

/* CPUs are such devices. Negative errno where the kernel's messages may not be received. */
static int
open_device_changes(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	int err;

	if (fd < 0)
		return -errno;
	err = let_through_online_and_offline(fd);
	if (!err && bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* ---- clocks ---- */

/* A timer that never expires, but is cancelled, and readable, when its clock leaps. Negative errno. */
static int
open_clock_changes(void)
{
	const struct itimerspec never = {.it_value.tv_sec = INT_MAX}; /* 2038, after which the next drain will do */
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static struct clock_lead
read_lead(int clock_id)
{
	const int64_t before_ns = (int64_t)machine_clock_ns(CLOCK_MONOTONIC);
	const int64_t now_ns = (int64_t)machine_clock_ns(clock_id);
	const int64_t after_ns = (int64_t)machine_clock_ns(CLOCK_MONOTONIC);

	return (struct clock_lead){.least_ns = now_ns - after_ns, .most_ns = now_ns - before_ns};
}

/* By how much the lead has grown at least (or, below 0, shrunk); 0 when it may be unchanged. */
static int64_t
lead_grown_ns(const struct clock_lead *old, const struct clock_lead *new)
{
	if (new->least_ns > old->most_ns)
		return new->least_ns - old->most_ns;
	if (new->most_ns < old->least_ns)
		return new->most_ns - old->least_ns;
	return 0;
}

/* After a sleep CLOCK_REALTIME is ahead by as much as CLOCK_BOOTTIME: that is no setting of the clock. */
static unsigned
compare_clocks(struct machine_watch *watch)
{
	const struct clock_lead boot = read_lead(CLOCK_BOOTTIME), wall = read_lead(CLOCK_REALTIME);
	const int64_t slept_ns = lead_grown_ns(&watch->boot, &boot);
	const int64_t set_ns = lead_grown_ns(&watch->wall, &wall) - slept_ns;
	unsigned changes = 0;

	watch->boot = boot;
	watch->wall = wall;
	if (slept_ns > NAP_NS)
		changes |= MACHINE_RESUMED | MACHINE_CPUS; /* all CPUs but one may have been down, without a message */
	if (set_ns > (int64_t)MACHINE_STEP_NS || set_ns < -(int64_t)MACHINE_STEP_NS)
		changes |= MACHINE_CLOCK_SET;
	return changes;
}

/* ---- files ---- */

static void
read_text(const struct watched_file *file, char *text, size_t size)
{
	ssize_t got = file->fd < 0 ? 0 : TEMP_FAILURE_RETRY(pread(file->fd, text, size - 1, 0));

	text[got > 0 ? got : 0] = '\0';
}

static void
open_file(struct watched_file *file, const char *root, const char *name)
{
	char path[PATH_MAX];

	file->fd = -1;
	if (snprintf(path, sizeof(path), "%s/%s", root, name) < (int)sizeof(path))
		file->fd = open(path, O_RDONLY | O_CLOEXEC);
	read_text(file, file->text, sizeof(file->text));
}

static bool
file_changed(struct watched_file *file)
{
	char text[sizeof(file->text)];

	read_text(file, text, sizeof(text));
	if (strcmp(text, file->text) == 0)
		return false;
	memcpy(file->text, text, sizeof(text));
	return true;
}

/* ---- the watch ---- */

struct machine_watch *
machine_watch_new(const char *sysfs, const char *procfs)
{
	struct machine_watch *watch = calloc(1, sizeof(*watch));
	struct epoll_event event = {.events = EPOLLIN};

	if (!watch)
		return NULL;
	watch->device_fd = open_device_changes(); /* first: changes while the files are read make it readable */
	watch->clock_fd = open_clock_changes();
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (watch->device_fd >= 0) /* on failure the owner polls from time to time */
		(void)epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->device_fd, &event);
	if (watch->clock_fd >= 0)
		(void)epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->clock_fd, &event);
	open_file(&watch->online, sysfs, "devices/system/cpu/online");
	/* counts on when a CPU goes and comes back, which the list does not show */
	open_file(&watch->uevents, sysfs, "kernel/uevent_seqnum");
	open_file(&watch->rate_limit, procfs, "sys/kernel/perf_event_max_sample_rate");
	watch->boot = read_lead(CLOCK_BOOTTIME);
	watch->wall = read_lead(CLOCK_REALTIME);
	return watch;
}

void
machine_watch_free(struct machine_watch *watch)
{
	if (!watch)
		return;
	if (watch->device_fd >= 0)
		close(watch->device_fd);
	if (watch->clock_fd >= 0)
		close(watch->clock_fd);
	if (watch->epoll_fd >= 0)
		close(watch->epoll_fd);
	if (watch->online.fd >= 0)
		close(watch->online.fd);
	if (watch->uevents.fd >= 0)
		close(watch->uevents.fd);
	if (watch->rate_limit.fd >= 0)
		close(watch->rate_limit.fd);
	free(watch);
}

unsigned
machine_watch_poll(struct machine_watch *watch)
{
	uint64_t expirations;
	unsigned changes;
	char start[4];

	/* make both descriptors wait for the next change; ECANCELED: the clock leapt; EAGAIN: it did not */
	if (watch->clock_fd >= 0)
		(void)!read(watch->clock_fd, &expirations, sizeof(expirations));
	/* ENOBUFS reports, once, that there were more messages than the socket could hold */
	while (watch->device_fd >= 0 &&
	       (recv(watch->device_fd, start, sizeof(start), 0) >= 0 || errno == ENOBUFS || errno == EINTR))
		;
	changes = compare_clocks(watch);
	/* compare both: each reports its change once */
	if (file_changed(&watch->online))
		changes |= MACHINE_CPUS;
	if (file_changed(&watch->uevents))
		changes |= MACHINE_CPUS;
	if (file_changed(&watch->rate_limit))
		changes |= MACHINE_RATE_LIMIT;
	return changes;
}

int
machine_watch_descriptor(const struct machine_watch *watch)
{
	return watch->epoll_fd;
}

uint64_t
machine_watch_rate_limit(const struct machine_watch *watch)
{
	return strtoull(watch->rate_limit.text, NULL, 10);
}
