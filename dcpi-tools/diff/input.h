/*
 * input.h - one of the two sets of samples that dcpidiff compares, and the procedures in it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_INPUT_H
#define DCPI_TOOLS_DIFF_INPUT_H

#include "analysis/procedure.h"
#include "dcpi-tools/common/profile_set.h"
#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/common/symbolizer.h"
#include "dcpi-tools/diff/compare.h"

/* The results of analysis for a procedure, a block or an instruction. */
struct code_figures {
	bool is_known;       /* it was analysed, with a result */
	bool is_relative;    /* executions are right relative to one another only, cycles within a factor of two */
	unsigned confidence; /* in the frequency (enum frequency_confidence); of at least half of a procedure */
	double executions;   /* of a procedure: how often it was entered; 0: not known */
	double samples;      /* of the code that has a known frequency; moved back by the skid */
	double instructions; /* that were executed for them, in samples x instructions a cycle */
	double cycles;       /* of one instruction, on average; below 0: not known */
	double low[CAUSE_COUNT], high[CAUSE_COUNT]; /* samples that each reason took, at least and at most */
};

void figures_of_procedure(const struct procedure_analysis *analysis, struct code_figures *figures);
void figures_of_block(const struct procedure_analysis *analysis, uint32_t block, struct code_figures *figures);
void figures_of_instruction(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction,
                            struct code_figures *figures);

/* Add the figures of a part of one whole; unknown figures are ignored. */
void figures_add(struct code_figures *figures, const struct code_figures *other);

/* The largest of `high`. */
double figures_lost(const struct code_figures *figures);

/* An image that the user named, for one set or for both. */
struct input_pattern {
	const char *text;
	size_t group; /* 0: for both sets; else for the set with this number, from 1 on */
};

/* Whether it applies to set number `set`, from 0 on. */
bool input_pattern_is_of(const struct input_pattern *pattern, size_t set);

struct input_request {
	const struct input_pattern *patterns; /* none: all images */
	size_t pattern_count;
	const char *event; /* NULL: the first */
	const char *cpu;   /* whose pipeline model the analysis takes; NULL: that of the epoch's CPU */
	bool by_image;
	bool demangle;
	bool analyze; /* true: code is read and analysed, not only samples */
};

struct input_row {
	uint32_t image; /* index into the selection's */
	enum procedure_kind kind;
	uint64_t offset;
	char *title;                  /* of the procedure, not escaped; NULL: the image */
	struct compare_count samples; /* of the side's event */
	struct compare_count *runs;   /* of those, by run; NULL: not known, or none */
	struct code_figures figures;  /* with input_request.analyze */
};

struct diff_input {
	const struct profile_set *set;
	struct survey_all all; /* selection, titles, wanted images, event; with input_request.analyze also what was not
	                          analysed */
	struct compare_count total; /* samples that shares are of: all that were selected, whatever the image */
	struct input_row *rows;
	size_t row_count, row_capacity;
	size_t run_count; /* labels that the set's pattern matches, with samples; 0: it is no set of runs */
	struct compare_count *run_totals; /* as `total`, of each */
	double *run_units;                /* of each: events that one of its samples stands for; 0: not known */
};

/* Read all except the rows: selection, event, images and totals. Arguments and result are those of input_read(). */
int input_open(struct diff_input *input, const struct input_request *request, const struct profile_set_visit *visit,
               unsigned *hits);

/*
 * Read one side while its database is open; `hits` has a number per pattern, and those of patterns that match an image
 * are increased. An exit status: 0, or another after a message.
 */
int input_read(struct diff_input *input, const struct input_request *request, const struct profile_set_visit *visit,
               unsigned *hits);
void input_fini(struct diff_input *input); /* a zeroed one is allowed */

/* One of the runs of a set. */
struct input_run {
	size_t index, most; /* of at most so many */
	const struct selection *selection;
	uint16_t event; /* of the selection: the side's */
};

typedef int input_run_visitor(void *context, const struct input_run *run);

/* For each run of the set that has samples of the side's event: none when it is no set of runs. An exit status. */
int input_each_run(struct diff_input *input, const struct profile_set_visit *visit, input_run_visitor *visit_run,
                   void *context);

const struct selection_event *input_event(const struct diff_input *input);
const struct image *input_image(const struct diff_input *input, uint32_t index);

#endif
