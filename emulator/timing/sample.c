#include "emulator/timing/sample.h"

/* Periods differ by a sixteenth of their mean, so that no loop keeps step with them. */
#define SPREAD 16

static uint64_t
random_number(struct thread *thread)
{
	uint64_t x = thread->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	thread->random = x;
	return x * UINT64_C(0x2545f4914f6cdd1d) >> 32;
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
