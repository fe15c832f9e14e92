#include "emulator/timing/front.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/slow.h"

/* The block before went on to it otherwise than was predicted; that is sampled, or holds up otherwise than is usual. */
static SLOW void
mispredict_rest(struct thread *thread, struct edge *edge, uint32_t parts, bool is_sampled)
{
	const uint32_t branch = thread->edge->code->last;

	if (is_sampled)
		sample_event(thread, SETUP_EVENT_BRANCH, branch);
	if (parts & SETUP_CLOCK)
		core_mispredicted(thread, edge->code->first, branch);
	hot_fetch(thread, edge, parts, edge->kind.fetch);
}

static inline void
learn(struct predictor *predictor, const struct code *before, const struct edge *edge)
{
	if (HOT_LIKELY(before->ending == CODE_BRANCHES))
		predictor_branch_wrong(predictor, edge->site, edge->taken);
	else if (before->ending == CODE_RETURNS)
		predictor_return_wrong(predictor);
	else
		predictor_indirect_wrong(predictor, before->end, edge->address);
}

void
slow_ending(struct thread *thread, struct edge *edge, uint32_t parts)
{
	const struct code *before = thread->edge->code;
	bool is_sampled;

	learn(&thread->predictor, before, edge);
	thread->record->counters.mispredicted++;
	is_sampled = sample_is_due(thread, SETUP_EVENT_BRANCH);
	if (__builtin_expect(is_sampled, 0) ||
	    (parts & SETUP_CLOCK && !front_mispredicts(thread, edge->code->first, before->last)))
		mispredict_rest(thread, edge, parts, is_sampled);
	else
		hot_fetch(thread, edge, parts, edge->kind.fetch);
}

/* Nobody went there until now. */
static SLOW void
go_anew(struct thread *thread, struct code *code, hot_step *go)
{
	struct edge *before = thread->edge, *edge = edges_make(thread->timing, before, code);

	edges_remember(before, edge);
	go(thread, edge);
}

/* By an edge that is not at hand. */
static SLOW void
go_elsewhere(struct thread *thread, struct code *code, hot_step *go)
{
	struct edge *before = thread->edge;
	struct edge *edge = edges_look(&thread->timing->edges, before, code);

	if (!__builtin_expect(edge != NULL, 1)) {
		go_anew(thread, code, go);
		return;
	}
	edges_remember(before, edge);
	go(thread, edge);
}

void
slow_edge(struct thread *thread, struct code *code, hot_step *go)
{
	struct edge *edge = edges_next(thread->edge, code);

	if (!edge) {
		go_elsewhere(thread, code, go);
		return;
	}
	edges_lead(edge);
	go(thread, edge);
}

/* A sample is due, or a turn. */
static __attribute__((noinline)) void
reach(struct thread *thread)
{
	struct clock_step step;

	if (thread->clock > thread->next_sample)
		sample_execution(thread, thread->clock - thread->edge->variant.cycles);
	if (thread->clock >= thread->next_turn) {
		thread_publish(thread);
		clock_reached(thread->timing->clock, thread->vcpu, thread->clock, &step);
		thread_step(thread, &step);
	}
}

static inline bool
is_due(const struct thread *thread)
{
	return thread->clock > thread->next_sample || thread->clock >= thread->next_turn;
}

static SLOW void
go_on(struct thread *thread)
{
	if (is_due(thread))
		reach(thread);
	thread_set_limit(thread);
}

static SLOW void
begin_block(struct thread *thread)
{
	waiting_begin_block(thread);
	go_on(thread);
}

/* While a load is waited for the limit stays where it is. */
void
slow_limit(struct thread *thread)
{
	if (thread->waiting_count && !waiting_begin_plainly(thread))
		begin_block(thread);
	else if (thread->waiting_count == 0 || is_due(thread))
		go_on(thread);
}
