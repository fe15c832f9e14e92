/*
 * report.h - what dcpiwhatcg shows, and the ways it shows it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_WHATCG_REPORT_H
#define DCPI_TOOLS_WHATCG_REPORT_H

#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/whatcg/part.h"

/* What the user asked for. */
struct whatcg_request {
	struct survey_request survey;
	bool by_image, by_procedure;
	bool has_stall;
	struct whatcg_row stall;
	bool demangle;
	size_t limit; /* images, procedures */
	double cutoff_percent;
};

struct whatcg_report {
	const struct whatcg_request *request;
	struct survey_all survey;
	struct whatcg_part all;
	struct whatcg_part *images;     /* by image, then by samples */
	struct whatcg_part *procedures; /* by samples */
	size_t procedure_count, procedure_capacity;
	const struct whatcg_part **stalled; /* procedures to be shown with --stall, in its order */
	size_t stalled_count;
};

/* Find and analyse what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int whatcg_report_make(struct whatcg_report *report, const struct whatcg_request *request, struct database *database);
void whatcg_report_fini(struct whatcg_report *report); /* a zeroed one is allowed */

/* How many of the first of `count` sorted parts are to be shown. */
size_t whatcg_report_cut(const struct whatcg_report *report, const struct whatcg_part *parts, size_t count);

/* 0, -ENOMEM, -EIO. */
int whatcg_report_print_text(const struct whatcg_report *report, const struct output *output);
int whatcg_report_print_json(const struct whatcg_report *report, FILE *stream);

#endif
