/*
 * report.h - what dcpilist shows: the instructions of a procedure, the lines they were made from, and their samples
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LIST_REPORT_H
#define DCPI_TOOLS_LIST_REPORT_H

#include "analysis/procedure.h"
#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/model_choice.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/procedure_choice.h"
#include "dcpi-tools/common/sources.h"
#include "image/lines.h"

enum list_mode {
	LIST_BOTH, /* instructions below the lines they were made from, as far as these are known */
	LIST_SOURCE,
	LIST_INSTRUCTIONS,
};

/* What the user asked for. */
struct list_request {
	struct options options;
	struct columns_request columns;
	struct procedure_options procedure;
	enum list_mode mode;
	const char *cpu; /* a model's name or file; NULL: by the epoch's CPU */
	bool frequency;  /* how often each ran, too */
};

struct list_report {
	const struct list_request *request;
	struct selection *selection;
	struct columns columns;
	struct procedure_choice choice;
	struct procedure_analysis *analysis;
	struct model_choice model; /* these two if frequencies are wanted */
	struct path_records records;
	struct image_lines *lines; /* NULL: there are none */
	bool lines_damaged;        /* some, or all, could not be read */
	struct sources sources;
	struct line_place *places; /* of each instruction */
	struct line_index index;   /* of them */
	uint64_t *totals;          /* samples of the procedure by event of the selection */
	uint64_t *taken;           /* as totals, before they are weighted */
};

/* Find what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int list_report_make(struct list_report *report, const struct list_request *request, struct database *database);
void list_report_fini(struct list_report *report); /* a zeroed one is allowed */

/*
 * What `counts`, which is analysis->samples or analysis->taken, has of an event on an instruction; on all instructions
 * that were made from a line. All samples are report->totals[event].
 */
uint64_t list_instruction_samples(const struct list_report *report, const uint64_t *counts, uint32_t instruction,
                                  uint16_t event);
uint64_t list_line_samples(const struct list_report *report, const uint64_t *counts, const struct line_entry *line,
                           uint16_t event);

/*
 * How often an instruction ran, or of a line the one that ran most: exact executions, else a frequency; NULL: not
 * known. `times` has room for the executions of an exact one.
 */
const struct frequency *list_instruction_frequency(const struct list_report *report, uint32_t instruction,
                                                   uint64_t *times);
const struct frequency *list_line_frequency(const struct list_report *report, const struct line_entry *line,
                                            uint64_t *times);

void list_instruction_text(const struct list_report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE]);

/* 0, -ENOMEM, -EIO. */
int list_report_print_text(const struct list_report *report, const struct output *output);
int list_report_print_json(const struct list_report *report, FILE *stream);

#endif
