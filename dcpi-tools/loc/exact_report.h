/*
 * exact_report.h - what dcpiloc --exact prints: the program's own record beside its address trace
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_EXACT_REPORT_H
#define DCPI_TOOLS_LOC_EXACT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "dcpi-tools/emulated/run.h"
#include "dcpi-tools/loc/join.h"

/* What is asked for. */
struct loc_exact_request {
	char **command;
	const char *output; /* a file for the report; NULL: standard error */
	const char *loop;   /* only loops that are called so; NULL: all */
	size_t limit;       /* loops at most; 0: those with a thousandth of the references */
	double millions;    /* references of a thread whose reuse distances are exact; then they are sampled */
	bool json;
};

struct exact_report {
	const struct loc_exact_request *request;
	const struct emulated_run *run;
	const struct loc_profile *profile;
	const struct trace *trace;
	const struct join *join;
};

/* Each: 0, -ENOMEM, or the stream's error. */
int exact_print_text(const struct exact_report *report, FILE *stream);
int exact_print_json(const struct exact_report *report, FILE *stream);

#endif
