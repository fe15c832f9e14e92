/*
 * The likeliest flow. A procedure is a Markov chain: each branch has a probability, and from those follows how often
 * each block runs, so that what comes in goes out whatever they are, and nothing that can be reached has frequency 0.
 * What an execution costs is known but for a factor: it is often much more than its retirement takes (a miss, a wrong
 * guess), seldom much less, and the longer the block the surer. So deviations count by their logarithm, and a peak of
 * samples says no more than any other block. Branches are taken to be lopsided rather than even: a wide normal
 * distribution of the logarithms of their ways, one for each. The sum of all these is least where flow and branches are
 * likeliest.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/descent.h"
#include "analysis/frequency_private.h"
#include "analysis/markov.h"

/* Factors, as natural logarithms; chosen with some programs and tried on others: see docs/analysis.md. */
#define COSTLIER 0.8    /* an execution costs more than is thought, by so much, say */
#define CHEAPER  0.3    /* it costs less */
#define SHORT    0.7    /* and less by so much more in a block of one instruction: others stand for it */
#define ALIKE    1.0    /* smaller deviations count by their square */
#define LOPSIDED 4.0    /* how far from even the ways of a branch are */
#define LOOPS    1.0    /* a way back is so much likelier */
#define RARE     (-6.0) /* a way where the graph has gaps */

#define STEPS_MAX      100000 /* multiplications for one flow: more is too entangled; real procedures take one a block */
#define WORK_MAX       100000000 /* of them in one search, about: a third of a second */
#define DOUBT_WORK_MAX 300000000 /* in all searches that begin where another has ended */
#define WORK_PER_WAY   50        /* multiplications that take as long as what else is done for a way */
#define EVALUATIONS    300
#define AGAIN          40 /* where it has ended before: then it is near enough */
#define TOLERANCE      1e-4

#define COSTLIEST 1e6 /* what all executions cost by what is thought, at most */

#define NO_CHOICE UINT32_MAX

struct likely_flow {
	const struct flow_graph *graph;
	struct markov *markov;
	struct markov_way *ways; /* first those of the graph's edges; blocks are states, and outside behind them */
	size_t way_count, state_count;
	uint32_t *variables; /* of ways: of a choice, its number; NO_CHOICE: the only one from its state */
	uint32_t choice_count;
	double *middles; /* of choices: the logarithm of their probability is around it, but for a sum */
	double *point;   /* of choices: that logarithm; then that of what one pass through the procedure is worth */
	double *kept;    /* such a point, where a search begins */
	double *probabilities;
	double *visits, *values, *rewards, *sums; /* of states */
	struct block_times times;                 /* while it is looked for */
	bool is_kept;
};

static bool
has_gap(const struct flow_graph *graph, uint32_t edges)
{
	return edges == 0 || !graph->is_complete;
}

static void
add_way(struct likely_flow *flow, uint32_t from, uint32_t to, double middle)
{
	flow->middles[flow->way_count] = middle;
	flow->ways[flow->way_count++] = (struct markov_way){from, to};
}

/* Only ways that have another beside them are looked for. */
static void
number_choices(struct likely_flow *flow)
{
	double *ways = flow->sums; /* of states */

	for (size_t i = 0; i < flow->way_count; i++)
		ways[flow->ways[i].from]++;
	for (size_t i = 0; i < flow->way_count; i++) {
		flow->variables[i] = ways[flow->ways[i].from] > 1 ? flow->choice_count++ : NO_CHOICE;
		if (flow->variables[i] != NO_CHOICE)
			flow->middles[flow->variables[i]] = flow->middles[i];
	}
}

/* A way back in a choice is likelier than a way on. */
static double
middle_of(const struct flow_graph *graph, const struct flow_edge *edge)
{
	return edge->from != FLOW_OUTSIDE && edge->to <= edge->from && graph->blocks[edge->from].out_count > 1 ? LOOPS
	                                                                                                       : 0;
}

static void
set_ways(struct likely_flow *flow)
{
	const struct flow_graph *graph = flow->graph;
	const uint32_t outside = (uint32_t)graph->block_count;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		add_way(flow, edge->from == FLOW_OUTSIDE ? outside : edge->from,
		        edge->to == FLOW_OUTSIDE ? outside : edge->to, middle_of(graph, edge));
	}
	for (uint32_t i = 0; i < outside; i++) {
		const struct flow_block *block = &graph->blocks[i];

		if (has_gap(graph, block->in_count))
			add_way(flow, outside, i, block->in_count ? RARE : 0);
		if (has_gap(graph, block->out_count))
			add_way(flow, i, outside, block->out_count ? RARE : 0);
	}
}

void
likely_flow_free(struct likely_flow *flow)
{
	if (!flow)
		return;
	markov_free(flow->markov);
	free(flow->ways);
	free(flow->variables);
	free(flow->middles);
	free(flow->point);
	free(flow->kept);
	free(flow->probabilities);
	free(flow->visits);
	free(flow->values);
	free(flow->rewards);
	free(flow->sums);
	free(flow);
}

static bool
flow_init(struct likely_flow *flow, const struct flow_graph *graph)
{
	const size_t ways = graph->edge_count + 2 * graph->block_count + 1, states = graph->block_count + 1;

	flow->graph = graph;
	flow->state_count = states;
	flow->ways = calloc(ways, sizeof(*flow->ways));
	flow->variables = calloc(ways, sizeof(*flow->variables));
	flow->middles = calloc(ways, sizeof(double));
	flow->point = calloc(ways + 1, sizeof(double));
	flow->kept = calloc(ways + 1, sizeof(double));
	flow->probabilities = calloc(ways, sizeof(double));
	flow->visits = calloc(states, sizeof(double));
	flow->values = calloc(states, sizeof(double));
	flow->rewards = calloc(states, sizeof(double));
	flow->sums = calloc(states, sizeof(double));
	return flow->ways && flow->variables && flow->middles && flow->point && flow->kept && flow->probabilities &&
	       flow->visits && flow->values && flow->rewards && flow->sums;
}

int
likely_flow_new(const struct flow_graph *graph, struct likely_flow **result)
{
	struct likely_flow *flow = calloc(1, sizeof(*flow));
	int err = -ENOMEM;

	*result = NULL;
	if (flow && flow_init(flow, graph)) {
		set_ways(flow);
		number_choices(flow);
		err = markov_plan(flow->ways, flow->way_count, flow->state_count, (uint32_t)graph->block_count,
		                  STEPS_MAX, &flow->markov);
	}
	if (err)
		likely_flow_free(flow);
	else
		*result = flow;
	return err;
}

/* From logarithms to probabilities and visits. */
static void
set_flow(struct likely_flow *flow, const double *point)
{
	double *tops = flow->values, *sums = flow->sums;

	for (size_t i = 0; i < flow->state_count; i++) {
		tops[i] = -INFINITY;
		sums[i] = 0;
	}
	for (size_t i = 0; i < flow->way_count; i++)
		if (flow->variables[i] != NO_CHOICE)
			tops[flow->ways[i].from] = fmax(tops[flow->ways[i].from], point[flow->variables[i]]);
	for (size_t i = 0; i < flow->way_count; i++) {
		const uint32_t variable = flow->variables[i];

		flow->probabilities[i] = variable == NO_CHOICE ? 1 : exp(point[variable] - tops[flow->ways[i].from]);
		sums[flow->ways[i].from] += flow->probabilities[i];
	}
	for (size_t i = 0; i < flow->way_count; i++)
		flow->probabilities[i] /= sums[flow->ways[i].from];
	markov_visits(flow->markov, flow->probabilities, flow->visits);
}

/* How unlikely a block's samples are if it has this frequency; *slope: by the frequency's logarithm. */
static double
deviate(const struct likely_flow *flow, size_t block, double frequency, double *slope)
{
	const double samples = flow->times.samples[block],
		     few = 1 / (samples + 1); /* the square of its relative error, too */
	const double expected = frequency * flow->times.costs[block];
	const double off = log((expected + few) / (samples + few));
	const double spread = off > 0 ? CHEAPER + SHORT / flow->graph->blocks[block].count : COSTLIER;
	const double tolerance = sqrt(spread * spread + few);
	const double root = sqrt(off * off + ALIKE * ALIKE);

	*slope = off / root / tolerance * (expected / (expected + few));
	return (root - ALIKE) / tolerance;
}

/* The slope by each way's logarithm: what goes this way is worth what is to come there, less what is on average. */
static void
add_slopes(struct likely_flow *flow, double *gradient)
{
	double *means = flow->sums;

	markov_values(flow->markov, flow->rewards, flow->values);
	for (size_t i = 0; i < flow->state_count; i++)
		means[i] = 0;
	for (size_t i = 0; i < flow->way_count; i++)
		means[flow->ways[i].from] += flow->probabilities[i] * flow->values[flow->ways[i].to];
	for (size_t i = 0; i < flow->way_count; i++) {
		const struct markov_way *way = &flow->ways[i];

		if (flow->variables[i] != NO_CHOICE)
			gradient[flow->variables[i]] += flow->probabilities[i] * flow->visits[way->from] *
			                                (flow->values[way->to] - means[way->from]);
	}
}

static double
unlikeliness(void *argument, const double *point, double *gradient)
{
	struct likely_flow *flow = argument;
	const size_t block_count = flow->graph->block_count;
	double worth = exp(point[flow->choice_count]), sum = 0;

	set_flow(flow, point);
	gradient[flow->choice_count] = 0;
	flow->rewards[block_count] = 0;
	for (size_t i = 0; i < block_count; i++) {
		double slope = 0;

		flow->rewards[i] = 0;
		if (!(flow->visits[i] > 0))
			continue;
		sum += deviate(flow, i, worth * flow->visits[i], &slope);
		flow->rewards[i] = slope / flow->visits[i];
		gradient[flow->choice_count] += slope;
	}
	for (size_t i = 0; i < flow->choice_count; i++) {
		const double off = (point[i] - flow->middles[i]) / LOPSIDED;

		sum += off * off / 2;
		gradient[i] = off / LOPSIDED;
	}
	add_slopes(flow, gradient);
	return sum;
}

/* Ways as they are expected, and as much flow as explains all samples. */
static void
begin(struct likely_flow *flow)
{
	double samples = 0, cost = 0;

	memcpy(flow->point, flow->middles, flow->choice_count * sizeof(double));
	set_flow(flow, flow->point);
	for (size_t i = 0; i < flow->graph->block_count; i++) {
		samples += flow->times.samples[i];
		cost += flow->visits[i] * flow->times.costs[i];
	}
	flow->point[flow->choice_count] = samples > 0 && cost > 0 ? log(samples / cost) : 0;
}

void
likely_flow_keep(struct likely_flow *flow)
{
	memcpy(flow->kept, flow->point, (flow->choice_count + 1) * sizeof(double));
	flow->is_kept = true;
}

/* Multiplications for one flow and all that is done with it, about. */
static size_t
work_of(const struct likely_flow *flow)
{
	return markov_steps(flow->markov) + WORK_PER_WAY * flow->way_count;
}

bool
likely_flow_is_quick(const struct likely_flow *flow, unsigned searches)
{
	return work_of(flow) * AGAIN * searches <= DOUBT_WORK_MAX;
}

/* -EAGAIN when it was not finished. */
static int
descend(struct likely_flow *flow)
{
	const double most = WORK_MAX / (double)work_of(flow);
	const struct descent descent = {
		.function = unlikeliness,
		.argument = flow,
		.count = flow->choice_count + 1,
		.evaluations_max = (unsigned)fmin(flow->is_kept ? AGAIN : EVALUATIONS, most) + 1,
		.tolerance = TOLERANCE,
	};
	unsigned evaluations;
	int err;

	err = descent_minimize(&descent, flow->point, &evaluations);
	return !err && !flow->is_kept && evaluations >= descent.evaluations_max ? -EAGAIN : err;
}

/*
 * Where most blocks have no samples, and the others very many, nothing else keeps it from vanishing: then nothing is
 * said of its size, but it is a number to divide by.
 */
static double
worth_at_last(const struct likely_flow *flow)
{
	double samples = 0, cost = 0;

	for (size_t i = 0; i < flow->graph->block_count; i++) {
		samples += flow->times.samples[i];
		cost += flow->visits[i] * flow->times.costs[i];
	}
	return fmax(exp(flow->point[flow->choice_count]), cost > 0 ? samples / cost / COSTLIEST : 0);
}

int
likely_flow_find(struct likely_flow *flow, const struct block_times *times, double *blocks, double *edges)
{
	double worth;
	int err;

	flow->times = *times;
	if (flow->is_kept)
		memcpy(flow->point, flow->kept, (flow->choice_count + 1) * sizeof(double));
	else
		begin(flow);
	err = descend(flow);
	if (err && err != -EAGAIN)
		return err;
	set_flow(flow, flow->point);
	worth = worth_at_last(flow);
	for (size_t i = 0; i < flow->graph->block_count; i++)
		blocks[i] = worth * flow->visits[i];
	for (size_t i = 0; i < flow->graph->edge_count; i++)
		edges[i] = worth * flow->visits[flow->ways[i].from] * flow->probabilities[i];
	return err;
}
