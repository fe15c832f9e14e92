/*
 * view_table.h - the table of procedures or images that several views show
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WEB_VIEW_TABLE_H
#define DCPI_TOOLS_WEB_VIEW_TABLE_H

#include "dcpi-tools/web/view.h"

/* The rows of a report of dcpiprof. */
void view_table_of_procedures(const struct view_page *page, const json_t *report, const char *caption);

#endif
