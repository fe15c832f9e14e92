#include "emulator/timing/load_third.h"

SLOW void
load_through_third(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation, uint64_t left)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&hierarchy->data_pages, translation);
	hierarchy_look_in_third(hierarchy, left, line, hierarchy->system->data_cycles, thread_clock(thread), result);
	simple_tell(hierarchy, address, line, number, thread_clock(thread), result);
	missed_count_beyond(thread, number, result, hierarchy->level_count);
	core_load_missed(thread, index, result);
}

SLOW void
load_leaving(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
             enum hierarchy_translation translation, uint64_t left)
{
	simple_leave(thread->hierarchy, left, thread_clock(thread));
	load_behind_first(thread, index, address, line, translation, simple_second_set(thread->hierarchy, line),
	                  load_third_place(thread->hierarchy, line));
}

SLOW void
load_by_third(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
              enum hierarchy_translation translation, struct cache_small *set)
{
	load_from_third(thread, index, address, line, translation, set, load_third_place(thread->hierarchy, line));
}
