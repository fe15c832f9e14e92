#include "analysis/markov.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/workspace.h"

#define VISITS_MAX 1e30 /* a loop without an exit would be visited for ever */
#define NO_SLOT    UINT32_MAX

/* A neighbour of a state. Each edge, of the chain or added by elimination, has a slot for its weight. */
struct markov_link {
	uint32_t state, slot;
};

struct markov_links {
	struct markov_link *list;
	size_t count, capacity;
};

/* Elimination of a state: its links then, and which slot each pair of an edge in and an edge out adds to. */
struct markov_step {
	uint32_t state;
	uint32_t in_count, out_count;
	size_t ins, outs; /* first of each in markov.links */
	size_t targets;   /* first in markov.targets: for each edge in, for each edge out; NO_SLOT: a self-loop */
};

struct markov {
	size_t state_count, edge_count, slot_count;
	uint32_t origin;
	uint32_t *edge_slots;      /* of each edge; NO_SLOT: a self-loop */
	struct markov_step *steps; /* one for each state but the origin */
	size_t step_count;
	struct markov_link *links;
	size_t link_count, link_capacity;
	uint32_t *targets; /* slots */
	size_t target_count, target_capacity;
	double *weights;       /* of slots */
	double *leave_weights; /* of steps: the sum of the state's edges when it is eliminated */
	double *sums;          /* of states */
};

struct markov_planning {
	struct workspace space; /* of the arrays below */
	struct markov *markov;
	struct markov_links *ins, *outs; /* of states */
	bool *is_eliminated;
	uint32_t *slots; /* by target, of the marked state: slot of that edge, plus 1; else 0 */
	size_t multiplications_max;
};

static int
links_add(struct markov_links *links, uint32_t state, uint32_t slot)
{
	struct markov_link *list = array_grow(links->list, &links->capacity, links->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	links->list = list;
	list[links->count++] = (struct markov_link){state, slot};
	return 0;
}

static int
add_link(struct markov_planning *planning, uint32_t from, uint32_t to, uint32_t *slot)
{
	int err;

	*slot = (uint32_t)planning->markov->slot_count++;
	err = links_add(&planning->outs[from], to, *slot);
	return err ? err : links_add(&planning->ins[to], from, *slot);
}

static void
mark_links(struct markov_planning *planning, uint32_t state, bool is_on)
{
	const struct markov_links *outs = &planning->outs[state];

	for (size_t i = 0; i < outs->count; i++)
		planning->slots[outs->list[i].state] = is_on ? outs->list[i].slot + 1 : 0;
}

static void
drop_eliminated(const struct markov_planning *planning, struct markov_links *links)
{
	size_t kept = 0;

	for (size_t i = 0; i < links->count; i++)
		if (!planning->is_eliminated[links->list[i].state])
			links->list[kept++] = links->list[i];
	links->count = kept;
}

static int
save_links(struct markov *markov, const struct markov_links *links, size_t *at)
{
	struct markov_link *list =
		array_grow(markov->links, &markov->link_capacity, markov->link_count + links->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	markov->links = list;
	*at = markov->link_count;
	if (links->count)
		memcpy(list + markov->link_count, links->list, links->count * sizeof(*list));
	markov->link_count += links->count;
	return 0;
}

/* Slots that the edge in from `from` adds to, for each edge out. */
static int
plan_bypass(struct markov_planning *planning, uint32_t from, const struct markov_links *outs)
{
	struct markov *markov = planning->markov;

	mark_links(planning, from, true);
	for (size_t i = 0; i < outs->count; i++) {
		const uint32_t to = outs->list[i].state;
		uint32_t slot = planning->slots[to] - 1;

		if (to == from) {
			slot = NO_SLOT;
		} else if (planning->slots[to] == 0) {
			const int err = add_link(planning, from, to, &slot);

			if (err)
				return err;
			planning->slots[to] = slot + 1;
		}
		markov->targets[markov->target_count++] = slot;
	}
	mark_links(planning, from, false);
	return 0;
}

static int
plan_step(struct markov_planning *planning, uint32_t state)
{
	struct markov *markov = planning->markov;
	const struct markov_links *ins = &planning->ins[state], *outs = &planning->outs[state];
	const size_t targets = markov->target_count + ins->count * outs->count;
	struct markov_step *step = &markov->steps[markov->step_count++];
	uint32_t *grown;
	int err;

	if (targets > planning->multiplications_max)
		return -E2BIG;
	grown = array_grow(markov->targets, &markov->target_capacity, targets + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	markov->targets = grown;
	*step = (struct markov_step){.state = state,
	                             .in_count = (uint32_t)ins->count,
	                             .out_count = (uint32_t)outs->count,
	                             .targets = markov->target_count};
	planning->is_eliminated[state] = true;
	err = save_links(markov, ins, &step->ins);
	if (err)
		return err;
	err = save_links(markov, outs, &step->outs);
	if (err)
		return err;
	for (size_t i = 0; i < ins->count; i++) {
		err = plan_bypass(planning, ins->list[i].state, outs);
		if (err)
			return err;
	}
	return 0;
}

/* Least fill-in first, roughly: a state with more than `limit` new edges waits. */
static int
plan_steps(struct markov_planning *planning)
{
	const struct markov *markov = planning->markov;
	size_t limit = 1;

	while (markov->step_count + 1 < markov->state_count) {
		const size_t before = markov->step_count;

		for (uint32_t i = 0; i < markov->state_count; i++) {
			int err;

			if (i == markov->origin || planning->is_eliminated[i])
				continue;
			drop_eliminated(planning, &planning->ins[i]);
			drop_eliminated(planning, &planning->outs[i]);
			if (planning->ins[i].count * planning->outs[i].count > limit)
				continue;
			err = plan_step(planning, i);
			if (err)
				return err;
		}
		if (markov->step_count == before)
			limit *= 2;
	}
	return 0;
}

/* Parallel edges have one slot. */
static int
plan_edges(struct markov_planning *planning, const struct markov_edge *edges)
{
	struct markov *markov = planning->markov;
	uint32_t *next = workspace_array(&planning->space, markov->edge_count, sizeof(*next));
	uint32_t *first = workspace_array(&planning->space, markov->state_count, sizeof(*first));
	int err;

	if (planning->space.has_failed)
		return -ENOMEM;
	for (size_t i = 0; i < markov->edge_count; i++) { /* linked lists of the edges from each state */
		next[i] = first[edges[i].from];
		first[edges[i].from] = (uint32_t)i + 1;
	}
	for (uint32_t state = 0; state < markov->state_count; state++) {
		for (uint32_t i = first[state]; i > 0; i = next[i - 1]) {
			const uint32_t to = edges[i - 1].to;
			uint32_t slot = planning->slots[to] - 1;

			if (to == state) {
				slot = NO_SLOT;
			} else if (planning->slots[to] == 0) {
				err = add_link(planning, state, to, &slot);
				if (err)
					return err;
				planning->slots[to] = slot + 1;
			}
			markov->edge_slots[i - 1] = slot;
		}
		mark_links(planning, state, false);
	}
	return 0;
}

static void
planning_fini(struct markov_planning *planning, size_t state_count)
{
	for (size_t i = 0; i < state_count; i++) {
		if (planning->ins)
			free(planning->ins[i].list);
		if (planning->outs)
			free(planning->outs[i].list);
	}
	workspace_free(&planning->space);
}

static int
markov_init(struct markov_planning *planning, const struct markov_edge *edges)
{
	struct markov *markov = planning->markov;
	int err;

	markov->edge_slots = calloc(markov->edge_count + 1, sizeof(*markov->edge_slots));
	markov->steps = calloc(markov->state_count, sizeof(*markov->steps));
	markov->leave_weights = calloc(markov->state_count, sizeof(*markov->leave_weights));
	markov->sums = calloc(markov->state_count, sizeof(*markov->sums));
	planning->ins = workspace_array(&planning->space, markov->state_count, sizeof(*planning->ins));
	planning->outs = workspace_array(&planning->space, markov->state_count, sizeof(*planning->outs));
	planning->is_eliminated =
		workspace_array(&planning->space, markov->state_count, sizeof(*planning->is_eliminated));
	planning->slots = workspace_array(&planning->space, markov->state_count, sizeof(*planning->slots));
	if (planning->space.has_failed || !markov->edge_slots || !markov->steps || !markov->leave_weights ||
	    !markov->sums)
		return -ENOMEM;
	err = plan_edges(planning, edges);
	if (err)
		return err;
	err = plan_steps(planning);
	if (err)
		return err;
	markov->weights = calloc(markov->slot_count + 1, sizeof(*markov->weights));
	return markov->weights ? 0 : -ENOMEM;
}

void
markov_free(struct markov *markov)
{
	if (!markov)
		return;
	free(markov->edge_slots);
	free(markov->steps);
	free(markov->links);
	free(markov->targets);
	free(markov->weights);
	free(markov->leave_weights);
	free(markov->sums);
	free(markov);
}

int
markov_plan(const struct markov_edge *edges, size_t edge_count, size_t state_count, uint32_t origin,
            size_t multiplications_max, struct markov **result)
{
	struct markov_planning planning = {.multiplications_max = multiplications_max};
	int err;

	*result = NULL;
	if (origin >= state_count || state_count > UINT32_MAX / 4 || edge_count > UINT32_MAX / 4)
		return -EINVAL;
	for (size_t i = 0; i < edge_count; i++)
		if (edges[i].from >= state_count || edges[i].to >= state_count)
			return -EINVAL;
	planning.markov = calloc(1, sizeof(*planning.markov));
	if (!planning.markov)
		return -ENOMEM;
	planning.markov->state_count = state_count;
	planning.markov->edge_count = edge_count;
	planning.markov->origin = origin;
	err = markov_init(&planning, edges);
	planning_fini(&planning, state_count);
	if (err)
		markov_free(planning.markov);
	else
		*result = planning.markov;
	return err;
}

size_t
markov_multiplications(const struct markov *markov)
{
	return markov->target_count;
}

static void
eliminate_step(struct markov *markov, size_t at)
{
	const struct markov_step *step = &markov->steps[at];
	const struct markov_link *ins = markov->links + step->ins, *outs = markov->links + step->outs;
	const uint32_t *targets = markov->targets + step->targets;
	double *weights = markov->weights, leave_weight = 0;

	for (uint32_t k = 0; k < step->out_count; k++)
		leave_weight += weights[outs[k].slot];
	markov->leave_weights[at] = leave_weight;
	for (uint32_t i = 0; i < step->in_count; i++, targets += step->out_count) {
		const double factor = leave_weight > 0 ? weights[ins[i].slot] / leave_weight : 0;

		for (uint32_t k = 0; k < step->out_count; k++)
			if (targets[k] != NO_SLOT)
				weights[targets[k]] += factor * weights[outs[k].slot];
	}
}

void
markov_visits(struct markov *markov, const double *probabilities, double *visits)
{
	memset(markov->weights, 0, markov->slot_count * sizeof(*markov->weights));
	for (size_t i = 0; i < markov->edge_count; i++)
		if (markov->edge_slots[i] != NO_SLOT)
			markov->weights[markov->edge_slots[i]] += probabilities[i];
	for (size_t i = 0; i < markov->step_count; i++)
		eliminate_step(markov, i);
	visits[markov->origin] = 1;
	for (size_t i = markov->step_count; i-- > 0;) {
		const struct markov_step *step = &markov->steps[i];
		const struct markov_link *ins = markov->links + step->ins;
		double sum = 0;

		for (uint32_t k = 0; k < step->in_count; k++)
			sum += visits[ins[k].state] * markov->weights[ins[k].slot];
		visits[step->state] =
			markov->leave_weights[i] > 0 ? fmin(sum / markov->leave_weights[i], VISITS_MAX) : 0;
	}
}

void
markov_values(struct markov *markov, const double *rewards, double *values)
{
	const double *weights = markov->weights;

	memcpy(markov->sums, rewards, markov->state_count * sizeof(*rewards));
	for (size_t i = 0; i < markov->step_count; i++) {
		const struct markov_step *step = &markov->steps[i];
		const struct markov_link *ins = markov->links + step->ins;
		const double worth =
			markov->leave_weights[i] > 0 ? markov->sums[step->state] / markov->leave_weights[i] : 0;

		for (uint32_t k = 0; k < step->in_count; k++)
			markov->sums[ins[k].state] += worth * weights[ins[k].slot];
	}
	values[markov->origin] = 0;
	for (size_t i = markov->step_count; i-- > 0;) {
		const struct markov_step *step = &markov->steps[i];
		const struct markov_link *outs = markov->links + step->outs;
		double sum = markov->sums[step->state];

		for (uint32_t k = 0; k < step->out_count; k++)
			sum += weights[outs[k].slot] * values[outs[k].state];
		values[step->state] = markov->leave_weights[i] > 0 ? sum / markov->leave_weights[i] : 0;
	}
}
