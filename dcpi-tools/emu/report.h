/*
 * report.h - the report of dcpiemu about a run
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_REPORT_H
#define DCPI_TOOLS_EMU_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "dcpi-tools/emu/emulation.h"

struct emulation_report {
	const struct setup *setup;
	const struct emulation_outcome *outcome;
	const char *database; /* NULL: none was written */
	const char *label;    /* NULL: none */
	bool by_process;
};

/* 0, -ENOMEM, or what went wrong in writing. */
int emulation_report_text(const struct emulation_report *report, FILE *stream);
int emulation_report_json(const struct emulation_report *report, FILE *stream);

/* The bandwidth of a node, GB/s: the one used, and the limit of its controllers. */
double emulation_report_bandwidth(const struct emulation_report *report, unsigned node);
double emulation_report_bandwidth_limit(const struct emulation_report *report);

/* How many cores were busy on average. */
double emulation_report_cores_busy(const struct emulation_report *report);

#endif
