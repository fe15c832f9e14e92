/*
 * stall_truth.h - why instructions of an emulated machine waited, as it happened (dcpiemu)
 *
 * In the database it is edges of events without samples, one for each reason, in cycles: from the instruction that
 * waited to the one that is to blame, itself perhaps.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_STALL_TRUTH_H
#define DCPI_TOOLS_STALL_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/verdict.h"
#include "profile/profile.h"

#define TRUTH_ELSEWHERE (UINT64_C(0xfffffffffff)) /* to blame is an instruction of another image */

enum stall_truth_reason {
	TRUTH_CODE_CACHE,
	TRUTH_CODE_TLB,
	TRUTH_DATA_CACHE,
	TRUTH_DATA_TLB,
	TRUTH_WRITE_BUFFER,
	TRUTH_MISPREDICT,
	TRUTH_BANDWIDTH, /* memory was busy: in addition to a data cache's miss */
	TRUTH_CALL,      /* a system call */
	TRUTH_BLOCKED,   /* waiting for others; no cycles of a core */
	TRUTH_COUNT,
};

const char *stall_truth_event_name(unsigned reason); /* "truth.data-cache"; NULL for what is none */

struct stall_truth_cycles {
	uint64_t from, to; /* offsets in the image */
	uint64_t cycles;
	uint8_t reason;
};

struct stall_truth {
	struct stall_truth_cycles *cycles; /* ascending by from, reason, to */
	size_t count;
};

/* Read it of image `number` (the database's) in that epoch. 0, also when there is nothing; an error of the database;
 * -ENOMEM. */
int stall_truth_read(struct profile *profile, uint32_t number, uint32_t epoch, struct stall_truth *truth);
void stall_truth_fini(struct stall_truth *truth); /* a zeroed one is allowed */

/* The first of those from `offset` on. */
size_t stall_truth_at(const struct stall_truth *truth, uint64_t offset);

/* Compare an analysis with it, as verdicts_make() does; an empty truth judges nothing. 0 or -ENOMEM. */
int stall_truth_judge(const struct stall_truth *truth, const struct code_image *code,
                      const struct procedure_analysis *analysis, struct verdict **verdicts);

/* The newest epoch of a selection, up to that with samples that match, that has the truth; 0: none. */
uint32_t stall_truth_epoch(const struct selection *selection);

#endif
