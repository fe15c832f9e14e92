#include "emulator/timing/dependence.h"

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

/*
 * The registers that wait behind a block, of which `registers` waited before it. Of those it reads one at most did,
 * `waiting`, and one of its loads missed at most: nothing is read here that was written here.
 */
static inline uint64_t
follow_one(struct dependence *dependence, const struct block *block, struct part part, uint64_t registers,
           uint64_t waiting, uint64_t issue)
{
	const uint64_t loaded = dependence->missing[part.first % DEPENDENCE_MISSING].ready;
	const uint64_t until = waiting ? dependence->ready[__builtin_ctzll(waiting)] : 0;
	const struct block_origin *origin = block->origins;

	registers &= ~block->writes;
	for (uint64_t left = block->writes & GENERAL; left; left &= left - 1, origin++) {
		const uint64_t live = origin->live & waiting ? until : 0;
		const uint64_t load = origin->loads & part.loads ? loaded : 0;
		const uint64_t ready = live > load ? live : load;

		if (ready <= issue)
			continue;
		registers |= left & -left;
		dependence->ready[__builtin_ctzll(left)] = ready;
	}
	return registers;
}

/* The same of any block; `first` of what is left are its loads. */
static __attribute__((noinline)) uint64_t
follow_several(struct dependence *dependence, const struct code *code, uint32_t sequence, uint32_t first,
               uint64_t registers, uint64_t issue)
{
	const struct part part = missing_of(dependence, sequence, first);
	const struct block *block = code->block;
	const struct block_origin *origin = block->origins;
	uint64_t behind = 0;

	for (uint64_t left = block->writes & GENERAL; left; left &= left - 1, origin++) {
		const unsigned reg = (unsigned)__builtin_ctzll(left);

		dependence->behind[reg] =
			value_ready(dependence, part, origin->loads & part.loads, origin->live & registers);
		behind |= (uint64_t)(dependence->behind[reg] > issue) << reg;
	}
	for (uint64_t left = behind; left; left &= left - 1)
		dependence->ready[__builtin_ctzll(left)] = dependence->behind[__builtin_ctzll(left)];
	return (registers & ~block->writes) | behind;
}

static inline void
follow(struct dependence *dependence, const struct code *const *history, uint32_t sequence, uint64_t issue)
{
	uint64_t registers = dependence->registers;
	uint32_t first = dependence->first;

	for (uint32_t i = dependence->followed; i != sequence; i++) {
		const struct block *block = history[i % THREAD_HISTORY]->block;
		const struct part part = missing_of(dependence, i, first);
		const uint64_t waiting = registers & block->live_in;

		if (!(part.loads | waiting))
			registers &= ~block->writes;
		else if (part.end - part.first <= 1 && !(waiting & (waiting - 1)))
			registers = follow_one(dependence, block, part, registers, waiting, issue);
		else
			registers = follow_several(dependence, history[i % THREAD_HISTORY], i, first, registers, issue);
		first = part.end;
	}
	dependence->registers = registers;
	dependence->first = first;
	dependence->followed = sequence;
}

/* What is not known any more is ready. */
static void
forget_lost(struct dependence *dependence, uint32_t sequence)
{
	const uint64_t until = dependence->until;

	if (sequence - dependence->followed < THREAD_HISTORY &&
	    dependence->count - dependence->first <= DEPENDENCE_MISSING)
		return;
	dependence_reset(dependence, sequence);
	dependence->until = until;
}

/* By itself: who is not made of anything that is missing has nothing to save for it. */
static __attribute__((noinline)) uint64_t
address_ready(struct thread *thread, const struct block_instruction *instruction, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;
	struct part part;

	forget_lost(dependence, thread->sequence);
	follow(dependence, thread->history, thread->sequence, issue);
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
