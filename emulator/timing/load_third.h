/*
 * load_third.h - a simple load whose line level 2 had not, when level 3 is behind it, with the usual prefetchers: for
 * the most part that is narrow and has it
 *
 * Inner header of load*.c. Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_THIRD_H
#define DCPI_EMULATOR_TIMING_LOAD_THIRD_H

#include "emulator/model/cache_narrow.h"
#include "emulator/timing/load_second.h"

/*
 * Level 2 has its line, but level 3 is not narrow, or has not its line or the one that left level 2, which was written:
 * `left`, unless it is CACHE_NO_LINE.
 */
void load_through_third(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                        enum hierarchy_translation translation, uint64_t left);

/* Level 1 has its line; `left`, which was written, left it and is not there yet where it goes. */
void load_leaving(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                  enum hierarchy_translation translation, uint64_t left);

/* Level 1 has not its line, nor has level 2, in its `set`. It has much to save, which who asks has not. */
void load_by_third(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation, struct cache_small *set);

/* Where the line is in level 3, when that is narrow and can tell its number; else its `set` is NULL. */
LOAD_INLINE struct narrow_place
load_third_place(const struct hierarchy *hierarchy, uint64_t line)
{
	const struct cache *third = hierarchy->levels[2];
	struct narrow_place place;

	if (third->is_narrow && narrow_has_room(place = narrow_place(third, line)))
		return place;
	return (struct narrow_place){.set = NULL};
}

/* The same when its page is translated: the host fetches the set, as translate_fetch_set() does. */
LOAD_INLINE struct narrow_place
load_third_fetch(const struct hierarchy *hierarchy, uint64_t line)
{
	const struct narrow_place place = load_third_place(hierarchy, line);

	if (__builtin_expect(place.set != NULL, 1))
		__builtin_prefetch(place.set, 1);
	else
		translate_fetch_set(hierarchy, line);
	return place;
}

/*
 * Level 1 has its line; `set`: its own of level 2, `place`: of level 3. The host gets two sets at once, unless it got
 * one when the page was translated.
 */
LOAD_INLINE void
load_behind_first(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                  enum hierarchy_translation translation, struct cache_small *set, const struct narrow_place place)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const struct cache *third = hierarchy->levels[2];
	uint64_t left = cache_small_make_room(&hierarchy->own[1], set, line);
	uint32_t matches = 0;

	if (place.set) {
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

LOAD_INLINE void
load_from_third(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                enum hierarchy_translation translation, struct cache_small *set, const struct narrow_place place)
{
	const uint64_t left = simple_bring(&thread->hierarchy->data, address, line, LOAD_THIRD_SLOTS);

	if (__builtin_expect(simple_leave_simply(thread->hierarchy, left), 1))
		load_behind_first(thread, index, address, line, translation, set, place);
	else
		load_leaving(thread, index, address, line, translation, left);
}

#endif
