#include <errno.h>
#include <string.h>

#include "emulator/timing/core.h"
#include "emulator/timing/slow.h"
#include "emulator/timing/stall.h"

static int
make_core(struct timing *timing, struct thread *thread)
{
	const struct plain_room room = {thread_data(thread), (1 << THREAD_SHIFT) - THREAD_DATA};
	int err;

	thread->hierarchy = NULL;
	if (timing->memory) {
		thread->hierarchy = hierarchy_new(timing->memory, clock_thread_core(timing->clock, thread->vcpu), room);
		if (!thread->hierarchy)
			return -errno;
		thread->data_plain = hierarchy_plain_data(thread->hierarchy);
		thread->code_plain = hierarchy_plain_code(thread->hierarchy);
		slow_choose_ways(thread);
		thread->second_cycles = core_cache_cycles(timing, hierarchy_cycles(thread->hierarchy, 1));
		thread->third_cycles = core_cache_cycles(timing, hierarchy_cycles(thread->hierarchy, 2));
		thread->memory_cycles =
			core_cache_cycles(timing, hierarchy_cycles(thread->hierarchy, HIERARCHY_MEMORY));
	}
	err = predictor_init(&thread->predictor, &timing->setup->machine);
	if (err)
		hierarchy_free(thread->hierarchy);
	return err;
}

static void
start_clock(struct thread *thread, uint64_t clock)
{
	thread->limit = clock;
	thread->since.all = 0;
	thread->other = clock;
	thread->published_static = 0;
	waiting_forget(thread);
	thread->store_count = 0;
	thread->store_room = thread->store_turn = 0;
	core_forget_stalls(thread);
	core_forget_flights(thread);
	memset(thread->store_done, 0, sizeof(thread->store_done));
	thread->front_position = thread->front_other = 0;
	dependence_reset(&thread->dependence, thread->sequence);
	thread->next_turn = clock;
	sample_begin(thread);
	thread_set_limit(thread);
}

int
thread_begin(struct timing *timing, unsigned vcpu)
{
	struct thread *thread;
	int err = 0;

	if (vcpu >= RECORD_VCPUS_MAX)
		return -ENOSPC;
	thread = timing_thread(timing, vcpu);
	thread->record = recording_add_vcpu(timing->recording, vcpu);
	if (!thread->record)
		return -errno;
	thread->vcpu = vcpu;
	thread->timing = timing;
	thread->core = core_ways_of(timing);
	thread->load_cycles = timing->load_cycles;
	thread->mispredict_cycles = timing->setup->pipeline.mispredict_cycles;
	thread->records_stalls = timing->parts & SETUP_TRUTH;
	start_clock(thread, clock_thread_begin(timing->clock, vcpu, &thread->record->counters));
	if (!thread->is_used)
		err = make_core(timing, thread);
	if (err)
		return err;
	thread->is_used = true;
	thread->executions = thread->record->executions;
	thread->edge = &timing->nothing->edge;
	for (unsigned i = 0; i < THREAD_HISTORY; i++)
		thread->history[i] = thread->edge;
	thread->record->counters.began = thread_clock(thread);
	thread->record->counters.clock = thread_clock(thread);
	thread->record->counters.threads++;
	if (timing->thread_count <= vcpu)
		timing->thread_count = vcpu + 1;
	return 0;
}

void
thread_end(struct thread *thread)
{
	if (!thread->is_used)
		return;
	core_settle(thread);
	thread_publish(thread);
	clock_thread_end(thread->timing->clock, thread->vcpu, thread_clock(thread));
}

void
thread_free(struct thread *thread)
{
	if (!thread->is_used)
		return;
	hierarchy_free(thread->hierarchy);
	predictor_fini(&thread->predictor);
	thread->is_used = false;
}

void
thread_publish(struct thread *thread)
{
	struct record_counters *counters = &thread->record->counters;
	const uint64_t position = thread_clock(thread) - thread->other;

	counters->cycles[REASON_EXECUTION] += position - thread->published_static;
	thread->published_static = position;
	counters->clock = thread_clock(thread);
	if (thread->hierarchy) {
		const struct hierarchy_traffic *traffic = hierarchy_traffic(thread->hierarchy);

		memcpy(counters->node_bytes, traffic->node_bytes, sizeof(counters->node_bytes));
		counters->prefetched = traffic->prefetched;
		counters->prefetched_used = traffic->prefetched_used;
	}
}

void
thread_set_limit(struct thread *thread)
{
	const uint64_t limit = thread->next_turn < thread->next_sample ? thread->next_turn : thread->next_sample + 1;
	const uint64_t clock = thread_clock(thread);
	uint64_t left = 0;

	if (limit > clock && !thread->waiting_count) /* else at the next block */
		left = limit - clock < THREAD_LIMIT ? limit - clock : THREAD_LIMIT;
	thread->limit = clock + left;
	thread->since.all = (int64_t)(thread->since.fraction - (left << 32));
}

/* By itself, so that who finds it at once has nothing to save for it. */
__attribute__((noinline)) void
stall_elsewhere(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	const uint32_t offset = record_stall_offset(stalled, culprit, reason);
	uint32_t *distance = &thread->stall_distances[(stalled * 8 + offset) % THREAD_DISTANCES];

	if (!record_stall_add(thread->record, stalled, culprit, reason, cycles, distance))
		recording_pass(thread->timing->recording);
	if (thread_clock(thread) > thread->next_sample)
		sample_stall(thread, stalled);
}

void
stall_anywhere(struct thread *thread, const struct record_pair *pair, enum record_reason reason, uint64_t cycles,
               uint32_t *at)
{
	struct record_stall *stall = stall_at(thread, at);

	if (!record_stall_is(stall, pair, reason)) {
		stall = record_stall_find(thread->record, pair->stalled, pair->culprit, reason);
		if (!stall) {
			recording_pass(thread->timing->recording);
			return;
		}
		__atomic_store_n(at, record_stall_bytes(thread->record, stall), __ATOMIC_RELAXED);
	}
	record_stall_count(stall, cycles);
}

void
thread_stall(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	stall_at_last(thread, stalled, culprit, reason, cycles);
}

static void
pass_blocked(struct thread *thread, uint64_t cycles)
{
	thread->limit += cycles; /* with the clock, as it may be long; sample_skip() sets it */
	thread->other += cycles;
	thread->record->counters.cycles[REASON_BLOCKED] += cycles;
	sample_skip(thread, cycles);
}

void
thread_step(struct thread *thread, const struct clock_step *step)
{
	if (step->blocked_cycles)
		pass_blocked(thread, step->blocked_cycles);
	if (step->call_cycles)
		thread_stall(thread, thread->call, thread->call, REASON_CALL, step->call_cycles);
	thread->next_turn = step->limit;
	thread->record->counters.clock = thread_clock(thread);
	thread_set_limit(thread);
}

void
thread_call_began(struct thread *thread, const struct clock_call *call)
{
	const struct block *block = thread->edge->variant.block;

	core_settle(thread);
	thread->call = block->first + block->count - 1u;
	thread_publish(thread);
	clock_call_began(thread->timing->clock, thread->vcpu, thread_clock(thread), call);
}

void
thread_call_ended(struct thread *thread, int64_t result)
{
	struct clock_step step;

	clock_call_ended(thread->timing->clock, thread->vcpu, thread_clock(thread), result, &step);
	thread_step(thread, &step);
	core_restart(thread);
}

void
thread_fork(struct thread *thread)
{
	struct record_counters *counters = &thread->record->counters;

	thread->published_static = thread_clock(thread) - thread->other;
	counters->clock = thread_clock(thread);
	counters->began = thread_clock(thread);
	counters->threads = 1;
}
