#include "analysis/stationary.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

#define ADDED_MAX   2000000 /* transitions that elimination may add */
#define VISITS_MOST 1e30    /* beyond that it is for ever */

struct way {
	uint32_t to;
	double weight;
};

struct state {
	struct way *outs;
	size_t out_count, out_room;
	uint32_t *ins; /* states with a way here; those that went are removed when they are met */
	size_t in_count, in_room;
	double leaves; /* the weights of its ways when it went */
	bool is_gone;
};

struct elimination {
	struct state *states;
	size_t count;
	uint32_t *order; /* in which states went */
	size_t gone;
	uint32_t *places; /* of the ways of one state: where, and 1 */
	size_t added;
};

static int
way_add(struct elimination *elimination, uint32_t from, uint32_t to, double weight)
{
	struct state *state = &elimination->states[from];
	struct state *target = &elimination->states[to];
	struct way *outs = array_grow(state->outs, &state->out_room, state->out_count + 1, sizeof(*outs));
	uint32_t *ins;

	if (!outs)
		return -ENOMEM;
	state->outs = outs;
	ins = array_grow(target->ins, &target->in_room, target->in_count + 1, sizeof(*ins));
	if (!ins)
		return -ENOMEM;
	target->ins = ins;
	outs[state->out_count++] = (struct way){to, weight};
	ins[target->in_count++] = from;
	return ++elimination->added > ADDED_MAX ? -E2BIG : 0;
}

static void
mark_ways(struct elimination *elimination, uint32_t from, bool is_on)
{
	const struct state *state = &elimination->states[from];

	for (size_t i = 0; i < state->out_count; i++)
		elimination->places[state->outs[i].to] = is_on ? (uint32_t)i + 1 : 0;
}

/* Add ways to `from`, whose ways are marked. */
static int
way_join(struct elimination *elimination, uint32_t from, uint32_t to, double weight)
{
	struct state *state = &elimination->states[from];
	int err;

	if (elimination->places[to] > 0) {
		state->outs[elimination->places[to] - 1].weight += weight;
		return 0;
	}
	err = way_add(elimination, from, to, weight);
	elimination->places[to] = (uint32_t)state->out_count;
	return err;
}

/* Forget ways to itself, and to and from states that are gone. */
static void
tidy(struct elimination *elimination, uint32_t at)
{
	struct state *state = &elimination->states[at];
	size_t kept = 0;

	for (size_t i = 0; i < state->out_count; i++)
		if (state->outs[i].to != at && !elimination->states[state->outs[i].to].is_gone)
			state->outs[kept++] = state->outs[i];
	state->out_count = kept;
	kept = 0;
	for (size_t i = 0; i < state->in_count; i++)
		if (state->ins[i] != at && !elimination->states[state->ins[i]].is_gone)
			state->ins[kept++] = state->ins[i];
	state->in_count = kept;
}

/* Ways over `at` become ways past it, for one of those that lead there; the weight of that one way. */
static int
bypass(struct elimination *elimination, uint32_t from, uint32_t at, double *weight)
{
	const struct state *state = &elimination->states[at];
	int err = 0;

	mark_ways(elimination, from, true);
	*weight = elimination->states[from].outs[elimination->places[at] - 1].weight;
	for (size_t i = 0; i < state->out_count && state->leaves > 0 && !err; i++)
		if (state->outs[i].to != from)
			err = way_join(elimination, from, state->outs[i].to,
			               *weight * (state->outs[i].weight / state->leaves));
	mark_ways(elimination, from, false);
	return err;
}

/* What is left of a state that went are the ways that led there: in `outs`, for reading back. */
static int
eliminate(struct elimination *elimination, uint32_t at)
{
	struct state *state = &elimination->states[at];
	struct way *came = calloc(state->in_count + 1, sizeof(*came));
	int err = 0;

	if (!came)
		return -ENOMEM;
	state->leaves = 0;
	for (size_t i = 0; i < state->out_count; i++)
		state->leaves += state->outs[i].weight;
	state->is_gone = true;
	elimination->order[elimination->gone++] = at;
	for (size_t i = 0; i < state->in_count && !err; i++) {
		came[i].to = state->ins[i];
		err = bypass(elimination, state->ins[i], at, &came[i].weight);
	}
	free(state->outs);
	state->outs = came;
	state->out_count = state->in_count;
	return err;
}

/* Those that make the fewest new ways first, roughly: what is dearer than `limit` waits until nothing cheaper is left.
 */
static int
eliminate_all(struct elimination *elimination, uint32_t origin)
{
	size_t limit = 1;
	int err = 0;

	while (elimination->gone + 1 < elimination->count && !err) {
		const size_t before = elimination->gone;

		for (uint32_t i = 0; i < elimination->count && !err; i++) {
			const struct state *state = &elimination->states[i];

			if (i == origin || state->is_gone)
				continue;
			tidy(elimination, i);
			if (state->in_count * state->out_count <= limit)
				err = eliminate(elimination, i);
		}
		if (elimination->gone == before)
			limit *= 2;
	}
	return err;
}

/* A state that went last depends on none that went before it. */
static void
read_back(struct elimination *elimination, uint32_t origin, double *visits)
{
	for (size_t i = 0; i < elimination->count; i++)
		visits[i] = i == origin ? 1 : 0;
	for (size_t i = elimination->gone; i-- > 0;) {
		const uint32_t at = elimination->order[i];
		const struct state *state = &elimination->states[at];
		double sum = 0;

		for (size_t k = 0; k < state->out_count; k++)
			sum += visits[state->outs[k].to] * state->outs[k].weight;
		visits[at] = state->leaves > 0 ? fmin(sum / state->leaves, VISITS_MOST) : 0;
	}
}

static int
compare_transitions(const void *a, const void *b)
{
	const struct transition *one = a, *other = b;

	if (one->from != other->from)
		return one->from < other->from ? -1 : 1;
	return (one->to > other->to) - (one->to < other->to);
}

/* The ways out of one state, which are next to one another, as probabilities. */
static int
load_state(struct elimination *elimination, const struct transition *ways, size_t count)
{
	double sum = 0;
	int err = 0;

	for (size_t i = 0; i < count; i++)
		sum += ways[i].weight;
	for (size_t i = 0; i < count && !err;) {
		const size_t first = i;
		double weight = 0;

		for (; i < count && ways[i].to == ways[first].to; i++)
			weight += ways[i].weight;
		err = way_add(elimination, ways[first].from, ways[first].to, weight / sum);
	}
	return err;
}

static int
load_all(struct elimination *elimination, const struct transition *transitions, size_t count)
{
	struct transition *sorted = calloc(count + 1, sizeof(*sorted));
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		sorted[i] = transitions[i];
		if (sorted[i].from >= elimination->count || sorted[i].to >= elimination->count ||
		    !isfinite(sorted[i].weight) || sorted[i].weight <= 0)
			err = -EINVAL;
	}
	qsort(sorted, count, sizeof(*sorted), compare_transitions);
	for (size_t i = 0; i < count && !err;) {
		const size_t first = i;

		while (i < count && sorted[i].from == sorted[first].from)
			i++;
		err = load_state(elimination, sorted + first, i - first);
	}
	free(sorted);
	elimination->added = 0;
	return err;
}

int
stationary_solve(const struct transition *transitions, size_t transition_count, size_t count, uint32_t origin,
                 double *visits)
{
	struct elimination elimination = {.count = count};
	int err = -ENOMEM;

	if (origin >= count || count > UINT32_MAX / 2)
		return -EINVAL;
	elimination.states = calloc(count, sizeof(*elimination.states));
	elimination.order = calloc(count, sizeof(*elimination.order));
	elimination.places = calloc(count, sizeof(*elimination.places));
	if (elimination.states && elimination.order && elimination.places)
		err = load_all(&elimination, transitions, transition_count);
	if (!err)
		err = eliminate_all(&elimination, origin);
	if (!err)
		read_back(&elimination, origin, visits);
	for (size_t i = 0; i < count && elimination.states; i++) {
		free(elimination.states[i].outs);
		free(elimination.states[i].ins);
	}
	free(elimination.states);
	free(elimination.order);
	free(elimination.places);
	return err;
}
