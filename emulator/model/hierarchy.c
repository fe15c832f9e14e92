#include "emulator/model/hierarchy_state.h"

static inline uint64_t
known_address(struct hierarchy *hierarchy, uint64_t address)
{
	struct memory_system *system = hierarchy->system;
	uint32_t region = page_map_recent_region(&hierarchy->regions, system->pages, address);
	uint64_t known = page_map_number(region, address, 0);

	if (__builtin_expect(__atomic_load_n(&system->has_moved, __ATOMIC_RELAXED), 0))
		known = page_map_follow(system->pages, known);
	return known;
}

static void
forget_plain(struct hierarchy *hierarchy, uint64_t *table, uint32_t mask, uint64_t left, unsigned shift)
{
	uint64_t number = page_map_address(hierarchy->system->pages, left, shift);

	if (table[number & mask] == number)
		table[number & mask] = UINT64_MAX;
}

void
hierarchy_take_plain(struct hierarchy *hierarchy, uint64_t line, uint64_t left)
{
	struct plain_hits *plain = &hierarchy->data.hits;

	if (!hierarchy->data.is_filter) {
		plain->lines[line & plain->line_mask] = UINT64_MAX;
		plain->written[line & plain->line_mask] = UINT64_MAX;
	} else if (left != CACHE_NO_LINE) {
		forget_plain(hierarchy, plain->lines, plain->line_mask, left, hierarchy->line_shift);
		forget_plain(hierarchy, plain->written, plain->line_mask, left, hierarchy->line_shift);
	}
}

/* What the first level did not have; of code, without `instruction`. */
static __attribute__((noinline)) void
look_further(struct hierarchy *hierarchy, uint64_t known, uint64_t instruction, uint64_t now,
             struct access_result *result)
{
	const uint32_t *latencies = instruction ? hierarchy->system->data_cycles : hierarchy->system->code_cycles;
	uint64_t line = known >> hierarchy->line_shift;
	unsigned level = 1;

	for (; level < hierarchy->level_count; level++) {
		struct cache_found found = cache_access(hierarchy->levels[level], line, false);

		if (found.what & CACHE_HIT) {
			result->level = (uint8_t)level;
			result->cycles = latencies[level];
			if (__builtin_expect(found.what & CACHE_WAS_PREFETCHED, 0))
				hierarchy_meet(hierarchy, line, now, result);
			break;
		}
		if (cache_found_writes_back(found))
			hierarchy_write_back(hierarchy, found.left, level + 1, now);
	}
	if (level == hierarchy->level_count)
		hierarchy_fill(hierarchy, line, now, latencies, result);
	if (hierarchy->prefetcher_count)
		hierarchy_prefetch(hierarchy, known, instruction, now, result);
}

static __attribute__((noinline)) void
translate(struct hierarchy *hierarchy, uint64_t address, bool is_data, struct access_result *result)
{
	const struct machine *machine = &hierarchy->system->machine;
	struct plain_hits *plain = is_data ? &hierarchy->data.hits : &hierarchy->code.hits;
	struct tlb *tlb = is_data ? &hierarchy->data_tlb : &hierarchy->code_tlb;
	uint64_t page = address >> plain->page_shift, left;
	uint32_t region = page_map_recent_region(&hierarchy->regions, hierarchy->system->pages, address);
	uint64_t number = page_map_number(region, address, hierarchy->page_shift);
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
	found = cache_access(&hierarchy->data_cache, known >> hierarchy->line_shift, writes);
	if (__builtin_expect(hierarchy->data.is_filter, 0))
		hierarchy_take_plain(hierarchy, known >> hierarchy->line_shift, found.left);
	plain->lines[at] = line;
	plain->written[at] = writes ? line : UINT64_MAX;
	if (found.what & CACHE_HIT) {
		if (found.what & CACHE_WAS_WRITTEN)
			plain->written[at] = line;
		if (__builtin_expect(found.what & CACHE_WAS_PREFETCHED, 0)) {
			hierarchy_meet(hierarchy, known >> hierarchy->line_shift, now, result);
			hierarchy_prefetch(hierarchy, known, instruction, now, result);
		}
		return;
	}
	if (found.what & CACHE_WAS_WRITTEN)
		hierarchy_write_back(hierarchy, found.left, 1, now);
	look_further(hierarchy, known, instruction, now, result);
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
	found = cache_access(&hierarchy->code_cache, known >> hierarchy->line_shift, false);
	if (__builtin_expect(hierarchy->code.is_filter && found.left != CACHE_NO_LINE, 0))
		forget_plain(hierarchy, plain->lines, plain->line_mask, found.left, hierarchy->line_shift);
	plain->lines[at] = line;
	if (!(found.what & CACHE_HIT))
		look_further(hierarchy, known, 0, now, result);
}

void
hierarchy_move_pages(struct hierarchy *hierarchy, uint64_t from, uint64_t to, uint64_t bytes)
{
	struct plain_hits *plain = &hierarchy->data.hits;

	if (!hierarchy->system->has_caches ||
	    hierarchy->data_cache.set_count > 1u << (hierarchy->page_shift - hierarchy->line_shift))
		return;
	page_map_move(hierarchy->system->pages, from, to, bytes);
	__atomic_store_n(&hierarchy->system->has_moved, true, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i <= plain->line_mask; i++)
		plain->lines[i] = plain->written[i] = UINT64_MAX;
}
