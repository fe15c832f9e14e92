/*
 * guest_view.h - what the guest is told of time, processors and chance, in the place of the kernel's answer
 *
 * Thread rule: of clock.h.
 */
#ifndef DCPI_EMULATOR_GUEST_VIEW_H
#define DCPI_EMULATOR_GUEST_VIEW_H

#include "emulator/clock/clock_state.h"

/* The thread's call has returned `result`, at `now`: write the target's answer over it. */
void guest_view_answer(struct clock *clock, unsigned vcpu, int64_t result, uint64_t now);

/* The part of it that is about time. */
void guest_view_answer_time(struct clock *clock, struct clock_thread *thread, int64_t result, uint64_t now);

/* The call is to have returned `result`: the guest has it when it goes on. */
static inline void
guest_view_change_result(struct clock_thread *thread, int64_t result)
{
	thread->pending_result = result;
	thread->has_pending_result = true;
}

#endif
