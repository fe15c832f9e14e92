#include "emulator/timing/dependence.h"

#include <string.h>

#include "emulator/timing/thread.h"

#define GENERAL UINT64_C(0xffffffff)

/* Loads of a block that missed: where they are among all. */
struct part {
	uint32_t first, end;
};

void
dependence_reset(struct dependence *dependence, uint32_t sequence)
{
	dependence->until = 0;
	dependence->registers = 0;
	dependence->followed = sequence;
	dependence->first = dependence->count;
}

static struct part
missing_of(const struct dependence *dependence, uint32_t sequence)
{
	struct part part = {dependence->first, dependence->first};

	while (part.end != dependence->count && dependence->missing[part.end % DEPENDENCE_MISSING].sequence == sequence)
		part.end++;
	return part;
}

static uint64_t
registers_ready(const struct dependence *dependence, uint64_t registers)
{
	uint64_t ready = 0;

	for (uint64_t left = registers; left; left &= left - 1) {
		const uint64_t until = dependence->ready[__builtin_ctzll(left)];

		ready = until > ready ? until : ready;
	}
	return ready;
}

/* Loads of the block that missed, as bits. */
static uint64_t
loads_of(const struct dependence *dependence, struct part part)
{
	uint64_t loads = 0;

	for (uint32_t i = part.first; i != part.end; i++) {
		const uint32_t load = dependence->missing[i % DEPENDENCE_MISSING].load;

		loads |= load < 64 ? UINT64_C(1) << load : 0;
	}
	return loads;
}

/* When a value is there that is made of these loads of the block that missed and these registers before it. */
static uint64_t
value_ready(const struct dependence *dependence, struct part part, uint64_t loads, uint64_t live)
{
	uint64_t ready = registers_ready(dependence, live);

	for (uint32_t i = part.first; loads && i != part.end; i++) {
		const struct missing_load *load = &dependence->missing[i % DEPENDENCE_MISSING];

		if (load->load < 64 && loads >> load->load & 1 && load->ready > ready)
			ready = load->ready;
	}
	return ready;
}

/* The registers behind the block, which waited for something when it began or has loads that missed. */
static void
follow_registers(struct dependence *dependence, const struct block *block, struct part part, uint64_t issue)
{
	const uint64_t missing = loads_of(dependence, part), waiting = dependence->registers;
	const struct block_origin *origin = block->origins;
	uint64_t ready[DEPENDENCE_REGISTERS], behind = 0;

	for (uint64_t left = block->writes & GENERAL; left; left &= left - 1, origin++) {
		const uint64_t loads = origin->loads & missing, live = origin->live & waiting;
		const unsigned reg = (unsigned)__builtin_ctzll(left);

		if (!(loads | live))
			continue;
		ready[reg] = value_ready(dependence, part, loads, live);
		behind |= (uint64_t)(ready[reg] > issue) << reg;
	}
	dependence->registers = (waiting & ~block->writes) | behind;
	for (; behind; behind &= behind - 1)
		dependence->ready[__builtin_ctzll(behind)] = ready[__builtin_ctzll(behind)];
}

static void
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
		const struct part part = missing_of(dependence, dependence->followed);

		if (part.first != part.end || dependence->registers & block->live_in)
			follow_registers(dependence, block, part, issue);
		else
			dependence->registers &= ~block->writes;
		dependence->first = part.end;
	}
}

uint64_t
dependence_ready(struct thread *thread, unsigned index, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;
	const struct block *block = thread->code->block;
	const struct block_instruction *instruction = &block->instructions[index];

	if (dependence->until <= issue) {
		dependence_reset(dependence, thread->sequence);
		return 0;
	}
	if (!(instruction->address_loads | instruction->address_live))
		return 0;
	follow(thread, issue);
	return value_ready(dependence, missing_of(dependence, thread->sequence), instruction->address_loads,
	                   instruction->address_live & dependence->registers);
}

void
dependence_add(struct thread *thread, unsigned index, uint64_t ready)
{
	struct dependence *dependence = &thread->dependence;

	dependence->until = ready > dependence->until ? ready : dependence->until;
	dependence->missing[dependence->count++ % DEPENDENCE_MISSING] = (struct missing_load){
		.ready = ready,
		.sequence = thread->sequence,
		.load = thread->code->block->instructions[index].load,
	};
}
