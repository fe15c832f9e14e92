/*
 * part.h - a part of what was sampled (all of it, an image, or a procedure), and the rows of figure 4 of the DCPI paper
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WHATCG_PART_H
#define DCPI_TOOLS_WHATCG_PART_H

#include <stdbool.h>
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
int whatcg_part_compare(const void *a, const void *b);

/*
 * Percentages of the part's samples that add up to 100 with what was tallied: those of blocks whose frequency is not
 * known well enough, and those that were not analysed.
 */
void whatcg_part_rest(const struct whatcg_part *part, double tallied, double *vague, double *missing);

/* A row of figure 4 that a user names. */
struct whatcg_row {
	const char *name; /* as the row is called */
	bool is_static;
	unsigned index; /* enum breakdown_dynamic, or enum stall_reason */
};

/* By its name, without regard to case, or by the letter that listings have for it. */
bool whatcg_row_find(const char *text, struct whatcg_row *row);

/* All that can be named, for a complaint. */
const char *whatcg_row_names(void);

/* The least and the most of it, in samples. */
double whatcg_row_low(const struct whatcg_row *row, const struct stall_summary *summary);
double whatcg_row_high(const struct whatcg_row *row, const struct stall_summary *summary);

#endif
