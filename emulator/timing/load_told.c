/*
 * A load that level 2 or level 3 served, and that prefetchers are told: the usual ones straight on. Each step calls
 * nothing but the next one, so that none has much to save.
 */
#include "emulator/model/prefetch_usual.h"
#include "emulator/timing/load_events.h"
#include "emulator/timing/load_second.h"

/* From where its line is. */
#define FROM_SECOND 0u /* its page is a plain hit */
#define FROM_THIRD  1u /* and enum hierarchy_translation more */

SLOW void
load_sampled(struct thread *thread, unsigned index)
{
	sample_event(thread, SETUP_EVENT_LEVEL1_DATA, access_number(thread, index));
	core_load_second(thread, index);
}

SLOW void
load_second_told(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	simple_tell_second(thread->hierarchy, address, line, access_number(thread, index), thread->clock);
	load_second(thread, index);
}

/* They are told. */
static SLOW void
load_third(struct thread *thread, unsigned index, unsigned from)
{
	const enum hierarchy_translation translation = from - FROM_THIRD;

	if (load_count(thread, index, translation, LOAD_MISSED_SECOND))
		core_load_simply(thread, index, thread->third_cycles,
		                 simple_translation_cycles(thread->hierarchy, translation));
}

LOAD_INLINE void
load_served(struct thread *thread, unsigned index, unsigned from)
{
	if (from == FROM_SECOND)
		load_second(thread, index);
	else
		load_third(thread, index, from);
}

/* The stream of its page, of the usual ones, wants `count` lines, of which the first is not there. */
static SLOW void
load_fetching(struct thread *thread, unsigned index, unsigned count, unsigned from)
{
	prefetch_usual_fetch(thread->hierarchy, count, thread->clock);
	load_served(thread, index, from);
}

/* That is not at hand. */
static SLOW void
load_finding_stream(struct thread *thread, unsigned index, uint64_t line, unsigned from)
{
	prefetch_usual_find(thread->hierarchy, line, thread->clock);
	load_served(thread, index, from);
}

/* Nor is its instruction, or something may be wanted for it. */
static SLOW void
load_telling(struct thread *thread, unsigned index, uint64_t known, unsigned from)
{
	prefetch_usual_tell(thread->hierarchy, known, access_number(thread, index), thread->clock);
	load_served(thread, index, from);
}

/* Its stream, which is at hand, is told. */
LOAD_INLINE void
load_in_stream(struct thread *thread, unsigned index, struct prefetch_entry *stream, uint64_t line, const unsigned from)
{
	const unsigned count = prefetch_usual_follow(thread->hierarchy, stream, line);

	if (count)
		load_fetching(thread, index, count, from);
	else
		load_served(thread, index, from);
}

static SLOW void
load_second_in_stream(struct thread *thread, unsigned index, uint64_t line)
{
	struct prefetch_entry *stream = prefetch_usual_at_hand(thread->hierarchy, line);

	if (prefetch_usual_is_of(stream, line))
		load_in_stream(thread, index, stream, line, FROM_SECOND);
	else
		load_finding_stream(thread, index, line, FROM_SECOND);
}

/* Who misses level 2 is often the first of its page. */
static SLOW void
load_third_beginning(struct thread *thread, unsigned index, uint64_t line, unsigned from)
{
	if (prefetch_usual_begin(thread->hierarchy, line))
		load_third(thread, index, from);
	else
		load_finding_stream(thread, index, line, from);
}

static SLOW void
load_third_in_stream(struct thread *thread, unsigned index, uint64_t line, unsigned from)
{
	struct prefetch_entry *stream = prefetch_usual_at_hand(thread->hierarchy, line);

	if (prefetch_usual_is_of(stream, line))
		load_in_stream(thread, index, stream, line, from);
	else
		load_third_beginning(thread, index, line, from);
}

SLOW void
load_second_usual(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	const uint64_t known = simple_known(address, line);

	if (prefetch_usual_step(thread->hierarchy, known, access_number(thread, index)))
		load_second_in_stream(thread, index, line);
	else
		load_telling(thread, index, known, FROM_SECOND);
}

SLOW void
load_third_usual(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                 enum hierarchy_translation translation)
{
	const uint64_t known = simple_known(address, line);

	if (prefetch_usual_step(thread->hierarchy, known, access_number(thread, index)))
		load_third_in_stream(thread, index, line, FROM_THIRD + translation);
	else
		load_telling(thread, index, known, FROM_THIRD + translation);
}

void
load_told_choose_way(struct thread *thread)
{
	const struct hierarchy *hierarchy = thread->hierarchy;

	if (hierarchy->prefetch)
		thread->ways.load_told = prefetch_is_usual(hierarchy) ? load_second_usual : load_second_told;
}
