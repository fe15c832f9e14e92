#include "process/code_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process/lines.h"
#include "process/mapped_file.h"

#define SLACK_NS        UINT64_C(2000000000) /* clocks of files and of processes are coarse */
#define DESCRIPTORS_MAX 4096                 /* of a process that are looked at */
#define UIDS            4                    /* real, effective, saved, of the file system */
#define STAT_SIZE       1024
#define START_FIELD     22 /* of /proc/PID/stat, where the name is 2 */

/* Through whose eyes it is looked for. */
struct viewer {
	const char *procfs;
	mapped_file_step *step;
	void *context; /* of `step` */
	uint32_t pid;  /* as we call it */
	bool is_self;  /* it is the process itself */
	uint32_t uids[UIDS];
	unsigned uid_count;
	uint32_t own_pid; /* as it calls itself */
};

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Is it so much later that one cannot be the other? */
static bool
is_later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns && a_ns - b_ns > SLACK_NS;
}

/* When the process began, ns before now; false when it is gone. The name may have spaces and brackets. */
static bool
read_age(const char *procfs, uint32_t pid, uint64_t *age_ns)
{
	const uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	char path[PATH_MAX], text[STAT_SIZE];
	const char *at;
	uint64_t start = 0;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/stat", procfs, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do
		size = read(fd, text, sizeof(text) - 1);
	while (size < 0 && errno == EINTR);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at || !parse_decimal(&(const char *){at + 1}, &start))
		return false;
	start *= 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	*age_ns = start < now_ns ? now_ns - start : 0;
	return true;
}

bool
code_file_lives(const char *procfs, const struct code_maker *maker)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t age_ns;

	if (!read_age(procfs, maker->pid, &age_ns))
		return false;
	/* one that is much younger has only the number */
	return maker->begun_ns == 0 || maker->begun_ns > now_ns || !is_later(now_ns - maker->begun_ns, age_ns);
}

/* "Uid:" and "NSpid:" of /proc/PID/status. */
static int
read_status_line(void *context, char *line)
{
	struct viewer *viewer = context;
	const bool is_uid = strncmp(line, "Uid:", 4) == 0, is_pid = strncmp(line, "NSpid:", 6) == 0;
	const char *at = line + (is_uid ? 4 : 6);
	uint64_t number;

	if (!is_uid && !is_pid)
		return 0;
	for (at += strspn(at, "\t "); parse_decimal(&at, &number); at += strspn(at, "\t ")) {
		if (is_pid)
			viewer->own_pid = (uint32_t)number;
		else if (viewer->uid_count < UIDS)
			viewer->uids[viewer->uid_count++] = (uint32_t)number;
	}
	return 0;
}

/*
 * Look with the eyes of process `pid` for a file of process `maker_pid`; viewer->procfs, step and context are set
 * already. False: that process is gone.
 */
static bool
viewer_init(struct viewer *viewer, uint32_t pid, uint32_t maker_pid)
{
	char directory[PATH_MAX];

	viewer->pid = viewer->own_pid = pid;
	viewer->is_self = pid == maker_pid;
	viewer->uid_count = 0;
	snprintf(directory, sizeof(directory), "%s/%" PRIu32, viewer->procfs, pid);
	if (lines_read(directory, "status", read_status_line, viewer) != 0)
		return false;
	if (!viewer->is_self)
		viewer->own_pid = maker_pid;
	return viewer->uid_count > 0;
}

/* The process itself, or who is left of those that it comes from. */
static bool
find_viewer(struct viewer *viewer, const struct code_maker *maker)
{
	if (code_file_lives(viewer->procfs, maker) && viewer_init(viewer, maker->pid, maker->pid))
		return true;
	for (unsigned i = 0; i < maker->ancestor_count; i++)
		if (viewer_init(viewer, maker->ancestors[i], maker->pid))
			return true;
	return false;
}

static int
find_in_root(const struct viewer *viewer, const char *path)
{
	const int procfs = open(viewer->procfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file;

	if (procfs < 0)
		return -errno;
	file = mapped_file_walk(procfs, viewer->pid, path, viewer->step, viewer->context);
	close(procfs);
	return file;
}

/* Does the link lead to `path`? It may be gone since: " (deleted)" behind it. */
static bool
leads_to(int directory, const char *name, const char *path)
{
	const size_t length = strlen(path);
	char target[PATH_MAX];
	ssize_t size = readlinkat(directory, name, target, sizeof(target) - 1);

	if (size < (ssize_t)length || memcmp(target, path, length) != 0)
		return false;
	target[size] = '\0';
	return target[length] == '\0' || strcmp(target + length, " (deleted)") == 0;
}

static int
find_descriptor(const struct viewer *viewer, const char *path)
{
	char name[PATH_MAX];
	const struct dirent *entry;
	DIR *directory;
	int fd = -ENOENT;

	snprintf(name, sizeof(name), "%s/%" PRIu32 "/fd", viewer->procfs, viewer->pid);
	directory = opendir(name);
	if (!directory)
		return -errno;
	for (unsigned i = 0; fd == -ENOENT && i < DESCRIPTORS_MAX && (entry = readdir(directory)); i++) {
		if (!leads_to(dirfd(directory), entry->d_name, path))
			continue;
		fd = openat(dirfd(directory), entry->d_name, O_PATH | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	closedir(directory);
	return fd;
}

static int
find_as_seen(const struct viewer *viewer, const char *path)
{
	int fd = find_in_root(viewer, path), other;

	if (fd >= 0 || !viewer->is_self)
		return fd;
	other = find_descriptor(viewer, path);
	return other >= 0 ? other : fd;
}

static bool
is_owner(const struct viewer *viewer, uint32_t uid)
{
	bool is = uid == 0;

	for (unsigned i = 0; i < viewer->uid_count; i++)
		is |= viewer->uids[i] == uid;
	return is;
}

/* May others than its owner write it? A group with its user's number is his alone, as most systems make them. */
static bool
is_open_to_others(const struct stat *status)
{
	return (status->st_mode & S_IWOTH) ||
	       ((status->st_mode & S_IWGRP) && status->st_gid != 0 && status->st_gid != status->st_uid);
}

/* Was it written by this process, for all that can be told? */
static int
judge(const struct viewer *viewer, const struct code_maker *maker, int fd)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t age_ns = 0, written_ns, real_ns;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (!is_owner(viewer, status.st_uid) || is_open_to_others(&status))
		return -EPERM;
	if (maker->begun_ns && maker->begun_ns < now_ns)
		age_ns = now_ns - maker->begun_ns;
	else if (!viewer->is_self || !read_age(viewer->procfs, viewer->pid, &age_ns))
		return -ESTALE;
	written_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
	real_ns = clock_ns(CLOCK_REALTIME);
	return is_later(real_ns - age_ns, written_ns) ? -ESTALE : 0;
}

/* May it be read? */
static int
try_to_read(int file)
{
	const int fd = mapped_file_reopen(file);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int
find_judged(const struct viewer *viewer, const struct code_maker *maker, const char *path)
{
	int fd = find_as_seen(viewer, path), err;

	if (fd < 0)
		return fd;
	err = viewer->step ? viewer->step(viewer->context, fd) : 0;
	if (!err)
		err = judge(viewer, maker, fd);
	if (!err)
		err = try_to_read(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int
code_file_find(const char *procfs, const struct code_maker *maker, mapped_file_step *step, void *context)
{
	struct viewer viewer = {.procfs = procfs, .step = step, .context = context};
	char path[64];
	int dump = -ENOENT, map;

	if (!find_viewer(&viewer, maker))
		return -ENOENT;
	if (maker->jitdump)
		dump = find_judged(&viewer, maker, maker->jitdump);
	if (dump >= 0)
		return dump;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", viewer.own_pid);
	map = find_judged(&viewer, maker, path);
	return map < 0 && dump == -EBUSY ? dump : map;
}
