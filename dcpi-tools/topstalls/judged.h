/*
 * judged.h - what is inferred of procedures, compared with what dcpiemu knows, or dcpix counted
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TOPSTALLS_JUDGED_H
#define DCPI_TOOLS_TOPSTALLS_JUDGED_H

#include "dcpi-tools/common/stall_truth.h"

struct judged_procedure {
	char *title;
	uint32_t image; /* of the selection */
	uint64_t samples;
	struct verdict_sum sum;
};

struct judged {
	struct profile *profile; /* borrowed */
	uint32_t epoch;          /* that has the truth about stalls; 0: none */
	uint32_t image;          /* whose truth is at hand */
	bool has_image;
	struct stall_truth truth;
	bool demangle;
	struct judged_procedure *procedures;
	size_t count, capacity;
	struct verdict_sum sum; /* of all */
};

/* One more. 0, an error of the database, -ENOMEM. */
int judged_add(struct judged *judged, const struct procedure_input *input, const struct procedure_analysis *analysis);
void judged_sort(struct judged *judged); /* those with most samples first */
void judged_fini(struct judged *judged); /* a zeroed one is allowed */

/* Percent of the samples in blocks whose estimate is so near; of the stall cycles. 100 where there are none. */
double judged_within(const struct verdict_sum *sum, size_t limit);
double judged_causes(const struct verdict_sum *sum);
double judged_culprits(const struct verdict_sum *sum);

#endif
