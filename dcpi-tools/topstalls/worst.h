/*
 * worst.h - the instructions that lost most time, of many procedures
 *
 * Keeps no more than its limit, whatever it is shown; what is shown of an instruction - texts, names, lines - is looked
 * up while its image is open, and only for those that are still among the worst then.
 * Thread rule: one thread per list.
 */
#ifndef DCPI_TOOLS_TOPSTALLS_WORST_H
#define DCPI_TOOLS_TOPSTALLS_WORST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/procedure.h"
#include "code/decoder.h"

#define WORST_CULPRITS 4 /* of one reason that are kept */

/* An instruction as it is shown. */
struct worst_place {
	uint64_t address;
	char *text; /* the instruction */
	char *path; /* its source file; NULL: not known, or not asked for */
	unsigned line;
};

struct worst_reason {
	uint8_t cause;    /* enum stall_cause */
	double low, high; /* in samples */
	struct worst_place culprits[WORST_CULPRITS];
	size_t culprit_count;
};

struct worst_stall {
	double lost;                 /* samples, of all its executions */
	double cycles;               /* of one execution */
	double executions;           /* below 0: not known */
	double samples;              /* of the instruction */
	double unexplained;          /* of those that were lost */
	uint8_t confidence;          /* enum frequency_confidence, of its block */
	uint32_t image;              /* index into selection->images */
	const struct symbol *symbol; /* until texts are looked up */
	struct worst_place place;
	char *title; /* of the procedure */
	struct worst_reason reasons[CAUSE_COUNT];
	size_t reason_count;
};

struct worst {
	size_t limit;
	struct worst_stall *stalls; /* the least first (a heap), until worst_sort() */
	size_t count;
	double lost;               /* by all instructions that were shown */
	size_t instruction_count;  /* that lost any */
	double well_known_samples; /* in blocks of at least medium confidence */
};

struct worst_lookup {
	enum listing_syntax syntax;
	bool demangle, source;
};

/* 0 or -ENOMEM. */
int worst_init(struct worst *worst, size_t limit);
void worst_fini(struct worst *worst); /* a zeroed one is allowed */

/* Look at all instructions of a procedure. */
void worst_add(struct worst *worst, const struct procedure_input *input, const struct procedure_analysis *analysis);

/* Look up what is shown of those that are of this image, before it is closed. 0 or -ENOMEM. */
int worst_look_up(struct worst *worst, const struct code_image *code, const struct worst_lookup *lookup);

/* The worst first. */
void worst_sort(struct worst *worst);

#endif
