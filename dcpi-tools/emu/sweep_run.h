/*
 * sweep_run.h - all runs of a sweep, one after the other
 *
 * Thread rule: one thread; it prints what is wrong.
 */
#ifndef DCPI_TOOLS_EMU_SWEEP_RUN_H
#define DCPI_TOOLS_EMU_SWEEP_RUN_H

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/emu/model_options.h"
#include "dcpi-tools/emu/sweep.h"
#include "dcpi-tools/emu/thread_list.h"

/* What the user asked for. */
struct sweep_request {
	struct options options;
	struct model_options model;
	const char *machines[SWEEP_MACHINES_MAX];
	size_t machine_count;
	struct thread_list threads;
	bool has_threads, without_database, shows_output, is_quiet;
	unsigned runs;
	const char *plot, *label;
	char **command;
};

/*
 * Find the points of `sweep`, whose command and database are set. STATUS_OK, or an exit status after a message, with
 * the points that there are. sweep_run_fini() comes after it.
 */
int sweep_run(const struct sweep_request *request, struct sweep *sweep);
void sweep_run_fini(struct sweep *sweep);

#endif
