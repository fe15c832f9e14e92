#include "locality/nest.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_ALLOWED 4096 /* iterations of a nest without a reference */

uint64_t
locality_nest_times(const struct locality_nest *nest, uint32_t level)
{
	uint64_t times = 1;

	for (uint32_t i = 0; i <= level; i++)
		if (__builtin_mul_overflow(times, nest->iterations[i], &times))
			return UINT64_MAX;
	return times;
}

struct locality_order
locality_order_of(const struct locality_nest *nest)
{
	struct locality_order order = {.count = nest->levels};

	for (uint32_t i = 0; i < nest->levels; i++)
		order.loops[i].level = i;
	return order;
}

/* The innermost of the order's loops that is one of the reference's. */
static uint32_t
place_of(const struct locality_order *order, const struct locality_part *part)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < order->count; i++)
		if (order->loops[i].level <= part->level)
			place = i;
	return place;
}

bool
locality_order_repeats(const struct locality_order *order, const struct locality_part *part)
{
	const uint32_t place = place_of(order, part);

	for (uint32_t i = 0; i < place; i++)
		if (order->loops[i].level > part->level)
			return true;
	return false;
}

uint64_t
locality_order_references(const struct locality_nest *nest, const struct locality_order *order)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nest->count; i++) {
		const uint32_t place = place_of(order, &nest->parts[i]);
		uint64_t times = 1;

		for (uint32_t k = 0; k <= place; k++)
			if (!order->loops[k].tile &&
			    __builtin_mul_overflow(times, nest->iterations[order->loops[k].level], &times))
				return UINT64_MAX;
		if (__builtin_add_overflow(sum, times, &sum))
			return UINT64_MAX;
	}
	return sum;
}

struct order_replay {
	const struct locality_nest *nest;
	const struct locality_order *order;
	int (*refer)(void *context, const struct locality_part *part, uint64_t address);
	void *context;
	uint64_t left;
	uint8_t places[LOCALITY_PARTS_MAX];   /* of the parts: place_of() */
	uint64_t at[LOCALITY_LEVELS];         /* iteration of each level */
	uint64_t ends[2 * LOCALITY_LEVELS];   /* of the order's loops: the first iteration that is not theirs */
	uint64_t starts[2 * LOCALITY_LEVELS]; /* of tiles: the first iteration of this one */
};

static uint64_t
index_at(const struct locality_part *part, uint64_t at)
{
	const unsigned bytes = (unsigned)abs(part->index_bytes);
	uint64_t value = 0;

	memcpy(&value, part->indices + at * bytes, bytes);
	if (part->index_bytes < 0 && bytes < 8 && value >> (8 * bytes - 1))
		value |= UINT64_MAX << 8 * bytes;
	return value;
}

static int
replay_part(struct order_replay *replay, const struct locality_part *part)
{
	uint64_t address = part->base;

	if (part->indices && replay->at[part->level] >= part->count)
		return 0; /* it had no room for more */
	for (uint32_t i = 0; i <= part->level; i++) {
		const uint64_t times =
			part->indices && i == part->level ? index_at(part, replay->at[i]) : replay->at[i];

		address += times * (uint64_t)part->steps[i];
	}
	replay->left--;
	return replay->refer(replay->context, part, address);
}

/* The references that belong to an iteration of this loop, before or behind the loop in it. */
static int
replay_parts(struct order_replay *replay, uint32_t loop, bool is_behind)
{
	const struct locality_nest *nest = replay->nest;
	const bool is_innermost = loop + 1 == replay->order->count;
	int err = 0;

	for (uint32_t i = 0; i < nest->count && replay->left && !err; i++) {
		const struct locality_part *part = &nest->parts[i];

		if (replay->places[i] == loop && (is_innermost ? !is_behind : part->is_behind == is_behind))
			err = replay_part(replay, part);
	}
	return err;
}

/* The loop begins, within the tile that its level has now. */
static void
begin_loop(struct order_replay *replay, uint32_t loop)
{
	const struct locality_order *order = replay->order;
	const uint32_t level = order->loops[loop].level;
	uint64_t end = replay->nest->iterations[level], start = 0;

	for (uint32_t i = 0; i < loop; i++) {
		const uint64_t tile = order->loops[i].tile;

		if (order->loops[i].level != level || !tile)
			continue;
		start = replay->starts[i];
		end = end - start > tile ? start + tile : end;
	}
	replay->starts[loop] = start;
	replay->at[level] = start;
	replay->ends[loop] = end;
}

/* The next iteration, or tile. */
static void
advance(struct order_replay *replay, uint32_t loop)
{
	const uint64_t tile = replay->order->loops[loop].tile, end = replay->ends[loop];
	const uint32_t level = replay->order->loops[loop].level;

	if (!tile) {
		replay->at[level]++;
		return;
	}
	replay->starts[loop] = end - replay->starts[loop] > tile ? replay->starts[loop] + tile : end;
	replay->at[level] = replay->starts[loop];
}

static bool
has_ended(const struct order_replay *replay, uint32_t loop)
{
	const uint32_t level = replay->order->loops[loop].level;

	return (replay->order->loops[loop].tile ? replay->starts[loop] : replay->at[level]) >= replay->ends[loop];
}

int
locality_order_replay(const struct locality_nest *nest, const struct locality_order *order, uint64_t most,
                      int (*refer)(void *context, const struct locality_part *part, uint64_t address), void *context)
{
	struct order_replay replay = {.nest = nest, .order = order, .refer = refer, .context = context, .left = most};
	uint32_t loop = 0;
	int err = 0;

	if (!nest->count)
		return 0;
	for (uint32_t i = 0; i < nest->count; i++)
		replay.places[i] = (uint8_t)place_of(order, &nest->parts[i]);
	begin_loop(&replay, 0);
	/* down into the loops, and up again when one has ended; those that refer to nothing could run for ever */
	for (uint64_t steps = 0; replay.left && !err && steps / 2 < most + STEPS_ALLOWED; steps++) {
		if (has_ended(&replay, loop)) {
			if (loop == 0)
				break;
			loop--;
			err = replay_parts(&replay, loop, true);
			advance(&replay, loop);
			continue;
		}
		err = replay_parts(&replay, loop, false);
		if (loop + 1 < order->count)
			begin_loop(&replay, ++loop);
		else
			advance(&replay, loop);
	}
	return err;
}
