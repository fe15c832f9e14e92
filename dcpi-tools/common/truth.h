/*
 * truth.h - why instructions of an emulated machine waited, as it happened (dcpiemu)
 *
 * In the database it is edges of events without samples, one for each reason, in cycles: from the instruction that
 * waited to the one that is to blame, itself perhaps.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TRUTH_H
#define DCPI_TOOLS_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/verdict.h"
#include "profile/profile.h"

#define TRUTH_ELSEWHERE (UINT64_C(0xfffffffffff)) /* to blame is an instruction of another image */

enum truth_reason {
	TRUTH_CODE_CACHE,
	TRUTH_CODE_TLB,
	TRUTH_DATA_CACHE,
	TRUTH_DATA_TLB,
	TRUTH_WRITE_BUFFER,
	TRUTH_MISPREDICT,
	TRUTH_BANDWIDTH, /* besides a data cache's: memory was busy */
	TRUTH_CALL,      /* a system call */
	TRUTH_BLOCKED,   /* waiting for others; no cycles of a core */
	TRUTH_COUNT,
};

const char *truth_event_name(unsigned reason); /* "truth.data-cache"; NULL for what is none */

struct truth_cycles {
	uint64_t from, to; /* offsets in the image */
	uint64_t cycles;
	uint8_t reason;
};

struct truth {
	struct truth_cycles *cycles; /* ascending by from, reason, to */
	size_t count;
};

/* Read that of image `number` (the database's) in that epoch. 0, also when there is nothing; an error of the database;
 * -ENOMEM. */
int truth_read(struct profile *profile, uint32_t number, uint32_t epoch, struct truth *truth);
void truth_fini(struct truth *truth); /* a zeroed one is allowed */

/* The first of those from `offset` on. */
size_t truth_at(const struct truth *truth, uint64_t offset);

/* An analysis judged by it, as verdicts_make() has it; truth without anything: nothing is judged. 0 or -ENOMEM. */
int truth_judge(const struct truth *truth, const struct code_image *code, const struct procedure_analysis *analysis,
                struct verdict **verdicts);

/* The newest epoch of a selection, up to that with samples that match, that has the truth; 0: none. */
uint32_t truth_epoch(const struct selection *selection);

#endif
