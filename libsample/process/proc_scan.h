/*
 * proc_scan.h - the processes that are there already
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_PROC_SCAN_H
#define DCPI_PROCESS_PROC_SCAN_H

#include <stdint.h>

#include <stdbool.h>

#include "process/proc_maps.h"
#include "process/process_birth.h"
#include "stream/record.h"

/* A process, as it was told before its mappings. */
struct proc_scan_process {
	uint32_t pid;
	const char *comm;           /* "": it is gone */
	struct process_birth birth; /* zeros: not known */
};

/* Each of the first three returns 0, PROC_SCAN_PASS, or -ENOMEM, which ends the scan. */
#define PROC_SCAN_PASS 1 /* nothing more of this process */
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
 * has ended). 0, -ENOMEM, or the errno of `procfs` itself; a process that ends meanwhile, or may not be looked at, is
 * no error.
 */
int proc_scan(const char *procfs, const struct proc_scan_visitor *visitor);

/* Visit one process. */
int proc_scan_one(const char *procfs, uint32_t pid, const struct proc_scan_visitor *visitor);

#endif
