/* A simple load whose line was in level 2. */
#include "emulator/model/prefetch_usual.h"
#include "emulator/timing/load_events.h"
#include "emulator/timing/load_second.h"

/* Somebody prefetched it, and it is not there yet, or its page was translated. */
static SLOW void
load_met_anyhow(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                enum hierarchy_translation translation)
{
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&thread->hierarchy->data_pages, translation);
	simple_load_met(thread->hierarchy, address, line, number, thread_clock(thread), result);
	missed_count_read(thread, number, result, false);
	core_load_missed(thread, index, result);
}

SLOW void
load_met(struct thread *thread, unsigned index, uint64_t address, uint64_t line, enum hierarchy_translation translation)
{
	struct hierarchy *hierarchy = thread->hierarchy;

	if (translation != TRANSLATION_FIRST || !prefetch_is_usual(hierarchy) ||
	    !simple_meet_in_time(hierarchy, line, thread_clock(thread)))
		load_met_anyhow(thread, index, address, line, translation);
	else if (hierarchy->simple_slots == 4)
		load_second_of_four(thread, index, address, line);
	else
		load_second_of_eight(thread, index, address, line);
}

SLOW void
load_sampled_behind(struct thread *thread, unsigned index, enum hierarchy_translation translation, enum load_event at,
                    enum load_event last)
{
	const uint32_t number = access_number(thread, index);

	sample_event(thread, load_events[at], number);
	while (at++ < last) {
		if (load_happens(at, translation))
			sample_count(thread, load_events[at], number);
	}
	core_load_simply(thread, index, load_cache_cycles(thread, last),
	                 simple_translation_cycles(thread->hierarchy, translation));
}

/* Its page is a plain hit; what left level 1 is not there yet where it goes. */
SLOW void
load_second_leaving(struct thread *thread, unsigned index, uint64_t address, uint64_t line, uint64_t left)
{
	simple_leave(thread->hierarchy, left, thread_clock(thread));
	load_second_told(thread, index, address, line);
}

/* Its page was translated, and its line is in level 1; `left`, unless it is CACHE_NO_LINE, was written and left it. */
static SLOW void
load_second_brought(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                    enum hierarchy_translation translation, uint64_t left)
{
	const uint32_t number = access_number(thread, index);

	simple_leave(thread->hierarchy, left, thread_clock(thread));
	simple_tell_second(thread->hierarchy, address, line, number, thread_clock(thread));
	missed_count_translation(thread, number, translation == TRANSLATION_WALKED, false);
	missed_count_second(thread, number);
	core_load_simply(thread, index, thread->second_cycles,
	                 simple_translation_cycles(thread->hierarchy, translation));
}

LOAD_INLINE void
load_second_behind(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation, const struct load_kind kind)
{
	const uint64_t left = simple_bring(&thread->hierarchy->data, address, line, kind.slots);

	if (kind.behind != LOAD_BEHIND_MEMORY || !__builtin_expect(simple_leave_simply(thread->hierarchy, left), 1))
		load_second_brought(thread, index, address, line, translation, left);
	else
		load_counted(thread, index, translation, LOAD_MISSED_FIRST);
}

#define LOAD_DEFINE_SECOND(name, slots, behind)                                                                        \
	SLOW void load_second_##name(struct thread *thread, unsigned index, uint64_t address, uint64_t line)           \
	{                                                                                                              \
		load_second_by(thread, index, address, line, LOAD_KIND(name, slots, behind));                          \
	}                                                                                                              \
	SLOW void load_second_behind_##name(struct thread *thread, unsigned index, uint64_t address, uint64_t line,    \
	                                    enum hierarchy_translation translation)                                    \
	{                                                                                                              \
		load_second_behind(thread, index, address, line, translation, LOAD_KIND(name, slots, behind));         \
	}

LOAD_KINDS(LOAD_DEFINE_SECOND)
