/*
 * columns.h - the columns of figures of a comparison, as text
 *
 * The same for procedures, images, blocks, instructions and lines. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_COLUMNS_H
#define DCPI_TOOLS_DIFF_COLUMNS_H

#include "dcpi-tools/common/table.h"
#include "dcpi-tools/diff/report.h"

#define FIGURE_COLUMNS_MAX 10

/* What the measure that was asked for needs; how many. */
size_t columns_of(const struct report *report, struct table_column columns[FIGURE_COLUMNS_MAX]);

/* The cells of one row. */
void columns_fill(const struct report *report, const struct diff_comparison *comparison,
                  const struct figures figures[2], enum style style, struct table *table);

/*
 * With --compare stalls, the cells of a row below it for one reason: the least and the most that it took. False, and
 * no cells: it is next to nothing on both sides.
 */
bool columns_fill_reason(const struct report *report, const struct figures figures[2], unsigned reason,
                         struct table *table);

#endif
