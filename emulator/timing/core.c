#include "emulator/timing/core.h"

#include "emulator/timing/front.h"

static void
pass_second(struct thread *thread, unsigned index)
{
	(void)thread;
	(void)index;
}

static void
pass_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	(void)thread;
	(void)index;
	(void)result;
}

static void
pass_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	(void)thread;
	(void)index;
	(void)cache_cycles;
	(void)tlb_cycles;
}

const struct core_ways *
core_ways_of(const struct timing *timing)
{
	static const struct core_ways without_clock = {pass_second, pass_simply, pass_missed};

	if (!(timing->parts & SETUP_CLOCK))
		return &without_clock;
	return timing->is_in_order ? &core_in_order : &core_out_of_order;
}

void
core_forget_flights(struct thread *thread)
{
	const unsigned count = thread->timing->misses_in_flight;

	for (unsigned i = 0; i < count; i++)
		thread->in_flight[i] = (struct flight){.next = &thread->in_flight[(i + 1) % count]};
	thread->oldest_flight = &thread->in_flight[0];
}

/* By itself: it is not the usual, and who stalls once has nothing to save for it. */
__attribute__((noinline)) void
core_stall_for_several(struct thread *thread, uint32_t stalled, uint32_t culprit, uint64_t cycles,
                       struct load_cost cost)
{
	const uint64_t waiting = cycles < cost.wait_cycles ? cycles : cost.wait_cycles, left = cycles - waiting;
	const uint64_t most = left > cost.cache_cycles ? left - cost.cache_cycles : 0;
	const uint64_t translating = most < cost.tlb_cycles ? most : cost.tlb_cycles;

	stall_pass(thread, cycles);
	if (waiting)
		stall_tell(thread, stalled, culprit, REASON_BANDWIDTH, waiting);
	if (left > translating)
		stall_tell(thread, stalled, culprit, REASON_DATA_CACHE, left - translating);
	if (translating)
		stall_tell(thread, stalled, culprit, REASON_DATA_TLB, translating);
	stall_sample(thread, stalled);
}

static inline void
stall_front(struct thread *thread, uint32_t instruction, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	const bool is_in_order = thread->timing->is_in_order;

	if (cycles == 0)
		return;
	if (!is_in_order)
		core_remember_stall(thread, thread_clock(thread) - thread->other);
	thread_stall(thread, instruction, culprit, reason, cycles);
	if (!is_in_order)
		front_begin(thread);
}

void
core_fetch_missed(struct thread *thread, uint32_t instruction, const struct access_result *result)
{
	core_settle(thread);
	stall_front(thread, instruction, instruction, REASON_CODE_TLB, result->tlb_cycles);
	stall_front(thread, instruction, instruction, REASON_CODE_CACHE, result->cycles);
	stall_front(thread, instruction, instruction, REASON_BANDWIDTH, result->wait_cycles);
}

void
core_mispredicted(struct thread *thread, struct edge *edge)
{
	const uint32_t cycles = thread->mispredict_cycles;

	core_settle(thread);
	if (cycles == 0)
		return;
	front_pass(thread, REASON_MISPREDICT, cycles, thread->timing->is_in_order);
	if (thread->records_stalls)
		stall_anywhere(thread, &edge->misprediction, REASON_MISPREDICT, cycles, &edge->misprediction_at);
	stall_sample(thread, edge->misprediction.stalled);
}

/* When the store before the last `distance` is done; 0: there were not so many. */
static uint64_t
done_before(const struct thread *thread, uint32_t distance)
{
	return thread->store_done[(thread->store_count - distance) % THREAD_STORES];
}

/*
 * The write buffer: stores that hit leave it at once; those that missed wait for their lines, as many at a time as
 * misses may be in flight, and leave in their order.
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

		core_remember_stall(thread, now - thread->other);
		thread_stall(thread, number, thread->store_culprits[oldest], REASON_WRITE_BUFFER,
		             thread->store_room - now);
	}
	thread->store_done[at] = done > before ? done : before;
	thread->store_culprits[at] = number;
	thread->store_count++;
	thread->store_room = done_before(thread, timing->write_buffer_entries);
	thread->store_turn = done_before(thread, timing->misses_in_flight);
}

void
core_restart(struct thread *thread)
{
	core_settle(thread);
	waiting_forget(thread);
	dependence_reset(&thread->dependence, thread->sequence);
	thread->edge = &thread->timing->nothing->edge;
	front_begin(thread);
}
