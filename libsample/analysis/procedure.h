/*
 * procedure.h - everything known about a procedure: code, samples, model, and how often each part of it ran
 *
 * Combines text and flow graph (code/), samples of every event, the schedule of each block on a pipeline, and
 * frequencies (analysis/frequency.h). A finished analysis is never changed; any number of threads may read it.
 */
#ifndef DCPI_ANALYSIS_PROCEDURE_H
#define DCPI_ANALYSIS_PROCEDURE_H

#include <stdbool.h>

#include "analysis/code_image.h"
#include "analysis/frequency.h"
#include "analysis/stalls.h"
#include "code/cycle_equivalence.h"
#include "code/pipeline.h"
#include "code/schedule.h"

/* An edge that was counted in another run (dcpix), or in the sampled run (dcpiemu), or seen in recordings. */
struct procedure_edge {
	uint64_t from, to; /* offsets in the image */
	uint64_t count;
};

/* What was seen of the paths through an image. */
struct procedure_paths {
	const struct selection_count *visits; /* how often instructions were executed, ascending by offset */
	size_t visit_count;
	const struct procedure_edge *edges; /* from the last instruction of a block to the first of another, ascending
	                                       by `from` */
	const struct procedure_edge *arrivals; /* `edges`, ascending by `to` */
	size_t edge_count;                     /* of `edges` and of `arrivals` */
	const struct procedure_edge *runs;     /* what was executed from `from` up to and with `to`, no branch taken;
	                                          ascending by `from` */
	size_t run_count;
	bool is_sampled_run; /* visits are all of the run that the samples are of, and of no other: periods tell cycles
	                      */
};

struct procedure_input {
	const struct selection *selection;
	const struct code_image *code; /* after code_image_read() */
	const struct symbol *symbol;   /* of code->symbols */
	const struct code_part *parts; /* what it consists of; NULL: as procedures_parts() says */
	size_t part_count;
	uint16_t event;                  /* of time: procedure_choose_time_event() */
	const struct pipeline *pipeline; /* NULL: only graph, classes and samples are wanted */

	/* Recorded paths of this image and no other; NULL or empty: none were recorded. */
	const struct procedure_paths *exact;    /* counts */
	const struct procedure_paths *branches; /* of a branch recorder: edges that were taken, and runs between them */
	const struct procedure_paths *bursts;   /* of single steps */
	bool ignore_exact;                      /* keep them (`executions` below), but estimate without them */
	bool ignore_retired;                    /* do not estimate from samples of `instructions` */
};

struct procedure_analysis {
	struct flow_graph *graph;
	struct cycle_equivalence classes;
	size_t event_count;    /* of the selection */
	uint64_t *samples;     /* of event e and instruction i: samples[e * graph->instruction_count + i] */
	uint64_t *taken;       /* how many samples were taken, whatever their weights */
	uint64_t time_samples; /* all samples of the time event */
	uint64_t time_taken;
	double *squares; /* of the time event, by instruction: sum of the squared weights of its samples */
	double time_squares;
	double cycles_per_sample;
	struct schedule *schedules; /* of each block */
	struct frequencies frequencies;
	struct stalls stalls;
	struct stall_summary summary; /* of blocks of at least medium confidence; of all that are known when those have
	                                 few samples */
	uint64_t *executions;         /* exact, of each instruction; NULL: there are none */
	uint64_t *block_counts;       /* exact, of each block, if frequencies come from them */
	uint64_t *edge_counts;        /* exact, of each edge; NULL: there are none */
};

/*
 * 0 with *analysis; -ENOENT when the procedure's text is not in the image; -EINVAL, -E2BIG (as flow_graph_build()),
 * -ENOMEM.
 */
int procedure_analyze(const struct procedure_input *input, struct procedure_analysis **analysis);
void procedure_analysis_free(struct procedure_analysis *analysis); /* NULL is allowed */

/*
 * The event whose samples are time: the event called `name`; without a name, the first that counts cycles, or else the
 * first clock. An index of the selection, or -DCPI_ENOEVENT with a sentence in `why`.
 */
int procedure_choose_time_event(const struct selection *selection, const char *name, char *why, size_t size);

/*
 * The exact executions for 1 of the estimated frequency: one factor for the procedure, with which half of the samples
 * are in blocks whose estimate is too high. 0: nothing is known.
 */
double procedure_executions_per_frequency(const struct procedure_analysis *analysis);

/*
 * A block's samples of time, moved back by the skid; and the cycles of one execution by these samples, below 0: not
 * known.
 */
double procedure_block_samples(const struct procedure_analysis *analysis, uint32_t block);
double procedure_block_cycles(const struct procedure_analysis *analysis, uint32_t block);

/* Cycles of one execution of an instruction of `block`; below 0: not known. */
double procedure_instruction_cycles(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction);

/* Consecutive instructions of a procedure, and their offsets in the file. All zero: before the first. */
struct procedure_stretch {
	uint32_t first, last; /* instructions; last is one behind */
	uint64_t start, end;  /* offsets */
};

/* The next stretch of instructions without a gap, as instructions ascend part by part; false: there is none. */
bool procedure_stretch_next(const struct procedure_input *input, const struct flow_graph *graph,
                            struct procedure_stretch *stretch);

/* How often paths took each edge of a graph, and went through each block. NULL: nothing is known. */
struct procedure_path_counts {
	uint64_t *edges;
	uint64_t *visits; /* of the block's last instruction */
};

/* 0 or -ENOMEM; procedure_path_counts_fini() is needed after both. */
int procedure_path_counts_init(struct procedure_path_counts *counts, const struct procedure_input *input,
                               const struct flow_graph *graph, const struct procedure_paths *paths);
void procedure_path_counts_fini(struct procedure_path_counts *counts);

/* How often each instruction was executed on these paths; the caller frees the array. NULL: no memory. */
uint64_t *procedure_visits(const struct procedure_input *input, const struct flow_graph *graph,
                           const struct procedure_paths *paths);

#define PROCEDURE_NO_EDGE UINT32_MAX

/* The edge of the graph for a transfer between two addresses; PROCEDURE_NO_EDGE for calls and steps within a block. */
uint32_t procedure_edge_find(const struct flow_graph *graph, uint64_t from, uint64_t to);

#endif
