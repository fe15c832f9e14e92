/*
 * reference_core.h - all that an access of one core goes through, slowly: TLBs and caches of reference_cache.h
 *
 * Without prefetchers, and with nothing that takes time. Nothing is shared with emulator/model/.
 */
#ifndef DCPI_TESTS_REFERENCE_CORE_H
#define DCPI_TESTS_REFERENCE_CORE_H

#include "machine/machine.h"
#include "tests/unit/emulator/reference_cache.h"

#define REFERENCE_MEMORY MACHINE_LEVELS_MAX /* level of what no cache had; the model's HIERARCHY_MEMORY */

struct reference_core {
	unsigned line_bytes, page_bytes, level_count;
	struct reference_cache code, levels[MACHINE_LEVELS_MAX];
	struct reference_cache code_tlb, data_tlb, shared_tlb; /* no sets: there is none */
	uint64_t written_back;                                 /* lines, to memory */
};

struct reference_result {
	unsigned level; /* from 0 on: that has it */
	bool tlb_missed, walked;
};

static inline struct reference_cache
reference_cache_of(const struct machine *machine, const struct machine_cache *cache)
{
	return reference_new((unsigned)(cache->bytes / machine->line_bytes / cache->ways), cache->ways,
	                     cache->replacement == REPLACEMENT_FIFO);
}

/* LRU of at least eight sets of at most 32 ways, as docs/emulation.md has it. */
static inline struct reference_cache
reference_tlb_of(const struct machine_tlb *tlb)
{
	const unsigned sets = tlb->entries ? tlb->entries / tlb->ways : 0;

	return reference_new(sets, tlb->ways, sets < 8 || tlb->ways > 32);
}

static inline struct reference_core
reference_core_new(const struct machine *machine)
{
	struct reference_core core = {
		.line_bytes = machine->line_bytes,
		.page_bytes = machine->page_bytes,
		.level_count = machine->level_count,
		.code = reference_cache_of(machine, &machine->code),
		.code_tlb = reference_tlb_of(&machine->code_tlb),
		.data_tlb = reference_tlb_of(&machine->data_tlb),
		.shared_tlb = reference_tlb_of(&machine->shared_tlb),
	};

	for (unsigned i = 0; i < machine->level_count; i++)
		core.levels[i] = reference_cache_of(machine, &machine->levels[i]);
	return core;
}

static inline void
reference_core_free(struct reference_core *core)
{
	for (unsigned i = 0; i < core->level_count; i++)
		reference_free(&core->levels[i]);
	reference_free(&core->code);
	reference_free(&core->code_tlb);
	reference_free(&core->data_tlb);
	reference_free(&core->shared_tlb);
}

/* A line that was written goes to the next level that has it. */
static inline void
reference_left(struct reference_core *core, const struct reference_found *found, unsigned level)
{
	if (found->victim == REFERENCE_NONE || !found->was_written)
		return;
	for (; level < core->level_count; level++) {
		struct reference_way *way = reference_find(&core->levels[level], found->victim);

		if (way) {
			way->written = true;
			return;
		}
	}
	core->written_back++;
}

static inline unsigned
reference_serve(struct reference_core *core, struct reference_cache *first, uint64_t line, bool writes)
{
	struct reference_found found = reference_access(first, line, writes);

	if (found.hit)
		return 0;
	reference_left(core, &found, 1);
	for (unsigned level = 1; level < core->level_count; level++) {
		found = reference_access(&core->levels[level], line, false);
		if (found.hit)
			return level;
		reference_left(core, &found, level + 1);
	}
	return REFERENCE_MEMORY;
}

static inline void
reference_translate(struct reference_core *core, struct reference_cache *first, uint64_t page,
                    struct reference_result *result)
{
	if (first->set_count == 0 || reference_access(first, page, false).hit)
		return;
	result->tlb_missed = true;
	result->walked = core->shared_tlb.set_count == 0 || !reference_access(&core->shared_tlb, page, false).hit;
}

/* `kind`: 'f', a fetch; 'l', a load; 's', a store. Within a line. */
static inline struct reference_result
reference_core_access(struct reference_core *core, uint64_t address, char kind)
{
	const bool is_code = kind == 'f';
	struct reference_result result = {0};

	reference_translate(core, is_code ? &core->code_tlb : &core->data_tlb, address / core->page_bytes, &result);
	result.level = reference_serve(core, is_code ? &core->code : &core->levels[0], address / core->line_bytes,
	                               kind == 's');
	return result;
}

#endif
