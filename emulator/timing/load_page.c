/* A load of a page that is no plain hit. Each step calls nothing but the next one, so that none has much to save. */
#include "emulator/timing/load_kind.h"
#include "emulator/timing/missed.h"

/* Its page had to be translated, and its line is a plain hit. */
LOAD_INLINE void
load_plainly(struct thread *thread, unsigned index, const enum hierarchy_translation translation)
{
	missed_count_translation(thread, access_number(thread, index), translation == TRANSLATION_WALKED, false);
	core_load_simply(thread, index, 0, simple_translation_cycles(thread->hierarchy, translation));
}

static SLOW void
load_by_second(struct thread *thread, unsigned index)
{
	load_plainly(thread, index, TRANSLATION_SECOND);
}

static SLOW void
load_by_walk(struct thread *thread, unsigned index)
{
	load_plainly(thread, index, TRANSLATION_WALKED);
}

/* Its page was translated. */
LOAD_INLINE void
load_behind(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            const enum hierarchy_translation translation, struct plain_place *there)
{
	if (!simple_use_line(thread->hierarchy, there, address))
		thread->ways.load_translated(thread, index, address, line, translation, there);
	else if (translation == TRANSLATION_SECOND)
		load_by_second(thread, index);
	else if (translation == TRANSLATION_WALKED)
		load_by_walk(thread, index);
}

/* Whatever the TLBs are. */
static SLOW void
load_page_anyhow(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there,
                 struct plain_place *page)
{
	uint64_t line;
	const enum hierarchy_translation translation = simple_translate_anyhow(thread->hierarchy, address, &line);

	(void)page;
	load_behind(thread, index, address, line, translation, there);
}

/* By what the first one is, FIRST_PAGES_ORDERED or FIRST_PAGES_RECENT; `ways`: of the second one. */
LOAD_INLINE void
load_page_of(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there,
             struct plain_place *page, const enum first_pages_kind kind, const uint32_t ways)
{
	uint64_t offset, line;

	if (!__builtin_expect(simple_find_page(thread->hierarchy, address, &offset), 1) ||
	    !(kind == FIRST_PAGES_ORDERED ? simple_ordered_lacks(thread->hierarchy, page, address, offset)
	                                  : simple_recent_lacks(thread->hierarchy, page, address, offset))) {
		load_page_anyhow(thread, index, address, there, page);
		return;
	}
	line = simple_line(address, offset);
	if (simple_translate_second(thread->hierarchy, line, ways) == TRANSLATION_SECOND)
		load_behind(thread, index, address, line, TRANSLATION_SECOND, there);
	else
		load_behind(thread, index, address, line, TRANSLATION_WALKED, there);
}

/* DEFINE(name, kind, ways): the first of a kind is for any. */
#define LOAD_PAGE_KINDS(DEFINE)                                                                                        \
	DEFINE(ordered_any, FIRST_PAGES_ORDERED, thread->hierarchy->shared_tlb.ways)                                   \
	DEFINE(ordered_four, FIRST_PAGES_ORDERED, 4)                                                                   \
	DEFINE(ordered_six, FIRST_PAGES_ORDERED, 6)                                                                    \
	DEFINE(ordered_eight, FIRST_PAGES_ORDERED, 8)                                                                  \
	DEFINE(recent_any, FIRST_PAGES_RECENT, thread->hierarchy->shared_tlb.ways)                                     \
	DEFINE(recent_four, FIRST_PAGES_RECENT, 4)                                                                     \
	DEFINE(recent_six, FIRST_PAGES_RECENT, 6)                                                                      \
	DEFINE(recent_eight, FIRST_PAGES_RECENT, 8)

#define LOAD_DEFINE_PAGE(name, kind, ways)                                                                             \
	static void load_page_##name(struct thread *thread, unsigned index, uint64_t address,                          \
	                             struct plain_place *there, struct plain_place *page)                              \
	{                                                                                                              \
		load_page_of(thread, index, address, there, page, kind, ways);                                         \
	}
LOAD_PAGE_KINDS(LOAD_DEFINE_PAGE)

#define LOAD_CHOOSE_PAGE(name, first, second_ways)                                                                     \
	if (hierarchy->data_pages.kind == (first) && hierarchy->shared_tlb.ways == (second_ways))                      \
		ways->load_page = load_page_##name;

void
load_page_choose_ways(struct thread *thread)
{
	const struct hierarchy *hierarchy = thread->hierarchy;
	struct access_ways *ways = &thread->ways;

	ways->load_page = load_page_anyhow;
	LOAD_PAGE_KINDS(LOAD_CHOOSE_PAGE)
}
