#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/model/predictor.h"

#define WEAKLY_NOT_TAKEN PREDICTOR_WEAK

int
predictor_init(struct predictor *predictor, const struct machine *machine)
{
	uint32_t entries = machine->predictor == PREDICTOR_STATIC ? 2 : machine->predictor_entries;

	*predictor = (struct predictor){.mask = entries - 1, .return_count = machine->return_stack};
	predictor->has_targets = machine->target_entries != 0; /* without, one that is never written */
	predictor->target_mask = machine->target_entries ? machine->target_entries - 1 : 0;
	predictor->counters = malloc(entries);
	predictor->targets = calloc(machine->target_entries ? machine->target_entries : 1, sizeof(*predictor->targets));
	predictor->returns = calloc(machine->return_stack ? machine->return_stack : 1, sizeof(*predictor->returns));
	if (!predictor->counters || !predictor->targets || !predictor->returns) {
		predictor_fini(predictor);
		return -ENOMEM;
	}
	predictor->is_static = machine->predictor == PREDICTOR_STATIC;
	predictor->has_history = machine->predictor == PREDICTOR_GSHARE;
	if (predictor->has_history)
		predictor->history_mask = ((UINT32_C(1) << machine->history_bits) - 1) & predictor->mask;
	if (!predictor->is_static) {
		memset(predictor->counters, WEAKLY_NOT_TAKEN, entries);
	} else { /* site 0: forward; site 1: backward */
		predictor->counters[0] = predictor_sure(false);
		predictor->counters[1] = predictor_sure(true);
	}
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
	return (uint32_t)predictor_mix(address) & predictor->mask;
}
