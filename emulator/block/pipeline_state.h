/*
 * pipeline_state.h - the state of an in-order pipeline that a block leaves to the next one, and a number for each such
 * state
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_EMULATOR_BLOCK_PIPELINE_STATE_H
#define DCPI_EMULATOR_BLOCK_PIPELINE_STATE_H

#include "code/schedule.h"
#include "emulator/id_hash.h"

/* struct schedule_times, with at most 255 cycles each. */
struct pipeline_state {
	uint8_t ready[REGISTER_COUNT];
	uint8_t busy[PIPELINE_UNITS_MAX];
};

/* The states that occurred, by number. */
struct pipeline_states {
	struct pipeline_state *states;
	size_t count, capacity;
	struct id_hash numbers;
};

/* Make the table with one state, number 0: all registers are ready and all units are free. 0 or -ENOMEM. */
int pipeline_states_init(struct pipeline_states *states);
void pipeline_states_fini(struct pipeline_states *states); /* allowed for a zeroed one, and after a failure */

/* The number of `state`: equal states have equal numbers. 0 or -ENOMEM. */
int pipeline_states_number(struct pipeline_states *states, const struct pipeline_state *state, uint32_t *number);

void pipeline_state_from_times(struct pipeline_state *state, const struct schedule_times *times);
void pipeline_state_to_times(const struct pipeline_state *state, struct schedule_times *times);

/* The sum of the differences of all registers and units. */
unsigned pipeline_state_distance(const struct pipeline_state *one, const struct pipeline_state *other);

#endif
