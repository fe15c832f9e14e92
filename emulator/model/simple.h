/*
 * simple.h - the usual load that misses level 1, straight on: for the most part level 2 has the line, and that is all
 *
 * It is simple when caches, lines and pages are of the usual kind. Where it is not, nothing has changed, and the
 * functions of hierarchy.h do it. What is usual calls nothing, so that who asks has no registers to save.
 *
 * Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_SIMPLE_H
#define DCPI_EMULATOR_MODEL_SIMPLE_H

#include "emulator/model/translate.h"

enum simple_found {
	SIMPLE_SECOND, /* level 2 had the line; a load's is now to be brought into level 1, by simple_load_...() */
	SIMPLE_MET,    /* and somebody prefetched it */
	SIMPLE_BEYOND, /* it had not */
};

/* The line with the address, as caches know it; `offset`: of its page (struct plain_page). */
static inline uint64_t
simple_line(uint64_t address, uint64_t offset)
{
	return (address + offset) >> HIERARCHY_LINE_SHIFT;
}

/* What the address is known by. */
static inline uint64_t
simple_known(uint64_t address, uint64_t line)
{
	return line << HIERARCHY_LINE_SHIFT | (address & ((1u << HIERARCHY_LINE_SHIFT) - 1));
}

/* Whether the page is a plain hit; it is used. `there`: plain_page(). */
static inline __attribute__((always_inline)) bool
simple_use_page(struct hierarchy *hierarchy, struct plain_place *there, uint64_t address)
{
	if (plain_page_differs(there, address >> HIERARCHY_PAGE_SHIFT))
		return false;
	there->stamp = hierarchy->plain_data->use += PLAIN_USE;
	return true;
}

/* The same of a line; `there`: plain_line(). */
static inline __attribute__((always_inline)) bool
simple_use_line(struct hierarchy *hierarchy, struct plain_place *there, uint64_t address)
{
	if (plain_byte_differs(there, address, false))
		return false;
	there->stamp = hierarchy->plain_data->use += PLAIN_USE;
	return true;
}

/* The offset of a page that is no plain hit. False: it must be looked for. */
static inline __attribute__((always_inline)) bool
simple_find_page(const struct hierarchy *hierarchy, uint64_t address, uint64_t *offset)
{
	return page_map_recent_offset(&hierarchy->regions, address, offset) && !hierarchy_has_moved(hierarchy);
}

/* The page: the first TLB is ordered, or recent, and is known not to have it. `there`: plain_page(). */
static inline __attribute__((always_inline)) bool
simple_ordered_lacks(struct hierarchy *hierarchy, const struct plain_place *there, uint64_t address, uint64_t offset)
{
	return translate_ordered_lacks(&hierarchy->data_pages, there, address >> HIERARCHY_PAGE_SHIFT, offset);
}

static inline __attribute__((always_inline)) bool
simple_recent_lacks(struct hierarchy *hierarchy, const struct plain_place *there, uint64_t address, uint64_t offset)
{
	return translate_recent_lacks(&hierarchy->data_pages, there, address >> HIERARCHY_PAGE_SHIFT, offset);
}

/* Its translation when the first TLB did not have it; `ways`: of the second one. */
static inline __attribute__((always_inline)) enum hierarchy_translation
simple_translate_second(struct hierarchy *hierarchy, uint64_t line, const uint32_t ways)
{
	return translate_second(hierarchy, translate_number(line), ways);
}

/* Whatever the TLBs are, and when it must be looked for: the line, too, as caches know it. */
static inline enum hierarchy_translation
simple_translate_anyhow(struct hierarchy *hierarchy, uint64_t address, uint64_t *line)
{
	const uint64_t number = hierarchy_number(hierarchy, address);

	*line = hierarchy_follow(hierarchy, number) >> HIERARCHY_LINE_SHIFT;
	return hierarchy_translate(hierarchy, &hierarchy->data_pages, address >> HIERARCHY_PAGE_SHIFT,
	                           number >> HIERARCHY_LINE_SHIFT);
}

/* What a translation takes. */
static inline uint32_t
simple_translation_cycles(const struct hierarchy *hierarchy, enum hierarchy_translation translation)
{
	return hierarchy->data_pages.cycles[translation];
}

/* Whether level 1 has the line, where it is not known; it is used, and from then on it is a plain hit. */
static inline __attribute__((always_inline)) bool
simple_use_hidden(struct first_level *level, uint64_t address, uint64_t line, const unsigned slots)
{
	const size_t set = (size_t)((uint32_t)line & level->set_mask) * slots;
	const uint32_t matches = tags_match(level->tags + set, (uint32_t)(line >> level->set_shift), slots);
	struct plain_place *place;

	if (!matches)
		return false;
	place = &level->places[set + (uint32_t)__builtin_ctz(matches)];
	place->stamp = level->plain->use += PLAIN_USE;
	first_level_put_near_line(level, place, address >> HIERARCHY_LINE_SHIFT, place->key & PLAIN_WRITTEN);
	return true;
}

/* Brings the line into its set of level 1, which has it not: the line that was written and leaves; CACHE_NO_LINE. */
static inline __attribute__((always_inline)) uint64_t
simple_bring(struct first_level *level, uint64_t address, uint64_t line, const unsigned slots)
{
	const size_t set = (size_t)((uint32_t)line & level->set_mask) * slots;
	struct plain_place *places = level->places + set;
	const uint32_t way = stamps_oldest(&places->stamp, slots, PLAIN_STRIDE), left = level->tags[set + way];
	const uint64_t key = places[way].key;

	level->tags[set + way] = (uint32_t)(line >> level->set_shift);
	places[way].stamp = level->plain->use += PLAIN_USE;
	first_level_put_near_line(level, &places[way], address >> HIERARCHY_LINE_SHIFT, false);
	return key & PLAIN_WRITTEN ? cache_some_line(first_level_left(level, line, left)) : CACHE_NO_LINE;
}

/* Level 1 is known not to have the line of a load that is no plain hit; `there`: plain_line(). */
static inline __attribute__((always_inline)) bool
simple_lacks_line(const struct hierarchy *hierarchy, const struct plain_place *there, uint64_t address)
{
	return __builtin_expect(first_level_lacks_line(&hierarchy->data, there, address), 1);
}

/* Its set of level 2. */
static inline struct cache_small *
simple_second_set(const struct hierarchy *hierarchy, uint64_t line)
{
	return cache_small_set(&hierarchy->own[1], line);
}

/* Whether level 2 has the line, which is used; `set`: its own. `prefetches`: somebody may have prefetched it. */
static inline __attribute__((always_inline)) enum simple_found
simple_use_second(const struct hierarchy *hierarchy, struct cache_small *set, uint64_t line, const bool prefetches)
{
	const uint32_t matches = cache_small_find(&hierarchy->own[1], set, line);
	uint32_t way;

	if (!matches)
		return SIMPLE_BEYOND;
	way = (uint32_t)__builtin_ctz(matches);
	if (!prefetches)
		set->order = order_used(set->order, way);
	else if (__builtin_expect(cache_small_use(set, way, false) & CACHE_WAS_PREFETCHED, 0))
		return SIMPLE_MET;
	return SIMPLE_SECOND;
}

static inline __attribute__((always_inline)) uint64_t
simple_load_bring(struct hierarchy *hierarchy, uint64_t address, uint64_t line)
{
	return hierarchy->simple_slots == 4 ? simple_bring(&hierarchy->data, address, line, 4)
	                                    : simple_bring(&hierarchy->data, address, line, 8);
}

/* What left level 1, if anything did, goes where it goes: whether that is level 2; else nothing was done. */
static inline __attribute__((always_inline)) bool
simple_leave_simply(struct hierarchy *hierarchy, uint64_t left)
{
	return left == CACHE_NO_LINE || __builtin_expect(cache_small_mark_written(&hierarchy->own[1], left), 1);
}

/* It goes there wherever that is. */
static inline __attribute__((always_inline)) void
simple_leave(struct hierarchy *hierarchy, uint64_t left, uint64_t now)
{
	if (!simple_leave_simply(hierarchy, left))
		hierarchy_write_back(hierarchy, left, 2, now);
}

/* Prefetchers are told. */
static inline __attribute__((always_inline)) void
simple_tell(struct hierarchy *hierarchy, uint64_t address, uint64_t line, uint64_t instruction, uint64_t now,
            const struct access_result *result)
{
	if (hierarchy->prefetch)
		hierarchy->prefetch(hierarchy, simple_known(address, line), instruction, now, result);
}

/* The same of a load that level 2 served: how long that takes is known. */
static inline __attribute__((always_inline)) void
simple_tell_second(struct hierarchy *hierarchy, uint64_t address, uint64_t line, uint64_t instruction, uint64_t now)
{
	static const struct access_result second = {.level = 1};

	simple_tell(hierarchy, address, line, instruction, now, &second);
}

/*
 * Level 2 had the line, which somebody prefetched. True: it takes no longer than any of level 2, and that is all for
 * the usual prefetchers; else nothing was done.
 */
static inline __attribute__((always_inline)) bool
simple_meet_in_time(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	const struct arrival *arrival = hierarchy_arrival(hierarchy, line);

	if (arrival->line == line && arrival->ready > now + hierarchy->system->data_cycles[1])
		return false;
	hierarchy->traffic.prefetched_used++;
	return true;
}

/* The same whenever it is there. */
static inline __attribute__((always_inline)) void
simple_load_met(struct hierarchy *hierarchy, uint64_t address, uint64_t line, uint64_t instruction, uint64_t now,
                struct access_result *result)
{
	simple_leave(hierarchy, simple_load_bring(hierarchy, address, line), now);
	result->level = 1;
	result->cycles = hierarchy->system->data_cycles[1];
	hierarchy_meet(hierarchy, line, now, result);
	simple_tell(hierarchy, address, line, instruction, now, result);
}

/* The line comes from further. */
static inline __attribute__((always_inline)) void
simple_load_beyond(struct hierarchy *hierarchy, uint64_t address, uint64_t line, uint64_t instruction, uint64_t now,
                   struct access_result *result)
{
	hierarchy_load_beyond(hierarchy, line, simple_load_bring(hierarchy, address, line), now, result);
	simple_tell(hierarchy, address, line, instruction, now, result);
}

#endif
