/*
 * In order, a simple load whose line level 2 had not, when memory is behind it, by the machine's one controller, and
 * nobody prefetches.
 */
#include "emulator/model/moves.h"
#include "emulator/timing/load_events.h"
#include "emulator/timing/missed.h"

/* Level 1 has its line; `left`, which was written, left it, and level 2 has it not. */
static SLOW void
load_brought(struct thread *thread, unsigned index, uint64_t line, enum hierarchy_translation translation,
             uint64_t left)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&hierarchy->data_pages, translation);
	simple_leave(hierarchy, left, thread_clock(thread));
	hierarchy_look_further(hierarchy, line, hierarchy->system->data_cycles, thread_clock(thread), result);
	missed_count_beyond(thread, access_number(thread, index), result, hierarchy->level_count);
	core_load_missed(thread, index, result);
}

/* Both levels have its line, and memory has something else to do; `left`: what was written and has left level 2. */
static SLOW void
load_exchange(struct thread *thread, unsigned index, uint64_t line, enum hierarchy_translation translation,
              uint64_t left)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&hierarchy->data_pages, translation);
	result->level = HIERARCHY_MEMORY;
	hierarchy_exchange(hierarchy, left, line, hierarchy->system->data_cycles, thread_clock(thread), result);
	missed_count_beyond(thread, access_number(thread, index), result, hierarchy->level_count);
	core_load_missed(thread, index, result);
}

/* Memory had it, and takes as much longer as it has to do; `wait`: until it did. */
static SLOW void
load_wait(struct thread *thread, unsigned index, enum hierarchy_translation translation, const struct path_user *user,
          uint64_t wait)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&hierarchy->data_pages, translation);
	result->level = HIERARCHY_MEMORY;
	moves_came(result, user, 0, hierarchy->system->data_cycles[HIERARCHY_MEMORY], wait);
	missed_count_beyond(thread, access_number(thread, index), result, hierarchy->level_count);
	core_load_missed(thread, index, result);
}

/* Both levels have its line; memory is shared by threads, or is told what it has to do. */
static SLOW void
load_shared(struct thread *thread, unsigned index, uint64_t line, enum hierarchy_translation translation, uint64_t left)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const struct path_user *user = NULL;
	uint64_t wait;

	if (left == CACHE_NO_LINE)
		user = moves_shared(hierarchy, line, thread_clock(thread), &wait);
	if (!user)
		load_exchange(thread, index, line, translation, left);
	else if (wait | user->load_cycles)
		load_wait(thread, index, translation, user, wait);
	else
		load_counted(thread, index, translation, LOAD_MISSED_LAST);
}

LOAD_INLINE void
load_memory(struct thread *thread, unsigned index, uint64_t address, uint64_t line, struct cache_small *set,
            const enum hierarchy_translation translation, const unsigned slots)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	uint64_t left = simple_bring(&hierarchy->data, address, line, slots);
	const struct path_user *user;

	if (!simple_leave_simply(hierarchy, left)) {
		load_brought(thread, index, line, translation, left);
		return;
	}
	left = cache_small_make_room(&hierarchy->own[1], set, line);
	user = moves_exchange_with_one(hierarchy, left, thread_clock(thread));
	if (__builtin_expect(!user, 0))
		load_shared(thread, index, line, translation, left);
	else if (__builtin_expect(user->load_cycles != 0, 0))
		load_wait(thread, index, translation, user, 0);
	else
		load_counted(thread, index, translation, LOAD_MISSED_LAST);
}

#define LOAD_DEFINE_MEMORY(name, translation)                                                                          \
	SLOW void load_memory_of_four_##name(struct thread *thread, unsigned index, uint64_t address, uint64_t line,   \
	                                     struct cache_small *set)                                                  \
	{                                                                                                              \
		load_memory(thread, index, address, line, set, translation, 4);                                        \
	}                                                                                                              \
	SLOW void load_memory_of_eight_##name(struct thread *thread, unsigned index, uint64_t address, uint64_t line,  \
	                                      struct cache_small *set)                                                 \
	{                                                                                                              \
		load_memory(thread, index, address, line, set, translation, 8);                                        \
	}

LOAD_DEFINE_MEMORY(first, TRANSLATION_FIRST)
LOAD_DEFINE_MEMORY(second, TRANSLATION_SECOND)
LOAD_DEFINE_MEMORY(walked, TRANSLATION_WALKED)
