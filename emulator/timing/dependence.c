#include "emulator/timing/dependence.h"

#include <string.h>

#include "emulator/timing/thread.h"

#define GENERAL UINT64_C(0xffffffff)

/* Loads of a block that missed: where they are among all, and as bits. */
struct part {
	uint32_t first, end;
	uint64_t loads;
};

void
dependence_reset(struct dependence *dependence, uint32_t sequence)
{
	dependence->until = 0;
	dependence->registers = 0;
	dependence->followed = sequence;
	dependence->first = dependence->count;
}

/* Those of the block are the first of what is left. */
static inline struct part
missing_of(const struct dependence *dependence, uint32_t sequence, uint32_t first)
{
	struct part part = {first, first, 0};

	for (; part.end != dependence->count; part.end++) {
		const struct missing_load *load = &dependence->missing[part.end % DEPENDENCE_MISSING];

		if (load->sequence != sequence)
			break;
		part.loads |= load->bit;
	}
	return part;
}

/* When a value is there that is made of these loads of the block that missed and these registers before it. */
static inline uint64_t
value_ready(const struct dependence *dependence, struct part part, uint64_t loads, uint64_t live)
{
	uint64_t ready = 0;

	for (; live; live &= live - 1) {
		const uint64_t until = dependence->ready[__builtin_ctzll(live)];

		ready = until > ready ? until : ready;
	}
	for (uint32_t i = part.first; loads && i != part.end; i++) {
		const struct missing_load *load = &dependence->missing[i % DEPENDENCE_MISSING];

		if (loads & load->bit && load->ready > ready)
			ready = load->ready;
	}
	return ready;
}

/* The registers behind the block, which waited for something when it began or has loads that missed. */
static inline void
follow_registers(struct dependence *dependence, const struct block *block, struct part part, uint64_t issue)
{
	const struct block_origin *origin = block->origins;
	const uint64_t waiting = dependence->registers;
	uint64_t behind = 0;

	for (uint64_t left = block->writes & GENERAL; left; left &= left - 1, origin++) {
		const uint64_t loads = origin->loads & part.loads, live = origin->live & waiting;
		const unsigned reg = (unsigned)__builtin_ctzll(left);

		if (!(loads | live))
			continue;
		dependence->behind[reg] = value_ready(dependence, part, loads, live);
		behind |= (uint64_t)(dependence->behind[reg] > issue) << reg;
	}
	dependence->registers = (waiting & ~block->writes) | behind;
	for (; behind; behind &= behind - 1)
		dependence->ready[__builtin_ctzll(behind)] = dependence->behind[__builtin_ctzll(behind)];
}

static inline void
follow(struct thread *thread, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;

	if (thread->sequence - dependence->followed >= THREAD_HISTORY ||
	    dependence->count - dependence->first > DEPENDENCE_MISSING) {
		const uint64_t until = dependence->until;

		dependence_reset(dependence, thread->sequence);
		dependence->until = until;
	}
	for (; dependence->followed != thread->sequence; dependence->followed++) {
		const struct block *block = thread->history[dependence->followed % THREAD_HISTORY]->block;
		const struct part part = missing_of(dependence, dependence->followed, dependence->first);

		if (part.loads | (dependence->registers & block->live_in))
			follow_registers(dependence, block, part, issue);
		else
			dependence->registers &= ~block->writes;
		dependence->first = part.end;
	}
}

/* By itself: who is not made of anything that is missing has nothing to save for it. */
static __attribute__((noinline)) uint64_t
address_ready(struct thread *thread, const struct block_instruction *instruction, uint64_t issue)
{
	const struct dependence *dependence = &thread->dependence;
	struct part part;

	follow(thread, issue);
	part = missing_of(dependence, thread->sequence, dependence->first);
	return value_ready(dependence, part, instruction->address_loads & part.loads,
	                   instruction->address_live & dependence->registers);
}

uint64_t
dependence_ready(struct thread *thread, unsigned index, uint64_t issue)
{
	const struct block_instruction *instruction = &thread->code->block->instructions[index];

	if (thread->dependence.until <= issue) {
		dependence_reset(&thread->dependence, thread->sequence);
		return 0;
	}
	if (!(instruction->address_loads | instruction->address_live))
		return 0;
	return address_ready(thread, instruction, issue);
}

void
dependence_add(struct thread *thread, unsigned index, uint64_t ready)
{
	const uint32_t load = thread->code->block->instructions[index].load;
	struct dependence *dependence = &thread->dependence;

	dependence->until = ready > dependence->until ? ready : dependence->until;
	dependence->missing[dependence->count++ % DEPENDENCE_MISSING] = (struct missing_load){
		.ready = ready,
		.bit = load < 64 ? UINT64_C(1) << load : 0,
		.sequence = thread->sequence,
	};
}
