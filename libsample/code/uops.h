/*
 * uops.h - the micro-operations of an instruction: what they take of a pipeline
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_UOPS_H
#define DCPI_CODE_UOPS_H

#include "code/pipeline.h"

#define UOPS_USES_MAX (3 * PIPELINE_USES_MAX)

/* Of an instruction's operation and its accesses to memory together. */
struct uops {
	unsigned load_latency;  /* from an address to what is loaded; 0: it loads nothing */
	unsigned latency;       /* from loaded data and from data operands to the result */
	unsigned upper_latency; /* from there to a product's upper half */
	unsigned micro_operations;
	unsigned use_count;
	struct pipeline_use uses[UOPS_USES_MAX];
};

/* `next`: the instruction behind it, with which it may be fused; NULL: none. */
void uops_of(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next,
             struct uops *uops);

/* Whether writes[write] is the address register of an access, updated by it: ready before what is loaded. */
bool uops_is_written_back(const struct instruction *instruction, unsigned write);

/* Whether writes[write] is the upper half of a product whose lower half is another result. */
bool uops_is_upper_half(const struct instruction *instruction, unsigned write);

#endif
