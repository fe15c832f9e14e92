/*
 * csv_columns.h - the columns of figures of a comparison, as comma-separated values
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_CSV_COLUMNS_H
#define DCPI_TOOLS_DIFF_CSV_COLUMNS_H

#include "dcpi-tools/common/table.h"
#include "dcpi-tools/diff/report.h"

void csv_columns_headings(const struct report *report, struct csv *csv);
void csv_columns(const struct report *report, const struct diff_comparison *comparison, const struct figures figures[2],
                 struct csv *csv);

#endif
