/*
 * stall_truth.h - the events in which dcpiemu records the real reasons why instructions of the emulated machine waited
 *
 * There is one event for each reason. It has edges and no samples, in cycles: from the instruction that waited to the
 * culprit, which may be the waiting instruction itself. Tests compare these edges with what is inferred from samples
 * (tests/accuracy/).
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_EMU_STALL_TRUTH_H
#define DCPI_TOOLS_EMU_STALL_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#define TRUTH_ELSEWHERE (UINT64_C(0xfffffffffff)) /* to blame is an instruction of another image */

enum stall_truth_reason {
	TRUTH_CODE_CACHE,
	TRUTH_CODE_TLB,
	TRUTH_DATA_CACHE,
	TRUTH_DATA_TLB,
	TRUTH_WRITE_BUFFER,
	TRUTH_MISPREDICT,
	TRUTH_TRANSFER,  /* the line was another core's */
	TRUTH_BANDWIDTH, /* memory was busy: in addition to a data cache's miss */
	TRUTH_CALL,      /* a system call */
	TRUTH_BLOCKED,   /* waiting for others; no cycles of a core */
	TRUTH_COUNT,
};

/* "truth.data-cache"; NULL for what is none. */
static inline const char *
stall_truth_event_name(unsigned reason)
{
	static const char *const names[TRUTH_COUNT] = {
		[TRUTH_CODE_CACHE] = "truth.code-cache",     [TRUTH_CODE_TLB] = "truth.code-tlb",
		[TRUTH_DATA_CACHE] = "truth.data-cache",     [TRUTH_DATA_TLB] = "truth.data-tlb",
		[TRUTH_WRITE_BUFFER] = "truth.write-buffer", [TRUTH_MISPREDICT] = "truth.mispredict",
		[TRUTH_TRANSFER] = "truth.transfer",         [TRUTH_BANDWIDTH] = "truth.bandwidth",
		[TRUTH_CALL] = "truth.system-call",          [TRUTH_BLOCKED] = "truth.blocked",
	};

	return reason < TRUTH_COUNT ? names[reason] : NULL;
}

#endif
