/*
 * report.h - what dcpiprof shows, and the three ways it shows it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PROF_REPORT_H
#define DCPI_TOOLS_PROF_REPORT_H

#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/tool.h"

/* What the user asked for. */
struct prof_request {
	struct options options;
	struct columns_request columns;
	bool by_image;
	bool demangle;
	double keep_percent;
	size_t limit; /* rows; 0: all */
};

/* What is shown. */
struct prof_report {
	const struct prof_request *request;
	struct report_choice choice;
	struct histogram histogram;
	uint64_t totals[SELECTION_EVENTS_MAX]; /* what shares are of, by event */
	size_t shown, row_count;               /* rows, and what they would be without --keep and --limit */
};

/* Read and sort what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int prof_report_make(struct prof_report *report, const struct prof_request *request, struct database *database);
void prof_report_fini(struct prof_report *report); /* a zeroed one is allowed */

/* What goes below or around the rows. */
struct summary prof_report_summary(const struct prof_report *report);

/* 0, -ENOMEM, -EIO. */
int prof_report_print_text(const struct prof_report *report, const struct output *output);
int prof_report_print_csv(const struct prof_report *report, FILE *stream);
int prof_report_print_json(const struct prof_report *report, FILE *stream);

#endif
