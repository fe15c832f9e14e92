/*
 * call_report.h - dcpiprof's views of call stacks: a tree from the outermost callers down, the callers of a procedure,
 * what a procedure calls, or a flat list of procedures with what they call
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CALL_REPORT_H
#define DCPI_TOOLS_CALL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "dcpi-tools/common/call_tree.h"
#include "dcpi-tools/common/tool.h"

enum call_view {
	CALL_VIEW_NONE,
	CALL_VIEW_TREE,
	CALL_VIEW_CALLERS,
	CALL_VIEW_CALLEES,
	CALL_VIEW_INCLUSIVE,
};

struct call_report_request {
	const struct options *options; /* its selection is of stacks */
	enum call_view view;
	const char *procedure; /* of CALL_VIEW_CALLERS and CALL_VIEW_CALLEES: a name, or an fnmatch(3) pattern */
	bool demangle;
	bool no_inline;
	double least_percent; /* procedures with fewer of the samples are left out, and counted */
	size_t limit;         /* lines; 0: all */
};

/* A line of the report. */
struct call_line {
	uint32_t index;    /* of a node, or of a frame by CALL_VIEW_INCLUSIVE */
	uint32_t depth;    /* of its text: how many of its callers and itself have siblings */
	uint32_t level;    /* how many callers it has, those left out of the picture as well; of callers: callees */
	uint32_t left_out; /* it stands for so many siblings with few samples; 0: for a procedure */
	uint64_t samples;  /* with what is called */
	uint64_t own;      /* without; of callers: how many of the stacks begin here */
	bool has_siblings;
};

struct call_report {
	const struct call_report_request *request;
	struct report_choice choice;
	struct call_tree tree;                 /* of all stacks */
	struct call_tree of_procedure;         /* its callers or callees; frames are those of the tree */
	uint64_t all;                          /* samples: what shares are of */
	uint64_t totals[SELECTION_EVENTS_MAX]; /* by event: `all` of the one that is shown */
	struct call_line *lines;
	size_t line_count, line_capacity;
};

/* An exit status: 0, or another after a message. call_report_fini() it in any case. */
int call_report_make(struct call_report *report, const struct call_report_request *request,
                     const struct shown_events_request *events, struct database *database);
void call_report_fini(struct call_report *report); /* a zeroed one is allowed */

/* 0 or a negative errno. */
int call_report_print_text(const struct call_report *report, const struct output *output);
int call_report_print_json(const struct call_report *report, FILE *stream);
int call_report_print_csv(const struct call_report *report, FILE *stream);

#endif
