/*
 * predictor.h - which branches the target's core predicts wrongly
 *
 * Conditional branches by counters of two bits (static: by direction), returns by a stack of addresses, indirect jumps
 * and calls by a table of targets. Of gshare the counter and the target are found with the history of branches, else by
 * the branch alone. Direct jumps are always predicted rightly. One predictor a core, of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_PREDICTOR_H
#define DCPI_EMULATOR_MODEL_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define PREDICTOR_WEAK           2  /* of a counter: wrong again, it says the other */
#define PREDICTOR_TARGET_BITS    5  /* of each target, in the history of targets, */
#define PREDICTOR_TARGET_HISTORY 20 /* which has so many */

struct predictor {
	uint8_t *counters; /* mask + 1: bit 0 says taken; and PREDICTOR_WEAK, perhaps */
	uint32_t mask;
	uint32_t history, history_mask; /* the history has bits of the mask only */
	uint64_t *targets;
	uint64_t target_mask, target_history;
	uint64_t *returns;
	uint32_t return_count, return_top;
	bool has_history, has_targets, is_static;
};

/* 0 or -ENOMEM. */
int predictor_init(struct predictor *predictor, const struct machine *machine);
void predictor_fini(struct predictor *predictor);

/* What stands for the conditional branch at `address` to `target`; to be kept with its block. */
uint32_t predictor_site(const struct predictor *predictor, uint64_t address, uint64_t target);

/* A counter that is sure of where a branch goes: it does not change when it goes there. */
static inline uint8_t
predictor_sure(bool taken)
{
	return taken;
}

/* `has_history`: the predictor's; who knows it has less to do. */
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

/* The same counter, of which the compiler does not know that: it need not be kept for what is rarely done. */
static inline uint8_t *
predictor_hide(uint8_t *counter)
{
	__asm__("" : "+r"(counter));
	return counter;
}

/*
 * The branch of `site` went one way. When that was predicted: true. Else nothing changes: see predictor_branch_wrong().
 * `has_history`: as of predictor_counter().
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

/* A return to `target`. When that was predicted: true. Else nothing changes: see predictor_return_wrong(). */
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

/* Where the table has the target of an indirect jump or call at `address`. */
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

/* The indirect jump or call at `address` went to `target`. When that was predicted: true. Else nothing changes. */
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
