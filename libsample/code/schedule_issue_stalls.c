#include <errno.h>
#include <stdlib.h>

#include "code/schedule_issue.h"

static int
add_stall(struct issue *issue, uint32_t index, enum stall_reason reason, unsigned half_cycles, struct source culprit)
{
	struct schedule *schedule = issue->schedule;

	if (!half_cycles)
		return 0;
	if (schedule->stall_count == issue->capacity) {
		size_t capacity = issue->capacity ? 2 * issue->capacity : 16;
		struct static_stall *grown = reallocarray(schedule->stalls, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		schedule->stalls = grown;
		issue->capacity = capacity;
	}
	schedule->stalls[schedule->stall_count++] = (struct static_stall){
		.instruction = index,
		.reason = reason,
		.half_cycles = half_cycles,
		.culprit = culprit.index,
		.culprit_address = culprit.address,
	};
	return 0;
}

/* Where the instruction stands in the listing: the first or a further one of its cycle. */
unsigned
issue_half_cycle(const struct issue *issue)
{
	return 2 * issue->cycle + (issue->taken > 1 || issue->pipeline->issue_width == 1);
}

/* What was lost since it could have issued: first for operands, then for units; the rest for the slots. */
int
issue_tell_stalls(struct issue *issue, uint32_t index, const struct wait *wait, unsigned busy_cycles,
                  struct source user)
{
	const struct source before = {.index = index ? index - 1 : SCHEDULE_BEFORE,
	                              .address = index ? issue->instructions[index - 1].address : 0};
	unsigned half = issue_half_cycle(issue), next = issue->next_half;
	unsigned lost = half > next ? half - next : 0;
	unsigned waited = 2 * wait->cycle > next ? 2 * wait->cycle - next : 0;
	int err;

	if (waited > lost)
		waited = lost;
	err = add_stall(issue, index, wait->reason, waited, issue->sources->writer[wait->reg]);
	lost -= waited;
	waited = 2 * busy_cycles < lost ? 2 * busy_cycles : lost;
	if (!err)
		err = add_stall(issue, index, STALL_UNIT, waited, user);
	lost -= waited;
	return err ? err : add_stall(issue, index, STALL_SLOTTING, lost, before);
}
