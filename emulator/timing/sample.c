#include "emulator/timing/sample.h"

#include <time.h>
#include <unistd.h>

/* Periods differ by a sixteenth of their mean, so that no loop keeps step with them. */
#define SPREAD 16

#define READER_WAITS   100000 /* for the ring of accesses to have room, each of */
#define READER_WAIT_NS 100000

static uint64_t
random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

static uint64_t
random_number(struct thread *thread)
{
	return random_next(&thread->random);
}

static uint64_t
next_period(struct thread *thread, enum setup_event event)
{
	const uint64_t period = thread->timing->setup->periods[event];
	const uint64_t spread = period / SPREAD;

	if (period == 0 || !(thread->timing->parts & SETUP_SAMPLES))
		return THREAD_NEVER;
	return spread ? period - spread / 2 + random_number(thread) % (spread + 1) : period;
}

static void
take(struct thread *thread, enum setup_event event, uint32_t instruction)
{
	thread->record->samples[event][instruction]++;
	thread->record->counters.samples[event]++;
}

static void
take_cycles(struct thread *thread, uint32_t instruction)
{
	take(thread, SETUP_EVENT_CYCLES, instruction);
	thread->next_sample += next_period(thread, SETUP_EVENT_CYCLES);
}

/* Any number of accesses up to twice the mean may pass: no loop keeps step with that. */
static void
next_access(struct thread *thread)
{
	const uint64_t least = thread->timing->setup->access_period;
	const uint64_t asked = __atomic_load_n(&thread->record->accesses.head.period, __ATOMIC_RELAXED);
	const uint64_t period = asked > least && asked <= UINT32_MAX ? asked : least;

	thread->access_weight = period;
	thread->access_countdown = least ? 1 + random_next(&thread->access_random) % (2 * period - 1) : 0;
}

void
sample_begin(struct thread *thread)
{
	const uint64_t seed = thread->timing->setup->seed + thread->vcpu + 1;
	uint64_t period;

	thread->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	for (unsigned i = 0; i < 8; i++)
		random_number(thread);
	period = next_period(thread, SETUP_EVENT_CYCLES);
	/* the first one anywhere in its period: short threads are sampled as often as they deserve */
	thread->next_sample =
		period == THREAD_NEVER ? THREAD_NEVER - 1 : thread_clock(thread) + random_number(thread) % period;
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++)
		thread->countdowns[i] = next_period(thread, i);
	thread->access_random = thread->random;
	next_access(thread);
}

__attribute__((noinline)) void
sample_stall(struct thread *thread, uint32_t stalled)
{
	while (thread_clock(thread) > thread->next_sample)
		take_cycles(thread, stalled);
	thread_set_limit(thread);
}

/* Head of the queue in a cycle: the first that issues then or later; what is behind the last is its own. */
void
sample_execution(struct thread *thread, uint64_t start)
{
	const struct variant *variant = &thread->edge->variant;
	const struct block *block = variant->block;
	unsigned index = 0;

	while (thread_clock(thread) > thread->next_sample) {
		const uint64_t cycle = thread->next_sample - start;

		while (index + 1u < block->count && variant->issue_cycles[index] < cycle)
			index++;
		take_cycles(thread, block->first + index);
	}
}

void
sample_skip(struct thread *thread, uint64_t cycles)
{
	if (thread->next_sample < THREAD_NEVER - 1)
		thread->next_sample += cycles;
	thread_set_limit(thread);
}

void
sample_event(struct thread *thread, enum setup_event event, uint32_t instruction)
{
	if (thread->timing->setup->periods[event] && thread->timing->parts & SETUP_SAMPLES)
		take(thread, event, instruction);
	thread->countdowns[event] = next_period(thread, event);
}

/* ---- accesses ---- */

/* Whether the ring has room; its reader comes some 50 times a second. Meanwhile no time passes on the target. */
static bool
wait_for_reader(const struct record_accesses *accesses)
{
	for (unsigned i = 0; i < READER_WAITS; i++) {
		if (accesses->head.written - __atomic_load_n(&accesses->head.read, __ATOMIC_ACQUIRE) < RECORD_ACCESSES)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = READER_WAIT_NS}, NULL);
	}
	return false;
}

static void
record_access(struct thread *thread, const struct record_access *access)
{
	struct record_accesses *accesses = &thread->record->accesses;

	if (!wait_for_reader(accesses)) {
		accesses->head.lost++;
		return;
	}
	accesses->ring[accesses->head.written % RECORD_ACCESSES] = *access;
	__atomic_store_n(&accesses->head.written, accesses->head.written + 1, __ATOMIC_RELEASE);
}

static uint32_t
clamp(uint64_t cycles)
{
	return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

void
sample_access(struct thread *thread, const struct sampled_access *access, const struct access_result *result)
{
	const struct timing *timing = thread->timing;
	unsigned flags = 0;

	if (result->level + 1u < timing->level_count && result->transfer == TRANSFER_NONE && !result->used_prefetch &&
	    !result->first_write)
		return;
	thread->record->accesses.head.counted++;
	if (--thread->access_countdown)
		return;
	if (!thread->tid) /* the thread's own: the emulator announces it on the one that makes it */
		thread->tid = (uint32_t)gettid();
	flags |= access->is_store ? RECORD_ACCESS_STORE : 0;
	flags |= access->is_atomic ? RECORD_ACCESS_ATOMIC : 0;
	flags |= result->used_prefetch ? RECORD_ACCESS_PREFETCHED : 0;
	flags |= result->transfer != TRANSFER_NONE ? RECORD_ACCESS_TRANSFER : 0;
	flags |= result->transfer == TRANSFER_FAR ? RECORD_ACCESS_FAR : 0;
	record_access(thread,
	              &(struct record_access){
			      .time = access->time,
			      .address = access->address,
			      .instruction = access->instruction,
			      .tid = thread->tid,
			      .cycles = clamp((uint64_t)result->cycles + result->wait_cycles + result->tlb_cycles),
			      .cost = clamp(access->cost),
			      .weight = (uint32_t)thread->access_weight,
			      .core = (uint16_t)hierarchy_core(thread->hierarchy),
			      .core_node = (uint8_t)hierarchy_core_node(thread->hierarchy),
			      .level = result->level,
			      .page_node = (uint8_t)hierarchy_page_node(thread->hierarchy, access->address),
			      .flags = (uint8_t)flags,
		      });
	next_access(thread);
}

/* ---- stalls ---- */

/* By itself, so that what is found where it was last has nothing to save for it. */
static __attribute__((noinline)) void
record_elsewhere(struct thread *thread, const struct record_pair *pair, enum record_reason reason, uint64_t cycles,
                 uint32_t *at)
{
	struct record_stall *there = record_stall_find(thread->record, pair->stalled, pair->culprit, reason);

	if (!there) {
		process_file_count_unrecorded(recording_file(thread->timing->recording));
		return;
	}
	__atomic_store_n(at, record_stall_bytes(thread->record, there), __ATOMIC_RELAXED);
	record_stall_count(there, cycles);
}

void
stall_record_at(struct thread *thread, const struct record_pair *pair, enum record_reason reason, uint64_t cycles,
                uint32_t *at)
{
	struct record_stall *there;

	if (!thread->records_stalls)
		return;
	there = record_stall_at(thread->record, __atomic_load_n(at, __ATOMIC_RELAXED));
	if (record_stall_is(there, pair, reason))
		record_stall_count(there, cycles);
	else
		record_elsewhere(thread, pair, reason, cycles, at);
}

void
stall_record(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	thread->record->counters.cycles[reason] += cycles;
	if (thread->records_stalls && !record_stall_add(thread->record, stalled, culprit, reason, cycles))
		process_file_count_unrecorded(recording_file(thread->timing->recording));
}

void
stall_add(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	stall_pass(thread, cycles);
	stall_record(thread, stalled, culprit, reason, cycles);
	stall_sample(thread, stalled);
}

void
stall_for_load(struct thread *thread, struct load_stall *load, uint64_t cycles, const struct load_cost *cost)
{
	/* What is hidden came first: the line's page, then the line, then waiting for memory. */
	const uint64_t waiting = cycles < cost->wait_cycles ? cycles : cost->wait_cycles, left = cycles - waiting;
	const uint64_t most = left > cost->cache_cycles ? left - cost->cache_cycles : 0;
	const uint64_t translating = most < cost->tlb_cycles ? most : cost->tlb_cycles, caching = left - translating;
	uint64_t *counters = thread->record->counters.cycles;

	stall_pass(thread, cycles);
	if (__builtin_expect(waiting != 0, 0))
		stall_record(thread, load->pair.stalled, load->pair.culprit, REASON_BANDWIDTH, waiting);
	if (__builtin_expect(caching && cost->is_transfer, 0)) {
		stall_record(thread, load->pair.stalled, load->pair.culprit, REASON_TRANSFER, caching);
	} else if (caching) {
		counters[REASON_DATA_CACHE] += caching;
		stall_record_at(thread, &load->pair, REASON_DATA_CACHE, caching, &load->cache_at);
	}
	if (translating) {
		counters[REASON_DATA_TLB] += translating;
		stall_record_at(thread, &load->pair, REASON_DATA_TLB, translating, &load->tlb_at);
	}
	stall_sample(thread, load->pair.stalled);
}

struct load_stall *
load_stalls_take(struct arena *arena, const struct block *block)
{
	struct load_stall *stalls = arena_take(arena, block->access_end * sizeof(*stalls), _Alignof(struct load_stall));

	for (unsigned i = 0; stalls && i < block->access_end; i++) {
		const struct block_instruction *instruction = &block->instructions[i];
		const uint32_t culprit = block->first + i;
		const uint32_t stalled = block->is_in_order ? block->first + instruction->use : culprit;

		if (block->is_in_order && !instruction->is_used_first)
			continue;
		stalls[i] = load_stall_of(stalled, culprit);
	}
	return stalls;
}
