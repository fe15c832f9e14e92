#include "emulator/model/hierarchy_state.h"

/* What an address is known by since pages were moved. */
static inline uint64_t
followed(const struct memory_system *system, uint64_t known)
{
	if (__builtin_expect(__atomic_load_n(&system->has_moved, __ATOMIC_RELAXED), 0))
		return page_map_follow(system->pages, known);
	return known;
}

bool
hierarchy_first_has(const struct hierarchy *hierarchy, uint64_t line)
{
	return first_level_has(&hierarchy->data, line);
}

bool
hierarchy_first_prefetch(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct first_level *level = &hierarchy->data;
	struct first_found found;
	bool was_written;

	if (first_level_has(level, line))
		return false;
	found = first_level_use_any(level, line, level->plain->use += PLAIN_USE);
	was_written = found.place->key & PLAIN_WRITTEN;
	found.place->key = PLAIN_PREFETCHED;
	if (was_written)
		hierarchy_write_back(hierarchy, first_level_left(level, line, found.left), 1, now);
	return true;
}

/* In level 2 and on, and in memory. */
static __attribute__((noinline)) void
look_further(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
             struct access_result *result)
{
	unsigned level = 1;

	for (; level < hierarchy->level_count; level++) {
		struct cache_found found = cache_access(hierarchy->levels[level], line, false);

		if (found.what & CACHE_HIT) {
			result->level = (uint8_t)level;
			result->cycles = latencies[level];
			if (__builtin_expect(found.what & CACHE_WAS_PREFETCHED, 0))
				hierarchy_meet(hierarchy, line, now, result);
			return;
		}
		if (!cache_found_writes_back(found))
			continue;
		if (level + 1 < hierarchy->level_count) { /* what is large is not in the host's cache: both at once */
			cache_fetch_set(hierarchy->levels[level + 1], line);
			cache_fetch_set(hierarchy->levels[level + 1], found.left);
		}
		hierarchy_write_back(hierarchy, found.left, level + 1, now);
	}
	hierarchy_fill(hierarchy, line, now, latencies, result);
}

/* For the most part level 2 has it. */
static inline void
first_writes_back(struct hierarchy *hierarchy, uint64_t left, uint64_t now)
{
	if (!hierarchy->levels[1]->is_simple || !cache_mark_written(hierarchy->levels[1], left))
		hierarchy_write_back(hierarchy, left, 1, now);
}

/* Whether it simply is in level 2. */
static inline __attribute__((always_inline)) bool
is_in_second(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
             struct access_result *result)
{
	const struct cache *cache = hierarchy->levels[1];
	struct cache_small *set;
	uint32_t matches, flags;

	if (!cache->is_simple)
		return false;
	set = cache_small_set(cache, line);
	matches = cache_small_find(cache, set, line);
	if (!matches)
		return false;
	flags = cache_small_use(set, (uint32_t)__builtin_ctz(matches), false);
	result->level = 1;
	result->cycles = latencies[1];
	if (__builtin_expect(flags & CACHE_WAS_PREFETCHED, 0))
		hierarchy_meet(hierarchy, line, now, result);
	return true;
}

/* What the first level did not have; of code, without `instruction`. */
static inline __attribute__((always_inline)) void
first_missed(struct hierarchy *hierarchy, uint64_t known, uint64_t instruction, uint64_t now,
             struct access_result *result)
{
	const uint32_t *latencies = instruction ? hierarchy->system->data_cycles : hierarchy->system->code_cycles;
	const uint64_t line = known >> hierarchy->line_shift;

	if (!is_in_second(hierarchy, line, latencies, now, result))
		look_further(hierarchy, line, latencies, now, result);
	if (hierarchy->prefetcher_count)
		hierarchy_prefetch(hierarchy, known, instruction, now, result);
}

/*
 * Who goes to another page may well go to the last level, whose set takes the host as long as the guest's line does:
 * both are fetched at once, and the set of what may leave the level before.
 */
static __attribute__((noinline)) void
fetch_far_sets(const struct hierarchy *hierarchy, uint64_t line)
{
	const struct cache *before = hierarchy->levels[hierarchy->level_count - 2];
	uint64_t left;

	cache_fetch_set(hierarchy->far, line);
	if (!before->is_simple)
		return;
	left = cache_next_written(before, line);
	if (left != CACHE_NO_LINE)
		cache_fetch_set(hierarchy->far, left);
}

/* A page that is no plain hit; `known`: its address. */
static __attribute__((noinline)) void
translate(struct hierarchy *hierarchy, struct first_level *level, const struct machine_tlb *model, uint64_t page,
          uint64_t known, struct access_result *result)
{
	const struct machine_tlb *shared = &hierarchy->system->machine.shared_tlb;
	const uint64_t number = known >> hierarchy->page_shift;
	struct first_found found;

	if (hierarchy->far)
		fetch_far_sets(hierarchy, followed(hierarchy->system, known) >> hierarchy->line_shift);
	found = first_level_use_page(level, number, level->plain->use += PLAIN_USE);
	first_level_put_page(level, found.place, page);
	if (found.hit)
		return;
	result->tlb_missed = true;
	result->tlb_cycles = model->miss_cycles;
	result->walked = true;
	if (!shared->entries)
		return;
	result->walked = !tlb_access(&hierarchy->shared_tlb, number);
	if (result->walked)
		result->tlb_cycles += shared->miss_cycles;
}

/* Whether it is a plain hit, or a store to what was not written yet; it is used. */
static inline __attribute__((always_inline)) bool
use_line(struct plain_hits *plain, uint64_t line, bool writes)
{
	struct plain_place *place = plain_line(plain, line);

	if (plain_line_differs(place, line, false))
		return false;
	if (writes)
		place->key |= PLAIN_WRITTEN;
	place->stamp = plain->use += PLAIN_USE;
	return true;
}

static inline __attribute__((always_inline)) bool
use_page(struct plain_hits *plain, uint64_t page)
{
	struct plain_place *place = plain_page(plain, page);

	if (plain_page_differs(place, page))
		return false;
	place->stamp = plain->use += PLAIN_USE;
	return true;
}

static inline __attribute__((always_inline)) void
access_data(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, bool writes,
            struct access_result *result)
{
	struct memory_system *system = hierarchy->system;
	struct plain_hits *plain = hierarchy->plain_data;
	const uint64_t page = address >> plain->page_shift, guest_line = address >> plain->line_shift;
	uint64_t known = page_map_recent_number(&hierarchy->regions, system->pages, address), line, key;
	struct first_found found;

	*result = (struct access_result){.level = 0};
	if (!use_page(plain, page))
		translate(hierarchy, &hierarchy->data_pages, &system->machine.data_tlb, page, known, result);
	if (use_line(plain, guest_line, writes))
		return;
	known = followed(system, known);
	line = known >> hierarchy->line_shift;
	found = first_level_use(&hierarchy->data, line, plain->use += PLAIN_USE);
	key = found.place->key;
	first_level_put_line(&hierarchy->data, found.place, guest_line, writes || (found.hit && key & PLAIN_WRITTEN));
	if (!found.hit) {
		if (key & PLAIN_WRITTEN)
			first_writes_back(hierarchy, first_level_left(&hierarchy->data, line, found.left), now);
		first_missed(hierarchy, known, instruction, now, result);
	} else if (__builtin_expect(key == PLAIN_PREFETCHED, 0)) {
		hierarchy_meet(hierarchy, line, now, result);
		hierarchy_prefetch(hierarchy, known, instruction, now, result);
	}
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
	struct memory_system *system = hierarchy->system;
	struct plain_hits *plain = hierarchy->plain_code;
	const uint64_t page = address >> plain->page_shift, guest_line = address >> plain->line_shift;
	uint64_t known = page_map_recent_number(&hierarchy->regions, system->pages, address);
	struct first_found found;

	*result = (struct access_result){.level = 0};
	if (!use_page(plain, page))
		translate(hierarchy, &hierarchy->code_pages, &system->machine.code_tlb, page, known, result);
	if (use_line(plain, guest_line, false))
		return;
	known = followed(system, known);
	found = first_level_use(&hierarchy->code, known >> hierarchy->line_shift, plain->use += PLAIN_USE);
	first_level_put_line(&hierarchy->code, found.place, guest_line, false);
	if (!found.hit)
		first_missed(hierarchy, known, 0, now, result);
}

void
hierarchy_move_pages(struct hierarchy *hierarchy, uint64_t from, uint64_t to, uint64_t bytes)
{
	if (!hierarchy->system->has_caches ||
	    hierarchy->data.set_mask >= 1u << (hierarchy->page_shift - hierarchy->line_shift))
		return;
	page_map_move(hierarchy->system->pages, from, to, bytes);
	__atomic_store_n(&hierarchy->system->has_moved, true, __ATOMIC_RELAXED);
	first_level_forget(&hierarchy->data);
}
