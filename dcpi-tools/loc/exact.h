/*
 * exact.h - dcpiloc --exact: a program runs in the emulator, and its own record is shown beside its whole address trace
 */
#ifndef DCPI_TOOLS_LOC_EXACT_H
#define DCPI_TOOLS_LOC_EXACT_H

#include "dcpi-tools/loc/exact_report.h"

/* Run it, and report. The exit status: the program's own, or what the report's was if that is 0. */
int loc_exact(const struct loc_exact_request *request);

#endif
