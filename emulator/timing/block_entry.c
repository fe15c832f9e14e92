#include "emulator/timing/block_entry.h"

#include "emulator/model/hit_filter.h"
#include "emulator/timing/core.h"
#include "emulator/timing/sample.h"

#define INLINE    static inline __attribute__((always_inline))
#define APART     static __attribute__((noinline)) /* a call that ends a callback */
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* What is modelled, as far as the callbacks are made for it; of a thread, timing->parts and these. */
#define IN_ORDER (UINT32_C(1) << 31)
#define HISTORY  (UINT32_C(1) << 30) /* the predictor has one */

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads;
	uint32_t parts;
} state;

/* ---- the clock's limit ---- */

/* A sample is due, or a turn. */
static __attribute__((noinline)) void
take_sample_or_turn(struct thread *thread)
{
	if (thread_clock(thread) > thread->next_sample)
		sample_execution(thread, thread_clock(thread) - thread->edge->variant.cycles);
	if (thread_clock(thread) >= thread->next_turn)
		thread_turn(thread);
}

/* While a load is waited for, the limit stays where the clock is. */
APART void
limit_reached(struct thread *thread)
{
	if (thread->waiting_count)
		core_begin_block(thread);
	if (thread_clock(thread) > thread->next_sample || thread_clock(thread) >= thread->next_turn)
		take_sample_or_turn(thread);
	thread_set_limit(thread);
}

/* The block that the edge leads to runs. */
INLINE void
advance(struct thread *thread, struct edge *edge, const uint32_t parts)
{
	thread->edge = edge;
	if (!(parts & SETUP_CLOCK))
		return;
	if (!(parts & IN_ORDER)) /* the history is for what addresses are made of */
		thread->history[++thread->sequence % THREAD_HISTORY] = edge;
	thread->until_limit.all += (int64_t)edge->variant.time;
	if (!LIKELY(thread->until_limit.all < 0))
		limit_reached(thread);
}

/* ---- code ---- */

/* The first instruction that has a byte in the line with `address`. */
static uint32_t
instruction_in(const struct code *code, uint64_t address)
{
	const struct block *block = code->block;
	unsigned i = 0;

	if (address == code->address)
		return code->first;
	if (code->last_line != CODE_NO_LINE)
		return code->first + code->second_line_from;
	while (i + 1u < block->count && code->address + block->instructions[i + 1].offset <= address)
		i++;
	return code->first + i;
}

/* Fetch the line of an address that the hit filter does not have. */
static void
fetch_line(struct thread *thread, const struct code *code, uint64_t address)
{
	struct access_result result;
	uint32_t number;

	if (!hierarchy_fetch(thread->hierarchy, address, thread_clock(thread), &result))
		return;
	number = instruction_in(code, address);
	miss_count_read(thread, number, &result, true);
	if (thread->timing->parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
}

/* Only the last line of two is fetched when the first was the last one of the block before. */
static uint64_t
first_fetched(const struct thread *thread, const struct edge *edge)
{
	const struct code *code = edge->code;
	const bool is_last = edge->kind.fetch == EDGE_FETCHES_LINE || edge->kind.fetch == EDGE_FETCHES_LINE_OF_PAGE;

	if (!is_last || code->last_line == code->first_line)
		return code->address;
	return (code->address | (thread->timing->line_bytes - 1)) + 1;
}

/* Fetch the lines of the block that an edge enters, from the first that the block before has not fetched. */
APART void
fetch_missed(struct thread *thread, struct edge *edge)
{
	const struct code *code = edge->code;
	const uint64_t within = thread->timing->line_bytes - 1;
	const uint64_t end = code->address + code->block->size;

	for (uint64_t address = first_fetched(thread, edge); address < end;) {
		const uint64_t next = filter_fetch_lines(thread->code_filter, address, end);

		if (next == address)
			fetch_line(thread, code, address);
		address = next == address ? (address | within) + 1 : next;
	}
	advance(thread, edge, state.parts);
}

/* Whether all that is fetched hits: the filter says so. */
INLINE bool
fetch_hits(struct thread *thread, const struct edge *edge, const enum edge_fetch fetch)
{
	struct hit_filter *filter = thread->code_filter;

	switch (fetch) {
	case EDGE_FETCHES_NOTHING:
		return true;
	case EDGE_FETCHES_LINE:
		return filter_fetch_line(filter, edge->line_index, edge->line_key);
	case EDGE_FETCHES_LINE_OF_PAGE:
		return filter_fetch_line_of_page(filter, edge->line_index, edge->line_key, edge->page_index,
		                                 edge->page_key);
	case EDGE_FETCHES_TWO:
		return filter_fetch_two(filter, (const uint16_t[]){edge->first_index, edge->line_index}, edge->line_key,
		                        edge->page_index, edge->page_key);
	default:
		return false;
	}
}

INLINE void
fetch(struct thread *thread, struct edge *edge, const uint32_t parts, const enum edge_fetch fetch)
{
	if (!(parts & SETUP_CACHES) || LIKELY(fetch_hits(thread, edge, fetch)))
		advance(thread, edge, parts);
	else
		fetch_missed(thread, edge);
}

/* ---- the branch before it ---- */

/* Whether the predictor said where the block before went on; if it did, its state is that of afterwards. */
INLINE bool
was_predicted(struct thread *thread, const struct edge *edge, const uint32_t parts, const enum code_ending ending)
{
	struct predictor *predictor = &thread->predictor;
	const struct edge *before = thread->edge;

	if (LIKELY(ending == CODE_BRANCHES))
		return LIKELY(predictor_branch_right(predictor, edge->site, edge->taken, parts & HISTORY));
	if (ending == CODE_FALLS_OR_JUMPS)
		return true;
	if (ending == CODE_RETURNS)
		return LIKELY(predictor_return_right(predictor, edge->address));
	if (ending != CODE_JUMPS_INDIRECT)
		predictor_call(predictor, before->code->fall);
	return ending == CODE_CALLS || LIKELY(predictor_indirect_right(predictor, before->code->end, edge->address));
}

APART void
mispredicted(struct thread *thread, struct edge *edge)
{
	struct predictor *predictor = &thread->predictor;
	const enum code_ending ending = edge->kind.ending;

	if (ending == CODE_BRANCHES)
		predictor_branch_wrong(predictor, edge->site, edge->taken, state.parts & HISTORY);
	else if (ending == CODE_RETURNS)
		predictor_return_wrong(predictor);
	else
		predictor_indirect_wrong(predictor, thread->edge->code->end, edge->address);
	sample_count(thread, SETUP_EVENT_BRANCH, edge->misprediction.culprit);
	if (state.parts & SETUP_CLOCK)
		core_mispredicted(thread, edge);
	fetch(thread, edge, state.parts, edge->kind.fetch);
}

/* ---- the edge to it ---- */

INLINE void
enter_as(struct thread *thread, struct edge *edge, const uint32_t parts, const enum code_ending ending,
         const enum edge_fetch fetched)
{
	thread->executions[edge->number]++;
	if (parts & SETUP_BRANCHES && !was_predicted(thread, edge, parts, ending))
		mispredicted(thread, edge);
	else
		fetch(thread, edge, parts, fetched);
}

/*
 * ENTER(name, parts): of what is modelled. Most edges come from a branch and go on in the line that is used already:
 * enter_name() does those, and enter_any_name() the others. An edge that is not the code's first is looked for where it
 * leads to: the host knows where that is without waiting for what is read of the block before.
 */
#define ENTER(name, parts)                                                                                             \
	APART void enter_any_##name(struct thread *thread, struct edge *edge)                                          \
	{                                                                                                              \
		enter_as(thread, edge, parts, edge->kind.ending, edge->kind.fetch);                                    \
	}                                                                                                              \
	APART void enter_recent_##name(struct thread *thread, struct code *code)                                       \
	{                                                                                                              \
		struct edge *edge = edge_recent(code);                                                                 \
                                                                                                                       \
		if (!LIKELY(edge_is_from(edge, thread->edge)))                                                         \
			edge = edges_follow(thread->timing, thread->edge, code);                                       \
		enter_as(thread, edge, parts, edge->kind.ending, edge->kind.fetch);                                    \
	}                                                                                                              \
	static void enter_##name(unsigned vcpu, void *data)                                                            \
	{                                                                                                              \
		struct thread *thread = (struct thread *)(state.threads + (vcpu << THREAD_SHIFT));                     \
		struct code *code = data;                                                                              \
		const struct edge_kind kind = code->edge.kind;                                                         \
                                                                                                                       \
		if (!LIKELY(edge_is_from(&code->edge, thread->edge)))                                                  \
			enter_recent_##name(thread, code);                                                             \
		else if (LIKELY(kind.ending == CODE_BRANCHES && kind.fetch == EDGE_FETCHES_NOTHING))                   \
			enter_as(thread, &code->edge, parts, CODE_BRANCHES, EDGE_FETCHES_NOTHING);                     \
		else                                                                                                   \
			enter_any_##name(thread, &code->edge);                                                         \
	}

#define FULL (SETUP_CACHES | SETUP_BRANCHES | SETUP_CLOCK)

ENTER(in_order, FULL | IN_ORDER)
ENTER(in_order_history, FULL | IN_ORDER | HISTORY)
ENTER(out_of_order, FULL)
ENTER(out_of_order_history, FULL | HISTORY)
ENTER(any, state.parts)

qemu_plugin_vcpu_udata_cb_t
block_entry_callback(const struct timing *timing)
{
	state.threads = timing->threads;
	/* TLBs are asked where caches are: what is not modelled always hits */
	state.parts = (timing->parts & (SETUP_BRANCHES | SETUP_CLOCK)) | (timing->memory ? SETUP_CACHES : 0);
	if (state.parts & SETUP_BRANCHES && timing->sites.has_history)
		state.parts |= HISTORY;
	if (state.parts & SETUP_CLOCK && timing->is_in_order)
		state.parts |= IN_ORDER;
	switch (state.parts) {
	case FULL | IN_ORDER:
		return enter_in_order;
	case FULL | IN_ORDER | HISTORY:
		return enter_in_order_history;
	case FULL:
		return enter_out_of_order;
	case FULL | HISTORY:
		return enter_out_of_order_history;
	default:
		return enter_any;
	}
}
