#include "emulator/model/translate.h"

/* Whether the first TLB has the page. */
static bool
first_has(struct first_level *level, uint64_t page, uint64_t number)
{
	struct first_found found;

	if (level->is_ordered)
		return first_level_use_ordered(level, page);
	found = first_level_use_any(level, number, level->plain->use += PLAIN_USE);
	first_level_put_page(level, found.place, page);
	return found.hit;
}

enum hierarchy_translation
hierarchy_translate(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t line)
{
	const uint64_t number = line >> (hierarchy->page_shift - hierarchy->line_shift);

	if (first_has(&pages->level, page, number))
		return TRANSLATION_FIRST;
	if (hierarchy->system->machine.shared_tlb.entries && tlb_access(&hierarchy->shared_tlb, (uint32_t)number))
		return TRANSLATION_SECOND;
	return TRANSLATION_WALKED;
}
