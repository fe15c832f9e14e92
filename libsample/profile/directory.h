/*
 * directory.h - the directory that a database lives in (for profile/ and salvage/)
 *
 * Everything below works on a descriptor of the directory, so that nobody can replace the directory in between.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_DIRECTORY_H
#define DCPI_PROFILE_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DIRECTORY_DATA "data.mdb"         /* LMDB's names */
#define DIRECTORY_LOCK "lock.mdb"         /* of its readers and transactions */
#define DIRECTORY_COPY "data.mdb.compact" /* of a compaction under way, or one that was killed */
#define WRITER_LOCK    "dcpid.lock"       /* ours: one writer, its process id inside */
#define READERS_LOCK   "readers.lock"     /* ours: readers.h */
#define IMPORTS_LOCK   "imports.lock"     /* ours: merge_database.h */

/*
 * Open the directory at `path`; `write` makes a missing one with mode 0750 and refuses network file systems
 * (-DCPI_ENETWORKFS), and what somebody else could put files into (-DCPI_EOWNER): the directory and the database's
 * files must be of somebody whom directory_trusts(), and neither all nor a group may write the directory or the data,
 * unless it is the owner's private group. A descriptor, or -DCPI_ESYMLINK, -ENOTDIR, -ENOENT, -EACCES, ...
 */
int directory_open(const char *path, bool write);

/* May we write files that `owner` can change? True for ourselves and root; for root also user dcpi and sudo's caller.
 */
bool directory_trusts(uid_t owner);

/* Is a file system of this statfs(2) type shared with other machines? */
bool directory_is_network(uint32_t magic);

/* The size of regular file `name`; -ENOENT; -DCPI_ESYMLINK; -DCPI_EFOREIGN for what is no file. */
off_t directory_file_size(int directory, const char *name);

/*
 * When root makes a file (`made`) in another user's database, it gets the owner of the data. 0; -ENOENT when there is
 * no data; or another errno.
 */
int directory_give_to_owner(int directory, int made);

/* Remove the file that a killed compaction left. For the writer only. */
void directory_remove_copy(int directory);

/*
 * Take the writer's lock and write this process' id into it. A descriptor that holds the lock until it is closed, or
 * -DCPI_ERUNNING: after waiting a second for a child that a writer left, when the process that is recorded as the owner
 * is gone, is this one, which may have executed itself anew, or when none is recorded.
 */
int directory_lock(int directory);
void directory_unlock(int lock);

/* The process that holds the writer's lock, 0 when none does, or -errno; -EAGAIN while it has not written its id yet.
 */
pid_t directory_lock_owner(int directory);

/* ---- are the files that a writer has open still those at its path? ---- */

/* The files as they were opened. The descriptor keeps the inode number of a deleted data.mdb from being reused. */
struct directory_files {
	int data; /* -1: nothing was opened yet */
	dev_t device;
	ino_t data_number;
	ino_t lock_number; /* of LMDB's lock file */
};

#define DIRECTORY_FILES_INIT                                                                                           \
	{                                                                                                              \
		.data = -1                                                                                             \
	}

/* Note the files in `directory`, which has just been opened. 0; or -errno, and the old note is kept. */
int directory_files_note(struct directory_files *files, int directory);
void directory_files_fini(struct directory_files *files);

bool directory_files_have_data(const struct directory_files *files, int directory); /* is its data.mdb the noted one? */
bool directory_files_have_lock(const struct directory_files *files, int directory); /* is its lock.mdb the noted one? */

/* Is `descriptor` open on the file that `directory` (or AT_FDCWD) has as `name`? Symbolic links are not followed. */
bool directory_has(int descriptor, int directory, const char *name);

#endif
