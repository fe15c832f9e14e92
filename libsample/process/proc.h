/*
 * proc.h - bounded readers of /proc: its lines, when processes began, and what they have mapped executable
 *
 * Files with one entry per line are read line by line. A line longer than LINE_READER_SIZE is skipped whole; the last
 * line need not end in a newline. /proc/PID/stat has the parent of a process and the time when the process began; this
 * time and the pid identify it. Mappings are reported as records, so that those made before us and those made later are
 * handled alike: a file is its device, inode and generation. The kernel answers questions about single mappings
 * (PROCMAP_QUERY, 6.11); before that the text of /proc/PID/maps is read. Neither has the generation: each file is
 * opened once for it (mapped_file.h). Thread rule: one thread per line_reader, proc_maps or scan; the rest is
 * stateless.
 */
#ifndef DCPI_PROCESS_PROC_H
#define DCPI_PROCESS_PROC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/mapped_file.h"
#include "stream/record.h"

#define LINE_READER_SIZE 65536

/* Large: keep it on the heap. */
struct line_reader {
	int fd; /* borrowed */
	size_t start, end;
	bool ended, skipping;
	char buffer[LINE_READER_SIZE];
};

void line_reader_init(struct line_reader *reader, int fd);

/* 1 with *line set, NUL-terminated without its newline, valid until the next call; 0 at the end; -errno. */
int line_reader_next(struct line_reader *reader, char **line);

/* May write into `line`. 0 to go on; anything else ends the pass and becomes its result. */
typedef int proc_text_visit(void *context, char *line);

/* Visit every line of the file `name` in `directory`. 0, -errno, -ENAMETOOLONG, or what `visit` ended it with. */
int proc_text_read(const char *directory, const char *name, proc_text_visit *visit, void *context);

/*
 * Read a number in lower-case or upper-case hexadecimal at **at (without "0x") and move *at behind it. False when there
 * is none, or it does not fit.
 */
bool proc_text_hex(const char **at, uint64_t *value);
bool proc_text_decimal(const char **at, uint64_t *value); /* a decimal number, with the rules of proc_text_hex() */

/* What is needed of /proc/PID/stat. */
struct proc_stat {
	uint64_t start_ticks; /* since the machine was booted, sleep included: USER_HZ, 100 a second */
	uint32_t parent;      /* at the time of reading: a process that outlives its parent gets another */
};

/* Parse the text of /proc/PID/stat, `length` bytes. 0, or -EINVAL. */
int proc_stat_parse(const char *text, size_t length, struct proc_stat *stat);

/* Read it below `procfs` ("/proc"). 0; -ENOENT or -ESRCH when there is no such process; another errno. */
int proc_stat_read(const char *procfs, uint32_t pid, struct proc_stat *stat);

/* `ticks` as nanoseconds of CLOCK_MONOTONIC, rounded down, if the machine has not slept since then; else earlier. */
int64_t proc_stat_monotonic_ns(uint64_t ticks);
uint64_t proc_stat_ticks(uint64_t monotonic_ns); /* the inverse of proc_stat_monotonic_ns() */

/*
 * Does this process see only the processes of a pid namespace below the machine's own, as in a container? False when
 * `procfs` does not say.
 */
bool proc_text_is_nested(const char *procfs);

/*
 * The threads of process `pid`, in an array of *room elements that is the caller's and grows. Their number; -ESRCH: it
 * is gone; -ENOMEM, -errno.
 */
ssize_t proc_list_threads(pid_t pid, pid_t **threads, size_t *room);

/* ---- what processes have mapped ---- */

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
 * Visit process `pid` below `procfs`, or with 0 every one, by pid, and its executable mappings (those of another thread
 * where the main one has ended). 0, -ENOMEM, or the errno of `procfs` itself; a process that ends meanwhile, or may not
 * be read, is no error.
 */
int proc_scan(const char *procfs, uint32_t pid, const struct proc_scan_visitor *visitor);

#endif
