/*
 * report.h - what was measured, and how sure it is
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_REPORT_H
#define DCPI_TOOLS_EMU_CALIBRATE_REPORT_H

#include "dcpi-tools/common/output.h"
#include "dcpi-tools/emu/calibrate/measure.h"

/* 0, or -ENOMEM. */
int emu_report_measured(const struct host *host, const struct measurements *measured, const struct machine *machine,
                        const struct output *output);

#endif
