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

#define PREDICTOR_NO_SITE UINT32_MAX /* of a block that ends with no conditional branch */

struct predictor {
	uint8_t *counters; /* mask + 1, and one for what is no branch */
	uint32_t mask;
	uint32_t history, history_mask;
	uint8_t learn[8]; /* counter * 2 + taken: the counter then */
	uint64_t *targets;
	uint64_t target_mask, target_history; /* mask: UINT64_MAX when there is no table */
	uint64_t *returns;
	uint32_t return_count, return_top;
	bool has_history, is_static;
};

/* 0 or -ENOMEM. */
int predictor_init(struct predictor *predictor, const struct machine *machine);
void predictor_fini(struct predictor *predictor);

/* What stands for the conditional branch at `address` to `target`; to be kept with its block. */
uint32_t predictor_site(const struct predictor *predictor, uint64_t address, uint64_t target);

/*
 * Where the counter of a site is: at (history & *history_mask) ^ *index. Of PREDICTOR_NO_SITE one that nobody else has.
 */
static inline void
predictor_place(const struct predictor *predictor, uint32_t site, uint32_t *index, uint32_t *history_mask)
{
	const bool is_branch = site != PREDICTOR_NO_SITE;

	*index = is_branch ? site & predictor->mask : predictor->mask + 1;
	*history_mask = is_branch ? predictor->history_mask & predictor->mask : 0;
}

/*
 * The branch of that place went one way: whether it was predicted wrongly. Where there is none (`is_branch` 0, else 1)
 * nothing happens, and never; the host has no branch for either.
 */
static inline bool
predictor_branch_at(struct predictor *predictor, uint32_t index, uint32_t history_mask, uint32_t is_branch, bool taken)
{
	const uint32_t history = predictor->history;
	uint8_t *counter = &predictor->counters[(history & history_mask) ^ index];
	const uint32_t before = *counter;

	*counter = predictor->learn[before * 2 + taken];
	predictor->history = (history << is_branch) | (taken & is_branch);
	return is_branch & ((before >> 1) ^ taken);
}

/* The same of `site`. */
static inline bool
predictor_branch(struct predictor *predictor, uint32_t site, bool taken)
{
	uint32_t index, history_mask;

	predictor_place(predictor, site, &index, &history_mask);
	return predictor_branch_at(predictor, index, history_mask, site != PREDICTOR_NO_SITE, taken);
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

/* A return to `target`: whether that was predicted wrongly; always, without a stack. */
static inline bool
predictor_return(struct predictor *predictor, uint64_t target)
{
	uint32_t top = predictor->return_top;
	bool wrong = predictor->returns[top] != target || !predictor->return_count;

	predictor->returns[top] = 0; /* nobody returns there: what was pushed comes back once */
	predictor->return_top = top ? top - 1 : (predictor->return_count ? predictor->return_count - 1 : 0);
	return wrong;
}

/* An indirect jump or call at `address` to `target`: whether that was predicted wrongly; always, without a table. */
bool predictor_indirect(struct predictor *predictor, uint64_t address, uint64_t target);

#endif
