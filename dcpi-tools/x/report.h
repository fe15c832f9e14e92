/*
 * report.h - the report of dcpix at the end of a run, or of bursts
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_X_REPORT_H
#define DCPI_TOOLS_X_REPORT_H

#include <stdio.h>

#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/emulated/run.h"
#include "dcpi-tools/x/bursts.h"
#include "dcpi-tools/x/counts_read.h"

struct x_report {
	const struct emulated_run *run;
	const struct counted *counted;
	const struct counts_summary *summary;
	const char *database; /* as it was named */
	uint32_t epoch;
};

/* The report of a run that was counted from its beginning. 0, -ENOMEM, -EIO. */
int x_report_print_text(const struct x_report *report, FILE *stream);
int x_report_print_json(const struct x_report *report, FILE *stream);

/*
 * The report of dcpix --bursts, which counted a running process in short bursts. `database`: as it was named; `epoch`:
 * that the counts were written to, 0 where nothing was counted. 0, -ENOMEM, -EIO.
 */
int bursts_print_text(const struct bursts_request *request, const struct bursts_summary *summary, const char *database,
                      uint32_t epoch, FILE *stream);
int bursts_print_json(const struct bursts_request *request, const struct bursts_summary *summary,
                      const struct counted *counted, const char *database, uint32_t epoch, FILE *stream);

#endif
