/*
 * hot.h - what is done at each block and each access
 *
 * Made once for each choice of what is modelled (`parts`, SETUP_...) and for the usual sizes of lines and pages
 * (`is_common`), which are constants where it is called: what is not asked for is not there. A plain hit changes
 * nothing in a cache or TLB (model/hierarchy.h): nothing is lost by going on.
 */
#ifndef DCPI_EMULATOR_TIMING_HOT_H
#define DCPI_EMULATOR_TIMING_HOT_H

#include "emulator/timing/slow.h"

#define HOT_IN_ORDER  (UINT32_C(1) << 31) /* of `parts` */
#define HOT_INLINE    static inline __attribute__((always_inline))
#define HOT_LIKELY(x) __builtin_expect(!!(x), 1)

HOT_INLINE bool
hot_is_plain_code(const struct thread *thread, const struct code *code)
{
	const struct plain_hits *plain = &thread->code_plain;

	return plain_hits_use(plain, plain->lines, code->first_line, code->last_line,
	                      code->address >> plain->page_shift);
}

HOT_INLINE void
hot_predict(struct thread *thread, const struct code *code)
{
	const struct code *before = thread->code;

	if (!HOT_LIKELY(!before->is_special))
		slow_special(thread, code);
	else if (!HOT_LIKELY(!predictor_branch_at(&thread->predictor, before->site,
	                                          -(uint32_t)before->is_branch & thread->history_mask,
	                                          before->is_branch, code->address != before->fall)))
		slow_mispredicted(thread, code);
}

/* How long it takes depends in order on what ran before, out of order on whether that was the same. */
HOT_INLINE struct variant *
hot_variant(struct thread *thread, struct code *code, struct blocks *blocks, const bool is_in_order)
{
	struct variant *variant;

	if (is_in_order)
		return variant_enter(blocks, thread->variant, code->block);
	variant = code->variants[thread->code == code];
	return HOT_LIKELY(variant != NULL) ? variant : slow_variant(thread, code);
}

HOT_INLINE void
hot_enter(struct thread *thread, struct code *code, struct blocks *blocks, const uint32_t parts)
{
	struct variant *variant = NULL;
	uint32_t fraction;

	thread->executions[code->number]++;
	if (parts & SETUP_CLOCK)
		variant = hot_variant(thread, code, blocks, parts & HOT_IN_ORDER);
	if (parts & SETUP_BRANCHES)
		hot_predict(thread, code);
	if (parts & SETUP_CACHES && !HOT_LIKELY(hot_is_plain_code(thread, code)))
		slow_fetch(thread, code);
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

/* What the callback of an access is given: where its struct access is, and which bytes are touched, from its address
 * on. */
HOT_INLINE uint64_t
hot_access_pack(const struct access *access, int from, int last)
{
	return ((uint64_t)(uintptr_t)access & UINT64_C(0xffffffffffff)) | (uint64_t)(uint8_t)from << 48 |
	       (uint64_t)(uint8_t)last << 56;
}

HOT_INLINE const struct access *
hot_access_of(uint64_t packed)
{
	return (const struct access *)(uintptr_t)(packed & UINT64_C(0xffffffffffff));
}

HOT_INLINE bool
hot_is_plain(const struct plain_hits *plain, uint64_t first, uint64_t last, bool may_store, bool is_common)
{
	const unsigned line_shift = is_common ? TIMING_LINE_SHIFT : plain->line_shift;
	const unsigned page_shift = is_common ? TIMING_PAGE_SHIFT : plain->page_shift;
	const uint64_t *lines = may_store ? plain->written : plain->lines;
	const uint64_t page = first >> page_shift;

	return HOT_LIKELY(last >> page_shift == page) &&
	       plain_hits_use(plain, lines, first >> line_shift, last >> line_shift, page);
}

#endif
