/* The usual prefetchers where something is to be fetched, or an instruction or a page is not at hand. */
#include "emulator/model/prefetch_fetch.h"

static inline bool
is_of_second(const struct prefetcher *prefetcher, enum machine_prefetch kind)
{
	return prefetcher->level == 1 && prefetcher->model.kind == kind;
}

bool
hierarchy_has_usual_prefetchers(const struct hierarchy *hierarchy)
{
	return hierarchy->prefetcher_count == 2 &&
	       is_of_second(&hierarchy->prefetchers[PREFETCH_USUAL_STRIDE], PREFETCH_STRIDE) &&
	       is_of_second(&hierarchy->prefetchers[PREFETCH_USUAL_STREAM], PREFETCH_STREAM) &&
	       hierarchy->line_shift == HIERARCHY_LINE_SHIFT && hierarchy->page_shift == HIERARCHY_PAGE_SHIFT &&
	       hierarchy->levels[1] == &hierarchy->own[1] && hierarchy->own[1].is_simple;
}

/* By itself: mostly it comes from level 3. */
static __attribute__((noinline)) void
fetch_from_behind(struct hierarchy *hierarchy, struct narrow_place place, uint64_t line, uint64_t now)
{
	prefetch_fetch_from_behind(hierarchy, place, line, now);
}

/* A line that is fetched rightly, with a narrow level 3. False: it is not that, and nothing was done. */
static inline __attribute__((always_inline)) bool
fetch_straight(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	struct narrow_place place;
	uint64_t left;

	if (!prefetch_fetch_is_simple(hierarchy, prefetcher, line, &place))
		return false;
	left = prefetch_fetch_into_second(hierarchy, prefetcher, line);
	if (!prefetch_fetch_leaves_simply(hierarchy, left))
		hierarchy_write_back(hierarchy, left, 3, now);
	if (!prefetch_fetch_from_third(hierarchy, place, line, now))
		fetch_from_behind(hierarchy, place, line, now);
	return true;
}

/* The same with one that threads share. */
static inline __attribute__((always_inline)) bool
fetch_shared(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	uint64_t left;

	if (!prefetch_fetch_is_shared(hierarchy, prefetcher))
		return false;
	left = prefetch_fetch_into_second(hierarchy, prefetcher, line);
	if (left != CACHE_NO_LINE)
		hierarchy_write_back(hierarchy, left, 2, now);
	prefetch_fetch_from_shared(hierarchy, line, now);
	return true;
}

static __attribute__((noinline)) void
fetch_otherwise(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	if (!fetch_shared(hierarchy, prefetcher, line, now))
		hierarchy_prefetch_line(hierarchy, prefetcher, line, now);
}

/* Of the `count` lines that are wanted the first is not there. */
static inline __attribute__((always_inline)) void
fetch(struct hierarchy *hierarchy, struct prefetcher *prefetcher, unsigned count, const unsigned place_shift,
      uint64_t now)
{
	do {
		const uint64_t line = prefetcher->place >> place_shift;

		if (!fetch_straight(hierarchy, prefetcher, line, now))
			fetch_otherwise(hierarchy, prefetcher, line, now);
		prefetcher->place += prefetcher->apart;
		count = prefetch_usual_lacks(hierarchy, prefetcher, count - 1, place_shift);
	} while (count);
}

__attribute__((noinline)) void
prefetch_usual_fetch(struct hierarchy *hierarchy, unsigned count, uint64_t now)
{
	fetch(hierarchy, &hierarchy->prefetchers[PREFETCH_USUAL_STREAM], count, 0, now);
}

void
prefetch_usual_fetch_next(struct hierarchy *hierarchy, uint64_t next, uint64_t now)
{
	hierarchy->prefetchers[PREFETCH_USUAL_STREAM].place = next;
	prefetch_usual_fetch(hierarchy, 1, now);
}

static __attribute__((noinline)) void
fetch_strided(struct hierarchy *hierarchy, unsigned count, uint64_t now)
{
	fetch(hierarchy, &hierarchy->prefetchers[PREFETCH_USUAL_STRIDE], count, HIERARCHY_LINE_SHIFT, now);
}

static inline __attribute__((always_inline)) void
follow(struct hierarchy *hierarchy, struct prefetch_entry *entry, uint64_t line, uint64_t now)
{
	const unsigned count = prefetch_usual_follow(hierarchy, entry, line);

	if (count)
		prefetch_usual_fetch(hierarchy, count, now);
}

__attribute__((noinline)) void
prefetch_usual_find(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct prefetcher *stream = &hierarchy->prefetchers[PREFETCH_USUAL_STREAM];
	const uint64_t page = prefetch_usual_page(line);
	struct prefetch_set *set = prefetch_set_of(stream, page);
	struct prefetch_entry **recent = &stream->recent[page % PREFETCH_RECENT], *entry;

	if (prefetch_usual_begin(hierarchy, line))
		return;
	entry = prefetch_find(set, page);
	if (entry) {
		*recent = entry;
		follow(hierarchy, entry, line, now);
	} else {
		*recent = prefetch_replace(stream, set, page, line);
	}
}

static inline __attribute__((always_inline)) void
watch_stream(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct prefetch_entry *entry = prefetch_usual_at_hand(hierarchy, line);
	uint64_t next;

	if (!prefetch_usual_is_of(entry, line))
		prefetch_usual_find(hierarchy, line, now);
	else if (!prefetch_usual_goes_on(hierarchy, entry, line, &next))
		follow(hierarchy, entry, line, now);
	else if (prefetch_usual_wants(hierarchy, next, line))
		prefetch_usual_fetch_next(hierarchy, next, now);
}

/* How many lines are wanted. */
static inline __attribute__((always_inline)) unsigned
follow_instruction(struct prefetcher *stride, uint64_t address, uint64_t instruction)
{
	struct prefetch_entry *entry = prefetch_recent(stride, instruction);

	if (entry->key == instruction)
		return prefetch_follow_stride(stride, entry, address);
	return prefetcher_watch(stride, (struct prefetch_access){address, instruction, false});
}

__attribute__((noinline)) void
prefetch_usual_tell(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now)
{
	struct prefetcher *stride = &hierarchy->prefetchers[PREFETCH_USUAL_STRIDE];
	const unsigned count = prefetch_usual_lacks(hierarchy, stride, follow_instruction(stride, address, instruction),
	                                            HIERARCHY_LINE_SHIFT);

	if (count)
		fetch_strided(hierarchy, count, now);
	watch_stream(hierarchy, address >> HIERARCHY_LINE_SHIFT, now);
}

void
hierarchy_prefetch_usual(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                         const struct access_result *result)
{
	(void)result; /* they see all that reaches level 2 */
	if (instruction && !prefetch_usual_step(hierarchy, address, instruction) &&
	    !prefetch_usual_stride(hierarchy, address, instruction))
		prefetch_usual_tell(hierarchy, address, instruction, now);
	else
		watch_stream(hierarchy, address >> HIERARCHY_LINE_SHIFT, now);
}
