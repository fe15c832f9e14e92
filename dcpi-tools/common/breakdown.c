#include "dcpi-tools/common/breakdown.h"

#include <string.h>

#include "code/schedule.h"

#define TENTHS 10.0

_Static_assert(DYNAMIC_UNEXPLAINED == (int)CAUSE_COUNT && BREAKDOWN_STATIC == (int)STALL_REASON_COUNT,
               "rows are in the order of figure 4, here and in analysis/stalls.h");

void
breakdown_make(const struct stall_summary *summary, double whole, struct breakdown *breakdown)
{
	struct stall_shares shares;

	memset(breakdown, 0, sizeof(*breakdown));
	stall_shares_of(summary, whole, &shares);
	breakdown->best_cycles = summary->best;
	breakdown->actual_cycles = summary->actual;
	breakdown->instructions = summary->instructions;
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		breakdown->low[i] = shares.low[i] / TENTHS;
		breakdown->high[i] = shares.high[i] / TENTHS;
	}
	breakdown->low[DYNAMIC_UNEXPLAINED] = breakdown->high[DYNAMIC_UNEXPLAINED] = shares.unexplained / TENTHS;
	breakdown->low[DYNAMIC_GAIN] = breakdown->high[DYNAMIC_GAIN] = shares.gain / TENTHS;
	breakdown->dynamic = shares.dynamic / TENTHS;
	for (size_t i = 0; i < BREAKDOWN_STATIC; i++)
		breakdown->fixed[i] = shares.fixed[i] / TENTHS;
	breakdown->execution = shares.execution / TENTHS;
	breakdown->sampling_error = shares.sampling_error / TENTHS;
	breakdown->tallied = shares.tallied / TENTHS;
	breakdown->tallied_percent = shares.tallied_of_all / TENTHS;
}
