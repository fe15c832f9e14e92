/*
 * moves.h - lines that come from memory and go there, where that goes straight on
 *
 * Inner header of emulator/model. Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_MOVES_H
#define DCPI_EMULATOR_MODEL_MOVES_H

#include "emulator/model/hierarchy_state.h"

/* Consecutive lines lie on controllers in turn, shifted from page to page so that no stride stays on one. */
static inline unsigned
moves_controller(unsigned count, uint64_t line)
{
	const uint64_t shifted = line + (line >> 6) * 7 + (line >> 13);

	return (unsigned)((count & (count - 1)) == 0 ? shifted & (count - 1) : shifted % count);
}

/* The line came from the node. */
static inline void
moves_came(struct access_result *result, const struct path_user *user, unsigned node, uint32_t cycles, uint64_t wait)
{
	result->node = (uint8_t)node;
	result->cycles = cycles;
	result->load_cycles = user->load_cycles;
	result->wait_cycles = hierarchy_clamp(wait > user->load_cycles ? wait : user->load_cycles);
}

/*
 * The usual, straight on: `lines` of one controller, in time of which nothing is known yet, or of which that is the
 * newest. NULL: it is not that, and nothing is done.
 */
static inline __attribute__((always_inline)) struct path_user *
moves_simply(struct hierarchy *hierarchy, uint64_t line, uint64_t now, const unsigned lines)
{
	const unsigned count = hierarchy->system->lone_controllers;
	struct path_user *user = hierarchy->users;

	if (count != 1) {
		if (!count || (lines > 1 && count > 1))
			return NULL;
		user += moves_controller(count, line);
	}
	if (__builtin_expect(path_tells(user, now), 0))
		return NULL;
	if (!path_move_abreast(user, now, lines) && !path_move_beside(user, now, lines))
		return NULL;
	user->lines += lines;
	return user;
}

/* A line of a controller that cores share, and how long it waits. NULL: as above. */
static inline __attribute__((always_inline)) struct path_user *
moves_shared(struct hierarchy *hierarchy, uint64_t line, uint64_t now, uint64_t *wait)
{
	const unsigned count = hierarchy->system->common_controllers;
	struct path_user *user = hierarchy->users;

	if (count != 1) {
		if (!count)
			return NULL;
		user += moves_controller(count, line);
	}
	if (__builtin_expect(path_tells(user, now), 0) || !path_move_at_once(user, now, wait, true))
		return NULL;
	user->lines++;
	return user;
}

/* hierarchy_exchange() where that is the usual; NULL: nothing is done. */
static inline __attribute__((always_inline)) struct path_user *
moves_exchange(struct hierarchy *hierarchy, uint64_t left, uint64_t line, uint64_t now)
{
	const bool leaves = left != CACHE_NO_LINE;
	struct path_user *user = moves_simply(hierarchy, line, now, leaves ? 2 : 1);

	if (user)
		hierarchy->traffic.written_back += leaves;
	return user;
}

/* The same when the machine has one controller: what it is told of, or shares, is not simple. */
static inline __attribute__((always_inline)) const struct path_user *
moves_exchange_with_one(struct hierarchy *hierarchy, uint64_t left, uint64_t now)
{
	struct path_user *user = hierarchy->users;

	if (__builtin_expect(path_tells(user, now), 0))
		return NULL;
	if (left == CACHE_NO_LINE) {
		if (!path_move_abreast(user, now, 1))
			return NULL;
		user->lines++;
	} else {
		if (!path_move_abreast(user, now, 2))
			return NULL;
		user->lines += 2;
		hierarchy->traffic.written_back++;
	}
	return user;
}

#endif
