/*
 * report.h - what dcpicalc shows, and the ways it shows it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CALC_REPORT_H
#define DCPI_TOOLS_CALC_REPORT_H

#include "analysis/procedure.h"
#include "dcpi-tools/calc/listing.h"
#include "dcpi-tools/common/breakdown.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/model_choice.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/other_cores.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/procedure_choice.h"
#include "dcpi-tools/common/procedure_options.h"
#include "dcpi-tools/common/recorded.h"
#include "dcpi-tools/common/truth.h"

/* What frequencies are to come from. */
enum report_from {
	FROM_BEST,
	FROM_EXACT,
	FROM_BRANCHES,
	FROM_INSTRUCTIONS,
	FROM_BURSTS,
	FROM_SAMPLES, /* of time */
};

/* What the user asked for. */
struct request {
	struct options options;
	struct procedure_options procedure;
	const char *event; /* NULL: choose */
	const char *cpu;   /* a model's name or file; NULL: by the epoch's CPU */
	const char *graph; /* file to write; NULL: a listing */
	enum report_from from;
	double cutoff_percent;
	bool summary, legend, check;
};

struct report {
	const struct request *request;
	struct selection *selection;
	uint16_t event;
	struct procedure_choice choice;
	struct model model;
	struct recorded recorded;
	struct procedure_analysis *analysis;
	struct other_cores left_out; /* of the procedure */
	struct verdict *verdicts;    /* of its instructions, to check; NULL: what happened is not known */
	uint32_t truth_epoch;
};

/* Find and analyse what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int calc_report_make(struct report *report, const struct request *request, struct database *database);
void calc_report_fini(struct report *report); /* a zeroed one is allowed */

/* Blocks with at least the cutoff's share of the time; *dropped: how many others there are. 0 or -ENOMEM. */
int listing_make(const struct report *report, struct listing *listing, size_t *dropped);

void calc_instruction_text(const struct report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE]);

/* The share of block `index` of the procedure's time, in percent. */
double block_percent(const struct report *report, uint32_t index);

/* 0, -ENOMEM, -EIO. */
int calc_report_print_text(const struct report *report, const struct output *output);
int check_print(const struct report *report, const struct output *output); /* estimated against exact */
json_t *check_json(const struct report *report);                           /* the same; NULL: no memory */
int calc_report_print_json(const struct report *report, FILE *stream);

/* Draw the flow graph into the file that the request names. An exit status: 0, or another after a message. */
int calc_report_draw(const struct report *report);

/* The flow graph in the language of graphviz, without blocks that have and run less than the cutoff. */
void graph_print(const struct report *report, FILE *stream);
size_t graph_drawn_blocks(const struct report *report); /* how many are in it */

#endif
