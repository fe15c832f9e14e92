/*
 * view_table.h - the table of procedures or images that several views show
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WEB_VIEW_TABLE_H
#define DCPI_TOOLS_WEB_VIEW_TABLE_H

#include "dcpi-tools/web/view.h"

#define VIEW_PROCEDURES_LIMIT "100" /* rows of a report, unless it is asked for others */

/* At most `limit` rows (0: all) of a report of dcpiprof. */
void view_table_of_procedures(const struct view_page *page, const json_t *report, const char *caption, size_t limit);

#endif
