/*
 * fetch_kind.h - the steps of fetching a line of code that is no plain hit, and what is constant in them
 *
 * As those of loads (load_kind.h) each step calls nothing but the next one, last of all, so that none has much to save;
 * what is rare goes on by itself, whatever the kind is. They are for the usual caches, lines and pages
 * (model/simple_fetch.h), and until pages are moved.
 *
 * Inner header of fetch_*.c. Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_FETCH_KIND_H
#define DCPI_EMULATOR_TIMING_FETCH_KIND_H

#include "emulator/model/simple_fetch.h"
#include "emulator/timing/fetch.h"
#include "emulator/timing/front.h"
#include "emulator/timing/hot.h"

#define FETCH_INLINE static inline __attribute__((always_inline))

/* Which line of a block, and what is modelled of the time. */
struct fetch_kind {
	uint32_t parts; /* of those of hot_go(), SETUP_CLOCK and HOT_IN_ORDER */
	bool is_first;  /* of two lines the first, behind which the last is fetched; else that, or the only one */
};

/* DEFINE(..., name, parts, is_first) of each. */
#define FETCH_KINDS(DEFINE, ...)                                                                                       \
	DEFINE(__VA_ARGS__, last, 0, false)                                                                            \
	DEFINE(__VA_ARGS__, last_out_of_order, SETUP_CLOCK, false)                                                     \
	DEFINE(__VA_ARGS__, last_in_order, SETUP_CLOCK | HOT_IN_ORDER, false)                                          \
	DEFINE(__VA_ARGS__, first, 0, true)                                                                            \
	DEFINE(__VA_ARGS__, first_out_of_order, SETUP_CLOCK, true)                                                     \
	DEFINE(__VA_ARGS__, first_in_order, SETUP_CLOCK | HOT_IN_ORDER, true)

#define FETCH_KIND(parts, is_first) ((struct fetch_kind){parts, is_first})

/* Whether it is made for what is modelled of the thread's time. */
static inline bool
fetch_kind_is(const struct thread *thread, struct fetch_kind kind)
{
	return (hot_parts(thread->timing) & (SETUP_CLOCK | HOT_IN_ORDER)) == kind.parts;
}

/* How a line was fetched: how its page was translated, and whether level 2 had it, or level 1. */
struct fetched {
	enum hierarchy_translation translation;
	bool is_second;
};

/* Where the line begins, and what it is known by (plain.h). */
FETCH_INLINE uint64_t
fetch_key(const struct edge *edge, const struct fetch_kind kind)
{
	return kind.is_first ? edge->line_key - plain_line_key(1) : edge->line_key;
}

/* The first instruction that has a byte in it. */
FETCH_INLINE uint32_t
fetch_instruction(const struct edge *edge, const struct fetch_kind kind)
{
	const struct code *code = edge->code;

	return kind.is_first ? code->first : code->first + code->second_line_from;
}

/* What is done when it was fetched. */
FETCH_INLINE void
fetch_go_on(struct thread *thread, struct edge *edge, const struct fetch_kind kind)
{
	if (kind.is_first)
		hot_fetch(thread, edge, kind.parts | SETUP_CACHES, EDGE_FETCHES_LINE_OF_PAGE);
	else
		hot_advance(thread, edge, kind.parts);
}

/* Something of it is sampled, or holds up otherwise than is usual; nothing was counted. */
SLOW void fetch_rest(struct thread *thread, struct edge *edge, struct fetch_kind kind, struct fetched fetched);

/* Of the thread's ways of fetching, those that are taken when the page is no plain hit. */
void fetch_choose_pages(struct thread *thread);

FETCH_INLINE bool
fetch_is_sampled(const struct thread *thread, const struct fetched fetched)
{
	return (fetched.is_second && sample_is_near(thread, SETUP_EVENT_LEVEL1_CODE)) ||
	       (fetched.translation != TRANSLATION_FIRST && sample_is_near(thread, SETUP_EVENT_CODE_TLB));
}

FETCH_INLINE void
fetch_count(struct thread *thread, const struct fetched fetched)
{
	if (fetched.translation != TRANSLATION_FIRST)
		sample_is_due(thread, SETUP_EVENT_CODE_TLB);
	if (fetched.is_second)
		sample_is_due(thread, SETUP_EVENT_LEVEL1_CODE);
}

/* Whether it holds up as is usual. */
FETCH_INLINE bool
fetch_holds_up(struct thread *thread, const struct edge *edge, const struct fetch_kind kind,
               const struct fetched fetched)
{
	const struct hierarchy *hierarchy = thread->hierarchy;
	const uint32_t cache_cycles = fetched.is_second ? simple_fetch_cycles(hierarchy) : 0;
	const uint32_t tlb_cycles =
		fetched.translation == TRANSLATION_FIRST ? 0 : hierarchy->code_pages.cycles[fetched.translation];

	return front_misses(thread, fetch_instruction(edge, kind), tlb_cycles, cache_cycles, kind.parts & HOT_IN_ORDER);
}

/* Straight on; what is not the usual goes on elsewhere. */
FETCH_INLINE void
fetch_done(struct thread *thread, struct edge *edge, const struct fetch_kind kind, const struct fetched fetched)
{
	if (fetched.translation == TRANSLATION_WALKED || fetch_is_sampled(thread, fetched) ||
	    (kind.parts & SETUP_CLOCK && !fetch_holds_up(thread, edge, kind, fetched))) {
		fetch_rest(thread, edge, kind, fetched);
		return;
	}
	fetch_count(thread, fetched);
	fetch_go_on(thread, edge, kind);
}

#endif
