/*
 * report.h - what dcpitopstalls shows, and the ways it shows it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TOPSTALLS_REPORT_H
#define DCPI_TOOLS_TOPSTALLS_REPORT_H

#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/topstalls/judged.h"
#include "dcpi-tools/topstalls/worst.h"

/* What the user asked for. */
struct request {
	struct survey_request survey;
	size_t limit;
	double cutoff_percent;
	bool source, demangle;
	enum listing_syntax syntax;
};

struct report {
	const struct request *request;
	struct survey_all survey;
	struct worst worst;
	size_t shown;         /* of its stalls */
	struct judged judged; /* to check; then there are no worst ones */
};

/* Find and analyse what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int topstalls_report_make(struct report *report, const struct request *request, struct database *database);
void topstalls_report_fini(struct report *report); /* a zeroed one is allowed */

/* Samples in percent of all that were asked for. */
double topstalls_report_percent(const struct report *report, double samples);

/* 0, -ENOMEM, -EIO. */
int topstalls_report_print_text(const struct report *report, const struct output *output);
int topstalls_report_print_csv(const struct report *report, FILE *stream);
int topstalls_report_print_json(const struct report *report, FILE *stream);
int topstalls_report_print_judged(const struct report *report, const struct output *output);
json_t *topstalls_report_judged_json(const struct report *report); /* NULL: no memory */

#endif
