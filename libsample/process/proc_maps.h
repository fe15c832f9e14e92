/*
 * proc_maps.h - the executable mappings that a process has now
 *
 * They are told as records, so that what was mapped before us and what is mapped later go the same way: a file is its
 * device, inode and generation. The kernel answers questions about single mappings (PROCMAP_QUERY, 6.11); before that
 * the text of /proc/PID/maps is read. Neither tells the generation: each file is opened once for it (file_identity.h).
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_PROC_MAPS_H
#define DCPI_PROCESS_PROC_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "process/file_identity.h"
#include "process/lines.h"
#include "stream/record.h"

/* The record is valid during the call. Returns 0 to go on; anything else becomes the result. */
typedef int proc_maps_visit(void *context, const struct record_mmap *mmap);

/* False: the file of this mapping is not to be opened, and stays without generation. */
typedef bool proc_maps_may_open(void *context, const struct record_mmap *mmap);

struct proc_maps {
	int procfs; /* directory, borrowed */
	struct file_generations *files;
	struct line_reader *lines;    /* scratch memory */
	proc_maps_may_open *may_open; /* asked before a file is opened; NULL: always */
	void *may_open_context;
	bool no_query;       /* never ask with PROCMAP_QUERY; set when this kernel does not know it */
	char root[PATH_MAX]; /* of the process that is read, as we see it; "" when it is ours */
};

/*
 * Paths are as the process sees them, like those of the kernel's records: /proc shows those of one that has changed its
 * root as we see them. 0, what `visit` said, or -errno (-ENOENT, -ESRCH: the process is gone; -EACCES: not allowed to
 * look).
 */
int proc_maps_read(struct proc_maps *maps, uint32_t pid, proc_maps_visit *visit, void *context);

/*
 * Read one line of /proc/PID/maps, e.g. "7f00-7f10 r-xp 00026000 fe:00 332835    /usr/lib/libc.so.6", which is
 * changed. False for another form; mmap->path points into the line.
 */
bool proc_maps_parse(char *line, struct record_mmap *mmap);

#endif
