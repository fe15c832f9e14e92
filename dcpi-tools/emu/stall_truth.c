#include "dcpi-tools/emu/stall_truth.h"

#include <stddef.h>

static const char *const names[TRUTH_COUNT] = {
	[TRUTH_CODE_CACHE] = "truth.code-cache",     [TRUTH_CODE_TLB] = "truth.code-tlb",
	[TRUTH_DATA_CACHE] = "truth.data-cache",     [TRUTH_DATA_TLB] = "truth.data-tlb",
	[TRUTH_WRITE_BUFFER] = "truth.write-buffer", [TRUTH_MISPREDICT] = "truth.mispredict",
	[TRUTH_BANDWIDTH] = "truth.bandwidth",       [TRUTH_CALL] = "truth.system-call",
	[TRUTH_BLOCKED] = "truth.blocked",
};

const char *
stall_truth_event_name(unsigned reason)
{
	return reason < TRUTH_COUNT ? names[reason] : NULL;
}
