/*
 * proc_reader.h - processes and their mappings, read from /proc by a child of dcpid
 *
 * Reading what a process maps may take as long as that process waits for its disk; reading the generation of a mapped
 * file (mapped_file.h) may take as long as its file system does not answer. So a child reads (helper.h), and at each
 * drain the event loop takes a part of what the child has found; if the child is faster, it waits. The child is started
 * when there is something to read, and ended afterwards.
 * The child notes in shared memory what it is reading. When nothing has come for PROC_READER_PATIENCE_NS, it is left
 * behind, and another child continues after the last process that was sent whole. A file system that did not answer is
 * not read again for a minute, and its files have no generation. Of a process that did not answer, only the name is
 * sent, and the process is read again after that minute. Thread rule: one thread, but for proc_reader_cpu_ns(), which
 * any may call.
 */
#ifndef DCPI_COLLECTORD_PROC_READER_H
#define DCPI_COLLECTORD_PROC_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "process/attribution.h"

#define PROC_READER_PATIENCE_NS UINT64_C(2000000000)
#define PROC_READER_WAITING_MAX 64 /* single processes */

struct proc_reader;

/* Strings are copied, `attribution` and `log` (NULL allowed) borrowed. Starts nothing yet. NULL and errno. */
struct proc_reader *proc_reader_new(const char *procfs, const char *cgroupfs, struct attribution *attribution,
                                    const struct log *log);
void proc_reader_free(struct proc_reader *reader); /* NULL is allowed */

/* Read all processes, cgroups before if they are wanted. 0; -EBUSY: that is under way already; -errno. */
int proc_reader_ask_all(struct proc_reader *reader, bool cgroups);

/* Read one process soon. False: it is not, for too many wait or were asked for in this second. */
bool proc_reader_ask(struct proc_reader *reader, uint32_t pid);

/* Give the attribution what was found, for about `budget_ns` at most. */
void proc_reader_take(struct proc_reader *reader, uint64_t budget_ns);

/* Wait until nothing is being read any more, or until `until_ns` (CLOCK_MONOTONIC), and take what comes. */
void proc_reader_wait(struct proc_reader *reader, uint64_t until_ns);

bool proc_reader_is_busy(const struct proc_reader *reader);
bool proc_reader_is_scanning(const struct proc_reader *reader); /* processes */

struct proc_reader_stats {
	uint64_t scans;     /* of all processes */
	uint64_t processes; /* that were read */
	uint64_t unread;    /* that did not answer in time: their names are known, and not their mappings */
	uint64_t hung;      /* times that a file system or a process did not answer */
	unsigned refused;   /* of the last scan: processes that may not be looked at */
	int error;          /* of the last scan */
};
void proc_reader_stats(const struct proc_reader *reader, struct proc_reader_stats *stats);

/* Processor time of the child, which dcpid's own does not contain while that lives. */
uint64_t proc_reader_cpu_ns(const struct proc_reader *reader);

#endif
