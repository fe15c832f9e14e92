#include "dcpi-tools/mem/watchpoints.h"

#include <dirent.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

#define THREADS_MAX 64 /* of a process that are watched */
#define WORD_BYTES  8

struct watchpoint {
	int fd;
	size_t token;
	uint32_t thread;
};

struct watchpoints {
	struct watchpoint *list;
	size_t count, room;
};

struct watchpoints *
watchpoints_new(void)
{
	return calloc(1, sizeof(struct watchpoints));
}

void
watchpoints_free(struct watchpoints *watchpoints)
{
	if (!watchpoints)
		return;
	watchpoints_end(watchpoints, NULL, NULL);
	free(watchpoints->list);
	free(watchpoints);
}

/* What cannot be watched - the thread has ended, a debugger has all watchpoints - is not. */
static void
watch(struct watchpoints *watchpoints, uint32_t thread, uint64_t address, size_t token)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = address & ~(uint64_t)(WORD_BYTES - 1),
		.bp_len = WORD_BYTES,
		.sample_period = WATCHPOINT_COUNT,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const long fd =
		syscall(SYS_perf_event_open, &attr, (long)thread, -1L, -1L, (unsigned long)PERF_FLAG_FD_CLOEXEC);
	struct watchpoint *place;

	if (fd < 0)
		return;
	place = ARRAY_APPEND(watchpoints->list, watchpoints->count, watchpoints->room);
	if (!place) {
		close((int)fd);
		return;
	}
	*place = (struct watchpoint){(int)fd, token, thread};
	(void)ioctl((int)fd, PERF_EVENT_IOC_REFRESH, 1); /* on, until the period is over once */
}

void
watchpoints_begin(struct watchpoints *watchpoints, uint32_t pid, uint64_t address, size_t token)
{
	const struct dirent *entry;
	unsigned count = 0;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && count < THREADS_MAX && (entry = readdir(tasks))) {
		const unsigned long thread = strtoul(entry->d_name, NULL, 10);

		if (!thread)
			continue;
		watch(watchpoints, (uint32_t)thread, address, token);
		count++;
	}
	if (tasks)
		closedir(tasks);
}

void
watchpoints_end(struct watchpoints *watchpoints, watchpoint_hit *hit, void *context)
{
	for (size_t i = 0; i < watchpoints->count; i++) {
		const struct watchpoint *watched = &watchpoints->list[i];
		uint64_t count = 0;

		if (hit && read(watched->fd, &count, sizeof(count)) == sizeof(count) && count)
			hit(context, watched->token, watched->thread, count);
		close(watched->fd);
	}
	watchpoints->count = 0;
}
