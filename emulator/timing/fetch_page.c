/* Fetching a line whose page is no plain hit. */
#include "emulator/timing/fetch_kind.h"

/* Nothing was done: whatever the TLBs are, and when the first one has it where it is not known. */
FETCH_INLINE void
fetch_page_anyhow(struct thread *thread, struct edge *edge, const struct fetch_kind kind)
{
	if (kind.is_first)
		slow_fetch_two(thread, edge, kind.parts);
	else
		slow_fetch_line(thread, edge, kind.parts);
}

/* Its page was translated. */
FETCH_INLINE void
fetch_behind(struct thread *thread, struct edge *edge, uint64_t line, const enum hierarchy_translation translation,
             const struct fetch_kind kind)
{
	const uint16_t index = kind.is_first ? edge->first_index : edge->line_index;

	if (plain_code_use_line(thread->code_plain, index, fetch_key(edge, kind)))
		fetch_done(thread, edge, kind, (struct fetched){translation, false});
	else
		thread->ways.fetch_behind[kind.is_first](thread, edge, line, translation);
}

/* By what the first TLB is, FIRST_PAGES_ORDERED or FIRST_PAGES_RECENT; `ways`: of the second one. */
FETCH_INLINE void
fetch_page(struct thread *thread, struct edge *edge, const struct fetch_kind kind, const enum first_pages_kind first,
           const uint32_t ways)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	uint64_t line;

	if (!simple_fetch_page(hierarchy, fetch_key(edge, kind), edge->page_index, first, &line))
		fetch_page_anyhow(thread, edge, kind);
	else if (simple_translate_second(hierarchy, line, ways) == TRANSLATION_SECOND)
		fetch_behind(thread, edge, line, TRANSLATION_SECOND, kind);
	else
		fetch_behind(thread, edge, line, TRANSLATION_WALKED, kind);
}

/* DEFINE(by, first, ways, ...) for each kind of TLBs: of those of a `first` the first is for any ways. */
#define FETCH_TLBS(DEFINE)                                                                                             \
	FETCH_KINDS(DEFINE, ordered, FIRST_PAGES_ORDERED, thread->hierarchy->shared_tlb.ways)                          \
	FETCH_KINDS(DEFINE, ordered_four, FIRST_PAGES_ORDERED, 4)                                                      \
	FETCH_KINDS(DEFINE, recent, FIRST_PAGES_RECENT, thread->hierarchy->shared_tlb.ways)                            \
	FETCH_KINDS(DEFINE, recent_four, FIRST_PAGES_RECENT, 4)                                                        \
	FETCH_KINDS(DEFINE, recent_six, FIRST_PAGES_RECENT, 6)                                                         \
	FETCH_KINDS(DEFINE, recent_eight, FIRST_PAGES_RECENT, 8)

#define FETCH_DEFINE_PAGE(by, first, ways, name, parts, is_first)                                                      \
	static void fetch_page_##name##_by_##by(struct thread *thread, struct edge *edge)                              \
	{                                                                                                              \
		fetch_page(thread, edge, FETCH_KIND(parts, is_first), first, ways);                                    \
	}

FETCH_TLBS(FETCH_DEFINE_PAGE)

#define FETCH_DEFINE_PAGE_ANYHOW(by, name, parts, is_first)                                                            \
	static void fetch_page_##name##_##by(struct thread *thread, struct edge *edge)                                 \
	{                                                                                                              \
		fetch_page_anyhow(thread, edge, FETCH_KIND(parts, is_first));                                          \
	}

FETCH_KINDS(FETCH_DEFINE_PAGE_ANYHOW, anyhow)

#define FETCH_CHOOSE_PAGE(by, first, second_ways, name, parts, is_first)                                               \
	if (fetch_kind_is(thread, FETCH_KIND(parts, is_first)) && hierarchy->code_pages.kind == (first) &&             \
	    hierarchy->shared_tlb.ways == (second_ways))                                                               \
		thread->ways.fetch_page[is_first] = fetch_page_##name##_by_##by;

#define FETCH_CHOOSE_PAGE_ANYHOW(by, name, parts, is_first)                                                            \
	if (fetch_kind_is(thread, FETCH_KIND(parts, is_first)))                                                        \
		thread->ways.fetch_page[is_first] = fetch_page_##name##_##by;

void
fetch_choose_pages(struct thread *thread)
{
	const struct hierarchy *hierarchy = thread->hierarchy;

	FETCH_KINDS(FETCH_CHOOSE_PAGE_ANYHOW, anyhow)
	FETCH_TLBS(FETCH_CHOOSE_PAGE)
}
