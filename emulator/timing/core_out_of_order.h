/*
 * core_out_of_order.h - out of order: loads that missed, as far as the reorder buffer does not hide them
 *
 * A load is issued when it enters the reorder buffer, or when its address is there, or when it is its turn of as many
 * as may be in flight. Without stalls an instruction enters when the one that is a buffer before it retires: `lead`
 * cycles of the static clock before it retires itself. Stalls since then were not in its way: that is how misses
 * overlap. So the last stalls are remembered by where they were on the static clock.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_CORE_OUT_OF_ORDER_H
#define DCPI_EMULATOR_TIMING_CORE_OUT_OF_ORDER_H

#include "emulator/timing/thread.h"

/* The load of instruction `index` of the block that runs missed something. */
void out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result);

/* The program never stood still. */
void out_of_order_reset(struct thread *thread);

/* It is about to, at `position` on the static clock. */
void out_of_order_record_stall(struct thread *thread, uint64_t position);

/* What comes now was not in the reorder buffer before: behind a stall of the front end, which is the last one. */
void out_of_order_restart_frontend(struct thread *thread);

/* No load is missing, as block `sequence` begins. */
void dependence_reset(struct dependence *dependence, uint32_t sequence);

#endif
