/*
 * file_user.h - the user of a process, and what that user could read by path
 *
 * dcpid may open files that a process has mapped wherever they lie; what it takes of them it shows to others. So it
 * takes what the user of that process could have read by path: each directory from the root of the process to the file
 * lets that user pass, and the file may be read. Owner, group and mode decide, access control lists do not; root, who
 * needs none of it, may read all.
 * Where the path ends before the file (it was deleted, or moved), what is there of it decides, with the file itself; so
 * it does where a directory lets that user pass and dcpid not, for nobody but the user can look behind it.
 * Thread rule: plain data.
 */
#ifndef DCPI_CAPTURE_FILE_USER_H
#define DCPI_CAPTURE_FILE_USER_H

#include <stdint.h>

struct file_user;

/*
 * As which user the process opens files, by its `status`. `procfs` is an open directory. 0 with *user, which
 * file_user_free() frees; -ENOENT when the process has ended; -EBADMSG, -ENOMEM, -errno.
 */
int file_user_of_process(int procfs, uint32_t pid, struct file_user **user);
void file_user_free(struct file_user *user); /* NULL is allowed */

/* The file `fd` that was found as `path`, absolute or empty, below the root of process `root`. 0, -EACCES, or -errno.
 */
int file_user_may_read(const struct file_user *user, int fd, int procfs, uint32_t root, const char *path);

#endif
