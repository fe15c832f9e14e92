/*
 * tracked.h - how a program gets the tracker (tracker/), and which one has it
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_MEM_TRACKED_H
#define DCPI_TOOLS_MEM_TRACKED_H

#include <stddef.h>
#include <sys/types.h>

#define TRACKER_NAME "libdcpi-objects.so" /* in lib/dcpi */

/*
 * In our environment: preload `library`, whose logs are in `directory`; libraries that the user preloads stay. 0 or
 * -errno.
 */
int tracked_set_environment(const char *library, const char *directory);

/* Where a process has its log. 0; -ENOENT: it has none; -ESRCH: there is no such process; -errno. */
int tracked_find_directory(pid_t pid, char *directory, size_t size);

#endif
