#include <errno.h>
#include <stdlib.h>

#include "emulator/timing/core.h"
#include "emulator/timing/sample.h"

static void
free_core(struct target_core *core)
{
	hierarchy_free(core->hierarchy);
	predictor_fini(&core->predictor);
	free(core);
}

/* NULL and errno. */
static struct target_core *
new_core(struct timing *timing, unsigned number, struct filter_room room)
{
	struct target_core *core = calloc(1, sizeof(*core));
	int err;

	if (!core)
		return NULL;
	core->number = number;
	err = predictor_init(&core->predictor, &timing->setup->machine);
	if (!err && timing->memory) {
		core->hierarchy =
			hierarchy_new(timing->memory,
		                      machine_used_core(&timing->setup->machine, timing->setup->threads, number), room);
		err = core->hierarchy ? 0 : -errno;
	}
	if (!err)
		return core;
	free_core(core);
	errno = -err;
	return NULL;
}

/* The core that was given back last of those with this number, with its filter in `room`; NULL: none is idle. */
static struct target_core *
take_idle_core(struct timing *timing, unsigned number, struct filter_room room)
{
	struct target_core **place, *core;

	pthread_mutex_lock(&timing->cores_lock);
	for (place = &timing->idle_cores; *place && (*place)->number != number;)
		place = &(*place)->next;
	core = *place;
	if (core)
		*place = core->next;
	pthread_mutex_unlock(&timing->cores_lock);
	if (core && core->hierarchy && hierarchy_move_filter(core->hierarchy, room)) {
		free_core(core);
		return NULL;
	}
	return core;
}

/* From now on the counters grow by what the hierarchy moves. */
static void
begin_traffic(struct thread *thread)
{
	const struct record_counters *counters = &thread->record->counters;
	const struct hierarchy_traffic traffic = hierarchy_traffic(thread->hierarchy);

	for (unsigned i = 0; i < MACHINE_NODES_MAX; i++)
		thread->traffic_before.node_bytes[i] = counters->node_bytes[i] - traffic.node_bytes[i];
	thread->traffic_before.prefetched = counters->prefetched - traffic.prefetched;
	thread->traffic_before.prefetched_used = counters->prefetched_used - traffic.prefetched_used;
}

/* Where the thread's callbacks look first, if the data filter of a core fits there. */
static struct filter_room
filter_area(const struct thread *thread)
{
	const struct filter_room area = {thread_filter(thread), (1 << THREAD_SHIFT) - THREAD_DATA};

	return thread->timing->is_common ? area : FILTER_NO_ROOM;
}

static void
use_core(struct thread *thread, struct target_core *core)
{
	thread->core = core;
	thread->predictor = core->predictor;
	thread->hierarchy = core->hierarchy;
	if (thread->hierarchy) {
		thread->data_filter = hierarchy_data_filter(thread->hierarchy);
		thread->code_filter = hierarchy_code_filter(thread->hierarchy);
		begin_traffic(thread);
	}
	if (thread->data_filter != thread_filter(thread))
		hit_filter_clear(thread_filter(thread));
}

/* The core that the clock has chosen, with its data filter in `room`; NULL and errno. */
static struct target_core *
find_core(struct timing *timing, struct thread *thread, unsigned number, struct filter_room room)
{
	struct target_core *core = take_idle_core(timing, number, room);

	if (core && core->hierarchy)
		hierarchy_begin_thread(core->hierarchy, thread_clock(thread));
	return core ? core : new_core(timing, number, room);
}

static int
take_core(struct timing *timing, struct thread *thread)
{
	struct target_core *core =
		find_core(timing, thread, clock_thread_core(timing->clock, thread->vcpu), filter_area(thread));

	if (!core)
		return -errno;
	use_core(thread, core);
	return 0;
}

/* The filter leaves the thread's area, which the next thread on this virtual CPU needs. */
static void
give_core_back(struct timing *timing, struct target_core *core)
{
	if (core->hierarchy && hierarchy_move_filter(core->hierarchy, FILTER_NO_ROOM)) {
		free_core(core); /* no memory: the next thread finds its caches empty */
		return;
	}
	pthread_mutex_lock(&timing->cores_lock);
	core->next = timing->idle_cores;
	timing->idle_cores = core;
	pthread_mutex_unlock(&timing->cores_lock);
}

void
thread_free_idle_cores(struct timing *timing)
{
	while (timing->idle_cores) {
		struct target_core *core = timing->idle_cores;

		timing->idle_cores = core->next;
		free_core(core);
	}
}

static void
start_clock(struct thread *thread, uint64_t clock)
{
	thread->limit = clock;
	thread->until_limit.all = 0;
	thread->stall_cycles = clock;
	thread->published_static = 0;
	core_begin(thread);
	thread->next_turn = clock;
	sample_begin(thread);
	thread_set_limit(thread);
}

/* The emulator may announce several threads at once, each on itself. */
static void
note_thread(struct timing *timing, unsigned vcpu)
{
	unsigned known = __atomic_load_n(&timing->thread_count, __ATOMIC_RELAXED);

	while (known <= vcpu && !__atomic_compare_exchange_n(&timing->thread_count, &known, vcpu + 1, true,
	                                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

int
thread_begin(struct timing *timing, unsigned vcpu)
{
	struct thread *thread;
	int err;

	if (vcpu >= RECORD_VCPUS_MAX)
		return -ENOSPC;
	thread = timing_thread(timing, vcpu);
	thread->record = recording_add_vcpu(timing->recording, vcpu);
	if (!thread->record)
		return -errno;
	thread->vcpu = vcpu;
	thread->tid = 0; /* not known yet */
	thread->timing = timing;
	thread->load_cycles = timing->load_cycles;
	thread->mispredict_cycles = timing->setup->pipeline.mispredict_cycles;
	thread->records_stalls = timing->parts & SETUP_TRUTH;
	start_clock(thread, clock_thread_begin(timing->clock, vcpu, &thread->record->counters));
	err = take_core(timing, thread);
	if (err) {
		clock_thread_end(timing->clock, vcpu, thread_clock(thread));
		return err;
	}
	thread->half.next = THREAD_NEVER;
	thread->executions = thread->record->executions;
	thread->edge = &timing->nothing->edge;
	for (unsigned i = 0; i < THREAD_HISTORY; i++)
		thread->history[i] = thread->edge;
	thread->record->counters.began = thread_clock(thread);
	thread->record->counters.clock = thread_clock(thread);
	thread->record->counters.threads++;
	note_thread(timing, vcpu);
	pthread_mutex_lock(&timing->cores_lock);
	thread->is_alive = true;
	pthread_mutex_unlock(&timing->cores_lock);
	return 0;
}

void
thread_end(struct thread *thread)
{
	struct target_core *core = thread->core;

	if (!thread->is_alive)
		return;
	core_settle(thread);
	core->predictor = thread->predictor;
	pthread_mutex_lock(&thread->timing->cores_lock); /* against timing_publish() of another thread */
	thread_publish(thread);
	thread->is_alive = false;
	thread->core = NULL;
	thread->hierarchy = NULL;
	pthread_mutex_unlock(&thread->timing->cores_lock);
	give_core_back(thread->timing, core); /* before the clock gives the core to another thread */
	clock_thread_end(thread->timing->clock, thread->vcpu, thread_clock(thread));
}

void
thread_free(struct thread *thread)
{
	if (!thread->is_alive)
		return;
	free_core(thread->core);
	thread->core = NULL;
	thread->hierarchy = NULL;
	thread->is_alive = false;
}

void
thread_publish(struct thread *thread)
{
	struct record_counters *counters = &thread->record->counters;
	const uint64_t position = thread_clock(thread) - thread->stall_cycles;

	counters->cycles[REASON_EXECUTION] += position - thread->published_static;
	thread->published_static = position;
	counters->clock = thread_clock(thread);
	if (thread->hierarchy) {
		const struct hierarchy_traffic traffic = hierarchy_traffic(thread->hierarchy);
		const struct hierarchy_traffic *before = &thread->traffic_before;

		for (unsigned i = 0; i < MACHINE_NODES_MAX; i++)
			counters->node_bytes[i] = before->node_bytes[i] + traffic.node_bytes[i];
		counters->prefetched = before->prefetched + traffic.prefetched;
		counters->prefetched_used = before->prefetched_used + traffic.prefetched_used;
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
	thread->until_limit.all = (int64_t)(thread->until_limit.fraction - (left << 32));
}

static void
pass_blocked(struct thread *thread, uint64_t cycles)
{
	thread->limit += cycles; /* with the clock, as it may be long; sample_skip() sets it */
	thread->stall_cycles += cycles;
	thread->record->counters.cycles[REASON_BLOCKED] += cycles;
	sample_skip(thread, cycles);
}

void
thread_step(struct thread *thread, const struct clock_step *step)
{
	if (step->blocked_cycles)
		pass_blocked(thread, step->blocked_cycles);
	if (step->call_cycles)
		stall_add(thread, thread->call, thread->call, REASON_CALL, step->call_cycles);
	thread->next_turn = step->limit;
	thread->record->counters.clock = thread_clock(thread);
	thread_set_limit(thread);
}

/* Who reads accesses in the order of time need not wait for this thread. */
static void
set_away(struct thread *thread, uint64_t is_away)
{
	if (thread->timing->setup->access_period)
		__atomic_store_n(&thread->record->accesses.head.is_away, is_away, __ATOMIC_RELEASE);
}

void
thread_call_began(struct thread *thread, const struct clock_call *call)
{
	const struct block *block = thread->edge->variant.block;

	core_settle(thread);
	thread->call = block->first + block->count - 1u;
	thread_publish(thread);
	clock_call_began(thread->timing->clock, thread->vcpu, thread_clock(thread), call);
	set_away(thread, 1);
}

/*
 * The clock may have chosen another core, as the thread's affinity was set: the thread leaves its caches, TLBs and
 * predictor there and continues with those of the new core. Without memory for them it stays.
 */
static void
follow_clock(struct thread *thread)
{
	struct timing *timing = thread->timing;
	const unsigned number = clock_thread_core(timing->clock, thread->vcpu);
	struct target_core *left = thread->core, *core;

	if (number == left->number)
		return;
	core = find_core(timing, thread, number, FILTER_NO_ROOM);
	if (!core)
		return;
	core_settle(thread);
	left->predictor = thread->predictor;
	pthread_mutex_lock(&timing->cores_lock); /* against timing_publish() of another thread */
	thread_publish(thread);
	thread->core = NULL;
	thread->hierarchy = NULL;
	pthread_mutex_unlock(&timing->cores_lock);
	give_core_back(timing, left);
	if (core->hierarchy) /* else its filter stays in memory of its own */
		(void)hierarchy_move_filter(core->hierarchy, filter_area(thread));
	pthread_mutex_lock(&timing->cores_lock);
	use_core(thread, core);
	pthread_mutex_unlock(&timing->cores_lock);
}

void
thread_turn(struct thread *thread)
{
	struct clock_step step;

	thread_publish(thread);
	clock_reached(thread->timing->clock, thread->vcpu, thread_clock(thread), &step);
	thread_step(thread, &step);
	follow_clock(thread);
}

void
thread_call_ended(struct thread *thread, int64_t result)
{
	struct clock_step step;

	set_away(thread, 0);
	clock_call_ended(thread->timing->clock, thread->vcpu, thread_clock(thread), result, &step);
	thread_step(thread, &step);
	core_restart(thread);
	follow_clock(thread);
}

void
thread_fork(struct thread *thread)
{
	struct record_counters *counters = &thread->record->counters;

	thread->published_static = thread_clock(thread) - thread->stall_cycles;
	counters->clock = thread_clock(thread);
	counters->began = thread_clock(thread);
	counters->threads = 1;
	thread->tid = 0;
	if (thread->hierarchy) /* what it moved before is the parent's */
		begin_traffic(thread);
}
