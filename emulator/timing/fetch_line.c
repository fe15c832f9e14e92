/* Fetching a line that is no plain hit: for the most part level 2 has it, and that is all. */
#include "emulator/timing/fetch_kind.h"
#include "emulator/timing/missed.h"

/* It missed, whatever that takes. */
FETCH_INLINE void
fetch_missed(struct thread *thread, struct edge *edge, struct fetch_kind kind, const struct access_result *result)
{
	const uint32_t number = fetch_instruction(edge, kind);

	missed_count_read(thread, number, result, true);
	if (kind.parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, result);
	fetch_go_on(thread, edge, kind);
}

SLOW void
fetch_rest(struct thread *thread, struct edge *edge, struct fetch_kind kind, struct fetched fetched)
{
	struct access_result result = hierarchy_result_of(&thread->hierarchy->code_pages, fetched.translation);

	if (fetched.is_second) {
		result.level = 1;
		result.cycles = simple_fetch_cycles(thread->hierarchy);
	}
	fetch_missed(thread, edge, kind, &result);
}

/* Level 2 had it not, or prefetchers are to be told. */
static SLOW void
fetch_beyond(struct thread *thread, struct edge *edge, uint64_t line, enum simple_found found, struct fetch_kind kind,
             enum hierarchy_translation translation)
{
	struct access_result result = hierarchy_result_of(&thread->hierarchy->code_pages, translation);

	simple_fetch_rest(thread->hierarchy, fetch_key(edge, kind), line, found, thread_clock(thread), &result);
	fetch_missed(thread, edge, kind, &result);
}

/* Level 1 has it. */
FETCH_INLINE void
fetch_found(struct thread *thread, struct edge *edge, const enum hierarchy_translation translation,
            const struct fetch_kind kind)
{
	if (translation == TRANSLATION_FIRST)
		fetch_go_on(thread, edge, kind);
	else
		fetch_done(thread, edge, kind, (struct fetched){translation, false});
}

/* It is known as `line`, and its page was used; `slots`: of a set of level 1. */
FETCH_INLINE void
fetch_line(struct thread *thread, struct edge *edge, uint64_t line, const enum hierarchy_translation translation,
           const struct fetch_kind kind, const unsigned slots)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const uint64_t key = fetch_key(edge, kind);
	enum simple_found found;

	if (__builtin_expect(simple_use_hidden(&hierarchy->code, key, line, slots), 0)) {
		fetch_found(thread, edge, translation, kind);
		return;
	}
	found = simple_fetch_line(hierarchy, key, line, slots);
	if (found != SIMPLE_SECOND || hierarchy->prefetch)
		fetch_beyond(thread, edge, line, found, kind, translation);
	else
		fetch_done(thread, edge, kind, (struct fetched){translation, true});
}

/* Of a block on one line, or of whose two the first was used: it is no plain hit, or its page is none. */
FETCH_INLINE void
fetch_last(struct thread *thread, struct edge *edge, uint32_t parts, const struct fetch_kind kind, const unsigned slots)
{
	struct plain_hits *plain = thread->code_plain;
	uint64_t line;

	if (__builtin_expect(hierarchy_has_moved(thread->hierarchy), 0))
		slow_fetch_line(thread, edge, parts);
	else if (simple_use_code_page(plain, edge->page_index, edge->page_key, edge->line_key, &line))
		fetch_line(thread, edge, line, TRANSLATION_FIRST, kind, slots);
	else
		thread->ways.fetch_page[false](thread, edge);
}

/* Of a block on two lines, when not all is a plain hit. */
FETCH_INLINE void
fetch_both(struct thread *thread, struct edge *edge, uint32_t parts, const struct fetch_kind kind, const unsigned slots)
{
	struct plain_hits *plain = thread->code_plain;
	const uint64_t key = fetch_key(edge, kind);
	uint64_t line;

	if (__builtin_expect(hierarchy_has_moved(thread->hierarchy), 0))
		slow_fetch_two(thread, edge, parts);
	else if (!simple_use_code_page(plain, edge->page_index, edge->page_key, key, &line))
		thread->ways.fetch_page[true](thread, edge);
	else if (plain_code_use_line(plain, edge->first_index, key))
		fetch_go_on(thread, edge, kind);
	else
		fetch_line(thread, edge, line, TRANSLATION_FIRST, kind, slots);
}

#define FETCH_DEFINE(slots, slot_count, name, parts, is_first)                                                         \
	static void fetch_##slots##_##name(struct thread *thread, struct edge *edge, uint32_t all)                     \
	{                                                                                                              \
		if (is_first)                                                                                          \
			fetch_both(thread, edge, all, FETCH_KIND(parts, is_first), slot_count);                        \
		else                                                                                                   \
			fetch_last(thread, edge, all, FETCH_KIND(parts, is_first), slot_count);                        \
	}                                                                                                              \
	static void fetch_##slots##_##name##_behind(struct thread *thread, struct edge *edge, uint64_t line,           \
	                                            enum hierarchy_translation translation)                            \
	{                                                                                                              \
		fetch_line(thread, edge, line, translation, FETCH_KIND(parts, is_first), slot_count);                  \
	}

FETCH_KINDS(FETCH_DEFINE, four, 4)
FETCH_KINDS(FETCH_DEFINE, eight, 8)

#define FETCH_CHOOSE(slots, slot_count, name, parts, is_first)                                                         \
	if (thread->hierarchy->simple_code_slots == (slot_count) &&                                                    \
	    fetch_kind_is(thread, FETCH_KIND(parts, is_first))) {                                                      \
		ways->fetch[is_first] = fetch_##slots##_##name;                                                        \
		ways->fetch_behind[is_first] = fetch_##slots##_##name##_behind;                                        \
	}

void
fetch_choose_ways(struct thread *thread)
{
	struct access_ways *ways = &thread->ways;

	ways->fetch[false] = slow_fetch_line;
	ways->fetch[true] = slow_fetch_two;
	FETCH_KINDS(FETCH_CHOOSE, four, 4)
	FETCH_KINDS(FETCH_CHOOSE, eight, 8)
	fetch_choose_pages(thread);
}
