/*
 * proc_scan.h - the processes that are there already
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_PROC_SCAN_H
#define DCPI_PROCESS_PROC_SCAN_H

#include <stdint.h>

#include "base/log.h"
#include "stream/record.h"

/* Each returns 0, or -ENOMEM, which ends the scan. */
struct proc_scan_visitor {
	int (*process)(void *context, uint32_t pid); /* before anything of it is read */
	int (*name)(void *context, uint32_t pid, const char *comm);
	int (*mapping)(void *context, uint32_t pid, const struct record_mmap *mmap); /* of the process before */
	void *context;
};

/*
 * Visit every process below `procfs` and its executable mappings (those of another thread where the main one has
 * ended). 0, -ENOMEM, or the errno of `procfs` itself; a process that ends meanwhile, or may not be looked at, is no
 * error.
 */
int proc_scan(const char *procfs, const struct log *log, const struct proc_scan_visitor *visitor);

#endif
