#include "analysis/markov.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NOTHING     UINT32_MAX
#define VISITS_MOST 1e30 /* beyond that it is for ever */

/* A way between two states that are there or that elimination makes: `slot` is where its probability is kept. */
struct link {
	uint32_t state, slot;
};

struct links {
	struct link *list;
	size_t count, room;
};

/* A state goes: its links then, and where each way over it is added, in the markov's lists. */
struct step {
	uint32_t state;
	uint32_t in_count, out_count;
	size_t ins, outs; /* in `links` */
	size_t targets;   /* slots: for each way in, for each way out; NOTHING: back to where it came from */
};

struct markov {
	size_t state_count, way_count, slot_count;
	uint32_t origin;
	uint32_t *way_slots; /* of each way; NOTHING: to where it comes from */
	struct step *steps;  /* one for each state but the origin */
	size_t step_count;
	struct link *links;
	size_t link_count, link_room;
	uint32_t *targets;
	size_t target_count, target_room;
	double *weights; /* of slots */
	double *leaves;  /* of steps: what leaves the state, but for itself */
	double *sums;    /* of states */
};

struct planning {
	struct markov *markov;
	struct links *ins, *outs; /* of states */
	bool *is_gone;
	uint32_t *slots; /* of the links of one state, by the other: the slot, and 1 */
	size_t steps_max;
};

static int
links_add(struct links *links, uint32_t state, uint32_t slot)
{
	struct link *list = array_grow(links->list, &links->room, links->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	links->list = list;
	list[links->count++] = (struct link){state, slot};
	return 0;
}

static int
connect(struct planning *planning, uint32_t from, uint32_t to, uint32_t *slot)
{
	int err;

	*slot = (uint32_t)planning->markov->slot_count++;
	err = links_add(&planning->outs[from], to, *slot);
	return err ? err : links_add(&planning->ins[to], from, *slot);
}

static void
mark(struct planning *planning, uint32_t state, bool is_on)
{
	const struct links *outs = &planning->outs[state];

	for (size_t i = 0; i < outs->count; i++)
		planning->slots[outs->list[i].state] = is_on ? outs->list[i].slot + 1 : 0;
}

static void
forget_gone(const struct planning *planning, struct links *links)
{
	size_t kept = 0;

	for (size_t i = 0; i < links->count; i++)
		if (!planning->is_gone[links->list[i].state])
			links->list[kept++] = links->list[i];
	links->count = kept;
}

static int
keep_links(struct markov *markov, const struct links *links, size_t *at)
{
	struct link *list =
		array_grow(markov->links, &markov->link_room, markov->link_count + links->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	markov->links = list;
	*at = markov->link_count;
	if (links->count)
		memcpy(list + markov->link_count, links->list, links->count * sizeof(*list));
	markov->link_count += links->count;
	return 0;
}

/* For one way in, where its flow goes on to. */
static int
plan_bypass(struct planning *planning, uint32_t from, const struct links *outs)
{
	struct markov *markov = planning->markov;
	int err = 0;

	mark(planning, from, true);
	for (size_t i = 0; i < outs->count && !err; i++) {
		const uint32_t to = outs->list[i].state;
		uint32_t slot = planning->slots[to] - 1;

		if (to == from) {
			slot = NOTHING;
		} else if (planning->slots[to] == 0) {
			err = connect(planning, from, to, &slot);
			planning->slots[to] = slot + 1;
		}
		markov->targets[markov->target_count++] = slot;
	}
	mark(planning, from, false);
	return err;
}

static int
plan_step(struct planning *planning, uint32_t state)
{
	struct markov *markov = planning->markov;
	const struct links *ins = &planning->ins[state], *outs = &planning->outs[state];
	const size_t targets = markov->target_count + ins->count * outs->count;
	struct step *step = &markov->steps[markov->step_count++];
	uint32_t *grown;
	int err;

	if (targets > planning->steps_max)
		return -E2BIG;
	grown = array_grow(markov->targets, &markov->target_room, targets + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	markov->targets = grown;
	*step = (struct step){.state = state,
	                      .in_count = (uint32_t)ins->count,
	                      .out_count = (uint32_t)outs->count,
	                      .targets = markov->target_count};
	planning->is_gone[state] = true;
	err = keep_links(markov, ins, &step->ins);
	if (!err)
		err = keep_links(markov, outs, &step->outs);
	for (size_t i = 0; i < ins->count && !err; i++)
		err = plan_bypass(planning, ins->list[i].state, outs);
	return err;
}

/* Those that make the fewest new ways first, roughly: what is dearer than `limit` waits. */
static int
plan_steps(struct planning *planning)
{
	const struct markov *markov = planning->markov;
	size_t limit = 1;
	int err = 0;

	while (markov->step_count + 1 < markov->state_count && !err) {
		const size_t before = markov->step_count;

		for (uint32_t i = 0; i < markov->state_count && !err; i++) {
			if (i == markov->origin || planning->is_gone[i])
				continue;
			forget_gone(planning, &planning->ins[i]);
			forget_gone(planning, &planning->outs[i]);
			if (planning->ins[i].count * planning->outs[i].count <= limit)
				err = plan_step(planning, i);
		}
		if (markov->step_count == before)
			limit *= 2;
	}
	return err;
}

/* Ways between the same two states have one slot. */
static int
plan_ways(struct planning *planning, const struct markov_way *ways)
{
	struct markov *markov = planning->markov;
	uint32_t *next = calloc(markov->way_count + 1, sizeof(*next));
	uint32_t *first = calloc(markov->state_count + 1, sizeof(*first));
	int err = next && first ? 0 : -ENOMEM;

	for (size_t i = 0; i < markov->way_count && !err; i++) { /* chains of the ways from each state */
		next[i] = first[ways[i].from];
		first[ways[i].from] = (uint32_t)i + 1;
	}
	for (uint32_t state = 0; state < markov->state_count && !err; state++) {
		for (uint32_t i = first[state]; i > 0 && !err; i = next[i - 1]) {
			const uint32_t to = ways[i - 1].to;
			uint32_t slot = planning->slots[to] - 1;

			if (to == state)
				slot = NOTHING;
			else if (planning->slots[to] == 0)
				err = connect(planning, state, to, &slot);
			if (slot != NOTHING)
				planning->slots[to] = slot + 1;
			markov->way_slots[i - 1] = slot;
		}
		mark(planning, state, false);
	}
	free(next);
	free(first);
	return err;
}

static bool
planning_init(struct planning *planning, size_t state_count)
{
	planning->ins = calloc(state_count, sizeof(*planning->ins));
	planning->outs = calloc(state_count, sizeof(*planning->outs));
	planning->is_gone = calloc(state_count, sizeof(*planning->is_gone));
	planning->slots = calloc(state_count, sizeof(*planning->slots));
	return planning->ins && planning->outs && planning->is_gone && planning->slots;
}

static void
planning_fini(struct planning *planning, size_t state_count)
{
	for (size_t i = 0; i < state_count; i++) {
		if (planning->ins)
			free(planning->ins[i].list);
		if (planning->outs)
			free(planning->outs[i].list);
	}
	free(planning->ins);
	free(planning->outs);
	free(planning->is_gone);
	free(planning->slots);
}

static int
plan_all(struct planning *planning, const struct markov_way *ways)
{
	struct markov *markov = planning->markov;
	int err;

	err = plan_ways(planning, ways);
	if (!err)
		err = plan_steps(planning);
	if (err)
		return err;
	markov->weights = calloc(markov->slot_count + 1, sizeof(*markov->weights));
	return markov->weights ? 0 : -ENOMEM;
}

int
markov_plan(const struct markov_way *ways, size_t way_count, size_t state_count, uint32_t origin, size_t steps_max,
            struct markov **result)
{
	struct markov *markov = calloc(1, sizeof(*markov));
	struct planning planning = {.markov = markov, .steps_max = steps_max};
	int err = -ENOMEM;

	*result = NULL;
	if (!markov)
		return -ENOMEM;
	if (origin >= state_count || state_count > NOTHING / 4 || way_count > NOTHING / 4)
		goto invalid;
	for (size_t i = 0; i < way_count; i++)
		if (ways[i].from >= state_count || ways[i].to >= state_count)
			goto invalid;
	markov->state_count = state_count;
	markov->way_count = way_count;
	markov->origin = origin;
	markov->way_slots = calloc(way_count + 1, sizeof(*markov->way_slots));
	markov->steps = calloc(state_count, sizeof(*markov->steps));
	markov->leaves = calloc(state_count, sizeof(*markov->leaves));
	markov->sums = calloc(state_count, sizeof(*markov->sums));
	if (planning_init(&planning, state_count) && markov->way_slots && markov->steps && markov->leaves &&
	    markov->sums)
		err = plan_all(&planning, ways);
	planning_fini(&planning, state_count);
	if (err)
		markov_free(markov);
	else
		*result = markov;
	return err;
invalid:
	free(markov);
	return -EINVAL;
}

void
markov_free(struct markov *markov)
{
	if (!markov)
		return;
	free(markov->way_slots);
	free(markov->steps);
	free(markov->links);
	free(markov->targets);
	free(markov->weights);
	free(markov->leaves);
	free(markov->sums);
	free(markov);
}

size_t
markov_steps(const struct markov *markov)
{
	return markov->target_count;
}

static void
eliminate(struct markov *markov, size_t at)
{
	const struct step *step = &markov->steps[at];
	const struct link *ins = markov->links + step->ins, *outs = markov->links + step->outs;
	const uint32_t *targets = markov->targets + step->targets;
	double *weights = markov->weights, leaves = 0;

	for (uint32_t k = 0; k < step->out_count; k++)
		leaves += weights[outs[k].slot];
	markov->leaves[at] = leaves;
	for (uint32_t i = 0; i < step->in_count; i++, targets += step->out_count) {
		const double factor = leaves > 0 ? weights[ins[i].slot] / leaves : 0;

		for (uint32_t k = 0; k < step->out_count; k++)
			if (targets[k] != NOTHING)
				weights[targets[k]] += factor * weights[outs[k].slot];
	}
}

void
markov_visits(struct markov *markov, const double *probabilities, double *visits)
{
	memset(markov->weights, 0, markov->slot_count * sizeof(*markov->weights));
	for (size_t i = 0; i < markov->way_count; i++)
		if (markov->way_slots[i] != NOTHING)
			markov->weights[markov->way_slots[i]] += probabilities[i];
	for (size_t i = 0; i < markov->step_count; i++)
		eliminate(markov, i);
	visits[markov->origin] = 1;
	for (size_t i = markov->step_count; i-- > 0;) {
		const struct step *step = &markov->steps[i];
		const struct link *ins = markov->links + step->ins;
		double sum = 0;

		for (uint32_t k = 0; k < step->in_count; k++)
			sum += visits[ins[k].state] * markov->weights[ins[k].slot];
		visits[step->state] = markov->leaves[i] > 0 ? fmin(sum / markov->leaves[i], VISITS_MOST) : 0;
	}
}

void
markov_values(struct markov *markov, const double *rewards, double *values)
{
	const double *weights = markov->weights;

	memcpy(markov->sums, rewards, markov->state_count * sizeof(*rewards));
	for (size_t i = 0; i < markov->step_count; i++) {
		const struct step *step = &markov->steps[i];
		const struct link *ins = markov->links + step->ins;
		const double worth = markov->leaves[i] > 0 ? markov->sums[step->state] / markov->leaves[i] : 0;

		for (uint32_t k = 0; k < step->in_count; k++)
			markov->sums[ins[k].state] += worth * weights[ins[k].slot];
	}
	values[markov->origin] = 0;
	for (size_t i = markov->step_count; i-- > 0;) {
		const struct step *step = &markov->steps[i];
		const struct link *outs = markov->links + step->outs;
		double sum = markov->sums[step->state];

		for (uint32_t k = 0; k < step->out_count; k++)
			sum += weights[outs[k].slot] * values[outs[k].state];
		values[step->state] = markov->leaves[i] > 0 ? sum / markov->leaves[i] : 0;
	}
}
