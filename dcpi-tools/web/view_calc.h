/*
 * view_calc.h - what the views of one procedure share
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WEB_VIEW_CALC_H
#define DCPI_TOOLS_WEB_VIEW_CALC_H

#include "dcpi-tools/web/view.h"

/*
 * Begin the command line of a tool that shows the procedure of the query: database, selection, event, `cutoff` (NULL:
 * none). False with a sentence when the query names no procedure.
 */
bool view_calc_command(const struct query *query, const char *directory, const char *tool, struct tool_command *command,
                       const char *cutoff, char *why, size_t size);

/* The rest of it: the image and the procedure. */
void view_calc_arguments(const struct query *query, struct tool_command *command);

/* "inflate_fast in /usr/lib/libz.so.1" as a heading. */
void view_calc_heading(const struct view_page *page, const json_t *report);

#endif
