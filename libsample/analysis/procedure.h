/*
 * procedure.h - all that is known of a procedure: code, samples, model, and how often each part of it ran
 *
 * Puts the rooms together: text and flow graph (code/), samples of every event, the schedule of each block on a
 * pipeline, and frequencies (analysis/frequency.h). Plain data once it is made; any number of threads may read it.
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

/* What was counted in another run (dcpix) or in that which was sampled (dcpiemu), or seen in recordings. */
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
	size_t edge_count;                     /* of either */
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

	/* All of this image; NULL or empty: there is nothing. */
	const struct procedure_paths *exact;    /* counts */
	const struct procedure_paths *branches; /* of a branch recorder: edges that were taken, and runs between them */
	const struct procedure_paths *bursts;   /* of single steps */
	bool ignore_exact;                      /* keep them (executions below), but estimate without */
	bool ignore_retired;                    /* do not estimate from samples of `instructions` */
};

struct procedure_analysis {
	struct flow_graph *graph;
	struct cycle_equivalence classes;
	size_t event_count;    /* of the selection */
	uint64_t *samples;     /* of event e and instruction i: samples[e * graph->instruction_count + i] */
	uint64_t *taken;       /* as they were taken: of weighted samples, how many there are */
	uint64_t time_samples; /* all of the time event */
	uint64_t time_taken;
	double *squares; /* of the time event, by instruction: sum of the squares of what its samples weigh */
	double time_squares;
	double cycles_per_sample;
	struct schedule *schedules; /* of each block */
	struct frequencies frequencies;
	struct stalls stalls;
	struct stall_summary summary; /* of blocks of at least medium confidence; of all that are known when those have
	                                 few samples */
	uint64_t *executions;         /* exact, of each instruction; NULL: there are none */
	uint64_t *block_counts;       /* exact, of each block, where frequencies come from them */
	uint64_t *edge_counts;        /* exact, of each edge; NULL: there are none */
};

/*
 * 0 with *analysis; -ENOENT when the procedure's text is not in the image; -EINVAL, -E2BIG (as flow_graph_build()),
 * -ENOMEM.
 */
int procedure_analyze(const struct procedure_input *input, struct procedure_analysis **analysis);
void procedure_analysis_free(struct procedure_analysis *analysis); /* NULL is allowed */

/*
 * The event whose samples are time: the one of that name, or else the first that counts cycles, or else the first
 * clock. An index of the selection, or -DCPI_ENOEVENT with a sentence in `why`.
 */
int procedure_choose_time_event(const struct selection *selection, const char *name, char *why, size_t size);

/*
 * The exact executions that 1 of the estimated frequency stands for: one factor for the procedure, by which half of the
 * samples are in blocks that are estimated too high. 0: nothing is known.
 */
double procedure_executions_per_frequency(const struct procedure_analysis *analysis);

/* Samples of time of a block, moved back by the skid, and the cycles of one execution by them; below 0: not known. */
double procedure_block_samples(const struct procedure_analysis *analysis, uint32_t block);
double procedure_block_cycles(const struct procedure_analysis *analysis, uint32_t block);

/* Cycles of one execution of an instruction of `block`; below 0: not known. */
double procedure_instruction_cycles(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction);

/* Consecutive instructions of a procedure, and their place in the file. All zero: before the first. */
struct procedure_stretch {
	uint32_t first, last; /* instructions; last is one behind */
	uint64_t start, end;  /* offsets */
};

/* Instructions ascend part by part: the next stretch of them without a gap; false: there is none. */
bool procedure_stretch_next(const struct procedure_input *input, const struct flow_graph *graph,
                            struct procedure_stretch *stretch);

/* How often paths went over each edge of a graph, and through each block. NULL: nothing is known. */
struct procedure_path_counts {
	uint64_t *edges;
	uint64_t *visits; /* of the block's last instruction */
};

/* 0 or -ENOMEM; procedure_path_counts_fini() is needed after both. */
int procedure_path_counts_init(struct procedure_path_counts *counts, const struct procedure_input *input,
                               const struct flow_graph *graph, const struct procedure_paths *paths);
void procedure_path_counts_fini(struct procedure_path_counts *counts);

/* How often each instruction was executed on these paths; free it. NULL: no memory. */
uint64_t *procedure_visits(const struct procedure_input *input, const struct flow_graph *graph,
                           const struct procedure_paths *paths);

#define PROCEDURE_NO_EDGE UINT32_MAX

/* The edge that the graph has for a transfer between two addresses; calls and steps within a block have none. */
uint32_t procedure_edge_find(const struct flow_graph *graph, uint64_t from, uint64_t to);

#endif
