/*
 * frequency.h - how often each block and each edge of a procedure ran
 *
 * The unit: F such that F x C = S, where S are the samples of an instruction and C the cycles that one execution of it
 * took, on average. So F is executions divided by cycles per sample: a block that ran 8,000,000 times while a sample
 * was taken each 4,000 cycles has F = 2000, and if its first instruction has 3000 samples, that took 1.5 cycles.
 *
 * Where it comes from, best first; the first that is given, and says anything, is used:
 *  - exact counts of another run;
 *  - edges that a branch recorder saw: only the conditional probabilities n(from->to) / n(from) are used, for those
 *    hardly depend on where a recording began; where little was seen, samples of time complete them;
 *  - samples of `instructions`, which are proportional to how often an instruction ran;
 *  - single-step bursts, like a branch recorder's edges;
 *  - samples of time, on an in-order pipeline by DCPI's method (section 6.1 of "Continuous Profiling: Where Have All
 *    the Cycles Gone?", ACM TOCS 15(4), 1997): an instruction that issues without a stall has S / M = F, where M are
 *    the cycles it must take at least; stalls only make the ratio larger. So the lowest ratios that agree with one
 *    another, in blocks that run equally often, are F;
 *  - samples of time, on an out-of-order core: there instructions that retire in the shadow of an older one have no
 *    samples at all, and no ratio means anything. The frequencies are those of the likeliest flow, if each block costs
 *    what its retirement takes but for a factor, and branches are lopsided (frequency_out_of_order.c); where a graph is
 *    too entangled for that, those of the flow with the least sum of absolute deviations from the samples
 *    (frequency_complete.c, which completes other sources, too). Both are needed: of 75,220 procedures of
 *    perl, SQLite, Python, git, libc, bash and cc1 one is too entangled, and that is Python's interpreter, of whose
 *    samples 59 % are within 15 %; the likeliest flow, with as many steps as it may take, has 12 %. Elsewhere the
 *    likeliest flow is better, and alone has a confidence (docs/accuracy.md).
 *
 * What the last gives, and out of order the recordings and exact counts, is right only relative to one another:
 * `is_relative`. Then a number of executions, or of cycles, is within a factor of two at best.
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
	CONFIDENCE_NONE,   /* nothing is known: the value is 0, and means nothing */
	CONFIDENCE_LOW,    /* may be anything */
	CONFIDENCE_MEDIUM, /* within 15 % for at least 60 % of the samples that are called so */
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
	FREQUENCY_SUM,        /* few samples: all of the class by all of its least cycles */
	FREQUENCY_PROPAGATED, /* what its neighbours leave */
	FREQUENCY_FIT,        /* fitted with the whole graph */
};

/* What is known. Arrays are of the graph's blocks, edges or instructions; those that may be NULL say so. */
struct frequency_input {
	const struct flow_graph *graph;
	enum pipeline_kind pipeline;

	/*
	 * Equivalence classes, by code/cycle_equivalence.h: what runs equally often, blocks and edges together. NULL,
	 * both, or a graph that is not complete: each block is its own class.
	 */
	const uint32_t *block_classes;
	const uint32_t *edge_classes;
	size_t class_count;

	const uint64_t *samples;  /* of time, per instruction */
	double cycles_per_sample; /* its period; 0: not known */
	unsigned skid; /* out of order: a sample lies so many instructions late; at most FREQUENCY_SKID_MAX count */
	const double *minimum_cycles; /* in order: M, 0 for one that issues with the one before it. NULL: 1 / width */
	double width;                 /* instructions that issue (in order) or retire in a cycle; 0: 4 */

	/*
	 * In order: the instruction of its block, before this one, whose latency varies (a load, say) and that
	 * makes an operand, or FREQUENCY_NO_WAIT. Where M is above 1, it is for that latency. NULL: none.
	 */
	const uint32_t *waits_for;
	double longest_stall; /* cycles: none takes longer. 0: 2000 */

	const uint64_t *block_counts; /* exact; NULL: none */
	const uint64_t *edge_counts;  /* exact; NULL: none, then edges are what block_counts leave */
	double executions_per_unit;   /* of the exact counts, 1 of F; 0: by the samples, and relative */

	/* How often each edge was seen in recorded pieces of a path; NULL: none. */
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
	bool is_rough;    /* the search took too long: values are near those that were looked for */
};

/*
 * Estimate. 0, and `result` is to be freed with frequencies_fini(); -EINVAL for a graph or a class that points
 * nowhere; -ENOMEM.
 */
int frequencies_estimate(const struct frequency_input *input, struct frequencies *result);
void frequencies_fini(struct frequencies *result);

/* For a listing: "cluster", "fit", ...; "low", "medium", ...; "?" for what is none. */
const char *frequency_method_name(unsigned method);
const char *frequency_confidence_name(unsigned confidence);

#endif
