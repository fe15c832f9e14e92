/*
 * report.h - what dcpitopstalls shows, and the ways it shows it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TOPSTALLS_REPORT_H
#define DCPI_TOOLS_TOPSTALLS_REPORT_H

#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/topstalls/top_instructions.h"

/* What the user asked for. */
struct topstalls_request {
	struct survey_request survey;
	size_t limit;
	double cutoff_percent;
	bool source, demangle;
	enum listing_syntax syntax;
};

struct topstalls_report {
	const struct topstalls_request *request;
	struct survey_all survey;
	struct top_instructions top;
	size_t shown; /* of its stalls */
};

/* Find and analyse what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int topstalls_report_make(struct topstalls_report *report, const struct topstalls_request *request,
                          struct database *database);
void topstalls_report_fini(struct topstalls_report *report); /* a zeroed one is allowed */

/* Samples in percent of all that were asked for. */
double topstalls_report_percent(const struct topstalls_report *report, double samples);

/* 0, -ENOMEM, -EIO. */
int topstalls_report_print_text(const struct topstalls_report *report, const struct output *output);
int topstalls_report_print_csv(const struct topstalls_report *report, FILE *stream);
int topstalls_report_print_json(const struct topstalls_report *report, FILE *stream);

#endif
