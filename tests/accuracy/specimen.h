/*
 * specimen.h - one procedure with its samples and exact counts, as text that tests can keep
 *
 * tests/recorded/accuracy/ has some, taken out of recordings by `accuracy --specimens`: the code and the constants
 * that its flow graph is made from, samples by instruction, exact counts by block and edge, and what bursts saw.
 * Thread rule: one thread per file.
 */
#ifndef DCPI_ACCURACY_SPECIMEN_H
#define DCPI_ACCURACY_SPECIMEN_H

#include <stdio.h>

#include "analysis/frequency.h"
#include "code/cycle_equivalence.h"
#include "code/flow_graph.h"
#include "tests/accuracy/score.h"

struct specimen {
	char procedure[64], program[64];
	unsigned width, skid; /* of the pipeline: retires so many instructions in a cycle */
	struct flow_graph *graph;
	struct cycle_equivalence classes;
	uint64_t *samples;                    /* of each instruction, where they were taken */
	uint64_t *block_counts, *edge_counts; /* exact */
	uint64_t *burst_edges;                /* of each edge; NULL: no bursts were taken */
};

/* The next one of a file. 1; 0 at its end; -EINVAL for what is none; -ENOMEM. specimen_fini() it in any case. */
int specimen_read(FILE *file, struct specimen *specimen);
void specimen_fini(struct specimen *specimen); /* a zeroed one is allowed */

/* Where a specimen's code comes from. */
struct specimen_code {
	struct flow_source source;
	struct decoder *decoder;
	const struct flow_graph *graph; /* that it makes */
};

/* -EINVAL when the graph cannot be made again from what can be written down. */
int specimen_write(FILE *file, const struct specimen *specimen, const struct specimen_code *code);

/* The input of an estimate from samples. */
struct frequency_input specimen_input(const struct specimen *specimen);

#endif
