#include "process/file_identity.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/build_id.h"
#include "process/file_owner.h"
#include "process/hash.h"
#include "process/mapped_file.h"

#define FIRST 1 /* the first process */

/*
 * File systems without a device of their own (btrfs, overlay) show mappings the device below and stat(2) an
 * anonymous one; the inode must do there.
 */
static bool
is_mapped_inode(const struct stat *status, const struct file_question *question)
{
	if (!S_ISREG(status->st_mode) || status->st_ino != question->inode)
		return false;
	return major(status->st_dev) == 0 ||
	       (major(status->st_dev) == question->device_major && minor(status->st_dev) == question->device_minor);
}

/* 0: the file system does not tell. */
static uint32_t
generation_of(int fd)
{
	union {
		unsigned generation; /* what file systems store */
		long room;           /* what the request's number says */
	} answer = {0};

	return ioctl(fd, FS_IOC_GETVERSION, &answer) == 0 ? answer.generation : 0;
}

/* What files without a generation, and file systems that do not tell it, leave open, device and inode must do for. */
static bool
has_generation(int fd, uint64_t generation)
{
	const uint32_t actual = generation ? generation_of(fd) : 0;

	return actual == 0 || actual == (uint32_t)generation;
}

static uint64_t
time_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

static struct file_version
version_of(const struct stat *status)
{
	return (struct file_version){
		.size = (uint64_t)status->st_size,
		.modified_ns = time_ns(&status->st_mtim),
		.changed_ns = time_ns(&status->st_ctim),
	};
}

static bool
is_same_version(const struct file_version *a, const struct file_version *b)
{
	return a->size == b->size && a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

/* Takes `path`, an O_PATH descriptor or an error, over. Open for reading if it is the right file, else an error. */
static int
open_if_right(int path, const struct file_question *question, struct stat *status)
{
	int fd = path;

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

/* A descriptor for reading, *status being its file's, or the error of the first way that says more than "not there". */
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
			fd = mapped_file_below_root(procfs, FIRST, path);
		else if (way == WAY_OWN && has_path)
			fd = mapped_file_below_root(procfs, (uint32_t)getpid(), path);
		else
			continue;
		fd = open_if_right(fd, question, status);
		if (fd >= 0)
			return fd;
		if (err == -ENOENT && fd != -ESRCH)
			err = fd;
	}
	return err;
}

void
file_identity_read(int procfs, const struct file_question *question, const char *path, struct file_answer *answer)
{
	struct stat status = {0};
	int fd, size;

	memset(answer, 0, sizeof(*answer));
	fd = open_mapped_file(procfs, question, path, &status);
	if (fd < 0) {
		answer->error = fd;
		return;
	}
	answer->version = version_of(&status);
	answer->generation = generation_of(fd);
	answer->is_same = is_same_version(&answer->version, &question->version);
	if (!answer->is_same) {
		size = build_id_from_file(fd, answer->build_id);
		if (size > 0)
			answer->build_id_size = (uint8_t)size;
		else if (size != -ENOENT)
			answer->error = size;
		answer->is_roots = size > 0 && file_owner_is_root(procfs, path, fd);
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
file_identity_complete(int procfs, uint32_t pid, struct record_mmap *mmap)
{
	const struct file_question question = question_of(pid, mmap);
	struct file_answer answer;

	file_identity_read(procfs, &question, mmap->path, &answer);
	if (answer.generation)
		mmap->inode_generation = answer.generation;
	if (answer.build_id_size == 0)
		return;
	memcpy(mmap->build_id, answer.build_id, sizeof(mmap->build_id));
	mmap->build_id_size = answer.build_id_size;
	mmap->device_major = mmap->device_minor = 0;
	mmap->inode = mmap->inode_generation = 0;
}

/* ---- generations ---- */

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
	struct file_node *node, *next;

	if (!files)
		return;
	node = files->by_key;
	HASH_CLEAR(hh, files->by_key);
	for (; node; node = next) {
		next = node->hh.next;
		free(node);
	}
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

/* What is known of the file, asked now if need be; NULL: not to be had, and perhaps to be had from another process. */
static const struct file_node *
find_or_ask(struct file_generations *files, int procfs, uint32_t pid, const struct record_mmap *mmap)
{
	const struct file_key key = {mmap->inode, mmap->device_major, mmap->device_minor};
	const struct file_question question = question_of(pid, mmap);
	struct file_node *node = find_node(files, mmap);
	struct stat status;
	int fd;

	if (node)
		return node;
	fd = open_mapped_file(procfs, &question, mmap->path, &status);
	if (fd < 0)
		return NULL;
	node = calloc(1, sizeof(*node));
	if (node) {
		node->key = key;
		node->generation = generation_of(fd);
		HASH_ADD(hh, files->by_key, key, sizeof(key), node);
		if (!hash_added(node)) {
			free(node);
			node = NULL;
		}
	}
	close(fd);
	return node;
}

void
file_generations_complete(struct file_generations *files, int procfs, uint32_t pid, struct record_mmap *mmap)
{
	const struct file_node *node = find_or_ask(files, procfs, pid, mmap);

	if (node)
		mmap->inode_generation = node->generation;
}
