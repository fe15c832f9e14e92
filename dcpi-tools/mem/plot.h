/*
 * plot.h - pictures of a memory profile: who uses an object over time, and which threads use which nodes
 *
 * gnuplot draws them (dcpi-tools/common/picture.h). Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_PLOT_H
#define DCPI_TOOLS_MEM_PLOT_H

#include "memory/verdict.h"

/*
 * Draw accesses to an object: when, to which byte, by threads of which node. Stores are filled, loads are not.
 * STATUS_OK, or an exit status after a message.
 */
int mem_plot_object(const struct memory_report *report, const struct memory_member *member, const char *title,
                    const char *path);

/* Draw how many of each thread's accesses to memory went to which node. Results as mem_plot_object(). */
int mem_plot_threads(const struct memory_report *report, const char *path);

#endif
