#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emulator/block/block_parts.h"

static uint8_t
cut_off(unsigned cycles)
{
	return cycles < UINT8_MAX ? (uint8_t)cycles : UINT8_MAX;
}

void
carried_of(const struct schedule_times *times, struct carried *carried)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		carried->ready[i] = cut_off(times->ready[i]);
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		carried->busy[i] = cut_off(times->busy[i]);
}

void
carried_into(const struct carried *carried, struct schedule_times *times)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		times->ready[i] = carried->ready[i];
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		times->busy[i] = carried->busy[i];
}

unsigned
carried_distance(const struct carried *one, const struct carried *other)
{
	unsigned distance = 0;

	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		distance += (unsigned)abs(one->ready[i] - other->ready[i]);
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		distance += (unsigned)abs(one->busy[i] - other->busy[i]);
	return distance;
}

static uint64_t
carried_hash(const struct carried *carried)
{
	const uint8_t *bytes = (const uint8_t *)carried;
	uint64_t hash = 0, word;
	size_t at = 0;

	for (; at + sizeof(word) <= sizeof(*carried); at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		hash = id_hash_mix(hash ^ word);
	}
	for (; at < sizeof(*carried); at++)
		hash = id_hash_mix(hash ^ bytes[at]);
	return hash;
}

static int
reserve_state(struct carried_states *states)
{
	struct carried *grown;
	bool is_new;
	int err;

	if (states->count >= UINT32_MAX / 2)
		return -ENOMEM;
	grown = array_grow(states->states, &states->capacity, states->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	states->states = grown;
	err = id_hash_reserve(&states->index, &is_new);
	for (uint32_t i = 0; !err && is_new && i < states->count; i++)
		id_hash_put(&states->index, carried_hash(&grown[i]), i + 1);
	return err;
}

int
carried_number(struct carried_states *states, const struct carried *carried, uint32_t *number)
{
	const uint64_t hash = carried_hash(carried);
	int err = reserve_state(states);

	if (err)
		return err;
	for (uint32_t at = id_hash_begin(&states->index, hash); states->index.numbers[at];
	     at = id_hash_next(&states->index, at)) {
		*number = states->index.numbers[at] - 1;
		if (memcmp(&states->states[*number], carried, sizeof(*carried)) == 0)
			return 0;
	}
	*number = (uint32_t)states->count++;
	states->states[*number] = *carried;
	id_hash_put(&states->index, hash, *number + 1);
	return 0;
}

void
carried_states_fini(struct carried_states *states)
{
	free(states->states);
	id_hash_fini(&states->index);
	*states = (struct carried_states){NULL};
}
