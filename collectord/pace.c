#include "collectord/pace.h"

enum pace_verdict
pace_judge(struct pace *pace, double percent, double limit_percent, uint64_t elapsed_ns)
{
	pace->review_ns += elapsed_ns;
	if (percent > PACE_SLACK * limit_percent)
		pace->over++;
	else
		pace->over = 0;
	if (pace->over == PACE_PATIENCE) {
		pace->over = 0;
		pace->review_ns = 0;
		return PACE_SLOW_DOWN;
	}
	if (pace->review_ns < PACE_REVIEW_NS)
		return PACE_KEEP;
	pace->review_ns = 0;
	return PACE_REVIEW;
}
