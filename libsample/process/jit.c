#include "process/jit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/proc.h"

#define BASE_SIZE       (UINT64_C(2) << 20) /* programs tend to reserve multiples of it */
#define SLACK_NS        (2 * SECOND_NS)     /* clocks of files and of processes are coarse */
#define DESCRIPTORS_MAX 4096                /* of a process that are searched */
#define UIDS            4                   /* real, effective, saved, of the file system */

struct jit_processes {
	struct mapped_images *images;
	struct process_table *processes;
	uint64_t generation; /* the last one given */
	size_t count;
	struct jit_process waiting[JIT_PROCESSES_MAX];
};

struct jit_processes *
jit_processes_new(struct mapped_images *images, struct process_table *processes)
{
	struct jit_processes *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return NULL;
	jit->images = images;
	jit->processes = processes;
	/* above all that an earlier dcpid gave: there is never more than one per nanosecond */
	jit->generation = clock_ns(CLOCK_REALTIME);
	return jit;
}

void
jit_processes_free(struct jit_processes *jit)
{
	if (!jit)
		return;
	for (size_t i = 0; i < jit->count; i++)
		free(jit->waiting[i].jitdump);
	free(jit);
}

bool
jit_processes_take(struct jit_processes *jit, struct jit_process *process)
{
	if (jit->count == 0)
		return false;
	*process = jit->waiting[--jit->count];
	return true;
}

/* Without room for it in the queue, the code of the process stays without names. */
static void
enqueue(struct jit_processes *jit, const struct process *process)
{
	const struct process *at = process;
	struct jit_process entry = {
		.pid = process->pid,
		.generation = process->code_generation,
		.base = process->code_base,
		.begun_ns = process->begun_ns,
	};

	if (jit->count == JIT_PROCESSES_MAX)
		return;
	while (at && at->parent != 0 && entry.ancestor_count < JIT_ANCESTORS) {
		entry.ancestors[entry.ancestor_count++] = at->parent;
		at = process_find(jit->processes, at->parent);
	}
	if (process->jitdump)
		entry.jitdump = strdup(process->jitdump); /* without memory its code has no name */
	jit->waiting[jit->count++] = entry;
}

static bool
is_jitdump(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t length = strlen(name);

	return strncmp(name, "jit-", 4) == 0 && length > 9 && strcmp(name + length - 5, ".dump") == 0;
}

int
jit_processes_map(struct jit_processes *jit, struct process *process, const char *path)
{
	char *copy;

	if (!path || path[0] != '/' || !is_jitdump(path))
		return 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(process->jitdump);
	process->jitdump = copy;
	if (process->code)
		enqueue(jit, process);
	return 0;
}

static int
begin_image(struct jit_processes *jit, struct process *process, uint64_t start)
{
	char path[COMM_SIZE + 8];
	struct image image = {.kind = IMAGE_JIT, .inode = process->pid, .path = path};

	snprintf(path, sizeof(path), process->comm[0] ? "[jit:%s]" : "[jit]", process->comm);
	image.inode_generation = ++jit->generation;
	process->code = mapped_image_get(jit->images, &image);
	if (!process->code)
		return -ENOMEM;
	process->code_generation = image.inode_generation;
	if (process->code_base == 0)
		process->code_base = start & ~(BASE_SIZE - 1);
	enqueue(jit, process);
	return 0;
}

struct mapped_image *
jit_processes_image(struct jit_processes *jit, struct process *process, uint64_t start, uint64_t address,
                    uint64_t *offset)
{
	if (!process->code && begin_image(jit, process, start))
		return NULL;
	*offset = (address - process->code_base) & (JIT_SPAN - 1);
	return process->code;
}

void
jit_processes_reset(struct jit_processes *jit, uint32_t pid, uint64_t generation)
{
	struct process *process = process_find(jit->processes, pid);

	if (!process || !process->code || process->code_generation != generation)
		return;
	mapped_image_release(process->code);
	process->code = NULL;
}

/* ---- the file of a process ---- */

/* The process from whose root directory the file is searched. */
struct viewer {
	const char *procfs;
	mapped_file_step *step;
	void *context; /* of `step` */
	uint32_t pid;  /* in our pid namespace */
	bool is_self;  /* it is the process whose file is searched, not an ancestor */
	uint32_t uids[UIDS];
	unsigned uid_count;
	uint32_t own_pid; /* the pid in the file's name: the pid in the process's own namespace, if is_self */
};

/* Is it later by more than the clocks are coarse? */
static bool
is_later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns && a_ns - b_ns > SLACK_NS;
}

/* Time since the process began. False: it is gone. */
static bool
read_age(const char *procfs, uint32_t pid, uint64_t *age_ns)
{
	const uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	struct proc_stat stat;
	uint64_t start_ns;

	if (proc_stat_read(procfs, pid, &stat))
		return false;
	start_ns = stat.start_ticks * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	*age_ns = start_ns < now_ns ? now_ns - start_ns : 0;
	return true;
}

bool
jit_process_is_alive(const char *procfs, const struct jit_process *process)
{
	const uint64_t now_ns = monotonic_ns();
	uint64_t age_ns;

	if (!read_age(procfs, process->pid, &age_ns))
		return false;
	/* a much younger process has only the pid in common */
	return process->begun_ns == 0 || process->begun_ns > now_ns || !is_later(now_ns - process->begun_ns, age_ns);
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
	for (at += strspn(at, "\t "); proc_text_decimal(&at, &number); at += strspn(at, "\t ")) {
		if (is_pid)
			viewer->own_pid = (uint32_t)number;
		else if (viewer->uid_count < UIDS)
			viewer->uids[viewer->uid_count++] = (uint32_t)number;
	}
	return 0;
}

/*
 * Search from the root of process `pid` for a file of process `file_pid`; viewer->procfs, step and context are set
 * already. False: process `pid` is gone.
 */
static bool
viewer_init(struct viewer *viewer, uint32_t pid, uint32_t file_pid)
{
	char directory[PATH_MAX];

	viewer->pid = viewer->own_pid = pid;
	viewer->is_self = pid == file_pid;
	viewer->uid_count = 0;
	snprintf(directory, sizeof(directory), "%s/%" PRIu32, viewer->procfs, pid);
	if (proc_text_read(directory, "status", read_status_line, viewer) != 0)
		return false;
	if (!viewer->is_self)
		viewer->own_pid = file_pid;
	return viewer->uid_count > 0;
}

/* The process itself, or its nearest ancestor that lives. */
static bool
find_viewer(struct viewer *viewer, const struct jit_process *process)
{
	if (jit_process_is_alive(viewer->procfs, process) && viewer_init(viewer, process->pid, process->pid))
		return true;
	for (unsigned i = 0; i < process->ancestor_count; i++)
		if (viewer_init(viewer, process->ancestors[i], process->pid))
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

static bool
is_owner(const struct viewer *viewer, uint32_t uid)
{
	for (unsigned i = 0; i < viewer->uid_count; i++)
		if (viewer->uids[i] == uid)
			return true;
	return uid == 0;
}

/* May others than its owner write it? A group with its user's number has, on most systems, this user alone. */
static bool
is_open_to_others(const struct stat *status)
{
	return (status->st_mode & S_IWOTH) ||
	       ((status->st_mode & S_IWGRP) && status->st_gid != 0 && status->st_gid != status->st_uid);
}

/* Can only this process have written it? 0 or an error. */
static int
check_writer(const struct viewer *viewer, const struct jit_process *process, int fd)
{
	const uint64_t now_ns = monotonic_ns();
	uint64_t age_ns = 0, written_ns, real_ns;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (!is_owner(viewer, status.st_uid) || is_open_to_others(&status))
		return -EPERM;
	if (process->begun_ns && process->begun_ns < now_ns)
		age_ns = now_ns - process->begun_ns;
	else if (!viewer->is_self || !read_age(viewer->procfs, viewer->pid, &age_ns))
		return -ESTALE;
	written_ns = (uint64_t)status.st_mtim.tv_sec * SECOND_NS + (uint64_t)status.st_mtim.tv_nsec;
	real_ns = clock_ns(CLOCK_REALTIME);
	return is_later(real_ns - age_ns, written_ns) ? -ESTALE : 0;
}

/* The file at `path`, if it can be read and only this process can have written it. */
static int
find_own(const struct viewer *viewer, const struct jit_process *process, const char *path)
{
	int file = find_in_root(viewer, path), fd, err = 0;

	if (file < 0 && viewer->is_self) {
		fd = find_descriptor(viewer, path);
		file = fd >= 0 ? fd : file;
	}
	if (file < 0)
		return file;
	if (viewer->step)
		err = viewer->step(viewer->context, file);
	if (!err)
		err = check_writer(viewer, process, file);
	if (!err) {
		fd = mapped_file_reopen(file);
		if (fd >= 0) {
			close(fd);
			return file;
		}
		err = fd;
	}
	close(file);
	return err;
}

int
jit_file_find(const char *procfs, const struct jit_process *process, mapped_file_step *step, void *context)
{
	struct viewer viewer = {.procfs = procfs, .step = step, .context = context};
	char path[64];
	int dump = -ENOENT, map;

	if (!find_viewer(&viewer, process))
		return -ENOENT;
	if (process->jitdump)
		dump = find_own(&viewer, process, process->jitdump);
	if (dump >= 0)
		return dump;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", viewer.own_pid);
	map = find_own(&viewer, process, path);
	return map < 0 && dump == -EBUSY ? dump : map;
}
