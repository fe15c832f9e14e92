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

/* Of places that accesses go on in, the one at `next` has the same page as the one at `at`, but not its line. */
PREFETCH_USUAL_INLINE bool
prefetch_usual_is_ahead(uint64_t next, uint64_t at)
{
	const uint64_t line = UINT64_C(1) << HIERARCHY_LINE_SHIFT, page = UINT64_C(1) << HIERARCHY_PAGE_SHIFT;

	return (next ^ at) - line < page - line;
}

/*
 * The stream goes on by one line, and was asked for as far ahead as it may be: the line that comes into reach is to be
 * fetched, unless it is of another page or is there. False: it is not that, and nothing was done.
 */
PREFETCH_USUAL_INLINE bool
prefetch_usual_goes_on(const struct hierarchy *hierarchy, struct prefetch_entry *entry, uint64_t line, uint64_t *next)
{
	const uint32_t reach = hierarchy->prefetchers[PREFETCH_USUAL_STREAM].model.distance;

	if (((line - entry->last) ^ entry->course.step) | (entry->course.ahead ^ reach))
		return false;
	*next = line + entry->course.step * reach;
	entry->last = line;
	prefetch_use(entry);
	return true;
}

PREFETCH_USUAL_INLINE bool
prefetch_usual_wants(const struct hierarchy *hierarchy, uint64_t next, uint64_t line)
{
	return prefetch_usual_page(next) == prefetch_usual_page(line) && !cache_small_has(&hierarchy->own[1], next);
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

/* The line that a stream wants as it goes on, which is not there. */
void prefetch_usual_fetch_next(struct hierarchy *hierarchy, uint64_t next, uint64_t now);

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

/*
 * The same when it goes on as far as before, and one line is wanted for that, which is there. False: it is not that;
 * nothing was done.
 */
PREFETCH_USUAL_INLINE bool
prefetch_usual_stride(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction)
{
	const struct prefetcher *stride = &hierarchy->prefetchers[PREFETCH_USUAL_STRIDE];
	struct prefetch_entry *entry = prefetch_recent(stride, instruction);
	const uint64_t step = entry->course.step, down = -(step >> 63);
	const uint64_t next = address + ((entry->course.ahead ^ down) - down);

	if (entry->key != instruction || address - entry->last != step || stride->degree != 1 ||
	    !prefetch_usual_is_ahead(next, address) ||
	    !cache_small_has(&hierarchy->own[1], next >> HIERARCHY_LINE_SHIFT))
		return false;
	entry->last = address;
	prefetch_use(entry);
	return true;
}

/* That, and the stream's part. */
void prefetch_usual_tell(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now);

#endif
