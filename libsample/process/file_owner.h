/*
 * file_owner.h - files that nobody but root could have put where they are
 *
 * Whoever makes a file with the build-id of another is believed to have the other's. What tells them apart is who could
 * have made them: a file is root's when it lies at its path below our own root, root owns it and each directory on the
 * way, and nobody else may write to any of them. A file system that a user brings (FUSE) says of owners what that user
 * likes. What containers have is root's only where we see it under the same path.
 * Thread rule: stateless. It may wait for a file system, as file_identity.h.
 */
#ifndef DCPI_PROCESS_FILE_OWNER_H
#define DCPI_PROCESS_FILE_OWNER_H

#include <stdbool.h>

/*
 * Root's file at `path`, without symbolic links; `procfs` is an open directory. An O_PATH descriptor; -EPERM when it
 * may be somebody else's; -errno.
 */
int file_owner_open_roots(int procfs, const char *path);

/* Is the file `fd` that one? */
bool file_owner_is_root(int procfs, const char *path, int fd);

#endif
