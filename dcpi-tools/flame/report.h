/*
 * report.h - what dcpiflame draws: the call stacks of one set of samples, or of two
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_FLAME_REPORT_H
#define DCPI_TOOLS_FLAME_REPORT_H

#include <stdbool.h>

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/profile_set.h"
#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/flame/flame_graph.h"

struct flame_request {
	struct options options; /* its images, and that it is of stacks */
	struct profile_sets sets;
	struct shown_events_request shown_events;
	const char *path; /* NULL: standard output */
	double least_percent;
	bool demangle;
	bool no_inline;
	bool has_script;
};

struct flame_report {
	const struct flame_request *request;
	struct flame_graph graph;
	struct compare_scale scale; /* of two sets */
	char *units[2];             /* of the sets' events; NULL: not read */
	char *event;                /* its name; NULL: not known */
	uint64_t start_ns, end_ns;  /* of the last set that was read; since 1970 */
	char *title, *filter;       /* of the picture, as in struct flame_svg */
};

/* An exit status: 0, or another after a message. flame_report_fini() it in any case. */
int flame_report_make(struct flame_report *report, const struct flame_request *request);
void flame_report_fini(struct flame_report *report);

/* Write the picture. An exit status: 0, or another after a message. */
int flame_report_write(const struct flame_report *report);

#endif
