/*
 * report.h - what dcpiemu says after a run
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_REPORT_H
#define DCPI_TOOLS_EMU_REPORT_H

#include <jansson.h>
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

/* A reason's name: for people, and for scripts ("data-cache"). */
const char *reason_title(enum record_reason reason);
const char *reason_name(enum record_reason reason);

/* "L1 data", "L1 code", "L2", ... */
struct report_level {
	char name[16];
	uint64_t accesses; /* that came there; 0: not known */
	uint64_t loads_missed, stores_missed, code_missed;
};

#define REPORT_LEVELS_MAX (MACHINE_LEVELS_MAX + 1)

/* The caches that were modelled, as many as are returned, with what `counters` of the outcome count. */
size_t emu_report_levels(const struct emulation_report *report, const struct record_counters *counters,
                         struct report_level levels[REPORT_LEVELS_MAX]);

uint64_t emu_report_level_missed(const struct report_level *level);

/* GB/s of a node: what was moved, and what its controllers can move. */
double emu_report_bandwidth(const struct emulation_report *report, unsigned node);
double emu_report_bandwidth_limit(const struct emulation_report *report);

/* How many cores were busy on average. */
double emu_report_cores_busy(const struct emulation_report *report);

#endif
