/* A simple load that a narrow level 3 serves, and that the usual prefetchers are told, straight on. */
#include "emulator/model/cache_narrow.h"
#include "emulator/timing/load_kind.h"
#include "emulator/timing/missed.h"

/*
 * Level 2 has its line, but level 3 is not narrow, or has not its line or the one that left level 2, which was written:
 * `left`, unless it is CACHE_NO_LINE.
 */
static SLOW void
load_through_third(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation, uint64_t left)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&hierarchy->data_pages, translation);
	hierarchy_look_in_third(hierarchy, left, line, hierarchy->system->data_cycles, thread->clock, result);
	simple_tell(hierarchy, address, line, number, thread->clock, result);
	missed_count_beyond(thread, number, result, hierarchy->level_count);
	core_load_missed(thread, index, result);
}

/* Level 1 has its line. The host gets two sets at once, unless it got one when the page was translated. */
static SLOW void
load_behind_first(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                  enum hierarchy_translation translation)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const struct cache *third = hierarchy->levels[2];
	uint64_t left = cache_small_make_room(&hierarchy->own[1], cache_small_set(&hierarchy->own[1], line), line);
	struct narrow_place place;
	uint32_t matches = 0;

	if (third->is_narrow && narrow_has_room(place = narrow_place(third, line))) {
		if (left != CACHE_NO_LINE) {
			const struct narrow_place back = narrow_place(third, left);

			if (translation == TRANSLATION_FIRST) {
				__builtin_prefetch(place.set, 1);
				__builtin_prefetch(back.set, 1);
			}
			if (narrow_mark_written(back))
				left = CACHE_NO_LINE;
		}
		matches = left == CACHE_NO_LINE ? narrow_match(place) : 0;
	}
	if (!matches) {
		load_through_third(thread, index, address, line, translation, left);
		return;
	}
	narrow_use(place, matches);
	load_third_usual(thread, index, address, line, translation);
}

/* What left level 1 is not there yet where it goes. */
static SLOW void
load_leaving(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
             enum hierarchy_translation translation, uint64_t left)
{
	simple_leave(thread->hierarchy, left, thread->clock);
	load_behind_first(thread, index, address, line, translation);
}

LOAD_INLINE void
load_beyond_second(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation, const unsigned slots)
{
	const uint64_t left = simple_bring(&thread->hierarchy->data, address, line, slots);

	if (left != CACHE_NO_LINE && __builtin_expect(!cache_small_mark_written(&thread->hierarchy->own[1], left), 0))
		load_leaving(thread, index, address, line, translation, left);
	else
		load_behind_first(thread, index, address, line, translation);
}

SLOW void
load_third_of_four(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation)
{
	load_beyond_second(thread, index, address, line, translation, 4);
}

SLOW void
load_third_of_eight(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                    enum hierarchy_translation translation)
{
	load_beyond_second(thread, index, address, line, translation, 8);
}
