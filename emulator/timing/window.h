/*
 * window.h - out of order: when an instruction entered the window
 *
 * Without stalls it does when the one that is a window before it retires: `lead` cycles of the static clock before it
 * retires itself. Stalls since then were not in its way: that is how misses overlap.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_WINDOW_H
#define DCPI_EMULATOR_TIMING_WINDOW_H

#include "emulator/timing/front.h"

/*
 * The first stall, of those that are remembered, that came when what was at `position` had retired already. It is the
 * last one that was found or the next, and nobody can foresee which: the host has no branch for it.
 */
static inline __attribute__((always_inline)) const struct past_stall *
window_stall_behind(struct thread *thread, uint64_t position)
{
	struct past_stall *stall = thread->found_stall;

	stall = stall->on[stall->position <= position];
	while (__builtin_expect(stall->position <= position, 0))
		stall = stall->on[1];
	while (__builtin_expect(stall->before > position, 0))
		stall = stall->back;
	return thread->found_stall = stall;
}

/* When what entered the window at `entered`, on the static clock, did so, if the front end went on. */
static inline __attribute__((always_inline)) uint64_t
window_time(struct thread *thread, uint64_t entered)
{
	const struct past_stall *stall = window_stall_behind(thread, entered);

	return entered + (stall->other < thread->other ? stall->other : thread->other);
}

/* When the instruction entered the window that retires at `position` of the static clock, whatever came between. */
static inline __attribute__((always_inline)) uint64_t
window_entry(struct thread *thread, uint64_t position)
{
	const uint64_t lead = thread->edge->variant.lead;
	const uint64_t time = window_time(thread, position > lead ? position - lead : 0);
	const bool is_refilled = position < lead + thread->front_position;
	const uint64_t refilled = is_refilled ? position + thread->front_other : 0;

	return time > refilled ? time : refilled;
}

/*
 * The same when it is known at once whether the front end began anew meanwhile; else false. If it did, for a stall that
 * is still remembered, what came before has passed, and nothing else counts.
 */
static inline __attribute__((always_inline)) bool
window_find_entry(struct thread *thread, uint64_t position, uint64_t *time)
{
	const uint64_t lead = thread->edge->variant.lead;
	uint64_t entered;

	if (__builtin_expect(__builtin_sub_overflow(position, lead, &entered), 0))
		return false;
	if (entered >= thread->front_position)
		*time = window_time(thread, entered);
	else if (__builtin_expect(front_is_remembered(thread), 1))
		*time = entered + lead + thread->front_other;
	else
		return false;
	return true;
}

#endif
