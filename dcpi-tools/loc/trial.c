#include "dcpi-tools/loc/trial.h"

#include <errno.h>

#include "emulator/model/hierarchy.h"
#include "emulator/setup.h"

struct trying {
	const struct machine *machine;
	const struct locality_record *record;
	const struct locality_order *order;
	struct hierarchy *hierarchy;
	struct loc_trial *trial;
	uint64_t now;
	uint64_t tried;
};

/* As the emulator's plugin does it: what the filter knows goes no further. */
static void
access_data(struct trying *trying, uint64_t address, uint64_t instruction, bool writes)
{
	struct hit_filter *filter = hierarchy_data_filter(trying->hierarchy);
	struct access_result result;
	bool missed;

	trying->now++;
	if (filter_use(filter, writes, address >> filter->line_shift, address >> filter->page_shift))
		return;
	missed = writes ? hierarchy_store(trying->hierarchy, address, instruction, trying->now, trying->now, &result)
	                : hierarchy_load(trying->hierarchy, address, instruction, trying->now, &result);
	if (!missed)
		return;
	for (unsigned i = 0; i < result.level && i < trying->machine->level_count; i++)
		trying->trial->missed[i]++;
	trying->trial->cycles += result.cycles + result.wait_cycles;
	trying->now += result.cycles + result.wait_cycles;
}

static int
refer(void *context, const struct locality_part *part, uint64_t address)
{
	struct trying *trying = context;
	const struct locality_reference *text =
		&locality_record_loop(trying->record, part->loop)->references[part->reference];
	const uint64_t last = address + (text->bytes ? text->bytes - 1 : 0),
		       line = ~(uint64_t)(trying->machine->line_bytes - 1),
		       instruction = (part->loop << 8 | part->reference) + 1;
	const bool writes = text->access == 'W', repeats = locality_order_repeats(trying->order, part);

	trying->tried++;
	/* what is written before a sum begins would have a loop of its own */
	if (repeats && writes && !part->is_behind)
		return 0;
	if (repeats && writes)
		access_data(trying, address, instruction, false);
	access_data(trying, address, instruction, writes);
	if ((last & line) != (address & line))
		access_data(trying, last, instruction, writes);
	return 0;
}

static void
extrapolate(struct loc_trial *trial, double by)
{
	trial->is_part = by > 1;
	trial->cycles = (uint64_t)((double)trial->cycles * by);
	for (unsigned i = 0; i < MACHINE_LEVELS_MAX; i++)
		trial->missed[i] = (uint64_t)((double)trial->missed[i] * by);
}

int
loc_try(const struct machine *machine, const struct locality_record *record, const struct locality_nest *nest,
        const struct locality_order *order, struct loc_trial *trial)
{
	struct memory_system *memory = memory_system_new(machine, SETUP_CACHES | SETUP_TLBS, 0, 1);
	struct trying trying = {.machine = machine, .record = record, .order = order, .trial = trial};
	const uint64_t all = locality_order_references(nest, order);
	int err;

	*trial = (struct loc_trial){.cycles = 0};
	if (!memory)
		return -ENOMEM;
	trying.hierarchy = hierarchy_new(memory, 0, FILTER_NO_ROOM);
	err = trying.hierarchy ? locality_order_replay(nest, order, LOC_TRIAL_MAX, refer, &trying) : -ENOMEM;
	if (trying.hierarchy)
		hierarchy_free(trying.hierarchy);
	memory_system_free(memory);
	if (trying.tried)
		extrapolate(trial, (double)all / (double)trying.tried);
	return err;
}
