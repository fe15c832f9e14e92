#include "process/proc_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/context_table.h"
#include "process/proc_maps.h"

struct scan {
	const struct proc_scan_visitor *visitor;
	const char *path; /* of /proc */
	struct proc_maps maps;
	uint32_t pid;
	bool any; /* it has a mapping */
};

/* /proc shows a worker with what it works on ("kworker/0:1-events"), records show its name ("kworker/0:1"). */
static void
strip_work(char *comm)
{
	char *at = strncmp(comm, "kworker/", 8) == 0 ? strchr(comm, ':') : NULL;

	at = at ? strpbrk(at, "+-") : NULL;
	if (at)
		*at = '\0';
}

/* "" when the process is gone. */
static void
read_comm(int procfs, uint32_t pid, char *comm, size_t size)
{
	char name[32];
	ssize_t got;
	int fd;

	comm[0] = '\0';
	snprintf(name, sizeof(name), "%" PRIu32 "/comm", pid);
	fd = openat(procfs, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	do
		got = read(fd, comm, size - 1);
	while (got < 0 && errno == EINTR);
	close(fd);
	comm[got > 0 ? got : 0] = '\0';
	got = (ssize_t)strlen(comm);
	if (got > 0 && comm[got - 1] == '\n')
		comm[got - 1] = '\0';
	strip_work(comm);
}

static int
visit_mapping(void *context, const struct record_mmap *mmap)
{
	struct scan *scan = context;

	scan->any = true;
	return scan->visitor->mapping(scan->visitor->context, scan->pid, mmap);
}

static bool
parse_pid(const char *name, uint32_t *pid)
{
	uint64_t value;

	if (!parse_decimal(&name, &value) || *name != '\0' || value == 0 || value >= UINT32_MAX)
		return false;
	*pid = (uint32_t)value;
	return true;
}

/* A main thread that has ended shows no mappings, while other threads of its process still live in them. */
static int
scan_threads(struct scan *scan, uint32_t pid)
{
	struct dirent *entry;
	DIR *directory;
	uint32_t tid;
	char name[32];
	int fd, result = 0;

	snprintf(name, sizeof(name), "%" PRIu32 "/task", pid);
	fd = openat(scan->maps.procfs, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return -ENOMEM;
	}
	while (!scan->any && result != -ENOMEM && (entry = readdir(directory)))
		if (parse_pid(entry->d_name, &tid) && tid != pid)
			result = proc_maps_read(&scan->maps, tid, visit_mapping, scan);
	closedir(directory);
	return result;
}

static int
scan_process(struct scan *scan, uint32_t pid)
{
	const struct proc_scan_visitor *visitor = scan->visitor;
	char comm[64]; /* a worker's is longer than COMM_SIZE */
	struct proc_scan_process process = {.pid = pid, .comm = comm};
	int result;

	result = visitor->begin(visitor->context, pid);
	if (result)
		return result == PROC_SCAN_PASS ? 0 : result;
	read_comm(scan->maps.procfs, pid, comm, sizeof(comm));
	(void)process_birth_read(scan->path, pid, &process.birth);
	result = visitor->process(visitor->context, &process);
	if (result)
		return result == PROC_SCAN_PASS ? 0 : result;
	scan->pid = pid;
	scan->any = false;
	result = proc_maps_read(&scan->maps, pid, visit_mapping, scan);
	if (!scan->any && (result == 0 || result == -ESRCH))
		result = scan_threads(scan, pid);
	/* Only memory ends the scan: whatever else went wrong is this process's own. */
	return result == -ENOMEM ? result : visitor->end(visitor->context, pid, result);
}

static int
scan_all(struct scan *scan, DIR *directory)
{
	struct dirent *entry;
	uint32_t pid;
	int result = 0;

	for (;;) {
		errno = 0;
		entry = readdir(directory);
		if (!entry)
			return -errno;
		if (!parse_pid(entry->d_name, &pid))
			continue;
		result = scan_process(scan, pid);
		if (result)
			return result;
	}
}

/* 0: all. */
static int
scan_some(const char *procfs, uint32_t pid, const struct proc_scan_visitor *visitor)
{
	struct scan scan = {
		.visitor = visitor,
		.path = procfs,
		.maps = {.may_open = visitor->may_open, .may_open_context = visitor->context},
	};
	DIR *directory = opendir(procfs);
	int result = -ENOMEM;

	if (!directory)
		return -errno;
	scan.maps.procfs = dirfd(directory);
	scan.maps.files = file_generations_new();
	scan.maps.lines = malloc(sizeof(*scan.maps.lines));
	if (scan.maps.files && scan.maps.lines)
		result = pid ? scan_process(&scan, pid) : scan_all(&scan, directory);
	free(scan.maps.lines);
	file_generations_free(scan.maps.files);
	closedir(directory);
	return result;
}

int
proc_scan(const char *procfs, const struct proc_scan_visitor *visitor)
{
	return scan_some(procfs, 0, visitor);
}

int
proc_scan_one(const char *procfs, uint32_t pid, const struct proc_scan_visitor *visitor)
{
	return scan_some(procfs, pid, visitor);
}
