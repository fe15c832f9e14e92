#include "collectord/machine_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "collectord/clock_bell.h"
#include "collectord/machine.h"
#include "collectord/uevents.h"

#define NAP_NS 1000000 /* a shorter one is none */

/* By how much one clock is ahead of CLOCK_MONOTONIC: they cannot be read at once, so it lies between two numbers. */
struct lead {
	int64_t least_ns, most_ns;
};

/* A file whose text is compared with what it was; 4 KiB is the most that sysfs gives. */
struct watched_file {
	int fd;
	char text[4096];
};

struct machine_watch {
	struct watched_file online, uevents, rate_limit;
	int cpu_bell;   /* uevents.h */
	int clock_bell; /* clock_bell.h */
	int bells;      /* an epoll of both */
	struct lead boot, wall;
};

static struct lead
read_lead(int clock_id)
{
	const int64_t before_ns = (int64_t)machine_clock_ns(CLOCK_MONOTONIC);
	const int64_t now_ns = (int64_t)machine_clock_ns(clock_id);
	const int64_t after_ns = (int64_t)machine_clock_ns(CLOCK_MONOTONIC);

	return (struct lead){.least_ns = now_ns - after_ns, .most_ns = now_ns - before_ns};
}

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

static void
hang_bell(int bells, int bell)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (bell >= 0)
		(void)epoll_ctl(bells, EPOLL_CTL_ADD, bell, &event); /* else somebody looks from time to time */
}

static void
hang_bells(struct machine_watch *watch)
{
	watch->cpu_bell = uevents_open();
	watch->clock_bell = clock_bell_open();
	watch->bells = epoll_create1(EPOLL_CLOEXEC);
	hang_bell(watch->bells, watch->cpu_bell);
	hang_bell(watch->bells, watch->clock_bell);
}

struct machine_watch *
machine_watch_new(const char *sysfs, const char *procfs)
{
	struct machine_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	hang_bells(watch); /* first: what changes while the files are read rings */
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
	if (watch->cpu_bell >= 0)
		close(watch->cpu_bell);
	if (watch->clock_bell >= 0)
		close(watch->clock_bell);
	if (watch->bells >= 0)
		close(watch->bells);
	if (watch->online.fd >= 0)
		close(watch->online.fd);
	if (watch->uevents.fd >= 0)
		close(watch->uevents.fd);
	if (watch->rate_limit.fd >= 0)
		close(watch->rate_limit.fd);
	free(watch);
}

/* By how much the lead has grown at least (or, below 0, shrunk); 0 when it may be the same. */
static int64_t
lead_grown_ns(const struct lead *old, const struct lead *new)
{
	if (new->least_ns > old->most_ns)
		return new->least_ns - old->most_ns;
	if (new->most_ns < old->least_ns)
		return new->most_ns - old->least_ns;
	return 0;
}

/* Sleep takes the wall clock on as well, by as much: that is no setting. */
static unsigned
look_at_clocks(struct machine_watch *watch)
{
	const struct lead boot = read_lead(CLOCK_BOOTTIME), wall = read_lead(CLOCK_REALTIME);
	const int64_t slept_ns = lead_grown_ns(&watch->boot, &boot);
	const int64_t set_ns = lead_grown_ns(&watch->wall, &wall) - slept_ns;
	unsigned changes = 0;

	watch->boot = boot;
	watch->wall = wall;
	if (slept_ns > NAP_NS)
		changes |= MACHINE_RESUMED | MACHINE_CPUS; /* all CPUs but one may have been down, and nobody told */
	if (set_ns > (int64_t)MACHINE_STEP_NS || set_ns < -(int64_t)MACHINE_STEP_NS)
		changes |= MACHINE_CLOCK_SET;
	return changes;
}

unsigned
machine_watch_look(struct machine_watch *watch)
{
	unsigned changes;

	clock_bell_clear(watch->clock_bell);
	uevents_clear(watch->cpu_bell);
	changes = look_at_clocks(watch);
	/* both are looked at: a change is told once */
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
	return watch->bells;
}

uint64_t
machine_watch_rate_limit(const struct machine_watch *watch)
{
	return strtoull(watch->rate_limit.text, NULL, 10);
}
