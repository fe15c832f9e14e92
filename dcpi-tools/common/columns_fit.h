/*
 * columns_fit.h - of the events that a table could show, those that it has room for
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_COLUMNS_FIT_H
#define DCPI_TOOLS_COLUMNS_FIT_H

#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/output.h"

struct columns_fit_request {
	const struct selection *selection;
	const struct columns *columns; /* all of them */
	const uint64_t *totals;        /* samples by event of the selection */
	size_t shares;                 /* columns of text that an event takes beside those of its count */
	bool asked;                    /* the user named them */
};

struct columns_fit {
	struct columns shown; /* in the order that they had; the first of all is among them */
	struct columns left_out;
};

/*
 * What was asked for by name is shown, however wide. Else where all are wider than the terminal allows - with room for
 * the names of procedures - those with the fewest samples are left out, exact counts before those; elsewhere than on a
 * terminal, lines of 132 columns are the aim.
 */
void columns_fit(const struct columns_fit_request *request, const struct output *output, struct columns_fit *fit);

/* "Not shown: branches, faults (--event NAME)" and a newline; nothing if nothing was left out. */
void columns_fit_print(const struct columns_fit *fit, const struct selection *selection, FILE *stream);

#endif
