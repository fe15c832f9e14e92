/*
 * hot.h - what is done at each block and each access
 *
 * Made once for each choice of what is modelled (`parts`, SETUP_...), which is a constant where it is called, and for
 * the usual sizes of lines and pages: what is not asked for is not there. A plain hit changes nothing in a cache or TLB
 * but when it was used last (model/hierarchy.h): nothing is lost by going on.
 */
#ifndef DCPI_EMULATOR_TIMING_HOT_H
#define DCPI_EMULATOR_TIMING_HOT_H

#include "emulator/timing/slow.h"

#define HOT_IN_ORDER  (UINT32_C(1) << 31) /* of `parts` */
#define HOT_INLINE    static inline __attribute__((always_inline))
#define HOT_LIKELY(x) __builtin_expect(!!(x), 1)

/* How long it takes depends in order on what ran before, out of order on whether that was the same. NULL: not known. */
HOT_INLINE struct variant *
hot_variant(const struct thread *thread, const struct code *code, const bool is_in_order)
{
	if (is_in_order)
		return variant_known(thread->variant, code->block);
	return code->variants[thread->code == code];
}

HOT_INLINE void
hot_advance(struct thread *thread, const struct code *code, struct variant *variant, const uint32_t parts)
{
	uint32_t fraction;

	thread->code = code;
	if (!(parts & SETUP_CLOCK))
		return;
	thread->variant = variant;
	if (parts & HOT_IN_ORDER) {
		thread->clock += variant->cycles;
	} else { /* the history is for what addresses are made of; only there are cycles no whole numbers */
		thread->history[++thread->sequence % THREAD_HISTORY] = code;
		fraction = thread->fraction + variant->fraction;
		thread->clock += variant->cycles + (fraction < thread->fraction);
		thread->fraction = fraction;
	}
	if (!HOT_LIKELY(thread->clock < thread->limit))
		slow_limit(thread);
}

/* Code of the line that was used last needs no look: it and its page are the most recent ones already. */
HOT_INLINE void
hot_fetch(struct thread *thread, struct code *code, struct variant *variant, const uint32_t parts)
{
	if (parts & SETUP_CACHES && code->only_line != thread->last_line) {
		if (code->only_line == CODE_SEVERAL_LINES ||
		    !plain_hits_use_one(thread->code_plain, false, code->only_line, code->page)) {
			slow_fetch(thread, code, variant, parts);
			return;
		}
		thread->last_line = code->only_line;
	}
	hot_advance(thread, code, variant, parts);
}

/* Where it goes on when it does not branch, of what is on the hot line. */
HOT_INLINE uint64_t
hot_fall(const struct code *code)
{
	return code->address + (uint32_t)(code->fall - (uint32_t)code->address);
}

/* Where the block before went on: whether that was predicted rightly, and what it changes is changed. */
HOT_INLINE bool
hot_was_predicted(struct thread *thread, const struct code *code)
{
	const struct code *before = thread->code;

	if (HOT_LIKELY(before->ending == CODE_BRANCHES))
		return predictor_branch_right(&thread->predictor, before->site,
		                              (uint32_t)code->address != before->fall);
	if (before->ending == CODE_ENDS_PLAINLY)
		return true;
	if (before->ending == CODE_RETURNS)
		return predictor_return_right(&thread->predictor, code->address);
	if (before->ending != CODE_CALLS)
		return false;
	predictor_call(&thread->predictor, hot_fall(before));
	return true;
}

/* Straight on, as long as all is as usual; what is not goes on in slow_block.c, with the same next steps. */
HOT_INLINE void
hot_enter(struct thread *thread, struct code *code, const uint32_t parts)
{
	struct variant *variant = NULL;

	thread->executions[code->number]++;
	if (parts & SETUP_CLOCK)
		variant = hot_variant(thread, code, parts & HOT_IN_ORDER);
	if (parts & SETUP_CLOCK && !HOT_LIKELY(variant != NULL))
		slow_variant(thread, code, parts);
	else if (parts & SETUP_BRANCHES && !HOT_LIKELY(hot_was_predicted(thread, code)))
		slow_ending(thread, code, variant, parts);
	else
		hot_fetch(thread, code, variant, parts);
}

/* Whether the bytes are of one line that is a plain hit, with its page; it is read or written. */
HOT_INLINE bool
hot_access_line(struct plain_hits *plain, uint64_t address, unsigned size, bool writes)
{
	return HOT_LIKELY(address % TIMING_LINE + size <= TIMING_LINE) &&
	       plain_hits_access_one(plain, writes, address >> TIMING_LINE_SHIFT, address >> TIMING_PAGE_SHIFT);
}

/* Whether they are of one or two lines of a page, plain hits that are used; `writes`: which must have been written. */
HOT_INLINE bool
hot_use_lines(struct plain_hits *plain, uint64_t first, uint64_t last, bool writes)
{
	const uint64_t line = first >> TIMING_LINE_SHIFT, page = first >> TIMING_PAGE_SHIFT;

	if ((first ^ last) >> TIMING_LINE_SHIFT == 0)
		return plain_hits_use_one(plain, writes, line, page);
	return HOT_LIKELY(last >> TIMING_PAGE_SHIFT == page) &&
	       plain_hits_use(plain, writes, line, last >> TIMING_LINE_SHIFT, page);
}

#endif
