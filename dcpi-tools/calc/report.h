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
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/procedure_choice.h"

/* What frequencies are to come from. */
enum calc_frequency_source {
	FROM_BEST,
	FROM_EXACT,
	FROM_BRANCHES,
	FROM_INSTRUCTIONS,
	FROM_BURSTS,
	FROM_SAMPLES, /* of time */
};

/* What the user asked for. */
struct calc_request {
	struct options options;
	struct procedure_options procedure;
	const char *event; /* NULL: choose */
	const char *cpu;   /* a model's name or file; NULL: by the epoch's CPU */
	const char *graph; /* file to write; NULL: a listing */
	enum calc_frequency_source from;
	double cutoff_percent;
	bool summary, legend, check;
};

struct calc_report {
	const struct calc_request *request;
	struct selection *selection;
	uint16_t event;
	struct procedure_choice choice;
	struct model_choice model;
	struct path_records records;
	struct procedure_analysis *analysis;
	struct other_cores left_out; /* of the procedure */
};

/* Find and analyse what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int calc_report_make(struct calc_report *report, const struct calc_request *request, struct database *database);
void calc_report_fini(struct calc_report *report); /* a zeroed one is allowed */

void calc_instruction_text(const struct calc_report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE]);

/* The share of block `index` of the procedure's time, in percent. */
double calc_block_percent(const struct calc_report *report, uint32_t index);

/* 0, -ENOMEM, -EIO. */
int calc_report_print_text(const struct calc_report *report, const struct output *output);
int calc_check_print(const struct calc_report *report, const struct output *output); /* estimated against exact */
json_t *calc_check_json(const struct calc_report *report);                           /* NULL: no memory */
int calc_report_print_json(const struct calc_report *report, FILE *stream);

/* Draw the flow graph, without blocks below the cutoff, into the file that the request names. An exit status: 0, or
 * another after a message. */
int calc_report_draw(const struct calc_report *report);

#endif
