/*
 * predictor.h - the branch predictor of a core of the target
 *
 * It predicts conditional branches by 2-bit counters (static: by direction), returns by a return stack, indirect jumps
 * and calls by a table of targets. Gshare finds the counter and the target by the branch and the history; the others by
 * the branch alone. Direct jumps are always predicted right. Each core has one predictor. Thread rule: one thread per
 * predictor.
 */
#ifndef DCPI_EMULATOR_MODEL_PREDICTOR_H
#define DCPI_EMULATOR_MODEL_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define PREDICTOR_WEAK           2  /* of a counter: at the next misprediction it changes direction */
#define PREDICTOR_TARGET_BITS    5  /* bits of each target in the history of targets */
#define PREDICTOR_TARGET_HISTORY 20 /* bits of the history of targets */

struct predictor {
	uint8_t *counters; /* mask + 1: bit 0: taken; PREDICTOR_WEAK */
	uint32_t mask;
	uint32_t history, history_mask; /* the history has only bits of the mask */
	uint64_t *targets;
	uint64_t target_mask, target_history;
	uint64_t *returns;
	uint32_t return_count, return_top;
	bool has_history, has_targets, is_static;
};

/* 0 or -ENOMEM. */
int predictor_init(struct predictor *predictor, const struct machine *machine);
void predictor_fini(struct predictor *predictor);

/*
 * The site of the conditional branch at `address` to `target`, by which its counter is found; to be kept with its
 * block.
 */
uint32_t predictor_site(const struct predictor *predictor, uint64_t address, uint64_t target);

/* The value of a strong counter: it does not change when its prediction is right. */
static inline uint8_t
predictor_sure(bool taken)
{
	return taken;
}

/* `has_history`: the predictor's; a constant saves a branch. */
static inline uint8_t *
predictor_counter(const struct predictor *predictor, uint32_t site, bool has_history)
{
	return &predictor->counters[has_history ? predictor->history ^ site : site];
}

static inline void
predictor_shift_history(struct predictor *predictor, uint32_t taken)
{
	predictor->history = (2 * predictor->history + taken) & predictor->history_mask;
}

/* Hides from the compiler that the pointer is unchanged: it is then not kept in a register for the rare path. */
static inline uint8_t *
predictor_hide(uint8_t *counter)
{
	__asm__("" : "+r"(counter));
	return counter;
}

/*
 * The branch of `site` was executed. True: its direction was predicted. False: nothing changes; call
 * predictor_branch_wrong(). `has_history`: as of predictor_counter().
 */
static inline bool
predictor_branch_right(struct predictor *predictor, uint32_t site, bool taken, bool has_history)
{
	uint8_t *counter = predictor_counter(predictor, site, has_history);

	if (__builtin_expect(*counter != predictor_sure(taken), 0)) {
		counter = predictor_hide(counter);
		if ((*counter & 1) != taken)
			return false;
		*counter = predictor_sure(taken);
	}
	if (has_history)
		predictor_shift_history(predictor, taken);
	return true;
}

static inline void
predictor_branch_wrong(struct predictor *predictor, uint32_t site, bool taken, bool has_history)
{
	uint8_t *counter = predictor_hide(predictor_counter(predictor, site, has_history));
	const bool says_taken = *counter & PREDICTOR_WEAK ? taken : !taken;

	if (!predictor->is_static)
		*counter = says_taken | PREDICTOR_WEAK;
	if (has_history)
		predictor_shift_history(predictor, taken);
}

/* A call that returns to `address`. */
static inline void
predictor_call(struct predictor *predictor, uint64_t address)
{
	uint32_t top = predictor->return_top + 1;

	top = top >= predictor->return_count ? 0 : top;
	predictor->return_top = top;
	predictor->returns[top] = address;
}

/* A return to `target`. True: it was predicted. False: nothing changes; call predictor_return_wrong(). */
static inline bool
predictor_return_right(struct predictor *predictor, uint64_t target)
{
	const uint32_t top = predictor->return_top;

	if (__builtin_expect(predictor->returns[top] != target || !predictor->return_count, 0))
		return false;
	predictor->returns[top] = 0; /* nobody returns there: what was pushed comes back once */
	predictor->return_top = (top ? top : predictor->return_count) - 1;
	return true;
}

static inline void
predictor_return_wrong(struct predictor *predictor)
{
	const uint32_t top = predictor->return_top;

	if (!predictor->return_count)
		return;
	predictor->returns[top] = 0;
	predictor->return_top = (top ? top : predictor->return_count) - 1;
}

static inline uint64_t
predictor_mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return value >> 32;
}

/* The place in the table of the target of an indirect jump or call at `address`. */
static inline uint64_t *
predictor_target(const struct predictor *predictor, uint64_t address)
{
	return &predictor->targets[predictor_mix(address ^ predictor->target_history << 32) & predictor->target_mask];
}

static inline void
predictor_remember_target(struct predictor *predictor, uint64_t target)
{
	if (predictor->has_history)
		predictor->target_history = (predictor->target_history << PREDICTOR_TARGET_BITS ^
		                             (predictor_mix(target) & ((1 << PREDICTOR_TARGET_BITS) - 1))) &
		                            ((1 << PREDICTOR_TARGET_HISTORY) - 1);
}

/* The indirect jump or call at `address` went to `target`. True: it was predicted. False: nothing changes. */
static inline bool
predictor_indirect_right(struct predictor *predictor, uint64_t address, uint64_t target)
{
	if (*predictor_target(predictor, address) != target)
		return false;
	predictor_remember_target(predictor, target);
	return true;
}

static inline void
predictor_indirect_wrong(struct predictor *predictor, uint64_t address, uint64_t target)
{
	if (!predictor->has_targets)
		return;
	*predictor_target(predictor, address) = target;
	predictor_remember_target(predictor, target);
}

#endif
