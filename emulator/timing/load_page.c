/* A load of a page that is no plain hit. Each step calls nothing but the next one, so that none has much to save. */
#include "emulator/model/simple.h"
#include "emulator/timing/core.h"
#include "emulator/timing/load.h"
#include "emulator/timing/missed.h"

/* Its page had to be translated, and its line is a plain hit. */
static inline __attribute__((always_inline)) void
load_translated(struct thread *thread, unsigned index, const enum hierarchy_translation translation)
{
	missed_count_translation(thread, access_number(thread, index), translation == TRANSLATION_WALKED, false);
	core_load_simply(thread, index, 0, simple_translation_cycles(thread->hierarchy, translation));
}

static SLOW void
load_by_second(struct thread *thread, unsigned index)
{
	load_translated(thread, index, TRANSLATION_SECOND);
}

static SLOW void
load_by_walk(struct thread *thread, unsigned index)
{
	load_translated(thread, index, TRANSLATION_WALKED);
}

/* Its page was translated. */
static inline __attribute__((always_inline)) void
load_behind(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            const enum hierarchy_translation translation)
{
	if (!simple_use_plainly(thread->hierarchy, address))
		thread->ways.load_translated(thread, index, address, line, translation);
	else if (translation == TRANSLATION_SECOND)
		load_by_second(thread, index);
	else if (translation == TRANSLATION_WALKED)
		load_by_walk(thread, index);
}

/* The first TLB did not have its page; `ways`: of the second one. */
static inline __attribute__((always_inline)) void
load_by_ways(struct thread *thread, unsigned index, uint64_t address, uint64_t line, const uint32_t ways)
{
	if (simple_translate_second(thread->hierarchy, line, ways) == TRANSLATION_SECOND)
		load_behind(thread, index, address, line, TRANSLATION_SECOND);
	else
		load_behind(thread, index, address, line, TRANSLATION_WALKED);
}

static void
load_by_four(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_by_ways(thread, index, address, line, 4);
}

static void
load_by_six(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_by_ways(thread, index, address, line, 6);
}

static void
load_by_eight(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_by_ways(thread, index, address, line, 8);
}

static void
load_by_any(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_by_ways(thread, index, address, line, thread->hierarchy->shared_tlb.ways);
}

/* Whatever the TLBs are. */
static SLOW void
load_page_anyhow(struct thread *thread, unsigned index, uint64_t address)
{
	uint64_t line;
	const enum hierarchy_translation translation = simple_translate_anyhow(thread->hierarchy, address, &line);

	load_behind(thread, index, address, line, translation);
}

/* By what the first one is: FIRST_PAGES_ORDERED, or FIRST_PAGES_RECENT. */
static inline __attribute__((always_inline)) void
load_page_of(struct thread *thread, unsigned index, uint64_t address, const enum first_pages_kind kind)
{
	uint64_t offset;

	if (__builtin_expect(simple_find_page(thread->hierarchy, address, &offset), 1) &&
	    (kind == FIRST_PAGES_ORDERED ? simple_ordered_lacks(thread->hierarchy, address, offset)
	                                 : simple_recent_lacks(thread->hierarchy, address, offset)))
		thread->ways.load_second_tlb(thread, index, address, simple_line(address, offset));
	else
		load_page_anyhow(thread, index, address);
}

static void
load_page_ordered(struct thread *thread, unsigned index, uint64_t address)
{
	load_page_of(thread, index, address, FIRST_PAGES_ORDERED);
}

static void
load_page_recent(struct thread *thread, unsigned index, uint64_t address)
{
	load_page_of(thread, index, address, FIRST_PAGES_RECENT);
}

void
load_page_choose_ways(struct access_ways *ways, const struct hierarchy *hierarchy)
{
	const enum first_pages_kind kind = hierarchy->data_pages.kind;
	const uint32_t second = hierarchy->shared_tlb.ways;

	ways->load_page = load_page_anyhow;
	if (kind == FIRST_PAGES_ORDERED)
		ways->load_page = load_page_ordered;
	else if (kind == FIRST_PAGES_RECENT)
		ways->load_page = load_page_recent;
	ways->load_second_tlb = load_by_any;
	if (second == 4)
		ways->load_second_tlb = load_by_four;
	else if (second == 6)
		ways->load_second_tlb = load_by_six;
	else if (second == 8)
		ways->load_second_tlb = load_by_eight;
}
