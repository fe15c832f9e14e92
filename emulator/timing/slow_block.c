#include "emulator/timing/front.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/slow.h"

/* What remains when it is told where the block before went on. By itself, as each of these: they need fewer registers.
 */
static SLOW void
fetch(struct thread *thread, struct edge *edge, uint32_t parts)
{
	hot_fetch(thread, edge, parts, edge->kind.fetch);
}

/* The block before went on to it otherwise than was predicted; that is sampled, or holds up otherwise than is usual. */
static SLOW void
mispredict_rest(struct thread *thread, struct edge *edge, uint32_t parts)
{
	sample_count(thread, SETUP_EVENT_BRANCH, edge->misprediction.culprit);
	if (parts & SETUP_CLOCK)
		core_mispredicted(thread, edge);
	fetch(thread, edge, parts);
}

/* The usual: it is not sampled, and holds up for as long as it always does. */
static inline __attribute__((always_inline)) void
mispredict(struct thread *thread, struct edge *edge, uint32_t parts, const bool is_in_order)
{
	if (sample_is_near(thread, SETUP_EVENT_BRANCH) || !front_mispredicts(thread, edge, is_in_order)) {
		mispredict_rest(thread, edge, parts);
		return;
	}
	sample_is_due(thread, SETUP_EVENT_BRANCH);
	fetch(thread, edge, parts);
}

static SLOW void
mispredict_out_of_order(struct thread *thread, struct edge *edge, uint32_t parts)
{
	mispredict(thread, edge, parts, false);
}

void
slow_ending(struct thread *thread, struct edge *edge, uint32_t parts)
{
	if (!(parts & SETUP_CLOCK))
		mispredict_rest(thread, edge, parts);
	else if (parts & HOT_IN_ORDER)
		mispredict(thread, edge, parts, true);
	else
		mispredict_out_of_order(thread, edge, parts);
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

	if (thread_clock(thread) > thread->next_sample)
		sample_execution(thread, thread_clock(thread) - thread->edge->variant.cycles);
	if (thread_clock(thread) >= thread->next_turn) {
		thread_publish(thread);
		clock_reached(thread->timing->clock, thread->vcpu, thread_clock(thread), &step);
		thread_step(thread, &step);
	}
}

static inline bool
is_due(const struct thread *thread)
{
	return thread_clock(thread) > thread->next_sample || thread_clock(thread) >= thread->next_turn;
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

/* Neither a sample nor a turn is due, and who needs the only load that is waited for is not known. */
static inline __attribute__((always_inline)) void
look_for_user(struct thread *thread)
{
	const struct variant *variant = &thread->edge->variant;
	const uint64_t begin = thread_clock(thread) - variant->cycles;
	struct waiting_load *load = &thread->waiting[0];

	if (waiting_is_needed(load, variant->block)) {
		waiting_add_user(thread, load, begin);
	} else if (load->ready <= begin) {
		thread->waiting_count = 0;
		go_on(thread);
	}
}

/* Neither is due, and one load is waited for. */
static inline __attribute__((always_inline)) void
begin_behind_one(struct thread *thread)
{
	if (thread->first_user == BLOCK_NOT_USED)
		look_for_user(thread);
	else if (waiting_settle_plainly(thread))
		go_on(thread);
	else
		begin_block(thread);
}

/* While a load is waited for the limit stays where it is. */
void
slow_limit(struct thread *thread)
{
	if (thread->waiting_count == 0)
		go_on(thread);
	else if (thread->waiting_count > 1 || is_due(thread))
		begin_block(thread);
	else
		begin_behind_one(thread);
}
