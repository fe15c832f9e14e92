/*
 * The usual prefetchers, straight on: two of level 2, one of strides and then one of streams, of the usual lines and
 * pages. Nothing is called on the way that comes back, so that nobody has registers to save.
 */
#include "emulator/model/hierarchy_state.h"
#include "emulator/model/prefetch_entry.h"

#define STRIDE 0
#define STREAM 1

static inline bool
is_of_second(const struct prefetcher *prefetcher, enum machine_prefetch kind)
{
	return prefetcher->level == 1 && prefetcher->model.kind == kind;
}

bool
hierarchy_has_usual_prefetchers(const struct hierarchy *hierarchy)
{
	return hierarchy->prefetcher_count == 2 && is_of_second(&hierarchy->prefetchers[STRIDE], PREFETCH_STRIDE) &&
	       is_of_second(&hierarchy->prefetchers[STREAM], PREFETCH_STREAM) &&
	       hierarchy->line_shift == HIERARCHY_LINE_SHIFT && hierarchy->page_shift == HIERARCHY_PAGE_SHIFT &&
	       hierarchy->levels[1] == &hierarchy->own[1] && hierarchy->own[1].is_simple;
}

/* Of the lines that are wanted; mostly they are there. */
static inline __attribute__((always_inline)) void
fetch(struct hierarchy *hierarchy, struct prefetcher *prefetcher, unsigned count, const unsigned place_shift,
      uint64_t now)
{
	uint64_t place = prefetcher->place;

	for (unsigned left = count; left; left--, place += prefetcher->apart) {
		if (!cache_small_has(&hierarchy->own[1], place >> place_shift)) {
			hierarchy_prefetch_from(hierarchy, prefetcher, count - left, count, now);
			return;
		}
	}
}

static __attribute__((noinline)) void
follow_stream(struct hierarchy *hierarchy, struct prefetch_entry *entry, uint64_t line, uint64_t moved, uint64_t now)
{
	struct prefetcher *stream = &hierarchy->prefetchers[STREAM];

	fetch(hierarchy, stream, prefetch_follow_stream(stream, entry, line, moved), 0, now);
}

static inline __attribute__((always_inline)) void
use_stream(struct hierarchy *hierarchy, struct prefetch_entry *entry, uint64_t line, uint64_t now)
{
	const uint64_t moved = line - entry->last;

	prefetch_use(entry);
	if (moved)
		follow_stream(hierarchy, entry, line, moved, now);
}

/* It is not found at once, or its page is new. */
static __attribute__((noinline)) void
find_stream(struct hierarchy *hierarchy, uint64_t page, uint64_t line, uint64_t now)
{
	struct prefetcher *stream = &hierarchy->prefetchers[STREAM];
	struct prefetch_set *set = prefetch_set_of(stream, page);
	struct prefetch_entry **recent = &stream->recent[page % PREFETCH_RECENT], *entry = prefetch_find(set, page);

	if (entry) {
		*recent = entry;
		use_stream(hierarchy, entry, line, now);
	} else {
		*recent = entry = prefetch_replace(stream, set, page, line);
		prefetch_use(entry);
	}
}

static inline __attribute__((always_inline)) void
watch_stream(struct hierarchy *hierarchy, uint64_t address, uint64_t now)
{
	const uint64_t page = address >> HIERARCHY_PAGE_SHIFT, line = address >> HIERARCHY_LINE_SHIFT;
	struct prefetch_entry *entry = prefetch_recent(&hierarchy->prefetchers[STREAM], page);

	if (entry->key != page)
		find_stream(hierarchy, page, line, now);
	else
		use_stream(hierarchy, entry, line, now);
}

/* The instruction is not the one that is found at once, or something is wanted for it. */
static __attribute__((noinline)) void
prefetch_slowly(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now)
{
	struct prefetcher *stride = &hierarchy->prefetchers[STRIDE];

	fetch(hierarchy, stride, prefetcher_watch(stride, (struct prefetch_access){address, instruction, false}),
	      HIERARCHY_LINE_SHIFT, now);
	watch_stream(hierarchy, address, now);
}

void
hierarchy_prefetch_usual(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                         const struct access_result *result)
{
	struct prefetcher *stride = &hierarchy->prefetchers[STRIDE];
	struct prefetch_entry *entry = prefetch_recent(stride, instruction);

	(void)result; /* they see all that reaches level 2 */
	if (instruction && (entry->key != instruction || !prefetch_step(stride, entry, address)))
		prefetch_slowly(hierarchy, address, instruction, now);
	else
		watch_stream(hierarchy, address, now);
}
