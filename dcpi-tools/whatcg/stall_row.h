/*
 * stall_row.h - a row of figure 4 that a user names
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WHATCG_STALL_ROW_H
#define DCPI_TOOLS_WHATCG_STALL_ROW_H

#include <stdbool.h>

#include "analysis/stalls.h"

struct stall_row {
	const char *name; /* as the row is called */
	bool is_static;
	unsigned index; /* enum breakdown_dynamic, or enum stall_reason */
};

/* By its name, without regard to case, or by the letter that listings have for it. */
bool stall_row_find(const char *text, struct stall_row *row);

/* All that can be named, for a complaint. */
const char *stall_row_names(void);

/* The least and the most of it, in samples. */
double stall_row_low(const struct stall_row *row, const struct stall_summary *summary);
double stall_row_high(const struct stall_row *row, const struct stall_summary *summary);

#endif
