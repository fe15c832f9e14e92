/*
 * temporary_directory.h - a working directory that is removed at the end
 *
 * Its mode is 0700. Files in it, and in directories in it, are removed with it; if there is anything deeper, that and
 * the directory stay.
 * Thread rule: any thread; temporary_directory_run(): a process with one.
 */
#ifndef DCPI_TOOLS_TEMPORARY_DIRECTORY_H
#define DCPI_TOOLS_TEMPORARY_DIRECTORY_H

#include <stddef.h>

#define TEMPORARY_DIRECTORY_SUFFIX ".XXXXXX" /* mkdtemp(3) replaces each X */

/* $TMPDIR when that is an absolute path, else `otherwise`. */
const char *temporary_directory_parent(const char *otherwise);

/* Make PARENT/NAME.XXXXXX. 0 with its `path`; -ENAMETOOLONG or -errno with an empty one. */
int temporary_directory_make(const char *parent, const char *name, char *path, size_t size);

/* Remove the directory; one that does not exist is allowed. Symbolic links in it are removed, not followed. */
void temporary_directory_remove(const char *path);

/*
 * Do `work` in a child process and remove the directory. The status that `work` returned; STATUS_FAILURE after a
 * message when its process died. A signal that ends this process ends `work` first, and does not return.
 */
int temporary_directory_run(const char *path, int (*work)(void *context), void *context);

#endif
