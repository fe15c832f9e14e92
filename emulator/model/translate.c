#include "emulator/model/translate.h"

/* How far what its addresses are known by is from them. */
static uint64_t
offset_of(struct hierarchy *hierarchy, uint64_t page, uint64_t number)
{
	return hierarchy_follow(hierarchy, number << hierarchy->page_shift) - (page << hierarchy->page_shift);
}

/* Whether the first TLB has the page. */
static bool
first_has(struct first_level *level, uint64_t page, uint64_t number, uint64_t offset)
{
	struct first_found found;

	if (level->is_ordered)
		return first_level_use_ordered(level, page, offset);
	if (level->is_recent)
		return first_level_use_recent(level, page, offset);
	found = first_level_use_any(level, number, level->plain->use += PLAIN_USE);
	first_level_put_page(level, found.place, page, offset);
	return found.hit;
}

static void
translate_anew(struct hierarchy *hierarchy, struct first_pages *pages)
{
	const struct first_level *level = &pages->level;
	const size_t slots = ((size_t)level->set_mask + 1) * level->slots;

	for (size_t i = 0; i < slots; i++) {
		struct plain_page *there = plain_page_of(&level->places[i * PLAIN_PAGE_PLACES]);
		const uint64_t page = there->place.key;

		if (page != PLAIN_NOTHING)
			there->offset = offset_of(hierarchy, page,
			                          hierarchy_number(hierarchy, page << hierarchy->page_shift) >>
			                                  hierarchy->page_shift);
	}
}

void
hierarchy_follow_moves(struct hierarchy *hierarchy)
{
	const uint64_t moves = __atomic_load_n(&hierarchy->system->moves, __ATOMIC_ACQUIRE);

	if (hierarchy->moves == moves)
		return;
	hierarchy->moves = moves;
	translate_anew(hierarchy, &hierarchy->data_pages);
	translate_anew(hierarchy, &hierarchy->code_pages);
}

enum hierarchy_translation
hierarchy_translate(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t line)
{
	const uint64_t number = line >> (hierarchy->page_shift - hierarchy->line_shift);

	hierarchy_follow_moves(hierarchy); /* of another thread */
	if (first_has(&pages->level, page, number, offset_of(hierarchy, page, number)))
		return TRANSLATION_FIRST;
	if (hierarchy->system->machine.shared_tlb.entries && tlb_access(&hierarchy->shared_tlb, (uint32_t)number))
		return TRANSLATION_SECOND;
	return TRANSLATION_WALKED;
}
