#include "process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/build_id.h"
#include "process/hash.h"

/* The name at *at, and *at behind it; false at the end. */
static bool
next_name(const char **at, char name[NAME_MAX + 1], size_t *length)
{
	*at += strspn(*at, "/");
	*length = strcspn(*at, "/");
	if (*length > 0 && *length <= NAME_MAX) {
		memcpy(name, *at, *length);
		name[*length] = '\0';
	}
	*at += *length;
	return *length > 0;
}

/*
 * Name by name, because systemd refuses openat2() to a service with RestrictSUIDSGID. No step follows a symbolic link:
 * O_PATH | O_NOFOLLOW opens the link itself, and looking up the next name in it fails.
 */
static int
open_in(int root, const char *path, mapped_file_step *step, void *context)
{
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0), next, err;
	char name[NAME_MAX + 1];
	size_t length;

	while (fd >= 0 && next_name(&path, name, &length)) {
		err = step ? -step(context, fd) : 0;
		if (!err && length > NAME_MAX)
			err = ENAMETOOLONG;
		if (!err && strcmp(name, "..") == 0)
			err = EINVAL;
		next = err ? -1 : openat(fd, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		if (next < 0 && !err)
			err = errno;
		close(fd);
		fd = next;
		errno = err;
	}
	if (fd < 0)
		return -errno;
	return fd;
}

int
mapped_file_walk(int procfs, uint32_t pid, const char *path, mapped_file_step *step, void *context)
{
	char name[32];
	int root, fd;

	snprintf(name, sizeof(name), "%" PRIu32 "/root", pid);
	root = openat(procfs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = open_in(root, path, step, context);
	close(root);
	return fd;
}

int
mapped_file_below_root(int procfs, uint32_t pid, const char *path)
{
	return mapped_file_walk(procfs, pid, path, NULL, NULL);
}

static int
open_link(int procfs, const char *name)
{
	const int fd = openat(procfs, name, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd;
}

int
mapped_file_exe(int procfs, uint32_t pid)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu32 "/exe", pid);
	return open_link(procfs, name);
}

int
mapped_file_of_mapping(int procfs, uint32_t pid, uint64_t start, uint64_t end)
{
	char name[80];

	snprintf(name, sizeof(name), "%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return open_link(procfs, name);
}

int
mapped_file_reopen(int path)
{
	struct stat status;
	char name[32];
	int fd;

	if (fstat(path, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
	fd = (int)TEMP_FAILURE_RETRY(open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (fd < 0)
		return -errno;
	return fd;
}

/* ---- ownership ---- */

static int
check_owner(void *context, int fd)
{
	struct statfs system;
	struct stat status;

	(void)context;
	if (fstat(fd, &status) < 0 || fstatfs(fd, &system) < 0)
		return -errno;
	if (status.st_uid != 0 || (status.st_mode & S_IWOTH) || ((status.st_mode & S_IWGRP) && status.st_gid != 0))
		return -EPERM;
	return system.f_type == FUSE_SUPER_MAGIC ? -EPERM : 0;
}

int
mapped_file_open_roots(int procfs, const char *path)
{
	int fd, err;

	if (path[0] != '/')
		return -EPERM;
	fd = mapped_file_walk(procfs, (uint32_t)getpid(), path, check_owner, NULL);
	if (fd < 0)
		return fd;
	err = check_owner(NULL, fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

bool
mapped_file_is_roots(int procfs, const char *path, int fd)
{
	const int roots = mapped_file_open_roots(procfs, path);
	struct stat one, other;
	bool is_root;

	if (roots < 0)
		return false;
	is_root = fstat(fd, &one) == 0 && fstat(roots, &other) == 0 && one.st_dev == other.st_dev &&
	          one.st_ino == other.st_ino;
	close(roots);
	return is_root;
}

/* ---- identity ---- */

/*
 * File systems without a device of their own (btrfs, overlay) show mappings the device below and stat(2) an
 * anonymous one; there the inode alone must match.
 */
static bool
is_mapped_inode(const struct stat *status, const struct file_question *question)
{
	if (!S_ISREG(status->st_mode) || status->st_ino != question->inode)
		return false;
	return major(status->st_dev) == 0 ||
	       (major(status->st_dev) == question->device_major && minor(status->st_dev) == question->device_minor);
}

/* 0: the file system does not report it. */
static uint32_t
generation_of(int fd)
{
	union {
		unsigned generation; /* what file systems write */
		long room;           /* the size that the request number declares */
	} answer = {0};

	return ioctl(fd, FS_IOC_GETVERSION, &answer) == 0 ? answer.generation : 0;
}

/*
 * Where the mapping's generation is 0, or the file system does not report generations, device and inode alone must
 * identify the file.
 */
static bool
has_generation(int fd, uint64_t generation)
{
	const uint32_t actual = generation ? generation_of(fd) : 0;

	return actual == 0 || actual == (uint32_t)generation;
}

/* Takes ownership of `path`, an O_PATH descriptor or an error. A descriptor for reading if it is the mapped file, else
 * an error. */
static int
open_if_mapped(int path, const struct file_question *question, struct stat *status)
{
	int fd;

	if (path < 0)
		return path;
	if (fstat(path, status) != 0)
		fd = -errno;
	else if (!is_mapped_inode(status, question))
		fd = -ESTALE;
	else
		fd = mapped_file_reopen(path);
	close(path);
	if (fd >= 0 && !has_generation(fd, question->inode_generation)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

enum way { WAY_MAPPING, WAY_PATH, WAY_PROGRAM, WAY_FIRST, WAY_OWN, WAYS };

/*
 * A descriptor for reading, with the file's *status; or the error of the first way that failed with anything but
 * -ENOENT or -ESRCH.
 */
static int
open_mapped_file(int procfs, const struct file_question *question, const char *path, struct stat *status)
{
	const bool has_path = path[0] == '/';
	int fd = -ENOENT, err = -ENOENT;

	for (enum way way = WAY_MAPPING; way < WAYS; way++) {
		if (way == WAY_MAPPING && question->pid && question->end > question->start)
			fd = mapped_file_of_mapping(procfs, question->pid, question->start, question->end);
		else if (way == WAY_PATH && question->pid && has_path)
			fd = mapped_file_below_root(procfs, question->pid, path);
		else if (way == WAY_PROGRAM && question->pid)
			fd = mapped_file_exe(procfs, question->pid);
		else if (way == WAY_FIRST && has_path)
			fd = mapped_file_below_root(procfs, 1, path);
		else if (way == WAY_OWN && has_path)
			fd = mapped_file_below_root(procfs, (uint32_t)getpid(), path);
		else
			continue;
		fd = open_if_mapped(fd, question, status);
		if (fd >= 0)
			return fd;
		if (err == -ENOENT && fd != -ESRCH)
			err = fd;
	}
	return err;
}

static uint64_t
time_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

void
mapped_file_identify(int procfs, const struct file_question *question, const char *path, struct file_answer *answer)
{
	struct stat status = {0};
	int fd, size;

	memset(answer, 0, sizeof(*answer));
	fd = open_mapped_file(procfs, question, path, &status);
	if (fd < 0) {
		answer->error = fd;
		return;
	}
	answer->version = (struct file_version){
		.size = (uint64_t)status.st_size,
		.modified_ns = time_ns(&status.st_mtim),
		.changed_ns = time_ns(&status.st_ctim),
	};
	answer->generation = generation_of(fd);
	answer->is_same = answer->version.size == question->version.size &&
	                  answer->version.modified_ns == question->version.modified_ns &&
	                  answer->version.changed_ns == question->version.changed_ns;
	if (!answer->is_same) {
		size = build_id_from_file(fd, answer->build_id);
		if (size > 0)
			answer->build_id_size = (uint8_t)size;
		else if (size != -ENOENT)
			answer->error = size;
		answer->is_roots = size > 0 && mapped_file_is_roots(procfs, path, fd);
	}
	close(fd);
}

static struct file_question
question_of(uint32_t pid, const struct record_mmap *mmap)
{
	return (struct file_question){
		.pid = pid,
		.start = mmap->start,
		.end = mmap->start + mmap->length,
		.device_major = mmap->device_major,
		.device_minor = mmap->device_minor,
		.inode = mmap->inode,
		.inode_generation = mmap->inode_generation,
	};
}

void
mapped_file_complete(int procfs, uint32_t pid, struct record_mmap *mmap)
{
	const struct file_question question = question_of(pid, mmap);
	struct file_answer answer;

	mapped_file_identify(procfs, &question, mmap->path, &answer);
	if (answer.generation)
		mmap->inode_generation = answer.generation;
	if (answer.build_id_size == 0)
		return;
	memcpy(mmap->build_id, answer.build_id, sizeof(mmap->build_id));
	mmap->build_id_size = answer.build_id_size;
	mmap->device_major = mmap->device_minor = 0;
	mmap->inode = mmap->inode_generation = 0;
}

struct file_key {
	uint64_t inode;
	uint32_t device_major, device_minor;
};

struct file_node {
	struct file_key key;
	UT_hash_handle hh;
	uint32_t generation;
};

struct file_generations {
	struct file_node *by_key;
};

struct file_generations *
file_generations_new(void)
{
	return calloc(1, sizeof(struct file_generations));
}

void
file_generations_free(struct file_generations *files)
{
	if (!files)
		return;
	HASH_FREE_ALL(files->by_key);
	free(files);
}

static struct file_node *
find_node(struct file_generations *files, const struct record_mmap *mmap)
{
	const struct file_key key = {mmap->inode, mmap->device_major, mmap->device_minor};
	struct file_node *node;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the key is whole, and hashed as bytes */
	HASH_FIND(hh, files->by_key, &key, sizeof(key), node);
	return node;
}

bool
file_generations_know(struct file_generations *files, const struct record_mmap *mmap)
{
	return find_node(files, mmap);
}

void
file_generations_complete(struct file_generations *files, int procfs, uint32_t pid, struct record_mmap *mmap)
{
	const struct file_question question = question_of(pid, mmap);
	struct file_node *node = find_node(files, mmap);
	struct stat status;
	int fd;

	if (node) {
		mmap->inode_generation = node->generation;
		return;
	}
	fd = open_mapped_file(procfs, &question, mmap->path, &status);
	if (fd < 0)
		return; /* it is not remembered: another process may be able to open it */
	node = calloc(1, sizeof(*node));
	if (node) {
		node->key = (struct file_key){mmap->inode, mmap->device_major, mmap->device_minor};
		node->generation = generation_of(fd);
		HASH_ADD(hh, files->by_key, key, sizeof(node->key), node);
		if (hash_added(node))
			mmap->inode_generation = node->generation;
		else
			free(node);
	}
	close(fd);
}
