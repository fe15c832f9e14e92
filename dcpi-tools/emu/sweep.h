/*
 * sweep.h - one program on several machines with several numbers of threads: the results, and their output
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_SWEEP_H
#define DCPI_TOOLS_EMU_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dcpi-tools/common/output.h"
#include "machine/machine.h"

#define SWEEP_MACHINES_MAX 16
#define SWEEP_RUNS_MAX     64
#define SWEEP_LABEL_SIZE   64 /* as an epoch's */

/* A machine with so many threads. */
struct sweep_point {
	const struct machine *machine;
	unsigned threads, runs;
	double seconds[SWEEP_RUNS_MAX]; /* there; ascending once sweep_summarize() was called */
	double host_seconds;            /* here, of all runs */
	double cores_busy;              /* of the last run */
	double bandwidth, limit;        /* GB/s, of all nodes together */
	uint32_t epoch;                 /* the last one; 0: none */
	char label[SWEEP_LABEL_SIZE];

	/* sweep_summarize()'s */
	double median;
	double throughput; /* how many times as fast as the first point of the machine */
	unsigned first;    /* threads of that one */
};

struct sweep {
	struct setup *setups;       /* by machine; points refer to their machines */
	struct sweep_point *points; /* by machine, then by threads */
	size_t count;
	char *const *command;
	const char *plot;
	const char *database; /* NULL: none */
	int asked;            /* the signal that ended it early; 0: none */
};

/* Sort the seconds of each point, and find its median and throughput. */
void sweep_summarize(struct sweep *sweep);

int sweep_print_text(const struct sweep *sweep, const struct output *output, bool header);
int sweep_print_json(const struct sweep *sweep, FILE *stream);
int sweep_print_csv(const struct sweep *sweep, FILE *stream, bool header);

/* Draw the curves into the file. STATUS_OK, or an exit status after a message. */
int sweep_plot(const struct sweep *sweep);

#endif
