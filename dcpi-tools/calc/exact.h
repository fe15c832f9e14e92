/*
 * exact.h - the exact counts that dcpix took of an image
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CALC_EXACT_H
#define DCPI_TOOLS_CALC_EXACT_H

#include "analysis/procedure.h"
#include "profile/profile.h"
#include "profile/selection.h"

struct exact {
	uint32_t epoch; /* 0: there are none */
	struct selection *selection;
	const struct selection_count *counts; /* of the image, ascending by offset */
	size_t count;
	struct procedure_edge *edges;
	size_t edge_count;
};

/* Of image `number` (the database's), the newest ones. 0, also when there are none; an error of the database. */
int exact_read(struct profile *profile, uint32_t number, struct exact *exact);
void exact_fini(struct exact *exact); /* a zeroed one is allowed */

#endif
