/*
 * A load that level 2 or level 3 served, and that prefetchers are told: the usual ones straight on. Each step calls
 * nothing but the next one, so that none has much to save.
 */
#include "emulator/model/prefetch_fetch.h"
#include "emulator/timing/load_events.h"
#include "emulator/timing/load_second.h"

/* From where its line is. */
enum told_from {
	FROM_SECOND, /* its page is a plain hit */
	FROM_THIRD,  /* behind a translation: from_third() */
	FROM_THIRD_WALKED = FROM_THIRD + TRANSLATION_WALKED,
};

static inline enum told_from
from_third(enum hierarchy_translation translation)
{
	return (enum told_from)(FROM_THIRD + translation);
}

SLOW void
load_sampled(struct thread *thread, unsigned index)
{
	sample_event(thread, SETUP_EVENT_LEVEL1_DATA, access_number(thread, index));
	core_load_second(thread, index);
}

SLOW void
load_second_told(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	simple_tell_second(thread->hierarchy, address, line, access_number(thread, index), thread_clock(thread));
	load_second(thread, index);
}

/* They are told. */
LOAD_INLINE void
load_third(struct thread *thread, unsigned index, enum hierarchy_translation translation)
{
	if (load_count(thread, index, translation, LOAD_MISSED_SECOND))
		core_load_simply(thread, index, thread->third_cycles,
		                 simple_translation_cycles(thread->hierarchy, translation));
}

LOAD_INLINE void
load_served(struct thread *thread, unsigned index, enum told_from from)
{
	if (from == FROM_SECOND)
		load_second(thread, index);
	else
		load_third(thread, index, (enum hierarchy_translation)(from - FROM_THIRD));
}

/* The stream of its page, of the usual ones, wants `count` lines, of which the first is not there. */
static SLOW void
load_fetching(struct thread *thread, unsigned index, unsigned count, enum told_from from)
{
	prefetch_usual_fetch(thread->hierarchy, count, thread_clock(thread));
	load_served(thread, index, from);
}

/* That is not at hand. */
static SLOW void
load_finding_stream(struct thread *thread, unsigned index, uint64_t line, enum told_from from)
{
	prefetch_usual_find(thread->hierarchy, line, thread_clock(thread));
	load_served(thread, index, from);
}

/* Nor is its instruction, or something may be wanted for it. */
static SLOW void
load_telling(struct thread *thread, unsigned index, uint64_t known, enum told_from from)
{
	prefetch_usual_tell(thread->hierarchy, known, access_number(thread, index), thread_clock(thread));
	load_served(thread, index, from);
}

/* Its stream, which is at hand, is told. */
LOAD_INLINE void
load_in_stream(struct thread *thread, unsigned index, struct prefetch_entry *stream, uint64_t line,
               const enum told_from from)
{
	const unsigned count = prefetch_usual_follow(thread->hierarchy, stream, line);

	if (count)
		load_fetching(thread, index, count, from);
	else
		load_served(thread, index, from);
}

/* As it goes on by a line it wants one, which is not there; `left`: what left level 2 for that, and was written. */
static SLOW void
load_fetching_leaving(struct thread *thread, unsigned index, uint64_t next, uint64_t left)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const struct narrow_place place = narrow_place(hierarchy->levels[2], next);

	hierarchy_write_back(hierarchy, left, 3, thread_clock(thread));
	if (!prefetch_fetch_from_third(hierarchy, place, next, thread_clock(thread)))
		prefetch_fetch_from_behind(hierarchy, place, next, thread_clock(thread));
	load_second(thread, index);
}

/* Nor is it in level 3. */
static SLOW void
load_fetching_behind(struct thread *thread, unsigned index, uint64_t next, struct narrow_place place)
{
	prefetch_fetch_from_behind(thread->hierarchy, place, next, thread_clock(thread));
	load_second(thread, index);
}

static SLOW void
load_fetching_anyhow(struct thread *thread, unsigned index, uint64_t next)
{
	prefetch_usual_fetch_next(thread->hierarchy, next, thread_clock(thread));
	load_second(thread, index);
}

/* The same of a level 3 that threads share. */
static SLOW void
load_fetching_shared_leaving(struct thread *thread, unsigned index, uint64_t next, uint64_t left)
{
	hierarchy_write_back(thread->hierarchy, left, 2, thread_clock(thread));
	prefetch_fetch_from_shared(thread->hierarchy, next, thread_clock(thread));
	load_second(thread, index);
}

static SLOW void
load_fetching_shared(struct thread *thread, unsigned index, uint64_t next)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	struct prefetcher *stream = &hierarchy->prefetchers[PREFETCH_USUAL_STREAM];
	const uint64_t left = prefetch_fetch_into_second(hierarchy, stream, next);

	if (left != CACHE_NO_LINE) {
		load_fetching_shared_leaving(thread, index, next, left);
		return;
	}
	prefetch_fetch_from_shared(hierarchy, next, thread_clock(thread));
	load_second(thread, index);
}

static SLOW void
load_fetching_next(struct thread *thread, unsigned index, uint64_t next)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	struct prefetcher *stream = &hierarchy->prefetchers[PREFETCH_USUAL_STREAM];
	struct narrow_place place;
	uint64_t left;

	if (!prefetch_fetch_is_simple(hierarchy, stream, next, &place)) {
		if (prefetch_fetch_is_shared(hierarchy, stream))
			load_fetching_shared(thread, index, next);
		else
			load_fetching_anyhow(thread, index, next);
		return;
	}
	left = prefetch_fetch_into_second(hierarchy, stream, next);
	if (!prefetch_fetch_leaves_simply(hierarchy, left))
		load_fetching_leaving(thread, index, next, left);
	else if (prefetch_fetch_from_third(hierarchy, place, next, thread_clock(thread)))
		load_second(thread, index);
	else
		load_fetching_behind(thread, index, next, place);
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

/* Its instruction goes on as it did, and its stream does so, too, for the most part. */
static SLOW void
load_second_going_on(struct thread *thread, unsigned index, uint64_t line)
{
	struct prefetch_entry *stream = prefetch_usual_at_hand(thread->hierarchy, line);
	uint64_t next;

	if (!prefetch_usual_is_of(stream, line) || !prefetch_usual_goes_on(thread->hierarchy, stream, line, &next))
		load_second_in_stream(thread, index, line);
	else if (prefetch_usual_wants(thread->hierarchy, next, line))
		load_fetching_next(thread, index, next);
	else
		load_second(thread, index);
}

static SLOW void
load_third_in_stream(struct thread *thread, unsigned index, uint64_t line, enum told_from from)
{
	load_in_stream(thread, index, prefetch_usual_at_hand(thread->hierarchy, line), line, from);
}

SLOW void
load_second_usual(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	const uint64_t known = simple_known(address, line);
	const uint32_t number = access_number(thread, index);

	if (prefetch_usual_step(thread->hierarchy, known, number))
		load_second_in_stream(thread, index, line);
	else if (prefetch_usual_stride(thread->hierarchy, known, number))
		load_second_going_on(thread, index, line);
	else
		load_telling(thread, index, known, FROM_SECOND);
}

/* Who misses level 2 is often the first of its page. */
SLOW void
load_third_usual(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                 enum hierarchy_translation translation)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const uint64_t known = simple_known(address, line);

	if (!prefetch_usual_step(hierarchy, known, access_number(thread, index)))
		load_telling(thread, index, known, from_third(translation));
	else if (prefetch_usual_is_of(prefetch_usual_at_hand(hierarchy, line), line))
		load_third_in_stream(thread, index, line, from_third(translation));
	else if (prefetch_usual_begin(hierarchy, line))
		load_third(thread, index, translation);
	else
		load_finding_stream(thread, index, line, from_third(translation));
}

void
load_told_choose_way(struct thread *thread)
{
	const struct hierarchy *hierarchy = thread->hierarchy;

	if (hierarchy->prefetch)
		thread->ways.load_told = prefetch_is_usual(hierarchy) ? load_second_usual : load_second_told;
}
