/*
 * recorded_stalls.h - why instructions of an emulated machine waited, as dcpiemu recorded it in a profile database
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TESTS_ACCURACY_RECORDED_STALLS_H
#define DCPI_TESTS_ACCURACY_RECORDED_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "tests/accuracy/verdict.h"

struct recorded_stall {
	uint64_t from, to; /* offsets in the image: what waited, what is to blame or TRUTH_ELSEWHERE */
	uint64_t cycles;
	uint8_t reason; /* enum stall_truth_reason */
};

struct recorded_stalls {
	struct recorded_stall *stalls; /* ascending by from, reason, to */
	size_t count;
};

/* Read those of image `number` (the database's) in that epoch. 0, also when there are none; an error of the database;
 * -ENOMEM. */
int recorded_stalls_read(struct profile *profile, uint32_t number, uint32_t epoch, struct recorded_stalls *recorded);
void recorded_stalls_fini(struct recorded_stalls *recorded); /* a zeroed one is allowed */

/* The index of the first one from `offset` on. */
size_t recorded_stalls_at(const struct recorded_stalls *recorded, uint64_t offset);

/* Compare an analysis with them, as verdicts_make() does; where none are recorded, nothing is judged. 0 or -ENOMEM. */
int recorded_stalls_judge(const struct recorded_stalls *recorded, const struct code_image *code,
                          const struct procedure_analysis *analysis, struct verdict **verdicts);

/* The newest epoch of a selection, up to that with samples that match, that has recorded stalls; 0: none. */
uint32_t recorded_stalls_epoch(const struct selection *selection);

#endif
