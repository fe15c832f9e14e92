/* A block's variants: how long it takes behind what. See block.h. */
#include <errno.h>
#include <string.h>

#include "emulator/block/block_parts.h"

#define ENTRIES_FIRST     4
#define CYCLES_MAX        UINT16_MAX
#define FAST_STRING_BYTES 32 /* a cycle: what out-of-order cores have moved or stored by microcode since 2013 */

struct variant *
block_variant_known(const struct block_node *node, uint32_t state)
{
	const struct entries *entries = __atomic_load_n(&node->entries, __ATOMIC_ACQUIRE);

	if (!state)
		return node->first;
	for (unsigned at = state; entries; at++) {
		const struct block_entry *entry = &entries->entries[at & (entries->size - 1)];
		struct variant *variant = __atomic_load_n(&entry->variant, __ATOMIC_ACQUIRE);

		if (!variant || entry->state == state)
			return variant;
	}
	return NULL;
}

static void
put(struct entries *entries, struct block_entry entry)
{
	unsigned at = entry.state & (entries->size - 1);

	while (entries->entries[at].variant)
		at = (at + 1) & (entries->size - 1);
	entries->entries[at].state = entry.state;
	entries->entries[at].is_near = entry.is_near;
	__atomic_store_n(&entries->entries[at].variant, entry.variant, __ATOMIC_RELEASE);
	entries->count++;
}

/* Room for one more, and a place that stays empty. */
static int
reserve(struct blocks *blocks, struct block_node *node)
{
	const struct entries *old = node->entries;
	const unsigned size = old ? 2 * old->size : ENTRIES_FIRST;
	struct entries *new;

	if (old && old->count + 2 <= old->size)
		return 0;
	new = arena_take(&blocks->arena, sizeof(*new) + size * sizeof(new->entries[0]), _Alignof(struct entries));
	if (!new)
		return -ENOMEM;
	new->size = size;
	for (unsigned i = 0; old && i < old->size; i++)
		if (old->entries[i].variant)
			put(new, old->entries[i]);
	__atomic_store_n(&node->entries, new, __ATOMIC_RELEASE);
	return 0;
}

static struct variant *
new_variant(struct blocks *blocks, const struct block *block)
{
	const size_t cycles_size = (block->count + 1u) * sizeof(uint16_t);
	const size_t loads_size = block->is_in_order ? block->access_end * sizeof(struct variant_load) : 0;
	struct variant *variant =
		arena_take(&blocks->arena, sizeof(*variant) + loads_size + cycles_size, _Alignof(struct variant));

	if (!variant)
		return NULL;
	variant->block = block;
	variant->issue_cycles = (uint16_t *)(void *)((uint8_t *)(variant + 1) + loads_size);
	return variant;
}

static uint16_t
whole_cycles(double cycles)
{
	return cycles < CYCLES_MAX ? (uint16_t)cycles : CYCLES_MAX;
}

/* Out of order: each retires when its share of the best case, out of shares[], is over. */
static void
fill_out_of_order(const double *shares, size_t count, double best, double cycles, struct variant *variant)
{
	const double scale = best > 0 ? cycles / best : 0;
	double retired = 0;

	for (size_t i = 0; i < count; i++) {
		retired += shares[i] * scale;
		variant->issue_cycles[i] = whole_cycles(retired < cycles ? retired : cycles);
	}
	variant->cycles = (uint32_t)cycles;
	variant->fraction = (uint32_t)((cycles - variant->cycles) * 0x1p32);
	variant->issue_cycles[count] = whole_cycles(cycles);
}

/* No less than at full speed. */
static uint32_t
lead_of(const struct pipeline *pipeline, const struct variant *variant)
{
	const uint32_t least = pipeline->issue_width ? pipeline->window / pipeline->issue_width : 0;
	const uint32_t lead = pipeline->window * variant->cycles / variant->block->count;

	return lead > least ? lead : least;
}

/* Cycles of an element behind the first of a string that is moved or stored. */
static double
string_cycles(const struct block *block, double cycles)
{
	const struct block_instruction *only = &block->instructions[0];
	const double moved = (double)only->access_size / FAST_STRING_BYTES;

	return block->repeats && block->count == 1 && only->stores && moved < cycles ? moved : cycles;
}

/* Which loads are waited for at once, and how long. */
static void
time_loads(const struct pipeline *pipeline, struct variant *variant)
{
	const struct block *block = variant->block;
	const int latency = (int)pipeline->operations[CLASS_LOAD].latency;

	for (unsigned i = 0; i < block->access_end; i++) {
		const struct block_instruction *instruction = &block->instructions[i];
		struct variant_load *load = variant_load(variant, i);

		load->issue = (int)variant->issue_cycles[i] - (int)variant->cycles;
		load->wait = VARIANT_WAITS_LATER;
		if (instruction->is_used_first)
			load->wait = variant->issue_cycles[i] + latency - variant->issue_cycles[instruction->use];
	}
}

static int
schedule_in_order_from(struct blocks *blocks, const struct block_node *node, uint32_t state, struct variant *variant)
{
	const uint16_t count = node->block.count;
	unsigned cycles[BLOCK_INSTRUCTIONS_MAX];
	struct schedule_times times;
	struct carried carried;

	carried_into(&blocks->states.states[state], &times);
	variant->cycles = schedule_issue(&blocks->pipeline, blocks->decoded, count, &times, cycles);
	for (unsigned i = 0; i < count; i++)
		variant->issue_cycles[i] = whole_cycles(cycles[i]);
	variant->issue_cycles[count] = whole_cycles(variant->cycles);
	time_loads(&blocks->pipeline, variant);
	carried_of(&times, &carried);
	return carried_number(&blocks->states, &carried, &variant->state);
}

/* Behind itself: its shares, and the best case of an iteration. */
static int
schedule_loop(const struct blocks *blocks, size_t count, double *shares, double *best)
{
	struct schedule schedule;
	int err = schedule_block(&blocks->pipeline, blocks->decoded, count, true, NULL, NULL, &schedule);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		shares[i] = schedule.lines[i].minimum_cycles;
	*best = schedule.best_cycles;
	schedule_fini(&schedule);
	return 0;
}

static int
schedule_out_of_order(const struct blocks *blocks, const struct block_node *node, bool is_again,
                      struct variant *variant)
{
	const size_t count = node->block.count;
	double shares[BLOCK_INSTRUCTIONS_MAX], best, cycles;
	int err = 0;

	if (is_again)
		err = schedule_loop(blocks, count, shares, &best);
	else
		best = schedule_shares(&blocks->pipeline, blocks->decoded, count, shares);
	if (err)
		return err;
	cycles = is_again ? string_cycles(&node->block, best) : best;
	fill_out_of_order(shares, count, best, cycles, variant);
	variant->lead = lead_of(&blocks->pipeline, variant);
	return 0;
}

static bool
is_same(const struct variant *one, const struct variant *other)
{
	return one->state == other->state && one->cycles == other->cycles && one->fraction == other->fraction &&
	       memcmp(one->issue_cycles, other->issue_cycles, (one->block->count + 1u) * sizeof(uint16_t)) == 0;
}

/* One that takes as long and leaves the same. */
static struct variant *
find_same(const struct block_node *node, const struct variant *variant)
{
	const struct entries *entries = node->entries;

	if (node->first && is_same(node->first, variant))
		return node->first;
	for (unsigned i = 0; entries && i < entries->size; i++)
		if (entries->entries[i].variant && is_same(entries->entries[i].variant, variant))
			return entries->entries[i].variant;
	return NULL;
}

static struct variant *
find_nearest(const struct blocks *blocks, const struct block_node *node, uint32_t state)
{
	const struct carried *states = blocks->states.states;
	unsigned least = carried_distance(&states[state], &states[0]);
	struct variant *nearest = node->first;

	for (unsigned i = 0; i < node->entries->size; i++) {
		const struct block_entry *entry = &node->entries->entries[i];
		unsigned distance;

		if (!entry->variant || entry->is_near)
			continue;
		distance = carried_distance(&states[state], &states[entry->state]);
		if (distance < least) {
			least = distance;
			nearest = entry->variant;
		}
	}
	return nearest;
}

/* What was decoded. */
static struct variant *
make(struct blocks *blocks, struct block_node *node, uint32_t state)
{
	struct variant *variant = new_variant(blocks, &node->block);
	int err;

	if (!variant)
		return NULL;
	if (node->block.is_in_order)
		err = schedule_in_order_from(blocks, node, state, variant);
	else
		err = schedule_out_of_order(blocks, node, state != 0, variant);
	return err ? NULL : variant;
}

/* Made, and kept unless there is the same already. */
static struct variant *
make_another(struct blocks *blocks, struct block_node *node, uint32_t state)
{
	struct variant *variant, *same;

	block_decode_again(blocks, node);
	variant = make(blocks, node, state);
	if (!variant)
		return NULL;
	same = find_same(node, variant);
	if (same)
		return same;
	node->variant_count++;
	blocks->variant_count++;
	return variant;
}

int
block_variant_first(struct blocks *blocks, struct block_node *node)
{
	node->first = make(blocks, node, 0);
	if (!node->first)
		return -ENOMEM;
	node->variant_count++;
	blocks->variant_count++;
	return 0;
}

struct variant *
block_variant_add(struct blocks *blocks, struct block_node *node, uint32_t state)
{
	struct block_entry entry = {.state = state, .variant = block_variant_known(node, state)};

	if (entry.variant)
		return entry.variant;
	if (!node->bytes)
		return node->first;
	if (reserve(blocks, node))
		return NULL;
	entry.is_near = node->variant_count == BLOCK_VARIANTS_MAX;
	if (entry.is_near)
		entry.variant = find_nearest(blocks, node, state);
	else if (node->block.is_in_order && block_is_undelayed(node, &blocks->states.states[state]))
		entry.variant = node->first;
	else
		entry.variant = make_another(blocks, node, state);
	if (entry.variant)
		put(node->entries, entry);
	return entry.variant;
}
