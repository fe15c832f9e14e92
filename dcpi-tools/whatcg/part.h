/*
 * part.h - a part of what was sampled: all of it, an image, or a procedure
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WHATCG_PART_H
#define DCPI_TOOLS_WHATCG_PART_H

#include <stdint.h>

#include "analysis/stalls.h"

/* Samples of something, and what is known of them. */
struct whatcg_part {
	uint32_t image;
	char *title;       /* of the procedure; NULL: the image */
	uint64_t samples;  /* all */
	uint64_t taken;    /* how many these are before they are weighted */
	uint64_t analyzed; /* of procedures that were analysed */
	struct stall_summary summary;
};

/* Most samples first. */
int part_compare(const void *a, const void *b);

/*
 * Percentages of the part's samples that add up to 100 with what was tallied: those of blocks whose frequency is not
 * known well enough, and those that were not analysed.
 */
void part_rest(const struct whatcg_part *part, double tallied, double *vague, double *missing);

#endif
