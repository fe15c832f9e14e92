/*
 * thread_list.h - numbers of threads as a user writes them: "1,2,4..8", "1.." for as many as there are cores
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_EMU_THREAD_LIST_H
#define DCPI_TOOLS_EMU_THREAD_LIST_H

#include <stdbool.h>

#include "machine/machine.h"

struct thread_list {
	bool wanted[MACHINE_CORES_MAX + 1]; /* by number; 0 is none */
	unsigned most;                      /* that was named; the end of an open range is not */
};

/* 0, or -EINVAL: no such list, or a number that is 0 or larger than MACHINE_CORES_MAX. */
int thread_list_parse(const char *text, struct thread_list *list);

#endif
