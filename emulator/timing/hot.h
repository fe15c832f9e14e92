/*
 * hot.h - what is done at each block and each access
 *
 * Made once for each choice of what is modelled (`parts`, SETUP_...), which is a constant where it is called, and for
 * the usual sizes of lines and pages: what is not asked for is not there. A plain hit changes nothing in a cache or TLB
 * but when it was used last (model/hierarchy.h): nothing is lost by going on.
 */
#ifndef DCPI_EMULATOR_TIMING_HOT_H
#define DCPI_EMULATOR_TIMING_HOT_H

#include "emulator/model/plain_usual.h"
#include "emulator/timing/slow.h"

#define HOT_IN_ORDER  (UINT32_C(1) << 31) /* of `parts` */
#define HOT_HISTORY   (UINT32_C(1) << 30) /* the predictor has one */
#define HOT_INLINE    static inline __attribute__((always_inline))
#define HOT_LIKELY(x) __builtin_expect(!!(x), 1)

/* `parts` of what is modelled. */
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
	thread->edge = edge;
	if (!(parts & SETUP_CLOCK))
		return;
	if (!(parts & HOT_IN_ORDER)) /* the history is for what addresses are made of */
		thread->history[++thread->sequence % THREAD_HISTORY] = edge;
	thread->since.all += (int64_t)edge->variant.time;
	if (!HOT_LIKELY(thread->since.all < 0))
		slow_limit(thread);
}

/* Whether all that is fetched is a plain hit. */
HOT_INLINE bool
hot_fetches_plainly(struct thread *thread, const struct edge *edge, const enum edge_fetch fetch)
{
	struct plain_hits *plain = thread->code_plain;

	if (fetch == EDGE_FETCHES_NOTHING)
		return true;
	if (fetch == EDGE_FETCHES_LINE)
		return plain_code_use_line(plain, edge->line_index, edge->line_key);
	if (fetch == EDGE_FETCHES_LINE_OF_PAGE)
		return plain_code_use_page(plain, edge->line_index, edge->line_key, edge->page_index, edge->page_key);
	return fetch == EDGE_FETCHES_TWO &&
	       plain_code_use_two(plain, (const uint16_t[]){edge->first_index, edge->line_index}, edge->line_key,
	                          edge->page_index, edge->page_key);
}

HOT_INLINE void
hot_fetch(struct thread *thread, struct edge *edge, const uint32_t parts, const enum edge_fetch fetch)
{
	if (!(parts & SETUP_CACHES) || HOT_LIKELY(hot_fetches_plainly(thread, edge, fetch)))
		hot_advance(thread, edge, parts);
	else if (fetch == EDGE_FETCHES_ANY)
		slow_fetch_all(thread, edge, parts);
	else
		thread->ways.fetch[fetch == EDGE_FETCHES_TWO](thread, edge, parts);
}

/* Where the block before went on: whether that was predicted rightly, and what it changes is changed. */
HOT_INLINE bool
hot_was_predicted(struct thread *thread, const struct edge *edge, const uint32_t parts, const enum code_ending ending)
{
	struct predictor *predictor = &thread->predictor;
	const struct edge *before = thread->edge;

	if (HOT_LIKELY(ending == CODE_BRANCHES))
		return HOT_LIKELY(predictor_branch_right(predictor, edge->site, edge->taken, parts & HOT_HISTORY));
	if (ending == CODE_ENDS_PLAINLY)
		return true;
	if (ending == CODE_RETURNS)
		return HOT_LIKELY(predictor_return_right(predictor, edge->address));
	if (ending != CODE_JUMPS_ANYWHERE)
		predictor_call(predictor, before->code->fall);
	return ending == CODE_CALLS ||
	       HOT_LIKELY(predictor_indirect_right(predictor, before->code->end, edge->address));
}

/* The same when it was not. */
HOT_INLINE void
hot_learn(struct thread *thread, const struct edge *edge, const uint32_t parts, const enum code_ending ending)
{
	struct predictor *predictor = &thread->predictor;

	if (HOT_LIKELY(ending == CODE_BRANCHES))
		predictor_branch_wrong(predictor, edge->site, edge->taken, parts & HOT_HISTORY);
	else if (ending == CODE_RETURNS)
		predictor_return_wrong(predictor);
	else
		predictor_indirect_wrong(predictor, thread->edge->code->end, edge->address);
}

/* By this edge, of whose kind the last two are, straight on as long as all is as usual; what is not goes on in
 * slow_block.c, fetch_line.c and slow_fetch.c, with the same next steps. */
HOT_INLINE void
hot_go(struct thread *thread, struct edge *edge, const uint32_t parts, const enum code_ending ending,
       const enum edge_fetch fetch)
{
	thread->executions[edge->number]++;
	if (parts & SETUP_BRANCHES && !hot_was_predicted(thread, edge, parts, ending)) {
		hot_learn(thread, edge, parts, ending);
		slow_ending(thread, edge, parts);
	} else {
		hot_fetch(thread, edge, parts, fetch);
	}
}

/* By an edge of any kind: the usual one is known at once. `go`: hot_go() of what the edge says. */
HOT_INLINE void
hot_go_any(struct thread *thread, struct edge *edge, const uint32_t parts, hot_step *const go)
{
	const struct edge_kind usual = {CODE_BRANCHES, EDGE_FETCHES_NOTHING};

	if (HOT_LIKELY(memcmp(&edge->kind, &usual, sizeof(usual)) == 0))
		hot_go(thread, edge, parts, CODE_BRANCHES, EDGE_FETCHES_NOTHING);
	else
		go(thread, edge);
}

/*
 * The block begins, and the first edge to it is not the one. It is looked for where it leads to: the host knows where
 * that is without waiting for what is read of the block before. `go`: hot_go() of any edge.
 */
HOT_INLINE void
hot_enter_otherwise(struct thread *thread, struct code *code, hot_step *const go)
{
	struct edge *other = edge_other(code);

	if (HOT_LIKELY(edge_is_from(other, thread->edge)))
		go(thread, other);
	else
		slow_edge(thread, code, go);
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
	const uint16_t line_at = plain_line_at(plain, address >> TIMING_LINE_SHIFT);
	const uint16_t page_at = plain_page_at(plain, address >> TIMING_PAGE_SHIFT);

	plain = plain_again(plain);
	thread->ways.load(thread, plain_place_at(plain, line_at), address, data, plain_place_at(plain, page_at));
}

/* The same with a store behind it. */
HOT_INLINE void
hot_update(struct thread *thread, struct plain_hits *plain, uint64_t address, const void *data)
{
	const uint16_t line_at = plain_line_at(plain, address >> TIMING_LINE_SHIFT);
	const uint16_t page_at = plain_page_at(plain, address >> TIMING_PAGE_SHIFT);

	plain = plain_again(plain);
	thread->ways.update(thread, plain_place_at(plain, line_at), address, data, plain_place_at(plain, page_at));
}

/* Whether they are of one or two lines of a page, plain hits that are used; `writes`: which must have been written. */
HOT_INLINE bool
hot_use_lines(struct plain_hits *plain, uint64_t first, uint64_t last, bool writes)
{
	return plain_hits_use_near(plain, writes, first, last, first >> TIMING_PAGE_SHIFT,
	                           (first ^ last) >> TIMING_PAGE_SHIFT == 0);
}

#endif
