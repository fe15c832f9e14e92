#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/model/predictor.h"

#define WEAKLY_NOT_TAKEN    1
#define TARGET_HISTORY_BITS 20

static uint64_t
mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return value >> 32;
}

static void
set_counters(struct predictor *predictor, const struct machine *machine)
{
	predictor->is_static = machine->predictor == PREDICTOR_STATIC;
	predictor->has_history = machine->predictor == PREDICTOR_GSHARE;
	if (predictor->has_history)
		predictor->history_mask = ((UINT32_C(1) << machine->history_bits) - 1) & predictor->mask;
	if (!predictor->is_static) {
		memset(predictor->counters, WEAKLY_NOT_TAKEN, (size_t)predictor->mask + 1);
	} else { /* site 0: forward; site 1: backward */
		predictor->counters[0] = 0;
		predictor->counters[1] = 3;
	}
	predictor->counters[predictor_no_site(predictor)] = predictor_sure(false);
}

int
predictor_init(struct predictor *predictor, const struct machine *machine)
{
	uint32_t entries = machine->predictor == PREDICTOR_STATIC ? 2 : machine->predictor_entries;

	*predictor = (struct predictor){.mask = entries - 1, .return_count = machine->return_stack};
	predictor->target_mask = machine->target_entries ? machine->target_entries - 1 : UINT64_MAX;
	predictor->counters = malloc((size_t)entries + 1);
	predictor->targets = calloc(machine->target_entries ? machine->target_entries : 1, sizeof(*predictor->targets));
	predictor->returns = calloc(machine->return_stack ? machine->return_stack : 1, sizeof(*predictor->returns));
	if (!predictor->counters || !predictor->targets || !predictor->returns) {
		predictor_fini(predictor);
		return -ENOMEM;
	}
	set_counters(predictor, machine);
	return 0;
}

void
predictor_fini(struct predictor *predictor)
{
	free(predictor->counters);
	free(predictor->targets);
	free(predictor->returns);
	*predictor = (struct predictor){.counters = NULL};
}

uint32_t
predictor_site(const struct predictor *predictor, uint64_t address, uint64_t target)
{
	if (predictor->is_static)
		return target <= address;
	return (uint32_t)mix(address) & predictor->mask;
}

bool
predictor_indirect(struct predictor *predictor, uint64_t address, uint64_t target)
{
	uint64_t at, before;

	if (predictor->target_mask == UINT64_MAX)
		return true;
	at = mix(address ^ predictor->target_history << 32) & predictor->target_mask;
	before = predictor->targets[at];
	predictor->targets[at] = target;
	if (predictor->has_history)
		predictor->target_history =
			(predictor->target_history << 5 ^ (mix(target) & 31)) & ((1 << TARGET_HISTORY_BITS) - 1);
	return before != target;
}
