/* The copy that a compaction makes, and how it is broken off. */
#include "profile/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/compact_copy.h"
#include "profile/directory.h"
#include "profile/handle.h"

#define SYNC_BYTES (UINT64_C(8) << 20) /* that a disk is waited for at once */

/* As the old file is, for whoever runs this; 0 or -errno. */
static int
give_owner_and_mode(int directory, int fd)
{
	struct stat old, new;

	if (fstatat(directory, DIRECTORY_DATA, &old, AT_SYMLINK_NOFOLLOW) < 0 || fstat(fd, &new) < 0)
		return -errno;
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) && fchown(fd, old.st_uid, old.st_gid) < 0)
		return -errno;
	return fchmod(fd, old.st_mode & 0777) < 0 ? -errno : 0;
}

static bool
is_broken_off(struct copying *copying)
{
	bool is_broken;

	pthread_mutex_lock(&copying->lock);
	is_broken = copying->is_broken;
	pthread_mutex_unlock(&copying->lock);
	return is_broken;
}

static void
note_file(struct copying *copying, int fd)
{
	pthread_mutex_lock(&copying->lock);
	copying->fd = fd;
	pthread_mutex_unlock(&copying->lock);
}

/*
 * fsync(2) of gigabytes may take half a minute, and nothing ends it. What a file system cannot do piece by piece, it
 * says, and does all at the end.
 */
static int
sync_file(struct copying *copying, int fd)
{
	const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	for (off64_t at = 0; at < stat.st_size && !is_broken_off(copying); at += SYNC_BYTES)
		if (sync_file_range(fd, at, SYNC_BYTES, wait) < 0 && (errno == EIO || errno == ENOSPC))
			return -errno;
	if (is_broken_off(copying))
		return -ECANCELED;
	return fsync(fd) < 0 ? -errno : 0;
}

int
compact_write_copy(struct profile *profile)
{
	struct copying *copying = &profile->copying;
	int fd = openat(profile->directory, DIRECTORY_COPY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = give_owner_and_mode(profile->directory, fd);
	note_file(copying, fd);
	if (!err && is_broken_off(copying))
		err = -ECANCELED;
	if (!err)
		err = store_error(mdb_env_copyfd2(profile->store.env, fd, MDB_CP_COMPACT));
	if (err && is_broken_off(copying))
		err = -ECANCELED;
	if (!err)
		err = sync_file(copying, fd);
	note_file(copying, -1);
	close(fd);
	return err;
}

/* LMDB asks nobody whether it is to go on; but into a directory it cannot write. */
void
profile_break_compaction(struct profile *profile)
{
	struct copying *copying = &profile->copying;

	pthread_mutex_lock(&copying->lock);
	copying->is_broken = true;
	if (copying->fd >= 0)
		(void)dup3(profile->directory, copying->fd, O_CLOEXEC); /* else it goes on to its end */
	pthread_mutex_unlock(&copying->lock);
}
