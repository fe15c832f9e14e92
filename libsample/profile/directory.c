#include "profile/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define DIRECTORY_MODE   0750
#define SERVICE_USER     "dcpi"
#define WRITER_LOCK_MODE 0600 /* a user who can open the file can lock it and keep writers out */
#define PID_TEXT_SIZE    16
#define STALE_TRIES      100 /* in a second */

/* File systems that linux/magic.h does not list. */
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
 * LMDB opens files by path and trusts their content: a user who can replace or write them controls the writer, which
 * runs with our rights.
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
		/* store_open() replaces a lock file that others may write, and refuses a link. */
		if (i == 0 && S_ISREG(status.st_mode) && is_loose(&status))
			return -DCPI_EOWNER;
	}
	return 0;
}

static int
open_directory(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (directory >= 0)
		return directory;
	/* With O_DIRECTORY and O_NOFOLLOW the kernel reports a symbolic link as ENOTDIR. */
	if (errno != ENOTDIR)
		return -errno;
	return lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode) ? -DCPI_ESYMLINK : -ENOTDIR;
}

int
directory_open(const char *path, bool write)
{
	size_t size = strlen(path);
	struct statfs statfs;
	bool made = false;
	int directory, err = 0;
	char *name;

	/* Trailing slashes are removed: with them the kernel follows a symbolic link in spite of O_NOFOLLOW. */
	while (size > 1 && path[size - 1] == '/')
		size--;
	name = strndup(path, size);
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
	if (!write)
		return directory;
	if (fstatfs(directory, &statfs) < 0)
		err = -errno;
	else
		err = directory_is_network((uint32_t)statfs.f_type) ? -DCPI_ENETWORKFS : check_owners(directory);
	if (!err && made && fchmod(directory, DIRECTORY_MODE) < 0) /* independent of the umask */
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

int
directory_give_to_owner(int directory, int made)
{
	struct stat data, own;

	if (fstatat(directory, DIRECTORY_DATA, &data, AT_SYMLINK_NOFOLLOW) < 0 || fstat(made, &own) < 0)
		return -errno;
	if (geteuid() != 0 || (data.st_uid == own.st_uid && data.st_gid == own.st_gid))
		return 0;
	return fchown(made, data.st_uid, data.st_gid) < 0 ? -errno : 0;
}

void
directory_remove_copy(int directory)
{
	if (unlinkat(directory, DIRECTORY_COPY, 0) < 0)
		return; /* ENOENT mostly; else the next compaction cannot create the file and reports why */
}

static int
write_pid(int lock)
{
	char text[PID_TEXT_SIZE];
	int size = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(lock, 0) < 0)
		return -errno;
	if (pwrite(lock, text, (size_t)size, 0) != size)
		return errno ? -errno : -EIO;
	return 0;
}

static pid_t
read_pid(int lock)
{
	char text[PID_TEXT_SIZE], *end;
	ssize_t size = pread(lock, text, sizeof(text) - 1, 0);
	long pid;

	if (size < 0)
		return -errno;
	text[size] = '\0';
	errno = 0;
	pid = strtol(text, &end, 10);
	return errno || *end != '\n' || pid <= 0 || pid > INT32_MAX ? -EAGAIN : (pid_t)pid;
}

/*
 * A writer that was killed, or that executed itself anew, may have left a forked child that holds the lock until it
 * closes its descriptors. The recorded owner is gone then, is this process itself, or has unlocked and recorded none.
 */
static bool
is_left_over(pid_t owner)
{
	return owner == -EAGAIN || owner == getpid() || (owner > 0 && kill(owner, 0) < 0 && errno == ESRCH);
}

/*
 * Lock the whole file, by its open file description: closing another descriptor does not release the lock. A lock that
 * is left over is waited for, a second at most; then it is -DCPI_ERUNNING, too.
 */
static int
take_lock(int lock)
{
	const struct timespec moment = {.tv_nsec = 1000000000 / STALE_TRIES};
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	for (unsigned tries = 0; fcntl(lock, F_OFD_SETLK, &range) < 0; tries++) {
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		if (tries == STALE_TRIES || !is_left_over(read_pid(lock)))
			return -DCPI_ERUNNING;
		nanosleep(&moment, NULL);
	}
	return 0;
}

int
directory_lock(int directory)
{
	int lock = openat(directory, WRITER_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
	                  WRITER_LOCK_MODE);
	int err;

	if (lock < 0)
		return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	err = take_lock(lock);
	if (err)
		goto out;
	/* an older version let the group read it */
	if (fchmod(lock, WRITER_LOCK_MODE) < 0 && errno != EPERM) {
		err = -errno;
		goto out;
	}
	err = write_pid(lock);
	if (!err)
		return lock;
out:
	close(lock);
	return err;
}

void
directory_unlock(int lock)
{
	/* The file stays: another writer may wait with it open already. */
	if (ftruncate(lock, 0) < 0)
		(void)errno; /* without the lock nobody reads a stale process id */
	close(lock);
}

pid_t
directory_lock_owner(int directory)
{
	int lock = openat(directory, WRITER_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	pid_t owner;

	if (lock < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fcntl(lock, F_OFD_GETLK, &range) < 0)
		owner = -errno;
	else
		owner = range.l_type == F_UNLCK ? 0 : read_pid(lock);
	close(lock);
	return owner;
}

int
directory_files_note(struct directory_files *files, int directory)
{
	int fd = openat(directory, DIRECTORY_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat data, lock;
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &data) < 0 || fstatat(directory, DIRECTORY_LOCK, &lock, AT_SYMLINK_NOFOLLOW) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	directory_files_fini(files);
	*files = (struct directory_files){
		.data = fd,
		.device = data.st_dev,
		.data_number = data.st_ino,
		.lock_number = lock.st_ino,
	};
	return 0;
}

void
directory_files_fini(struct directory_files *files)
{
	if (files->data >= 0)
		close(files->data);
	files->data = -1;
}

static bool
has_inode(const struct directory_files *files, int directory, const char *name, ino_t number)
{
	struct stat stat;

	return files->data >= 0 && fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       stat.st_dev == files->device && stat.st_ino == number;
}

bool
directory_files_have_data(const struct directory_files *files, int directory)
{
	return has_inode(files, directory, DIRECTORY_DATA, files->data_number);
}

bool
directory_files_have_lock(const struct directory_files *files, int directory)
{
	return has_inode(files, directory, DIRECTORY_LOCK, files->lock_number);
}

bool
directory_has(int descriptor, int directory, const char *name)
{
	struct stat open, named;

	return descriptor >= 0 && fstat(descriptor, &open) == 0 &&
	       fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}
