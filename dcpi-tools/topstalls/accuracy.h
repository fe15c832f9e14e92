/*
 * accuracy.h - inferred frequencies and stalls of procedures, compared with the exact ones of dcpiemu or dcpix
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TOPSTALLS_ACCURACY_H
#define DCPI_TOOLS_TOPSTALLS_ACCURACY_H

#include "dcpi-tools/common/stall_truth.h"

struct accuracy_procedure {
	char *title;
	uint32_t image; /* of the selection */
	uint64_t samples;
	struct verdict_sum sum;
};

struct accuracy {
	struct profile *profile; /* borrowed */
	uint32_t epoch;          /* that has the truth about stalls; 0: none */
	uint32_t image;          /* whose truth is at hand */
	bool has_image;
	struct stall_truth truth;
	bool demangle;
	struct accuracy_procedure *procedures;
	size_t count, capacity;
	struct verdict_sum sum; /* of all */
};

/* One more. 0, an error of the database, -ENOMEM. */
int accuracy_add(struct accuracy *accuracy, const struct procedure_input *input,
                 const struct procedure_analysis *analysis);
void accuracy_sort(struct accuracy *accuracy); /* those with most samples first */
void accuracy_fini(struct accuracy *accuracy); /* a zeroed one is allowed */

/* Percent of the samples in blocks whose estimate is so near; of the stall cycles. 100 where there are none. */
double accuracy_within_percent(const struct verdict_sum *sum, size_t limit);
double accuracy_causes_percent(const struct verdict_sum *sum);
double accuracy_culprits_percent(const struct verdict_sum *sum);

#endif
