#include "profile/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"

#define DIRECTORY_MODE 0750
#define SERVICE_USER   "dcpi"

/* Those that linux/magic.h does not have. */
#define GFS2_MAGIC    0x01161970
#define LUSTRE_MAGIC  0x0bd00bd0
#define OCFS2_MAGIC   0x7461636f
#define VBOXSF_MAGIC  0x786f4256
#define BEEGFS_MAGIC  0x19830326
#define GPFS_MAGIC    0x47504653
#define CEPH_MAGIC    0x00c36400
#define CIFS_MAGIC    0xff534d42
#define SMB2_MAGIC    0xfe534d42
#define AFS_KAFS      0x6b414653
#define AFS_OPENAFS   0x5346414f
#define NCP_NET_MAGIC 0x564c

/* LMDB needs locks and a page cache that all writers and readers share: not there, whatever the mount says. */
bool
directory_is_network(uint32_t magic)
{
	static const uint32_t magics[] = {
		NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_MAGIC,   SMB2_MAGIC,    V9FS_MAGIC,  CODA_SUPER_MAGIC,
		AFS_KAFS,        AFS_OPENAFS,     CEPH_MAGIC,   LUSTRE_MAGIC,  OCFS2_MAGIC, GFS2_MAGIC,
		GPFS_MAGIC,      BEEGFS_MAGIC,    VBOXSF_MAGIC, NCP_NET_MAGIC,
	};

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magics[i] == magic)
			return true;
	return false;
}

static int
check_file_system(int directory)
{
	struct statfs statfs;

	if (fstatfs(directory, &statfs) < 0)
		return -errno;
	return directory_is_network((uint32_t)statfs.f_type) ? -DCPI_ENETWORKFS : 0;
}

bool
directory_trusts(uid_t owner)
{
	struct passwd service, *found = NULL;
	const char *caller;
	char text[24], names[1024];

	if (owner == geteuid() || owner == 0)
		return true;
	if (geteuid() != 0)
		return false;
	caller = getenv("SUDO_UID");
	snprintf(text, sizeof(text), "%u", (unsigned)owner);
	if (caller && strcmp(caller, text) == 0)
		return true;
	return getpwnam_r(SERVICE_USER, &service, names, sizeof(names), &found) == 0 && found &&
	       service.pw_uid == owner;
}

/* A group with its only member's number is private, as Debian makes them: with umask 002 it may write everywhere. */
static bool
is_loose(const struct stat *status)
{
	return (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && status->st_gid != status->st_uid);
}

/*
 * LMDB opens files by path and believes them: who can put others in their place, or wrote them, decides what a writer
 * does, with its rights.
 */
static int
check_owners(int directory)
{
	static const char *const names[] = {DIRECTORY_DATA, DIRECTORY_LOCK, WRITER_LOCK, READERS_LOCK, IMPORTS_LOCK};
	struct stat status;

	if (fstat(directory, &status) < 0)
		return -errno;
	if (!directory_trusts(status.st_uid) || is_loose(&status))
		return -DCPI_EOWNER;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fstatat(directory, names[i], &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!directory_trusts(status.st_uid))
			return -DCPI_EOWNER;
		/* A lock file that others may write is replaced (store_open.c), a link is refused as one. */
		if (i == 0 && S_ISREG(status.st_mode) && is_loose(&status))
			return -DCPI_EOWNER;
	}
	return 0;
}

/* Without the slashes at its end: with them, the kernel follows a symbolic link whatever the flags say. */
static char *
path_without_slashes(const char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	return strndup(path, size);
}

static int
open_directory(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (directory >= 0)
		return directory;
	/* O_DIRECTORY wins over O_NOFOLLOW: a link is no directory, says the kernel. */
	if (errno != ENOTDIR)
		return -errno;
	return lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode) ? -DCPI_ESYMLINK : -ENOTDIR;
}

int
directory_open(const char *path, bool write)
{
	char *name = path_without_slashes(path);
	bool made = false;
	int directory, err = 0;

	if (!name)
		return -ENOMEM;
	if (write) {
		made = mkdir(name, DIRECTORY_MODE) == 0;
		if (!made && errno != EEXIST)
			err = -errno;
	}
	directory = open_directory(name);
	free(name);
	if (directory < 0)
		return err ? err : directory;
	err = write ? check_file_system(directory) : 0;
	if (!err && write)
		err = check_owners(directory);
	if (!err && made && fchmod(directory, DIRECTORY_MODE) < 0) /* whatever the umask */
		err = -errno;
	if (!err)
		return directory;
	close(directory);
	return err;
}

off_t
directory_file_size(int directory, const char *name)
{
	struct stat stat;

	if (fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISLNK(stat.st_mode))
		return -DCPI_ESYMLINK;
	return S_ISREG(stat.st_mode) ? stat.st_size : -DCPI_EFOREIGN;
}

void
directory_remove_copy(int directory)
{
	if (unlinkat(directory, DIRECTORY_COPY, 0) < 0)
		return; /* mostly it is not there; else the next compaction says why it cannot be made */
}
