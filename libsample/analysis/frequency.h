/*
 * frequency.h - how often each block and each edge of a procedure ran
 *
 * The unit is F such that F x C = S, where S is the number of samples of an instruction, and C the mean cycles of one
 * execution of it. So F = executions / cycles per sample. A block that ran 8,000,000 times, while a sample was taken
 * every 4,000 cycles, has F = 2000; if its first instruction has 3000 samples, that took 1.5 cycles.
 *
 * The sources of frequencies, best first; the first one that is given and has information is used:
 *  - exact counts of another run;
 *  - edges that a branch recorder saw: only the conditional probabilities n(from->to) / n(from) are used, because they
 *    hardly depend on where a recording began; where few edges were seen, samples of time complete them;
 *  - samples of `instructions`, which are proportional to how often an instruction ran;
 *  - single-step bursts, like a branch recorder's edges;
 *  - samples of time, on an in-order pipeline by DCPI's method (section 6.1 of "Continuous Profiling: Where Have All
 *    the Cycles Gone?", ACM TOCS 15(4), 1997): an instruction that issues without a stall has S / M = F, where M is its
 *    least number of cycles; stalls only make the ratio larger. So F is the lowest ratios that agree with one another,
 *    in blocks that run equally often;
 *  - samples of time, on an out-of-order core: there, instructions that retire in the shadow of an older one have no
 *    samples at all, so ratios mean nothing. The frequencies are those of the likeliest flow, assuming that each block
 *    costs its retirement time times a random factor, and that branches are lopsided (frequency_out_of_order.c). If a
 *    graph is too entangled for that, they are those of the flow with the least sum of absolute deviations from the
 *    samples (frequency_complete.c, which also completes other sources). Both are needed: of 75,220 procedures of
 *    perl, SQLite, Python, git, libc, bash and cc1 one is too entangled, and that is Python's interpreter, of whose
 *    samples 59 % are within 15 %; the likeliest flow, with all the steps that it may take, has 12 %. Elsewhere the
 *    likeliest flow is better, and only it has a confidence (docs/accuracy.md).
 *
 * Frequencies of the last source, and out of order those of recordings and exact counts, are right only relative to one
 * another: `is_relative`. Then a number of executions, or of cycles, is within a factor of two at best.
 *
 * Results are finite and never negative, whatever the samples are. Blocks and edges of one equivalence class have one
 * frequency where the method works by class (in order). No state: any thread.
 */
#ifndef DCPI_ANALYSIS_FREQUENCY_H
#define DCPI_ANALYSIS_FREQUENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/flow_graph.h"
#include "code/pipeline.h"

#define FREQUENCY_NO_WAIT UINT32_MAX

enum frequency_confidence {
	CONFIDENCE_NONE,   /* nothing is known: the value is 0 without meaning */
	CONFIDENCE_LOW,    /* may be anything */
	CONFIDENCE_MEDIUM, /* within 15 % for at least 60 % of the samples with this confidence */
	CONFIDENCE_HIGH,   /* within 15 % for at least 80 % */
	CONFIDENCE_EXACT,
};

enum frequency_method {
	FREQUENCY_UNKNOWN,
	FREQUENCY_COUNTED,    /* exact counts */
	FREQUENCY_BRANCHES,   /* edges from a branch recorder */
	FREQUENCY_BURSTS,     /* single-step bursts */
	FREQUENCY_RETIRED,    /* samples of `instructions` */
	FREQUENCY_CLUSTER,    /* the lowest ratios of samples to least cycles that agree */
	FREQUENCY_SUM,        /* few samples: the sum of a class by the sum of its least cycles */
	FREQUENCY_PROPAGATED, /* from its neighbours, by conservation of flow */
	FREQUENCY_FIT,        /* fitted with the whole graph */
};

/* What is known. Arrays are of the graph's blocks, edges or instructions; those that may be NULL say so. */
struct frequency_input {
	const struct flow_graph *graph;
	enum pipeline_kind pipeline;

	/*
	 * Equivalence classes of code/cycle_equivalence.h: blocks and edges that run equally often. If both are NULL,
	 * or the graph is not complete, each block is a class of its own.
	 */
	const uint32_t *block_classes;
	const uint32_t *edge_classes;
	size_t class_count;

	const uint64_t *samples;      /* of time, per instruction */
	double cycles_per_sample;     /* its period; 0: not known */
	unsigned skid;                /* out of order: instructions that a sample is late, cut to FREQUENCY_SKID_MAX */
	const double *minimum_cycles; /* in order: M, 0 for one that issues with the one before it. NULL: 1 / width */
	double width;                 /* instructions that issue (in order) or retire in a cycle; 0: 4 */

	/*
	 * In order, for each instruction: the earlier instruction of its block whose latency varies (e.g. a load) and
	 * that makes an operand, or FREQUENCY_NO_WAIT. If M is above 1, it is because of that latency. NULL: none.
	 */
	const uint32_t *waits_for;
	double longest_stall; /* cycles: no stall takes longer. 0: 2000 */

	const uint64_t *block_counts; /* exact; NULL: none */
	const uint64_t *edge_counts;  /* exact; NULL: none, then edges follow from block_counts */
	double executions_per_unit;   /* executions in the exact counts for 1 of F; 0: by the samples, and relative */

	/* How often recorded pieces of paths have each edge; NULL: none. */
	const uint64_t *branches, *bursts;

	const uint64_t *retired;        /* samples of `instructions`, per instruction; NULL: none */
	double instructions_per_sample; /* their period; 0: not known, then the result is relative */
};

#define FREQUENCY_SKID_MAX 8

struct frequency {
	double value;       /* F */
	uint8_t confidence; /* enum frequency_confidence */
	uint8_t method;     /* enum frequency_method */
};

struct frequencies {
	struct frequency *blocks;
	struct frequency *edges;
	double *samples;  /* per instruction, moved back by the skid; their sum is that of the input's */
	bool is_relative; /* values are right relative to one another only; absolutely, within a factor of two at best
	                   */
	bool is_rough;    /* the search took too long: values are near the best ones */
};

/*
 * Estimate the frequencies. 0, and free `result` with frequencies_fini(); -EINVAL for a graph or a class with an index
 * out of range; -ENOMEM.
 */
int frequencies_estimate(const struct frequency_input *input, struct frequencies *result);
void frequencies_fini(struct frequencies *result);

/* For a listing: "cluster", "fit", ...; "low", "medium", ...; "?" for what is none. */
const char *frequency_method_name(unsigned method);
const char *frequency_confidence_name(unsigned confidence);

#endif
