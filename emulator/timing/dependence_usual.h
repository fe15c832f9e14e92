/*
 * dependence_usual.h - what a load that missed has to do with others, straight on
 *
 * Nothing is called here, so that who asks has nothing to save.
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_DEPENDENCE_USUAL_H
#define DCPI_EMULATOR_TIMING_DEPENDENCE_USUAL_H

#include "emulator/timing/thread.h"

static inline const struct block *
dependence_block(const struct thread *thread, uint32_t sequence)
{
	return thread->history[sequence % THREAD_HISTORY]->variant.block;
}

/* Whether anything is loaded, or held by registers, that the address of a load is made of. */
static inline bool
dependence_may_wait(const struct block_dependence *load)
{
	return load->address_loads | load->address_live;
}

static inline void
dependence_set(struct dependence *dependence, uint32_t registers, uint64_t ready)
{
	for (; registers; registers &= registers - 1)
		dependence->ready[(unsigned)__builtin_ctz(registers)] = ready;
}

/* The registers that wait behind a block, of which `registers` waited before it. It reads only one that did. */
static inline __attribute__((always_inline)) uint32_t
dependence_pass(struct dependence *dependence, const struct block *block, uint32_t registers, uint32_t waiting,
                uint64_t issue)
{
	const unsigned reg = (unsigned)__builtin_ctz(waiting);
	const uint64_t until = dependence->ready[reg];

	registers &= ~(uint32_t)block->writes;
	if (until <= issue)
		return registers;
	dependence_set(dependence, block->reaches[reg] & ~waiting, until);
	return registers | block->reaches[reg];
}

/* The same behind the one whose load missed; it reads one at most that waited. */
static inline __attribute__((always_inline)) uint32_t
dependence_pass_load(struct dependence *dependence, const struct block *block, uint32_t waiting, uint64_t issue)
{
	const uint64_t ready = dependence->missing[0].ready;
	const uint32_t loaded = dependence->missing[0].load->reaches;
	uint32_t registers = dependence->registers & ~(uint32_t)block->writes, reached;
	uint64_t until;

	if (waiting) {
		until = dependence->ready[__builtin_ctz(waiting)];
		reached = until > issue ? block->reaches[__builtin_ctz(waiting)] : 0;
		dependence_set(dependence, reached & ~waiting, until);
		registers |= reached;
		if (ready > issue && until > ready) {
			dependence_set(dependence, loaded & ~reached, ready);
			return registers | loaded;
		}
	}
	if (ready <= issue)
		return registers;
	dependence_set(dependence, loaded, ready);
	return registers | loaded;
}

/* What an address, of the block that runs, may be made of that is missing. */
enum dependence_kind {
	DEPENDENCE_NONE, /* nothing: what there was is forgotten, or was followed to where it ends */
	DEPENDENCE_ONE,  /* of one load, in the first of the blocks that are to be followed, which are remembered */
	DEPENDENCE_ANY,  /* of whatever it is */
};

/*
 * At `issue`. That it is of the first block is known of one that is alone: what is added is of the block up to which
 * all was followed, unless there are others.
 */
static inline __attribute__((always_inline)) enum dependence_kind
dependence_kind(struct thread *thread, const struct block_dependence *load, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;

	if (dependence->until <= issue)
		dependence->until = 0;
	else if (dependence->count != 1 || thread->sequence - dependence->followed - 1 >= THREAD_HISTORY - 1 ||
	         !dependence_may_wait(load))
		return DEPENDENCE_ANY;
	else if (dependence->registers | dependence->missing[0].load->reaches)
		return DEPENDENCE_ONE;
	dependence->registers = 0;
	dependence->followed = thread->sequence;
	dependence->count = 0;
	return DEPENDENCE_NONE;
}

/*
 * With DEPENDENCE_ONE: follows to the block that runs what usually is to be followed, as each block reads one register
 * at most that waits. False: from `followed` on it is another.
 */
static inline __attribute__((always_inline)) bool
dependence_follow(struct thread *thread, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;
	const uint32_t end = thread->sequence;
	uint32_t sequence = dependence->followed, registers = dependence->registers, waiting;
	const struct block *block = dependence_block(thread, sequence);

	waiting = registers & (uint32_t)block->live_in;
	if (waiting & (waiting - 1))
		return false;
	registers = dependence_pass_load(dependence, block, waiting, issue);
	while (++sequence != end) {
		block = dependence_block(thread, sequence);
		waiting = registers & (uint32_t)block->live_in;
		if (!waiting)
			registers &= ~(uint32_t)block->writes;
		else if (waiting & (waiting - 1))
			break;
		else
			registers = dependence_pass(dependence, block, registers, waiting, issue);
	}
	dependence->count = 0;
	dependence->registers = registers;
	dependence->followed = sequence;
	return sequence == end;
}

/* When all registers are there that an address is made of, as they were when its block began. */
static inline __attribute__((always_inline)) uint64_t
dependence_made(const struct dependence *dependence, const struct block_dependence *load)
{
	uint64_t ready = 0;

	for (uint32_t left = (uint32_t)load->address_live & dependence->registers; left; left &= left - 1) {
		const uint64_t until = dependence->ready[(unsigned)__builtin_ctz(left)];

		ready = until > ready ? until : ready;
	}
	return ready;
}

/* The load, of the block that runs, missed. */
static inline __attribute__((always_inline)) void
dependence_add(struct thread *thread, const struct block_dependence *load, uint64_t ready)
{
	struct dependence *dependence = &thread->dependence;

	dependence->until = ready > dependence->until ? ready : dependence->until;
	dependence->missing[dependence->count++ % DEPENDENCE_MISSING] = (struct missing_load){
		.ready = ready,
		.load = load,
		.sequence = thread->sequence,
	};
}

#endif
