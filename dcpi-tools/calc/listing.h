/*
 * listing.h - a procedure block by block, like figure 2 of the DCPI paper
 *
 * A listing has no pointers into an analysis: listing_make() makes it from one, and a test may fill it in by itself.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_CALC_LISTING_H
#define DCPI_TOOLS_CALC_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/procedure.h"
#include "code/decoder.h"
#include "dcpi-tools/calc/references.h"
#include "dcpi-tools/common/output.h"

#define LISTING_REASONS    16
#define LISTING_UNKNOWN    (-1.0) /* cycles that nothing is known about */
#define LISTING_CULPRITS   4      /* at most so many of an instruction are shown */
#define LISTING_NOTE_BYTES 256

/* A line above an instruction: time that it lost. */
struct listing_bubble {
	char letters[LISTING_REASONS +
	             1];      /* the reasons that are possible, in the order of the legend; "": not known */
	bool is_static;       /* caused by the code alone */
	uint32_t half_cycles; /* one line each, if there are few */
};

enum listing_issue {
	LISTING_ALONE,
	LISTING_DUAL,   /* in order: issues together with the one before it */
	LISTING_SHADOW, /* out of order: retires together with an older one, and has no samples */
};

struct listing_line {
	uint64_t address;
	char *text; /* the instruction */
	double samples;
	double cycles; /* of one execution at the head of the queue, or holding up retirement */
	enum listing_issue issue;
	struct listing_bubble *bubbles;
	size_t bubble_count;
	uint64_t culprits[LISTING_CULPRITS]; /* addresses */
	size_t culprit_count;
	char *references; /* how far apart those of a load or store are (references.h); NULL: not known */
};

struct listing_block {
	double best_cycles;            /* of one execution */
	double actual_cycles;          /* LISTING_UNKNOWN: not known */
	char note[LISTING_NOTE_BYTES]; /* how often it ran; "" for nothing */
	struct listing_line *lines;
	size_t line_count;
};

struct listing {
	struct listing_block *blocks; /* those that are shown, ascending by address */
	size_t block_count;
};

/* The input of listing_make(). */
struct listing_source {
	const struct procedure_analysis *analysis;
	const struct code_image *code;
	enum listing_syntax syntax;
	double cutoff_percent;                    /* of the time: blocks with less are left out */
	bool is_in_order;                         /* the pipeline */
	const struct calc_references *references; /* NULL: not known */
};

/* The share of block `index` of the procedure's time, in percent. */
double listing_block_percent(const struct procedure_analysis *analysis, uint32_t index);

/*
 * Make a listing of the blocks with at least the cutoff's share of the time; *dropped: the number of others. 0 or
 * -ENOMEM.
 */
int listing_make(const struct listing_source *source, struct listing *listing, size_t *dropped);

/* Print the blocks. */
void listing_print(const struct listing *listing, const struct output *output);

/* What the letters and words of a listing mean. */
void listing_print_legend(const struct output *output);

/* Free what the blocks own, if it is from malloc(). A zeroed one is allowed. */
void listing_fini(struct listing *listing);

#endif
