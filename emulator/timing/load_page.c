/* A load of a page that is no plain hit. Each step calls nothing but the next one, so that none has much to save. */
#include "emulator/timing/load_events.h"
#include "emulator/timing/load_look.h"
#include "emulator/timing/missed.h"

SLOW void
load_behind_page(struct thread *thread, unsigned index, enum hierarchy_translation translation)
{
	missed_count_translation(thread, access_number(thread, index), translation == TRANSLATION_WALKED, false);
	core_load_simply(thread, index, 0, simple_translation_cycles(thread->hierarchy, translation));
}

/* The same in order, by what translated it. */
static SLOW void
load_behind_page_second(struct thread *thread, unsigned index)
{
	load_counted(thread, index, TRANSLATION_SECOND, LOAD_WALKED);
}

static SLOW void
load_behind_page_walked(struct thread *thread, unsigned index)
{
	load_counted(thread, index, TRANSLATION_WALKED, LOAD_WALKED);
}

/* Its page was translated. */
LOAD_INLINE void
load_behind(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            const enum hierarchy_translation translation, struct plain_place *there, const struct load_kind kind,
            const struct narrow_place *third)
{
	if (!simple_use_line(thread->hierarchy, there, address))
		load_look(thread, index, address, line, translation, there, kind, third);
	else if (translation == TRANSLATION_FIRST)
		return;
	else if (kind.behind != LOAD_BEHIND_MEMORY)
		load_behind_page(thread, index, translation);
	else if (translation == TRANSLATION_SECOND)
		load_behind_page_second(thread, index);
	else
		load_behind_page_walked(thread, index);
}

/* Whatever the TLBs are. */
LOAD_INLINE void
load_page_anyhow(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there,
                 const struct load_kind kind)
{
	uint64_t line;
	const enum hierarchy_translation translation = simple_translate_anyhow(thread->hierarchy, address, &line);

	load_behind(thread, index, address, line, translation, there, kind, NULL);
}

/* By what the first one is, FIRST_PAGES_ORDERED or FIRST_PAGES_RECENT; `ways`: of the second one. */
LOAD_INLINE void
load_page(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there, struct plain_place *page,
          const struct load_kind kind, const enum first_pages_kind first, const uint32_t ways)
{
	uint64_t offset, line;
	struct narrow_place place;
	const struct narrow_place *third = NULL;

	if (!__builtin_expect(simple_find_page(thread->hierarchy, address, &offset), 1)) {
		kind.page_anyhow(thread, index, address, there, page);
		return;
	}
	line = simple_line(address, offset);
	if (kind.behind == LOAD_BEHIND_THIRD) {
		place = load_third_fetch(thread->hierarchy, line);
		third = &place;
	} else if (kind.behind == LOAD_BEHIND_ANY) {
		translate_fetch_set(thread->hierarchy, line);
	}
	if (!(first == FIRST_PAGES_ORDERED ? simple_ordered_lacks(thread->hierarchy, page, address, offset)
	                                   : simple_recent_lacks(thread->hierarchy, page, address, offset))) {
		kind.page_anyhow(thread, index, address, there, page);
		return;
	}
	if (simple_translate_second(thread->hierarchy, line, ways) == TRANSLATION_SECOND)
		load_behind(thread, index, address, line, TRANSLATION_SECOND, there, kind, third);
	else
		load_behind(thread, index, address, line, TRANSLATION_WALKED, there, kind, third);
}

/*
 * DEFINE(of, slots, behind, by, first, ways), of a kind of load, for each kind of TLBs: of those of a `first` the
 * first is for any ways.
 */
#define LOAD_PAGES_OF(DEFINE, ...)                                                                                     \
	DEFINE(__VA_ARGS__, ordered, FIRST_PAGES_ORDERED, thread->hierarchy->shared_tlb.ways)                          \
	DEFINE(__VA_ARGS__, ordered_four, FIRST_PAGES_ORDERED, 4)                                                      \
	DEFINE(__VA_ARGS__, ordered_six, FIRST_PAGES_ORDERED, 6)                                                       \
	DEFINE(__VA_ARGS__, ordered_eight, FIRST_PAGES_ORDERED, 8)                                                     \
	DEFINE(__VA_ARGS__, recent, FIRST_PAGES_RECENT, thread->hierarchy->shared_tlb.ways)                            \
	DEFINE(__VA_ARGS__, recent_four, FIRST_PAGES_RECENT, 4)                                                        \
	DEFINE(__VA_ARGS__, recent_six, FIRST_PAGES_RECENT, 6)                                                         \
	DEFINE(__VA_ARGS__, recent_eight, FIRST_PAGES_RECENT, 8)

#define LOAD_DEFINE_PAGE(of, slots, behind, by, first, ways)                                                           \
	static void load_page_##of##_by_##by(struct thread *thread, unsigned index, uint64_t address,                  \
	                                     struct plain_place *there, struct plain_place *page)                      \
	{                                                                                                              \
		load_page(thread, index, address, there, page, LOAD_KIND(of, slots, behind), first, ways);             \
	}

#define LOAD_DEFINE_PAGES(of, slots, behind)                                                                           \
	SLOW void load_page_##of(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there,   \
	                         struct plain_place *page)                                                             \
	{                                                                                                              \
		(void)page;                                                                                            \
		load_page_anyhow(thread, index, address, there, LOAD_KIND(of, slots, behind));                         \
	}                                                                                                              \
	LOAD_PAGES_OF(LOAD_DEFINE_PAGE, of, slots, behind)

LOAD_KINDS(LOAD_DEFINE_PAGES)

#define LOAD_CHOOSE_PAGE(of, slots, behind, by, first, second_ways)                                                    \
	if (hierarchy->data_pages.kind == (first) && hierarchy->shared_tlb.ways == (second_ways))                      \
		thread->ways.load_page = load_page_##of##_by_##by;

#define LOAD_DEFINE_CHOICE(of, slots, behind)                                                                          \
	void load_choose_page_##of(struct thread *thread)                                                              \
	{                                                                                                              \
		const struct hierarchy *hierarchy = thread->hierarchy;                                                 \
                                                                                                                       \
		thread->ways.load_page = load_page_##of;                                                               \
		LOAD_PAGES_OF(LOAD_CHOOSE_PAGE, of, slots, behind)                                                     \
	}

LOAD_KINDS(LOAD_DEFINE_CHOICE)
