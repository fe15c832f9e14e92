#include "process/file_identity.h"

#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/build_id.h"
#include "process/hash.h"
#include "process/mapped_file.h"

struct file_key {
	uint64_t inode;
	uint32_t device_major, device_minor;
};

struct file_node {
	struct file_key key;
	UT_hash_handle hh;
	uint32_t generation;
	uint8_t build_id_size;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
};

struct file_identities {
	struct file_node *by_key;
};

struct file_identities *
file_identities_new(void)
{
	return calloc(1, sizeof(struct file_identities));
}

void
file_identities_free(struct file_identities *files)
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

/*
 * File systems without a device of their own (btrfs, overlay) show mappings the device below and stat(2) an
 * anonymous one; the inode must do there.
 */
static bool
is_mapped_file(int fd, const struct record_mmap *mmap)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != mmap->inode)
		return false;
	if (major(status.st_dev) == 0)
		return true;
	return major(status.st_dev) == mmap->device_major && minor(status.st_dev) == mmap->device_minor;
}

/* Takes `fd` over: open for reading if it is the right file, else -1. */
static int
reopen(int fd, const struct record_mmap *mmap)
{
	int readable = -1;

	if (fd < 0)
		return -1;
	if (is_mapped_file(fd, mmap))
		readable = mapped_file_reopen(fd);
	close(fd);
	return readable;
}

static int
open_mapped_file(int procfs, uint32_t pid, const struct record_mmap *mmap)
{
	int fd = -1;

	if (mmap->path[0] == '/')
		fd = reopen(mapped_file_below_root(procfs, pid, mmap->path), mmap);
	if (fd < 0)
		fd = reopen(mapped_file_exe(procfs, pid), mmap);
	if (fd < 0)
		fd = reopen(mapped_file_of_mapping(procfs, pid, mmap->start, mmap->start + mmap->length), mmap);
	return fd;
}

static void
read_identity(int fd, struct file_node *node)
{
	union {
		unsigned generation; /* what file systems store */
		long room;           /* what the request's number says */
	} answer = {0};
	int size = build_id_from_file(fd, node->build_id);

	if (size > 0)
		node->build_id_size = (uint8_t)size;
	if (ioctl(fd, FS_IOC_GETVERSION, &answer) == 0)
		node->generation = answer.generation;
}

/* What is known of the file, read now if need be; NULL: not to be had, and perhaps to be had from another process. */
static const struct file_node *
find_or_read(struct file_identities *files, int procfs, uint32_t pid, const struct record_mmap *mmap)
{
	struct file_key key = {mmap->inode, mmap->device_major, mmap->device_minor};
	struct file_node *node;
	int fd;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the key is whole, and hashed as bytes */
	HASH_FIND(hh, files->by_key, &key, sizeof(key), node);
	if (node)
		return node;
	fd = open_mapped_file(procfs, pid, mmap);
	if (fd < 0)
		return NULL;
	node = calloc(1, sizeof(*node));
	if (node) {
		node->key = key;
		read_identity(fd, node);
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
file_identity_complete(struct file_identities *files, int procfs, uint32_t pid, struct record_mmap *mmap)
{
	const struct file_node *node = find_or_read(files, procfs, pid, mmap);

	if (!node)
		return;
	if (node->build_id_size == 0) {
		mmap->inode_generation = node->generation;
		return;
	}
	memcpy(mmap->build_id, node->build_id, sizeof(mmap->build_id));
	mmap->build_id_size = node->build_id_size;
	mmap->device_major = mmap->device_minor = 0;
	mmap->inode = mmap->inode_generation = 0;
}
