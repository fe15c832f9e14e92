/*
 * report.h - what dcpimem prints of a memory profile: its objects, by what they cost
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_REPORT_H
#define DCPI_TOOLS_MEM_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "dcpi-tools/common/output.h"
#include "memory/data_source.h"
#include "memory/verdict.h"

/* What a run with a remedy took. */
struct mem_trial {
	enum memory_verdict verdict;
	double seconds, before; /* before: without it */
	const char *missing;    /* why it could not be tried; NULL: it was */
};

#define MEM_WHY_SIZE 512 /* of a verdict's sentence */

struct mem_view {
	size_t limit;   /* rows at most; 0: those that cost at least a thousandth of the run */
	bool by_object; /* a row for each object, not for each allocation site */
	bool header;
	const struct mem_trial *trials;
	size_t trial_count;
	const struct data_source_counts *counts; /* of a recording; NULL: none */
};

/* Each: 0, -ENOMEM, or the stream's error. */
int mem_objects_text(const struct memory_report *report, const struct mem_view *view, const struct output *output);
int mem_objects_json(const struct memory_report *report, const struct mem_view *view, FILE *stream);

/* One of these, for a report on `stream`. */
int mem_objects_print(const struct memory_report *report, const struct mem_view *view, bool json, FILE *stream);

/* A row of objects. */
struct mem_row {
	const struct memory_group *group;
	const struct memory_member *member; /* NULL: all of the group */
	const struct memory_evidence *evidence;
	enum memory_verdict verdict;
	uint64_t cost_cycles, size;
};

struct mem_row mem_row_of(const struct memory_report *report, const struct memory_group *group,
                          const struct memory_member *member); /* NULL: all of the group */

/* "makeMatrix+0x60", with "#3" behind it for one of several. Free it. NULL: no memory. */
char *mem_row_name(const struct memory_report *report, const struct mem_row *row);

/* NULL: no memory. */
json_t *mem_row_json(const struct memory_report *report, const struct mem_row *row);

/* The counts of evidence but those by node, by the names that JSON and scripts have for them. */
struct mem_count {
	const char *name;
	uint64_t count;
};
#define MEM_COUNTS 19
void mem_evidence_counts(const struct memory_evidence *evidence, struct mem_count counts[MEM_COUNTS]);

/* ---- how each report begins ---- */

/*
 * Of what costs are shares: the "run"; the "waiting" of all sampled accesses, where cycles of the run are not known;
 * the "accesses", where times are not known.
 */
const char *mem_costs_of(const struct memory_report *report);

void mem_print_head(const struct memory_report *report, const struct output *output);
json_t *mem_head_json(const struct memory_report *report, const char *schema); /* NULL: no memory */

#endif
