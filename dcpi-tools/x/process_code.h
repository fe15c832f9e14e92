/*
 * process_code.h - the files of a process's code, to count the instructions that it executes
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_X_PROCESS_CODE_H
#define DCPI_TOOLS_X_PROCESS_CODE_H

#include <sys/types.h>

#include "dcpi-tools/emulated/counted.h"
#include "process/image_table.h"
#include "process/proc.h"

struct process_code {
	pid_t pid;
	uint32_t context;
	struct counted *counted; /* borrowed */
	struct proc_maps maps;
	struct vdso_identity vdso;
	struct code_mapping *mappings;
	size_t count, capacity;
	uint64_t read_ns; /* CLOCK_MONOTONIC: when they were read */
};

/* Read it. 0; -EPERM when there is no code, as in the kernel's own threads; -ESRCH, -EACCES, -ENOMEM. Then fini. */
int process_code_init(struct process_code *map, pid_t pid, uint32_t context, struct counted *counted);
void process_code_fini(struct process_code *map); /* a zeroed one with maps.procfs -1 is allowed */

/* Whether the process's memory between these addresses is code, as far as is known. */
bool process_code_has(const struct process_code *map, uint64_t start, uint64_t end);

/*
 * Count `count` instructions, and how control went from each to the next; places[count] is the one that was not
 * executed. 0, -ENOMEM, -ENOSPC.
 */
int process_code_count(struct process_code *map, const uint64_t *places, size_t count);

#endif
