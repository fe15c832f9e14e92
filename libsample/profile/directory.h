/*
 * directory.h - the directory that a database lives in (private to profile/)
 *
 * Everything below works on a descriptor, so that nobody can put another directory in its place half-way.
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
#define IMPORTS_LOCK   "imports.lock"     /* ours: incoming.h */

/*
 * Open the directory at `path`; `write` makes a missing one with mode 0750 and refuses network file systems
 * (-DCPI_ENETWORKFS), and what somebody else could put files into (-DCPI_EOWNER): the directory and the database's
 * files must be of somebody whom directory_trusts(), and neither all nor a group may write the directory or the data,
 * unless it is the owner's private group. A descriptor, or -DCPI_ESYMLINK, -ENOTDIR, -ENOENT, -EACCES, ...
 */
int directory_open(const char *path, bool write);

/* May we write what `owner` can change? Who owns it is us or root; for root also user dcpi and the caller of sudo. */
bool directory_trusts(uid_t owner);

/* Is a file system of this statfs(2) type shared with other machines? */
bool directory_is_network(uint32_t magic);

/* The size of regular file `name`; -ENOENT; -DCPI_ESYMLINK; -DCPI_EFOREIGN for what is no file. */
off_t directory_file_size(int directory, const char *name);

/* Remove what a compaction that was killed left. The writer's. */
void directory_remove_copy(int directory);

/*
 * Take the writer's lock and put this process' id in. A descriptor that holds it until closed, or -DCPI_ERUNNING; that
 * after a second when the process that is said to hold it is gone.
 */
int writer_lock(int directory);
void writer_unlock(int lock);

/* The process that holds the writer's lock, 0 when none does, or -errno; -EAGAIN when it is about to say who it is. */
pid_t writer_lock_owner(int directory);

#endif
