/*
 * Out of order: what is in the window was begun earlier. See core.h.
 *
 * Without stalls an instruction enters the window when the one that is a window before it retires: `lead` cycles of the
 * static clock before it retires itself. Stalls since then were not in its way: that is how misses overlap.
 */
#include "emulator/timing/core.h"

/* How long the window lasts at the speed of the block that runs. */
static uint32_t
lead_of(const struct thread *thread)
{
	const uint32_t window = thread->timing->setup->pipeline.window, least = thread->timing->lead_cycles;
	const uint32_t cycles = thread->variant->cycles, count = thread->variant->block->count;

	return window * cycles <= least * count ? least : window * cycles / count;
}

static uint64_t
entry_time(const struct thread *thread, uint64_t position, uint64_t lead)
{
	const uint64_t entered = position > lead ? position - lead : 0;
	const uint32_t count = thread->stall_count;
	uint64_t other = thread->other, time;

	for (uint32_t i = 1; i <= count && i <= THREAD_HISTORY; i++) {
		const struct past_stall *stall = &thread->stalls[(count - i) % THREAD_HISTORY];

		if (stall->position <= entered)
			break;
		other -= stall->cycles;
	}
	time = entered + other;
	if (position < thread->front_position + lead) {
		const uint64_t refilled = thread->front_time + (position - thread->front_position);

		time = time > refilled ? time : refilled;
	}
	return time;
}

void
out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct timing *timing = thread->timing;
	const struct block *block = thread->variant->block;
	struct load_cost cost = core_load_cost(thread, result);
	const uint64_t retires = core_time(thread, index), position = retires - thread->other;
	const uint32_t number = block->first + index, count = thread->in_flight_count;
	uint64_t issue = entry_time(thread, position, lead_of(thread));
	uint64_t ready = dependence_ready(thread, index, issue);

	issue = ready > issue ? ready : issue;
	if (count >= timing->misses_in_flight &&
	    thread->in_flight[(count - timing->misses_in_flight) % THREAD_HISTORY] > issue)
		issue = thread->in_flight[(count - timing->misses_in_flight) % THREAD_HISTORY];
	core_issue_later(&cost, result, thread->clock, issue);
	ready = issue + timing->load_cycles + core_cycles(&cost);
	thread->in_flight[thread->in_flight_count++ % THREAD_HISTORY] = ready;
	dependence_add(thread, index, ready);
	if (ready <= retires)
		return;
	core_stall_for_load(thread, number, number, ready - retires, &cost);
	thread->stalls[thread->stall_count++ % THREAD_HISTORY] = (struct past_stall){position, ready - retires};
}
