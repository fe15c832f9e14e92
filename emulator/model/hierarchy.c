#include "emulator/model/hierarchy_state.h"

/* An access, as the levels behind the first see it. */
struct access {
	uint64_t line;
	uint64_t address; /* as caches know it */
	uint64_t instruction, now;
	const uint32_t *latencies;
};

static inline uint64_t
known_address(struct hierarchy *hierarchy, uint64_t address)
{
	uint32_t region = page_map_recent_region(&hierarchy->regions, hierarchy->system->pages, address);

	return page_map_number(region, address, 0);
}

static void
forget_plain(struct hierarchy *hierarchy, uint64_t *table, uint32_t mask, uint64_t left, unsigned shift)
{
	uint64_t number = page_map_address(hierarchy->system->pages, left, shift);

	if (table[number & mask] == number)
		table[number & mask] = UINT64_MAX;
}

/* What the first level did not have. */
static __attribute__((noinline)) void
look_further(struct hierarchy *hierarchy, const struct access *access, struct access_result *result)
{
	struct cache_found found = {.hit = false};
	unsigned level = 1;

	while (level < hierarchy->level_count) {
		cache_access(hierarchy->levels[level], access->line, false, &found);
		if (found.hit)
			break;
		level++;
		if (found.was_written && found.left != CACHE_NO_LINE)
			hierarchy_write_back(hierarchy, found.left, level, access->now);
	}
	if (found.hit) {
		result->level = (uint8_t)level;
		result->cycles = access->latencies[level];
		if (__builtin_expect(found.was_prefetched, 0)) {
			uint64_t late = hierarchy_lateness(hierarchy, access->line, access->now);

			result->used_prefetch = true;
			result->cycles = late > result->cycles ? (uint32_t)late : result->cycles;
			hierarchy->traffic.prefetched_used++;
		}
	} else {
		const struct move move = {.line = access->line, .now = access->now, .patience = UINT64_MAX};

		result->level = HIERARCHY_MEMORY;
		hierarchy_move(hierarchy, &move, access->latencies, result);
	}
	if (hierarchy->prefetcher_count)
		hierarchy_prefetch(hierarchy, access->address, access->instruction, access->now, result);
}

static __attribute__((noinline)) void
translate(struct hierarchy *hierarchy, uint64_t address, bool is_data, struct access_result *result)
{
	const struct machine *machine = &hierarchy->system->machine;
	struct plain_hits *plain = is_data ? &hierarchy->data.hits : &hierarchy->code.hits;
	struct tlb *tlb = is_data ? &hierarchy->data_tlb : &hierarchy->code_tlb;
	uint64_t page = address >> plain->page_shift, left;
	uint64_t number = known_address(hierarchy, address) >> hierarchy->page_shift;
	bool hit = tlb_access(tlb, number, &left);

	if (left != CACHE_NO_LINE && hierarchy->pages_are_filters[!is_data])
		forget_plain(hierarchy, plain->pages, plain->page_mask, left, hierarchy->page_shift);
	plain->pages[page & plain->page_mask] = page;
	if (hit)
		return;
	result->tlb_missed = true;
	result->tlb_cycles = is_data ? machine->data_tlb.miss_cycles : machine->code_tlb.miss_cycles;
	result->walked = true;
	if (!machine->shared_tlb.entries)
		return;
	result->walked = !tlb_access(&hierarchy->shared_tlb, number, &left);
	if (result->walked)
		result->tlb_cycles += machine->shared_tlb.miss_cycles;
}

static inline __attribute__((always_inline)) void
access_data(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, bool writes,
            struct access_result *result)
{
	struct plain_hits *plain = &hierarchy->data.hits;
	uint64_t line = address >> plain->line_shift, at = line & plain->line_mask;
	uint64_t page = address >> plain->page_shift, known;
	struct cache_found found;

	*result = (struct access_result){.level = 0};
	if (plain->pages[page & plain->page_mask] != page)
		translate(hierarchy, address, true, result);
	if ((writes ? plain->written : plain->lines)[at] == line)
		return;
	known = known_address(hierarchy, address);
	cache_access(&hierarchy->data_cache, known >> hierarchy->line_shift, writes, &found);
	if (__builtin_expect(hierarchy->data.is_filter && found.left != CACHE_NO_LINE, 0)) {
		forget_plain(hierarchy, plain->lines, plain->line_mask, found.left, hierarchy->line_shift);
		forget_plain(hierarchy, plain->written, plain->line_mask, found.left, hierarchy->line_shift);
	}
	plain->lines[at] = line;
	plain->written[at] = writes || (found.hit && found.was_written) ? line : UINT64_MAX;
	if (found.hit)
		return;
	if (found.was_written && found.left != CACHE_NO_LINE)
		hierarchy_write_back(hierarchy, found.left, 1, now);
	look_further(hierarchy,
	             &(struct access){known >> hierarchy->line_shift, known, instruction, now,
	                              hierarchy->system->data_cycles},
	             result);
}

void
hierarchy_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
               struct access_result *result)
{
	access_data(hierarchy, address, instruction, now, false, result);
}

void
hierarchy_store(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                struct access_result *result)
{
	access_data(hierarchy, address, instruction, now, true, result);
}

void
hierarchy_fetch(struct hierarchy *hierarchy, uint64_t address, uint64_t now, struct access_result *result)
{
	struct plain_hits *plain = &hierarchy->code.hits;
	uint64_t line = address >> plain->line_shift, at = line & plain->line_mask;
	uint64_t page = address >> plain->page_shift, known;
	struct cache_found found;

	*result = (struct access_result){.level = 0};
	if (plain->pages[page & plain->page_mask] != page)
		translate(hierarchy, address, false, result);
	if (plain->lines[at] == line)
		return;
	known = known_address(hierarchy, address);
	cache_access(&hierarchy->code_cache, known >> hierarchy->line_shift, false, &found);
	if (__builtin_expect(hierarchy->code.is_filter && found.left != CACHE_NO_LINE, 0))
		forget_plain(hierarchy, plain->lines, plain->line_mask, found.left, hierarchy->line_shift);
	plain->lines[at] = line;
	if (found.hit)
		return;
	look_further(hierarchy,
	             &(struct access){known >> hierarchy->line_shift, known, 0, now, hierarchy->system->code_cycles},
	             result);
}
