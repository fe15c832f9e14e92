/*
 * proc_maps.h - the processes that exist already and the executable mappings that they have now
 *
 * Mappings are reported as records, so that those made before us and those made later are handled alike: a file is its
 * device, inode and generation. The kernel answers questions about single mappings (PROCMAP_QUERY, 6.11); before that
 * the text of /proc/PID/maps is read. Neither has the generation: each file is opened once for it (mapped_file.h).
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_PROC_MAPS_H
#define DCPI_PROCESS_PROC_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "process/mapped_file.h"
#include "process/proc_text.h"
#include "stream/record.h"

/* The record is valid during the call. Returns 0 to go on; anything else becomes the result. */
typedef int proc_maps_visit(void *context, const struct record_mmap *mmap);

/* False: the file of this mapping must not be opened, and stays without generation. */
typedef bool proc_maps_may_open(void *context, const struct record_mmap *mmap);

struct proc_maps {
	int procfs; /* directory, borrowed */
	struct file_generations *files;
	struct line_reader *lines;    /* scratch memory */
	proc_maps_may_open *may_open; /* asked before a file is opened; NULL: always */
	void *may_open_context;
	bool no_query;       /* never ask with PROCMAP_QUERY; set when this kernel does not have it */
	char root[PATH_MAX]; /* root directory of the process that is read, as we see it; "" when it is ours */
};

/*
 * Paths are as the process sees them, like those of the kernel's records: /proc shows the paths of a process that has
 * changed its root as we see them. 0, what `visit` returned, or -errno (-ENOENT, -ESRCH: the process is gone; -EACCES:
 * not allowed to read).
 */
int proc_maps_read(struct proc_maps *maps, uint32_t pid, proc_maps_visit *visit, void *context);

/*
 * Read one line of /proc/PID/maps, e.g. "7f00-7f10 r-xp 00026000 fe:00 332835    /usr/lib/libc.so.6", which is
 * changed. False for another form; mmap->path points into the line.
 */
bool proc_maps_parse(char *line, struct record_mmap *mmap);

/* A process, which is reported before its mappings. */
struct proc_scan_process {
	uint32_t pid;
	const char *comm;       /* "": it is gone */
	struct proc_stat birth; /* zeros: not known */
};

/* Each of the first three returns 0, PROC_SCAN_PASS, or -ENOMEM, which ends the scan. */
#define PROC_SCAN_PASS 1 /* skip the rest of this process */
struct proc_scan_visitor {
	int (*begin)(void *context, uint32_t pid); /* before anything of it is read */
	int (*process)(void *context, const struct proc_scan_process *process);
	int (*mapping)(void *context, uint32_t pid, const struct record_mmap *mmap);
	int (*end)(void *context, uint32_t pid, int error); /* error: why its mappings could not be read; 0 */
	proc_maps_may_open *may_open;                       /* NULL: files are opened */
	void *context;
};

/*
 * Visit every process below `procfs`, by pid, and its executable mappings (those of another thread where the main one
 * has ended). 0, -ENOMEM, or the errno of `procfs` itself; a process that ends meanwhile, or may not be read, is no
 * error.
 */
int proc_scan(const char *procfs, const struct proc_scan_visitor *visitor);

/* Visit one process. */
int proc_scan_one(const char *procfs, uint32_t pid, const struct proc_scan_visitor *visitor);

#endif
