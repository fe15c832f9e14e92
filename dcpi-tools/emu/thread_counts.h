/*
 * thread_counts.h - how many threads a program uses: as a user writes it, and how the program is informed of it
 *
 * Thread rule: thread_count_announce() changes the environment; the rest is stateless.
 */
#ifndef DCPI_TOOLS_EMU_THREAD_COUNTS_H
#define DCPI_TOOLS_EMU_THREAD_COUNTS_H

#include <stdbool.h>

#include "machine/machine.h"

/* The numbers of threads in a list such as "1,2,4..8"; "1.." ends at the number of cores. */
struct thread_list {
	bool wanted[MACHINE_CORES_MAX + 1]; /* by number; 0 is none */
	unsigned most;                      /* that was named; the end of an open range is not */
};

/* 0, or -EINVAL: no such list, or a number that is 0 or larger than MACHINE_CORES_MAX. */
int thread_list_parse(const char *text, struct thread_list *list);

/* Set the variables that OpenMP and others read. 0 or -errno. */
int thread_count_announce(unsigned threads);

/*
 * A copy of the arguments in which %t is the number, and %% a percent sign. NULL when memory ends; free it with
 * thread_count_free().
 */
char **thread_count_insert(char *const *arguments, unsigned threads);
void thread_count_free(char **arguments);

#endif
