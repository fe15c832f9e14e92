#include "emulator/timing/core.h"

#include "emulator/timing/stall.h"

void
core_reset_mshrs(struct thread *thread)
{
	const unsigned count = thread->timing->misses_in_flight;

	for (unsigned i = 0; i < count; i++)
		thread->mshrs[i] = (struct mshr){.next = &thread->mshrs[(i + 1) % count]};
	thread->oldest_mshr = &thread->mshrs[0];
}

struct load_cost
core_load_cost(const struct thread *thread, const struct access_result *result)
{
	const int64_t more = (int64_t)result->cycles + thread->timing->level1_difference;

	return (struct load_cost){
		.cache_cycles = result->cycles == 0 || more < 0 ? 0 : (uint32_t)more,
		.tlb_cycles = result->tlb_cycles,
		.wait_cycles = result->wait_cycles,
	};
}

void
core_issue_later(struct load_cost *cost, uint32_t load_cycles, uint64_t asked, uint64_t issue)
{
	uint64_t later, left;

	if (!cost->wait_cycles)
		return;
	later = issue > asked ? issue - asked : 0;
	left = cost->wait_cycles > later ? cost->wait_cycles - later : 0;
	cost->wait_cycles = left > load_cycles ? (uint32_t)left : load_cycles;
}

void
core_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	if (!(thread->timing->parts & SETUP_CLOCK))
		return;
	if (thread->timing->is_in_order)
		in_order_load_missed(thread, index, result);
	else
		out_of_order_load_missed(thread, index, result);
}

/* ---- the front end ---- */

/* Out of order, a front-end stall drains the reorder buffer, which refills behind it. */
static void
frontend_stall_pass(struct thread *thread, uint64_t cycles)
{
	const bool is_in_order = thread->timing->is_in_order;

	if (!is_in_order)
		out_of_order_record_stall(thread, thread_clock(thread) - thread->stall_cycles);
	stall_pass(thread, cycles);
	if (!is_in_order)
		out_of_order_restart_frontend(thread);
}

static void
frontend_stall(struct thread *thread, uint32_t instruction, enum record_reason reason, uint64_t cycles)
{
	if (cycles == 0)
		return;
	frontend_stall_pass(thread, cycles);
	stall_record(thread, instruction, instruction, reason, cycles);
	stall_sample(thread, instruction);
}

void
core_fetch_missed(struct thread *thread, uint32_t instruction, const struct access_result *result)
{
	core_settle(thread);
	frontend_stall(thread, instruction, REASON_CODE_TLB, result->tlb_cycles);
	frontend_stall(thread, instruction, REASON_CODE_CACHE, result->cycles);
	frontend_stall(thread, instruction, REASON_BANDWIDTH, result->wait_cycles);
}

void
core_mispredicted(struct thread *thread, struct edge *edge)
{
	const uint32_t cycles = thread->mispredict_cycles;

	core_settle(thread);
	if (cycles == 0)
		return;
	frontend_stall_pass(thread, cycles);
	thread->record->counters.cycles[REASON_MISPREDICT] += cycles;
	stall_record_at(thread, &edge->misprediction, REASON_MISPREDICT, cycles, &edge->misprediction_at);
	stall_sample(thread, edge->misprediction.stalled);
}

/* ---- the write buffer ---- */

/* When the store before the last `distance` is done; 0: there were not so many. */
static uint64_t
done_before(const struct thread *thread, uint32_t distance)
{
	return thread->store_done[(thread->store_count - distance) % THREAD_STORES];
}

/*
 * Stores that hit leave it at once; those that missed wait for their lines, as many at a time as misses may be in
 * flight, and leave in their order.
 */
void
core_store_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct timing *timing = thread->timing;
	const uint32_t number = thread->edge->variant.block->first + index;
	const uint32_t at = thread->store_count % THREAD_STORES;
	const uint64_t now = core_time(thread, index), before = done_before(thread, 1);
	const struct load_cost cost = core_load_cost(thread, result);
	const uint64_t done = core_store_begins(thread, index) + core_cycles(&cost);

	if (thread->store_room > now) {
		const uint32_t oldest = (thread->store_count - timing->write_buffer_entries) % THREAD_STORES;

		if (!timing->is_in_order)
			out_of_order_record_stall(thread, now - thread->stall_cycles);
		stall_add(thread, number, thread->store_culprits[oldest], REASON_WRITE_BUFFER,
		          thread->store_room - now);
	}
	thread->store_done[at] = done > before ? done : before;
	thread->store_culprits[at] = number;
	thread->store_count++;
	thread->store_room = done_before(thread, timing->write_buffer_entries);
	thread->store_mshr_free_at = done_before(thread, timing->misses_in_flight);
}

void
core_restart(struct thread *thread)
{
	core_settle(thread);
	in_order_reset(thread);
	dependence_reset(&thread->dependence, thread->sequence);
	thread->edge = &thread->timing->nothing->edge;
	out_of_order_restart_frontend(thread);
}
