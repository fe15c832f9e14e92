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
		dependence->ready[(size_t)__builtin_ctz(registers)] = ready;
}

/* The registers that wait behind a block, of which `registers` waited before it. It reads only one that did. */
static inline __attribute__((always_inline)) uint32_t
dependence_pass(struct dependence *dependence, const struct block *block, uint32_t registers, uint32_t waiting,
                uint64_t issue)
{
	const size_t reg = (size_t)__builtin_ctz(waiting);
	const uint64_t until = dependence->ready[reg];
	uint32_t reached;

	registers &= block->keeps;
	if (until <= issue)
		return registers;
	reached = block->reaches[reg];
	dependence_set(dependence, reached & ~waiting, until);
	return registers | reached;
}

/*
 * The same behind the one whose load missed, that reads one register at most that waited, which mostly is so, as each
 * load of a chain is behind the one before. What is made of both waits for the later.
 */
static inline __attribute__((always_inline)) uint32_t
dependence_pass_load(struct dependence *dependence, const struct missing_load *missing, uint32_t registers,
                     uint32_t waiting, uint64_t issue)
{
	const struct block *block = missing->load->block;
	const uint64_t ready = missing->ready;
	uint32_t loaded = __builtin_expect(ready > issue, 1) ? missing->load->reaches : 0;

	registers = (registers & block->keeps) | loaded;
	if (__builtin_expect(waiting != 0, 1)) {
		const size_t reg = (size_t)__builtin_ctz(waiting);
		const uint64_t until = dependence->ready[reg];

		if (__builtin_expect(until > issue, 1)) {
			const uint32_t reached = block->reaches[reg];

			registers |= reached;
			if (until > ready)
				loaded &= ~reached;
			dependence_set(dependence, reached & ~(waiting | loaded), until);
		}
	}
	dependence_set(dependence, loaded, ready);
	return registers;
}

/* What an address, of the block that runs, may be made of that is missing. */
enum dependence_kind {
	DEPENDENCE_NONE, /* nothing */
	DEPENDENCE_ONE,  /* of one load, in the first of the blocks that are to be followed, which are remembered */
	DEPENDENCE_ANY,  /* of whatever it is */
};

/* At `issue`. */
static inline __attribute__((always_inline)) enum dependence_kind
dependence_kind(const struct thread *thread, const struct block_dependence *load, uint64_t issue)
{
	const struct dependence *dependence = &thread->dependence;

	if (dependence->until <= issue)
		return DEPENDENCE_NONE;
	if (thread->sequence - dependence->one >= THREAD_HISTORY - 1 || !dependence_may_wait(load))
		return DEPENDENCE_ANY;
	return dependence->registers | dependence->missing[0].load->reaches ? DEPENDENCE_ONE : DEPENDENCE_NONE;
}

/*
 * With DEPENDENCE_ONE: follows to the block that runs what usually is to be followed, as each block reads one register
 * at most that waits. `registers`: those that wait then. False: from `followed` on it is another.
 */
static inline __attribute__((always_inline)) bool
dependence_follow(struct thread *thread, uint64_t issue, uint32_t *registers)
{
	struct dependence *dependence = &thread->dependence;
	const uint32_t end = thread->sequence;
	const struct block *block = dependence->missing[0].load->block;
	uint32_t sequence = (uint32_t)dependence->one, left = dependence->registers;
	uint32_t waiting = left & (uint32_t)block->live_in;

	if (waiting & (waiting - 1))
		return false;
	left = dependence_pass_load(dependence, &dependence->missing[0], left, waiting, issue);
	for (; sequence != end; sequence++) {
		block = dependence_block(thread, sequence);
		waiting = left & (uint32_t)block->live_in;
		if (!waiting) {
			left &= block->keeps;
		} else if (waiting & (waiting - 1)) {
			dependence->one = DEPENDENCE_NOT_ONE;
			dependence->registers = left;
			dependence->followed = sequence;
			dependence->count = 0;
			return false;
		} else {
			left = dependence_pass(dependence, block, left, waiting, issue);
		}
	}
	*registers = left;
	return true;
}

/* When all registers, of those that wait, are there that an address is made of, as they were when its block began. */
static inline __attribute__((always_inline)) uint64_t
dependence_made(const struct dependence *dependence, uint32_t registers, const struct block_dependence *load)
{
	uint64_t ready = 0;

	for (uint32_t left = load->address_live & registers; left; left &= left - 1) {
		const uint64_t until = dependence->ready[(size_t)__builtin_ctz(left)];

		ready = until > ready ? until : ready;
	}
	return ready;
}

/*
 * The load, of the block that runs, missed. No other is missing, with DEPENDENCE_NONE, or any that did was followed;
 * `registers`: that wait before the block.
 */
static inline __attribute__((always_inline)) void
dependence_add_one(struct thread *thread, const struct block_dependence *load, uint32_t registers, uint64_t ready)
{
	struct dependence *dependence = &thread->dependence;

	dependence->until = ready > dependence->until ? ready : dependence->until;
	dependence->one = (uint64_t)thread->sequence + 1;
	dependence->registers = registers;
	dependence->missing[0].ready = ready;
	dependence->missing[0].load = load;
}

#endif
