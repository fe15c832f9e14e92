#include "emulator/block/pipeline_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static uint64_t
state_hash(const struct pipeline_state *state)
{
	const uint8_t *bytes = (const uint8_t *)state;
	uint64_t hash = 0, word;
	size_t at = 0;

	for (; at + sizeof(word) <= sizeof(*state); at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		hash = id_hash_mix(hash ^ word);
	}
	for (; at < sizeof(*state); at++)
		hash = id_hash_mix(hash ^ bytes[at]);
	return hash;
}

static int
reserve_state(struct pipeline_states *states)
{
	struct pipeline_state *grown;
	bool is_new;
	int err;

	if (states->count >= UINT32_MAX / 2)
		return -ENOMEM;
	grown = array_grow(states->states, &states->capacity, states->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	states->states = grown;
	err = id_hash_reserve(&states->numbers, &is_new);
	for (uint32_t i = 0; !err && is_new && i < states->count; i++)
		id_hash_put(&states->numbers, state_hash(&grown[i]), i + 1);
	return err;
}

int
pipeline_states_number(struct pipeline_states *states, const struct pipeline_state *state, uint32_t *number)
{
	const uint64_t hash = state_hash(state);
	int err = reserve_state(states);

	if (err)
		return err;
	for (uint32_t at = id_hash_begin(&states->numbers, hash); states->numbers.numbers[at];
	     at = id_hash_next(&states->numbers, at)) {
		*number = states->numbers.numbers[at] - 1;
		if (memcmp(&states->states[*number], state, sizeof(*state)) == 0)
			return 0;
	}
	*number = (uint32_t)states->count++;
	states->states[*number] = *state;
	id_hash_put(&states->numbers, hash, *number + 1);
	return 0;
}

int
pipeline_states_init(struct pipeline_states *states)
{
	const struct pipeline_state ready = {{0}};
	uint32_t number;

	*states = (struct pipeline_states){NULL};
	return pipeline_states_number(states, &ready, &number);
}

void
pipeline_states_fini(struct pipeline_states *states)
{
	free(states->states);
	id_hash_fini(&states->numbers);
	*states = (struct pipeline_states){NULL};
}

static uint8_t
saturate(unsigned cycles)
{
	return cycles < UINT8_MAX ? (uint8_t)cycles : UINT8_MAX;
}

void
pipeline_state_from_times(struct pipeline_state *state, const struct schedule_times *times)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		state->ready[i] = saturate(times->ready[i]);
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		state->busy[i] = saturate(times->busy[i]);
}

void
pipeline_state_to_times(const struct pipeline_state *state, struct schedule_times *times)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		times->ready[i] = state->ready[i];
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		times->busy[i] = state->busy[i];
}

unsigned
pipeline_state_distance(const struct pipeline_state *one, const struct pipeline_state *other)
{
	unsigned distance = 0;

	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		distance += (unsigned)abs(one->ready[i] - other->ready[i]);
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		distance += (unsigned)abs(one->busy[i] - other->busy[i]);
	return distance;
}
