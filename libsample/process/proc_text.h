/*
 * proc_text.h - bounded readers of the text files of /proc
 *
 * Files with one entry per line are read line by line: a line longer than LINE_READER_SIZE is left out whole; the last
 * one need not end in a newline. /proc/PID/stat says when a process began, which together with its pid identifies it,
 * and who its parent is.
 * Thread rule: one thread per line_reader; the rest is stateless.
 */
#ifndef DCPI_PROCESS_PROC_TEXT_H
#define DCPI_PROCESS_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
