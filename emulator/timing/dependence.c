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

	for (uint64_t left = registers & dependence->registers; left; left &= left - 1) {
		const uint64_t until = dependence->ready[__builtin_ctzll(left)];

		ready = until > ready ? until : ready;
	}
	return ready;
}

static const struct block_instruction *
load_of(const struct block *block, unsigned number)
{
	for (uint16_t i = 0; i < block->count; i++)
		if (block->instructions[i].load == number)
			return &block->instructions[i];
	return NULL;
}

/* A load that missed of these: when it is ready; 0: it is none of them. */
static uint64_t
missing_until(const struct dependence *dependence, struct part part, uint64_t number)
{
	for (uint32_t i = part.first; i != part.end; i++)
		if (dependence->missing[i % DEPENDENCE_MISSING].load == number)
			return dependence->missing[i % DEPENDENCE_MISSING].ready;
	return 0;
}

/* When a value is there that is made of these loads of the block and of registers before it: loads that hit wait for
 * their addresses. */
static uint64_t
value_ready(const struct dependence *dependence, const struct block *block, struct part part, uint64_t loads,
            uint64_t live)
{
	uint64_t ready = 0;

	if (part.first == part.end && !(dependence->registers & block->live_in))
		loads = 0;
	while (loads) {
		const unsigned number = 63 - (unsigned)__builtin_clzll(loads);
		const uint64_t until = missing_until(dependence, part, number);
		const struct block_instruction *load = until ? NULL : load_of(block, number);

		loads &= ~(UINT64_C(1) << number);
		ready = until > ready ? until : ready;
		if (load) {
			loads |= load->address_loads & ~(UINT64_MAX << number);
			live |= load->address_live;
		}
	}
	live = registers_ready(dependence, live);
	return live > ready ? live : ready;
}

/* The registers behind the block, which waited for something when it began or has loads that missed. */
static void
follow_registers(struct dependence *dependence, const struct block *block, struct part part, uint64_t issue)
{
	uint64_t ready[DEPENDENCE_REGISTERS], waiting = 0;

	for (uint64_t left = block->writes & GENERAL; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctzll(left);
		uint64_t loads, live;

		block_origin(block, reg, &loads, &live);
		ready[reg] = value_ready(dependence, block, part, loads, live);
		waiting |= (uint64_t)(ready[reg] > issue) << reg;
	}
	dependence->registers = (dependence->registers & ~block->writes) | waiting;
	for (; waiting; waiting &= waiting - 1)
		dependence->ready[__builtin_ctzll(waiting)] = ready[__builtin_ctzll(waiting)];
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
	return value_ready(dependence, block, missing_of(dependence, thread->sequence), instruction->address_loads,
	                   instruction->address_live);
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
