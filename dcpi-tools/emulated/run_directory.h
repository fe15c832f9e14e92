/*
 * run_directory.h - where the plugin keeps its files while a program runs
 *
 * It has a file that is locked for as long as there is somebody who will read the others. One whose lock nobody holds
 * is of a tool that was killed. Thread rule: any thread.
 */
#ifndef DCPI_TOOLS_RUN_DIRECTORY_H
#define DCPI_TOOLS_RUN_DIRECTORY_H

#include <stddef.h>

/*
 * Make PARENT/NAME.XXXXXX, which only we read. 0 with a descriptor, closed on exec, that holds the lock until all
 * copies of it are closed; -errno.
 */
int run_directory_make(const char *parent, const char *name, char *path, size_t size, int *lock);

/* End and remove (abandoned.h) those of ours in `parent`, called so, that nobody holds any more. */
void run_directory_clean(const char *parent, const char *name);

#endif
