/*
 * top_instructions.h - the instructions that lost most time, in many procedures
 *
 * The list never holds more than twice its limit. Texts, names and lines of an instruction are looked up while its
 * image is open, and only if the instruction is then still among the top.
 * Thread rule: one thread per list.
 */
#ifndef DCPI_TOOLS_TOPSTALLS_TOP_INSTRUCTIONS_H
#define DCPI_TOOLS_TOPSTALLS_TOP_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/procedure.h"
#include "code/decoder.h"

#define TOP_CULPRITS 4 /* of one reason that are kept */

/* An instruction as it is shown. */
struct top_place {
	uint64_t address;
	char *text; /* the instruction */
	char *path; /* its source file; NULL: not known, or not asked for */
	unsigned line;
};

struct top_reason {
	uint8_t cause;    /* enum stall_cause */
	double low, high; /* in samples */
	struct top_place culprits[TOP_CULPRITS];
	size_t culprit_count;
};

struct top_stall {
	double lost;                 /* samples, of all its executions */
	double cycles;               /* of one execution */
	double executions;           /* below 0: not known */
	double samples;              /* of the instruction */
	double unexplained;          /* of those that were lost */
	uint8_t confidence;          /* enum frequency_confidence, of its block */
	uint32_t image;              /* index into selection->images */
	const struct symbol *symbol; /* until texts are looked up */
	struct top_place place;
	char *title; /* of the procedure */
	struct top_reason reasons[CAUSE_COUNT];
	size_t reason_count;
};

struct top_instructions {
	size_t limit;
	struct top_stall *stalls; /* up to twice the limit, until they are sorted and cut */
	size_t count;
	bool is_full; /* those up to the limit were sorted: what lost less than the last of them is not kept */
	double lost;  /* by all instructions that were shown */
	size_t instruction_count;  /* that lost any */
	double well_known_samples; /* in blocks of at least medium confidence */
};

struct top_lookup {
	enum listing_syntax syntax;
	bool demangle, source;
};

/* 0 or -ENOMEM. */
int top_instructions_init(struct top_instructions *top, size_t limit);
void top_instructions_fini(struct top_instructions *top); /* a zeroed one is allowed */

/* Add all instructions of a procedure that lost time. */
void top_instructions_add(struct top_instructions *top, const struct procedure_input *input,
                          const struct procedure_analysis *analysis);

/* Look up texts, names and lines of the instructions of this image, before it is closed. 0 or -ENOMEM. */
int top_instructions_look_up(struct top_instructions *top, const struct code_image *code,
                             const struct top_lookup *lookup);

/* Sort the list, the most lost time first, and cut it to the limit. */
void top_instructions_sort(struct top_instructions *top);

#endif
