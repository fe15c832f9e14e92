#include "emulator/model/translate.h"

bool
hierarchy_first_has(const struct hierarchy *hierarchy, uint64_t line)
{
	return first_level_has(&hierarchy->data, line);
}

void
hierarchy_first_prefetch(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct first_level *level = &hierarchy->data;
	const struct first_found found = first_level_use_any(level, line, level->plain->use += PLAIN_USE);
	const bool was_written = found.place->key & PLAIN_WRITTEN;

	found.place->key = PLAIN_PREFETCHED;
	if (was_written)
		hierarchy_write_back(hierarchy, first_level_left(level, line, found.left), 1, now);
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
		hierarchy_look_further(hierarchy, line, latencies, now, result);
	if (hierarchy->prefetch)
		hierarchy->prefetch(hierarchy, known, instruction, now, result);
}

/* A line that is no plain hit. */
static inline __attribute__((always_inline)) void
access_line(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, bool writes,
            struct access_result *result)
{
	const uint64_t known = hierarchy_follow(hierarchy, hierarchy_number(hierarchy, address));
	const uint64_t line = known >> hierarchy->line_shift, guest_line = address >> hierarchy->line_shift;
	struct first_found found = first_level_use(&hierarchy->data, line, hierarchy->plain_data->use += PLAIN_USE);
	const uint64_t key = found.place->key;

	first_level_put_line(&hierarchy->data, found.place, guest_line, writes || (found.hit && key & PLAIN_WRITTEN));
	if (!found.hit) {
		if (key & PLAIN_WRITTEN)
			first_writes_back(hierarchy, first_level_left(&hierarchy->data, line, found.left), now);
		first_missed(hierarchy, known, instruction, now, result);
	} else if (__builtin_expect(key == PLAIN_PREFETCHED, 0)) {
		hierarchy_meet(hierarchy, line, now, result);
		hierarchy->prefetch(hierarchy, known, instruction, now, result);
	}
}

static inline __attribute__((always_inline)) void
access_data(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, bool writes,
            struct access_result *result)
{
	struct plain_hits *plain = hierarchy->plain_data;
	const uint64_t page = address >> plain->page_shift;

	*result = (struct access_result){.level = 0};
	if (!plain_use_page(plain, page))
		*result = hierarchy_result_of(
			&hierarchy->data_pages,
			translate_page(hierarchy, &hierarchy->data_pages, page,
		                       hierarchy_number(hierarchy, address) >> hierarchy->line_shift));
	if (!plain_use_line(plain, address >> plain->line_shift, writes))
		access_line(hierarchy, address, instruction, now, writes, result);
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
	struct plain_hits *plain = hierarchy->plain_code;
	const uint64_t page = address >> plain->page_shift, guest_line = address >> plain->line_shift;
	uint64_t known = hierarchy_number(hierarchy, address);
	struct first_found found;

	*result = (struct access_result){.level = 0};
	if (!plain_use_page(plain, page))
		*result = hierarchy_result_of(
			&hierarchy->code_pages,
			translate_page(hierarchy, &hierarchy->code_pages, page, known >> hierarchy->line_shift));
	if (plain_use_line(plain, guest_line, false))
		return;
	known = hierarchy_follow(hierarchy, known);
	found = first_level_use(&hierarchy->code, known >> hierarchy->line_shift, plain->use += PLAIN_USE);
	first_level_put_line(&hierarchy->code, found.place, guest_line, false);
	if (!found.hit)
		first_missed(hierarchy, known, 0, now, result);
}

uint32_t
hierarchy_cycles(const struct hierarchy *hierarchy, unsigned level)
{
	return hierarchy->system->data_cycles[level];
}

void
hierarchy_move_pages(struct hierarchy *hierarchy, uint64_t from, uint64_t to, uint64_t bytes)
{
	if (!hierarchy->system->has_caches ||
	    hierarchy->data.set_mask >= 1u << (hierarchy->page_shift - hierarchy->line_shift))
		return;
	page_map_move(hierarchy->system->pages, from, to, bytes);
	__atomic_fetch_add(&hierarchy->system->moves, 1, __ATOMIC_RELEASE);
	first_level_forget(&hierarchy->data);
	hierarchy_follow_moves(hierarchy);
}
