/*
 * thread_report.h - what dcpimem prints of threads: the nodes and the objects that they access
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_THREAD_REPORT_H
#define DCPI_TOOLS_MEM_THREAD_REPORT_H

#include "dcpi-tools/mem/report.h"

/* Accesses of a thread, each sample as often as it stands for. */
struct mem_thread_row {
	uint64_t accesses, stores, memory, remote, transfers, cycles;
	uint64_t from_node[MEMORY_NODES_MAX], to_node[MEMORY_NODES_MAX];
};

/*
 * A row for each thread of the profile: of the accesses to `member`; NULL: to all of `group`; NULL, too: to everything.
 * Free it. NULL: no memory.
 */
struct mem_thread_row *mem_thread_rows(const struct memory_report *report, const struct memory_group *group,
                                       const struct memory_member *member);

/* Threads without accesses are left out. 0, -ENOMEM, or the stream's error. */
int mem_print_threads(const struct memory_report *report, const struct mem_thread_row *rows, bool header,
                      const struct output *output);
json_t *mem_thread_rows_json(const struct memory_report *report,
                             const struct mem_thread_row *rows); /* NULL: no memory */

/* 0, -ENOMEM, or the stream's error. */
int mem_threads_text(const struct memory_report *report, bool header, const struct output *output);
int mem_threads_json(const struct memory_report *report, FILE *stream);

#endif
