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

	if (table[number & mask] >> PLAIN_SLOT_BITS == number)
		table[number & mask] = UINT64_MAX;
}

static inline uint16_t
slot_of(struct cache_found found)
{
	return (uint16_t)(found.what >> CACHE_SLOT_SHIFT);
}

/* The line that had the slot is no plain hit any more. */
static inline void
clear_slot(struct plain_lines *plain, uint16_t slot)
{
	const uint32_t at = plain->slots[slot];

	if ((uint16_t)plain->hits.lines[at] != slot)
		return;
	plain->hits.lines[at] = UINT64_MAX;
	if (plain->hits.written)
		plain->hits.written[at] = UINT64_MAX;
}

void
hierarchy_take_plain(struct hierarchy *hierarchy, uint64_t line, struct cache_found found)
{
	struct plain_hits *plain = &hierarchy->data.hits;

	if (hierarchy->data.slots) {
		clear_slot(&hierarchy->data, slot_of(found));
	} else if (!hierarchy->data.is_filter) {
		plain->lines[line & plain->line_mask] = UINT64_MAX;
		plain->written[line & plain->line_mask] = UINT64_MAX;
	} else if (found.left != CACHE_NO_LINE) {
		forget_plain(hierarchy, plain->lines, plain->line_mask, found.left, hierarchy->line_shift);
		forget_plain(hierarchy, plain->written, plain->line_mask, found.left, hierarchy->line_shift);
	}
}

/* `line`, a guest's, was used as `found` says and is a plain hit from now on: its entry. */
static inline __attribute__((always_inline)) uint64_t
put_plain(struct plain_lines *plain, uint64_t line, struct cache_found found)
{
	const uint32_t at = (uint32_t)line & plain->hits.line_mask;
	uint64_t entry = line << PLAIN_SLOT_BITS;

	if (plain->slots) {
		const uint16_t slot = slot_of(found);

		clear_slot(plain, slot);
		plain->slots[slot] = at;
		entry |= slot;
	}
	plain->hits.lines[at] = entry;
	return entry;
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
		if (!cache_found_writes_back(found))
			continue;
		if (level + 1 < hierarchy->level_count) { /* what is large is not in the host's cache: both at once */
			cache_fetch_set(hierarchy->levels[level + 1], line);
			cache_fetch_set(hierarchy->levels[level + 1], found.left);
		}
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
	plain->pages[page & plain->page_mask] = page << PLAIN_SLOT_BITS | tlb->slot;
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

/* What leaves is found by its address, where there are no slots: not once pages have another than they had. */
static inline bool
can_be_plain(const struct hierarchy *hierarchy)
{
	return !hierarchy->data.is_filter || hierarchy->data.slots ||
	       !__atomic_load_n(&hierarchy->system->has_moved, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void
use_page(struct hierarchy *hierarchy, const struct plain_hits *plain, uint64_t address, bool is_data,
         struct access_result *result)
{
	const uint64_t page = address >> plain->page_shift, entry = plain->pages[page & plain->page_mask];

	if (entry >> PLAIN_SLOT_BITS != page)
		translate(hierarchy, address, is_data, result);
	else
		plain->page_stamps[(uint16_t)entry] = ++*plain->uses;
}

static inline __attribute__((always_inline)) bool
use_line(const struct plain_hits *plain, const uint64_t *lines, uint64_t line)
{
	const uint64_t entry = lines[line & plain->line_mask];

	if (entry >> PLAIN_SLOT_BITS != line)
		return false;
	plain->line_stamps[(uint16_t)entry] = ++*plain->uses;
	return true;
}

static inline __attribute__((always_inline)) void
access_data(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, bool writes,
            struct access_result *result)
{
	struct plain_hits *plain = &hierarchy->data.hits;
	uint64_t line = address >> plain->line_shift, at = line & plain->line_mask;
	uint64_t entry = UINT64_MAX, known;
	struct cache_found found;

	*result = (struct access_result){.level = 0};
	use_page(hierarchy, plain, address, true, result);
	if (use_line(plain, writes ? plain->written : plain->lines, line))
		return;
	known = known_address(hierarchy, address);
	found = cache_access(&hierarchy->data_cache, known >> hierarchy->line_shift, writes);
	if (hierarchy->data.is_filter && !hierarchy->data.slots)
		hierarchy_take_plain(hierarchy, known >> hierarchy->line_shift, found);
	if (can_be_plain(hierarchy))
		entry = put_plain(&hierarchy->data, line, found);
	plain->written[at] = writes ? entry : UINT64_MAX;
	if (found.what & CACHE_HIT) {
		if (found.what & CACHE_WAS_WRITTEN)
			plain->written[at] = entry;
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
	uint64_t line = address >> plain->line_shift, known;
	struct cache_found found;

	*result = (struct access_result){.level = 0};
	use_page(hierarchy, plain, address, false, result);
	if (use_line(plain, plain->lines, line))
		return;
	known = known_address(hierarchy, address);
	found = cache_access(&hierarchy->code_cache, known >> hierarchy->line_shift, false);
	if (hierarchy->code.is_filter && !hierarchy->code.slots && found.left != CACHE_NO_LINE)
		forget_plain(hierarchy, plain->lines, plain->line_mask, found.left, hierarchy->line_shift);
	put_plain(&hierarchy->code, line, found);
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
