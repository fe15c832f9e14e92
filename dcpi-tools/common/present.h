/*
 * present.h - a report on standard output, as the options say
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PRESENT_H
#define DCPI_TOOLS_PRESENT_H

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"

/* Write `report`; what is no text has neither colours nor a pager. 0 or a negative errno. */
typedef int report_printer(const void *report, const struct output *output);

/* An exit status: 0, or another after a message. */
int present(const struct options *options, report_printer *print, const void *report);

#endif
