/*
 * schedule_in_order.h - how a block's instructions issue on a CPU that issues in order (private to this room)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_SCHEDULE_IN_ORDER_H
#define DCPI_CODE_SCHEDULE_IN_ORDER_H

#include "code/schedule.h"

/* schedule_block() of a pipeline that issues in order; `schedule` has its lines. 0 or -ENOMEM. */
int schedule_in_order(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                      bool follows_itself, const struct schedule_state *before, struct schedule_state *after,
                      struct schedule *schedule);

#endif
