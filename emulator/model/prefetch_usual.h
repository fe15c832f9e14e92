/*
 * prefetch_usual.h - the usual prefetchers, straight on: two of level 2, one of strides and then one of streams, of the
 * usual lines and pages
 *
 * Mostly nothing is to be fetched, which is found out here without a call, so that who asks has nothing to save.
 *
 * Inner header of emulator/model. Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_PREFETCH_USUAL_H
#define DCPI_EMULATOR_MODEL_PREFETCH_USUAL_H

#include "emulator/model/hierarchy_state.h"
#include "emulator/model/prefetch_entry.h"

#define PREFETCH_USUAL_INLINE static inline __attribute__((always_inline))
#define PREFETCH_USUAL_STRIDE 0
#define PREFETCH_USUAL_STREAM 1

/* hierarchy->prefetch is hierarchy_prefetch_usual. */
static inline bool
prefetch_is_usual(const struct hierarchy *hierarchy)
{
	return hierarchy->prefetch == hierarchy_prefetch_usual;
}

/* Of the `count` lines that are wanted how many are left from the first one on that is not there: mostly they are. */
PREFETCH_USUAL_INLINE unsigned
prefetch_usual_lacks(const struct hierarchy *hierarchy, struct prefetcher *prefetcher, unsigned count,
                     const unsigned place_shift)
{
	uint64_t place = prefetcher->place;

	for (; count; count--, place += prefetcher->apart) {
		if (!cache_small_has(&hierarchy->own[1], place >> place_shift)) {
			prefetcher->place = place;
			break;
		}
	}
	return count;
}

PREFETCH_USUAL_INLINE uint64_t
prefetch_usual_page(uint64_t line)
{
	return line >> (HIERARCHY_PAGE_SHIFT - HIERARCHY_LINE_SHIFT);
}

/* The stream that may be of the line's page. */
PREFETCH_USUAL_INLINE struct prefetch_entry *
prefetch_usual_at_hand(const struct hierarchy *hierarchy, uint64_t line)
{
	return prefetch_recent(&hierarchy->prefetchers[PREFETCH_USUAL_STREAM], prefetch_usual_page(line));
}

PREFETCH_USUAL_INLINE bool
prefetch_usual_is_of(const struct prefetch_entry *entry, uint64_t line)
{
	return entry->key == prefetch_usual_page(line);
}

/* The line of its page is accessed: how many lines are to be fetched, by prefetch_usual_fetch(). */
PREFETCH_USUAL_INLINE unsigned
prefetch_usual_follow(struct hierarchy *hierarchy, struct prefetch_entry *entry, uint64_t line)
{
	struct prefetcher *stream = &hierarchy->prefetchers[PREFETCH_USUAL_STREAM];
	const uint64_t moved = line - entry->last;

	prefetch_use(entry);
	if (!moved)
		return 0;
	return prefetch_usual_lacks(hierarchy, stream, prefetch_follow_stream(stream, entry, line, moved), 0);
}

/* Its page's stream is not at hand. True: there was none, and it begins with the line; else nothing was done. */
PREFETCH_USUAL_INLINE bool
prefetch_usual_begin(struct hierarchy *hierarchy, uint64_t line)
{
	const uint64_t page = prefetch_usual_page(line);
	struct prefetcher *stream = &hierarchy->prefetchers[PREFETCH_USUAL_STREAM];
	struct prefetch_set *set = prefetch_set_of(stream, page);

	if (__builtin_expect(tags_has(set->tags, (uint32_t)page, PREFETCH_WAYS), 0))
		return false;
	stream->recent[page % PREFETCH_RECENT] = prefetch_replace(stream, set, page, line);
	return true;
}

/* Of the stream's lines `count`, not 0, the first of which is not there. */
void prefetch_usual_fetch(struct hierarchy *hierarchy, unsigned count, uint64_t now);

/* Its page's stream is not at hand: all of that. */
void prefetch_usual_find(struct hierarchy *hierarchy, uint64_t line, uint64_t now);

/*
 * The instruction's part, which comes first: not 0, it accesses the address. False: it is not at hand, or something may
 * be wanted for it; nothing was done, and prefetch_usual_tell() does all.
 */
PREFETCH_USUAL_INLINE bool
prefetch_usual_step(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction)
{
	const struct prefetcher *stride = &hierarchy->prefetchers[PREFETCH_USUAL_STRIDE];
	struct prefetch_entry *entry = prefetch_recent(stride, instruction);

	return entry->key == instruction && prefetch_step(stride, entry, address);
}

/* That, and the stream's part. */
void prefetch_usual_tell(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now);

#endif
