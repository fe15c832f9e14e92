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
#define HOT_HISTORY   (UINT32_C(1) << 30) /* the predictor has one */
#define HOT_INLINE    static inline __attribute__((always_inline))
#define HOT_LIKELY(x) __builtin_expect(!!(x), 1)

/* `parts` for hot_enter(). */
static inline uint32_t
hot_parts(const struct timing *timing)
{
	const uint32_t history = timing->parts & SETUP_BRANCHES && timing->sites.has_history ? HOT_HISTORY : 0;
	const uint32_t order = timing->parts & SETUP_CLOCK && timing->is_in_order ? HOT_IN_ORDER : 0;

	/* TLBs are asked where caches are: what is not modelled always is a plain hit */
	return (timing->parts & (SETUP_BRANCHES | SETUP_CLOCK)) | (timing->memory ? SETUP_CACHES : 0) | history | order;
}

HOT_INLINE void
hot_advance(struct thread *thread, struct edge *edge, const uint32_t parts)
{
	thread->variant = &edge->variant;
	if (!(parts & SETUP_CLOCK))
		return;
	thread->clock += edge->variant.cycles;
	if (!(parts & HOT_IN_ORDER)) { /* the history is for what addresses are made of; only there are fractions */
		thread->history[++thread->sequence % THREAD_HISTORY] = &edge->variant;
		thread->clock += __builtin_add_overflow(thread->fraction, edge->variant.fraction, &thread->fraction);
	}
	if (!HOT_LIKELY(thread->clock < thread->limit))
		slow_limit(thread);
}

/* Whether all that is fetched is a plain hit. */
HOT_INLINE bool
hot_fetches_plainly(struct thread *thread, const struct edge *edge)
{
	struct plain_hits *plain;

	if (edge->fetch == EDGE_FETCHES_NOTHING)
		return true;
	plain = thread->code_plain;
	if (edge->fetch == EDGE_FETCHES_LINE)
		return plain_code_use_line(plain, edge->line_index, edge->line_key);
	if (edge->fetch == EDGE_FETCHES_LINE_OF_PAGE)
		return plain_code_use_page(plain, edge->line_index, edge->line_key, edge->page_index, edge->page_key);
	return edge->fetch == EDGE_FETCHES_TWO &&
	       plain_code_use_two(plain, (const uint16_t[]){edge->first_index, edge->line_index}, edge->line_key,
	                          edge->page_index, edge->page_key);
}

HOT_INLINE void
hot_fetch(struct thread *thread, struct edge *edge, const uint32_t parts)
{
	if (parts & SETUP_CACHES && !HOT_LIKELY(hot_fetches_plainly(thread, edge)))
		slow_fetch(thread, edge, parts);
	else
		hot_advance(thread, edge, parts);
}

/* What changes the predictor, or is no branch where there is a history. */
HOT_INLINE bool
hot_was_predicted_otherwise(struct thread *thread, const struct edge *edge)
{
	const struct code *before = thread_edge(thread)->code;

	if (edge->ending == CODE_ENDS_PLAINLY)
		return true;
	if (edge->ending == CODE_BRANCHES)
		return predictor_branch_right(&thread->predictor, edge->site, edge->taken);
	if (edge->ending == CODE_RETURNS)
		return predictor_return_right(&thread->predictor, edge->code->address);
	if (edge->ending != CODE_JUMPS_ANYWHERE)
		predictor_call(&thread->predictor, before->fall);
	return edge->ending == CODE_CALLS ||
	       predictor_indirect_right(&thread->predictor, before->end, edge->code->address);
}

/* Where the block before went on: whether that was predicted rightly, and what it changes is changed. */
HOT_INLINE bool
hot_was_predicted(struct thread *thread, const struct edge *edge, const uint32_t parts)
{
	struct predictor *predictor = &thread->predictor;

	if (!(parts & HOT_HISTORY)) {
		if (HOT_LIKELY(predictor_was_sure(predictor, edge->site, edge->sure)))
			return true;
	} else if (HOT_LIKELY(edge->ending == CODE_BRANCHES)) {
		if (HOT_LIKELY(predictor_branch_sure(predictor, edge->site, edge->sure)))
			return true;
	}
	return hot_was_predicted_otherwise(thread, edge);
}

/* By this edge, straight on as long as all is as usual; what is not goes on in slow_block.c, with the same next steps.
 */
HOT_INLINE void
hot_go(struct thread *thread, struct edge *edge, const uint32_t parts)
{
	thread->executions[edge->number]++;
	if (parts & SETUP_BRANCHES && !HOT_LIKELY(hot_was_predicted(thread, edge, parts)))
		slow_ending(thread, edge, parts);
	else
		hot_fetch(thread, edge, parts);
}

/* The block begins. */
HOT_INLINE void
hot_enter(struct thread *thread, struct code *code, const uint32_t parts)
{
	struct edge *edge = edge_known(thread_edge(thread), code);

	if (HOT_LIKELY(edge != NULL))
		hot_go(thread, edge, parts);
	else
		slow_edge(thread, code, parts);
}

/* Whether the bytes are of one line that is a plain hit, with its page; it is read or written. */
HOT_INLINE bool
hot_access_line(struct plain_hits *plain, uint64_t address, unsigned size, bool writes)
{
	return HOT_LIKELY(
		plain_hits_access_bytes(plain, writes, address, address + size - 1, address >> TIMING_PAGE_SHIFT));
}

/* A load that is no plain hit goes on; where its first byte is if it is one need not be looked for again. */
HOT_INLINE void
hot_load(struct thread *thread, struct plain_hits *plain, uint64_t address, const void *data)
{
	thread->ways.load(thread, plain_line(plain, address >> TIMING_LINE_SHIFT), address, data,
	                  plain_page(plain, address >> TIMING_PAGE_SHIFT));
}

/* The same with a store behind it. */
HOT_INLINE void
hot_update(struct thread *thread, struct plain_hits *plain, uint64_t address, const void *data)
{
	thread->ways.update(thread, plain_line(plain, address >> TIMING_LINE_SHIFT), address, data,
	                    plain_page(plain, address >> TIMING_PAGE_SHIFT));
}

/* Whether they are of one or two lines of a page, plain hits that are used; `writes`: which must have been written. */
HOT_INLINE bool
hot_use_lines(struct plain_hits *plain, uint64_t first, uint64_t last, bool writes)
{
	const uint64_t page = first >> TIMING_PAGE_SHIFT;

	if ((first ^ last) >> TIMING_LINE_SHIFT == 0)
		return plain_hits_use_bytes(plain, writes, first, last, page);
	return HOT_LIKELY(last >> TIMING_PAGE_SHIFT == page) &&
	       plain_hits_use(plain, writes, first >> TIMING_LINE_SHIFT, last >> TIMING_LINE_SHIFT, page);
}

#endif
