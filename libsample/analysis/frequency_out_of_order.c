/*
 * Frequencies on cores where a sample says what holds up retirement, and nothing about what retires with it. Each block
 * is taken to cost what its retirement takes, instructions / width; measured against exact counts, no model of
 * latencies did better, since what costs more is a miss or a misprediction. The maximum likelihood flow is looked for,
 * and where that takes too long the nearest by a sum of absolute deviations.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frequency_internal.h"
#include "analysis/lbfgs.h"
#include "analysis/markov.h"
#include "analysis/statistics.h"

#define FEW_IN_BLOCK             5 /* the median of so few samples is lower than their mean, and 0 of fewer than one */
#define SHADOW                   0.25 /* cycles an execution that may be charged to a neighbour instead */
#define ROUNDS                   3    /* samples are moved back by the flow, which is found by the samples */
#define OUT_OF_ORDER_FEW_SAMPLES 100  /* chance alone leaves a tenth: nothing is certain, trials tell nothing */
#define FIT_UNCERTAINTY_HIGH     0.05 /* measured: 98 % of such samples are within 15 % */
#define FIT_UNCERTAINTY_MEDIUM   0.10 /* 77 % */

/* Factors, as natural logarithms; chosen with some programs and tried on others: see docs/analysis.md. */
#define COST_ABOVE       0.8    /* an execution costs more than is thought, by so much, say */
#define COST_BELOW       0.3    /* it costs less */
#define COST_BELOW_SHORT 0.7    /* and less by so much more in a block of one instruction, hidden by its neighbours */
#define HUBER            1.0    /* smaller deviations count by their square */
#define BRANCH_DEVIATION 4.0    /* how far from even the edges of a branch are */
#define BACK_EDGE_MEAN   1.0    /* a back edge is so much likelier */
#define GAP_MEAN         (-6.0) /* an edge from or to outside where the graph has gaps */
#define COST_MAX         1e6    /* all executions cost at most so many times the samples */

#define MULTIPLICATIONS_MAX     100000    /* for one flow: real procedures take one a block */
#define WORK_MAX                100000000 /* multiplications in one search, about: a third of a second */
#define TRIALS_WORK_MAX         300000000 /* in all searches that begin where another has ended */
#define WORK_PER_EDGE           50        /* multiplications that take as long as what else is done for an edge */
#define EVALUATIONS_MAX         300
#define RESTART_EVALUATIONS_MAX 40 /* from where a search has ended: near enough */
#define MLE_TOLERANCE           1e-4

#define TRIALS             8
#define TRIAL_SPREAD       0.3  /* of the logarithm of a random factor, */
#define TRIAL_SPREAD_SHORT 1.0  /* and so much more in a block of one instruction */
#define LARGE_CLASS        0.05 /* of all samples: such a class is compared with all others, not with itself */
#define UNCERTAINTY_MAX    3.0

int
frequency_pool(const struct frequency_estimation *estimation, const double *costs, double *samples)
{
	const size_t block_count = estimation->graph->block_count, count = estimation->class_count;
	struct workspace space = {0};
	double *sums = workspace_array(&space, count, sizeof(*sums));
	double *class_costs = workspace_array(&space, count, sizeof(*class_costs));
	uint32_t *blocks = workspace_array(&space, count, sizeof(*blocks));

	if (space.has_failed)
		goto out;
	for (size_t i = 0; i < block_count; i++) {
		sums[estimation->block_classes[i]] += samples[i];
		class_costs[estimation->block_classes[i]] += costs[i];
		blocks[estimation->block_classes[i]]++;
	}
	for (size_t i = 0; i < block_count; i++) {
		const uint32_t class = estimation->block_classes[i];

		if (sums[class] < FEW_IN_BLOCK * (double)blocks[class] && class_costs[class] > 0)
			samples[i] = sums[class] * (costs[i] / class_costs[class]);
	}
out:
	workspace_free(&space);
	return space.has_failed ? -ENOMEM : 0;
}

/*
 * The maximum likelihood flow. A procedure is a Markov chain: each edge has a probability, and from those follows how
 * often each block runs, so that flow is conserved whatever they are, and nothing that can be reached has frequency 0.
 * What an execution costs is known but for a factor: it is often much more than its retirement takes (a miss, a
 * misprediction), seldom much less, and the longer the block the surer. So deviations count by their logarithm, and a
 * peak of samples says no more than any other block. Branches are taken to be lopsided rather than even: a wide normal
 * distribution of the logarithms of the probabilities of their edges. The sum of all these is least where flow and
 * branches are likeliest.
 */

#define NO_CHOICE UINT32_MAX

struct frequency_mle {
	struct workspace space; /* of all arrays */
	const struct flow_graph *graph;
	struct markov *markov;
	struct markov_edge *edges; /* first those of the graph; blocks are states, and outside behind them */
	size_t edge_count, state_count;
	uint32_t *variables; /* of edges: of a choice, its number; NO_CHOICE: the only one from its state */
	uint32_t choice_count;
	double *means; /* of choices: prior mean of the logarithm of their probability, but for a sum */
	double *point; /* of choices: that logarithm; then that of what one pass through the procedure is worth */
	double *start; /* such a point, where a search begins */
	double *probabilities;
	double *visits, *values, *rewards, *sums; /* of states */
	struct block_times times;                 /* during a search */
	bool has_start;
};

static void
add_edge(struct frequency_mle *mle, uint32_t from, uint32_t to, double mean)
{
	mle->means[mle->edge_count] = mean;
	mle->edges[mle->edge_count++] = (struct markov_edge){from, to};
}

/* Only edges that have another beside them are variables. */
static void
number_choices(struct frequency_mle *mle)
{
	double *edges = mle->sums; /* of states */

	for (size_t i = 0; i < mle->edge_count; i++)
		edges[mle->edges[i].from]++;
	for (size_t i = 0; i < mle->edge_count; i++) {
		mle->variables[i] = edges[mle->edges[i].from] > 1 ? mle->choice_count++ : NO_CHOICE;
		if (mle->variables[i] != NO_CHOICE)
			mle->means[mle->variables[i]] = mle->means[i];
	}
}

/* In a choice, a back edge is likelier than a forward edge. */
static double
edge_mean(const struct flow_graph *graph, const struct flow_edge *edge)
{
	return edge->from != FLOW_OUTSIDE && edge->to <= edge->from && graph->blocks[edge->from].out_count > 1
	               ? BACK_EDGE_MEAN
	               : 0;
}

/* The graph's edges, and where it has gaps one from and one to outside for each block. */
static void
set_edges(struct frequency_mle *mle)
{
	const struct flow_graph *graph = mle->graph;
	const uint32_t outside = (uint32_t)graph->block_count;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		add_edge(mle, edge->from == FLOW_OUTSIDE ? outside : edge->from,
		         edge->to == FLOW_OUTSIDE ? outside : edge->to, edge_mean(graph, edge));
	}
	for (uint32_t i = 0; i < outside; i++) {
		const struct flow_block *block = &graph->blocks[i];

		if (block->in_count == 0 || !graph->is_complete)
			add_edge(mle, outside, i, block->in_count ? GAP_MEAN : 0);
		if (block->out_count == 0 || !graph->is_complete)
			add_edge(mle, i, outside, block->out_count ? GAP_MEAN : 0);
	}
}

void
frequency_mle_free(struct frequency_mle *mle)
{
	if (!mle)
		return;
	markov_free(mle->markov);
	workspace_free(&mle->space);
	free(mle);
}

static bool
mle_init(struct frequency_mle *mle, const struct flow_graph *graph)
{
	struct workspace *space = &mle->space;
	const size_t edges = graph->edge_count + 2 * graph->block_count + 1, states = graph->block_count + 1;

	mle->graph = graph;
	mle->state_count = states;
	mle->edges = workspace_array(space, edges, sizeof(*mle->edges));
	mle->variables = workspace_array(space, edges, sizeof(*mle->variables));
	mle->means = workspace_array(space, edges, sizeof(double));
	mle->point = workspace_array(space, edges + 1, sizeof(double));
	mle->start = workspace_array(space, edges + 1, sizeof(double));
	mle->probabilities = workspace_array(space, edges, sizeof(double));
	mle->visits = workspace_array(space, states, sizeof(double));
	mle->values = workspace_array(space, states, sizeof(double));
	mle->rewards = workspace_array(space, states, sizeof(double));
	mle->sums = workspace_array(space, states, sizeof(double));
	return !space->has_failed;
}

int
frequency_mle_new(const struct flow_graph *graph, struct frequency_mle **result)
{
	struct frequency_mle *mle = calloc(1, sizeof(*mle));
	int err = -ENOMEM;

	*result = NULL;
	if (mle && mle_init(mle, graph)) {
		set_edges(mle);
		number_choices(mle);
		err = markov_plan(mle->edges, mle->edge_count, mle->state_count, (uint32_t)graph->block_count,
		                  MULTIPLICATIONS_MAX, &mle->markov);
	}
	if (err)
		frequency_mle_free(mle);
	else
		*result = mle;
	return err;
}

/* From logarithms to probabilities and visits. */
static void
set_flow(struct frequency_mle *mle, const double *point)
{
	double *tops = mle->values, *sums = mle->sums;

	for (size_t i = 0; i < mle->state_count; i++) {
		tops[i] = -INFINITY;
		sums[i] = 0;
	}
	for (size_t i = 0; i < mle->edge_count; i++)
		if (mle->variables[i] != NO_CHOICE)
			tops[mle->edges[i].from] = fmax(tops[mle->edges[i].from], point[mle->variables[i]]);
	for (size_t i = 0; i < mle->edge_count; i++) {
		const uint32_t variable = mle->variables[i];

		mle->probabilities[i] = variable == NO_CHOICE ? 1 : exp(point[variable] - tops[mle->edges[i].from]);
		sums[mle->edges[i].from] += mle->probabilities[i];
	}
	for (size_t i = 0; i < mle->edge_count; i++)
		mle->probabilities[i] /= sums[mle->edges[i].from];
	markov_visits(mle->markov, mle->probabilities, mle->visits);
}

/* How unlikely a block's samples are if it has this frequency (pseudo-Huber); *slope: by the frequency's logarithm. */
static double
block_deviance(const struct frequency_mle *mle, size_t block, double frequency, double *slope)
{
	const double samples = mle->times.samples[block],
		     few = 1 / (samples + 1); /* the square of its relative error, too */
	const double expected = frequency * mle->times.costs[block];
	const double off = log((expected + few) / (samples + few));
	const double spread = off > 0 ? COST_BELOW + COST_BELOW_SHORT / mle->graph->blocks[block].count : COST_ABOVE;
	const double tolerance = sqrt(spread * spread + few);
	const double root = sqrt(off * off + HUBER * HUBER);

	*slope = off / root / tolerance * (expected / (expected + few));
	return (root - HUBER) / tolerance;
}

/* Derivative by each edge's logarithm: its flow, times the value of its target less the average of its state's targets.
 */
static void
add_gradient(struct frequency_mle *mle, double *gradient)
{
	double *means = mle->sums;

	markov_values(mle->markov, mle->rewards, mle->values);
	for (size_t i = 0; i < mle->state_count; i++)
		means[i] = 0;
	for (size_t i = 0; i < mle->edge_count; i++)
		means[mle->edges[i].from] += mle->probabilities[i] * mle->values[mle->edges[i].to];
	for (size_t i = 0; i < mle->edge_count; i++) {
		const struct markov_edge *edge = &mle->edges[i];

		if (mle->variables[i] != NO_CHOICE)
			gradient[mle->variables[i]] += mle->probabilities[i] * mle->visits[edge->from] *
			                               (mle->values[edge->to] - means[edge->from]);
	}
}

static double
negative_log_likelihood(void *argument, const double *point, double *gradient)
{
	struct frequency_mle *mle = argument;
	const size_t block_count = mle->graph->block_count;
	double scale = exp(point[mle->choice_count]), sum = 0;

	set_flow(mle, point);
	gradient[mle->choice_count] = 0;
	mle->rewards[block_count] = 0;
	for (size_t i = 0; i < block_count; i++) {
		double slope = 0;

		mle->rewards[i] = 0;
		if (!(mle->visits[i] > 0))
			continue;
		sum += block_deviance(mle, i, scale * mle->visits[i], &slope);
		mle->rewards[i] = slope / mle->visits[i];
		gradient[mle->choice_count] += slope;
	}
	for (size_t i = 0; i < mle->choice_count; i++) {
		const double off = (point[i] - mle->means[i]) / BRANCH_DEVIATION;

		sum += off * off / 2;
		gradient[i] = off / BRANCH_DEVIATION;
	}
	add_gradient(mle, gradient);
	return sum;
}

/* The prior means of all edges, and as much flow as explains all samples. */
static void
set_default_start(struct frequency_mle *mle)
{
	double samples = 0, cost = 0;

	memcpy(mle->point, mle->means, mle->choice_count * sizeof(double));
	set_flow(mle, mle->point);
	for (size_t i = 0; i < mle->graph->block_count; i++) {
		samples += mle->times.samples[i];
		cost += mle->visits[i] * mle->times.costs[i];
	}
	mle->point[mle->choice_count] = samples > 0 && cost > 0 ? log(samples / cost) : 0;
}

/* Multiplications for one flow and all that is done with it, about. */
static size_t
work_per_evaluation(const struct frequency_mle *mle)
{
	return markov_multiplications(mle->markov) + WORK_PER_EDGE * mle->edge_count;
}

/*
 * Where most blocks have no samples, and the others very many, no other term keeps the scale from vanishing: then
 * nothing is known of it, but it must be a number to divide by.
 */
static double
final_scale(const struct frequency_mle *mle)
{
	double samples = 0, cost = 0;

	for (size_t i = 0; i < mle->graph->block_count; i++) {
		samples += mle->times.samples[i];
		cost += mle->visits[i] * mle->times.costs[i];
	}
	return fmax(exp(mle->point[mle->choice_count]), cost > 0 ? samples / cost / COST_MAX : 0);
}

int
frequency_mle_find(struct frequency_mle *mle, const struct block_times *times, double *blocks, double *edges)
{
	const double evaluations_max = WORK_MAX / (double)work_per_evaluation(mle);
	const struct lbfgs_problem problem = {
		.function = negative_log_likelihood,
		.argument = mle,
		.count = mle->choice_count + 1,
		.evaluations_max =
			(unsigned)fmin(mle->has_start ? RESTART_EVALUATIONS_MAX : EVALUATIONS_MAX, evaluations_max) + 1,
		.tolerance = MLE_TOLERANCE,
	};
	unsigned evaluations;
	double scale;
	int err;

	mle->times = *times;
	if (mle->has_start)
		memcpy(mle->point, mle->start, (mle->choice_count + 1) * sizeof(double));
	else
		set_default_start(mle);
	err = lbfgs_minimize(&problem, mle->point, &evaluations);
	if (err)
		return err;
	set_flow(mle, mle->point);
	scale = final_scale(mle);
	for (size_t i = 0; i < mle->graph->block_count; i++)
		blocks[i] = scale * mle->visits[i];
	for (size_t i = 0; i < mle->graph->edge_count; i++)
		edges[i] = scale * mle->visits[mle->edges[i].from] * mle->probabilities[i];
	return !mle->has_start && evaluations >= problem.evaluations_max ? -EAGAIN : 0;
}

void
frequency_mle_set_start(struct frequency_mle *mle)
{
	memcpy(mle->start, mle->point, (mle->choice_count + 1) * sizeof(double));
	mle->has_start = true;
}

/*
 * Uncertainty: what the flow would be if costs were others, in some trials, each with all blocks' samples multiplied by
 * random factors. A frequency that several blocks confirm hardly moves; one that depends on a single block moves as far
 * as that. It is the only sign that was found to tell good from bad estimates: see docs/analysis.md.
 */

struct trial {
	struct workspace space; /* of the arrays of this trial */
	const struct frequency_estimation *estimation;
	const struct block_times *times;
	const struct flow_values *found;
	double *samples, *blocks, *edges; /* of this trial */
	double *class_samples;
	double all_samples;
	double *shifts; /* of classes: by how much all others moved, on the median */
	struct weighted_value *log_ratios;
};

/* Equal in each run: SplitMix64. Its logarithm has Laplace's distribution. */
static double
random_factor(uint64_t seed, double spread)
{
	uint64_t bits = seed * 0x9e3779b97f4a7c15ULL;
	double chance;

	bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
	bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
	bits ^= bits >> 31;
	chance = ((double)(bits >> 12) + 0.5) / (double)(1ULL << 52);
	return exp(spread * (chance < 0.5 ? log(2 * chance) : -log(2 * (1 - chance))));
}

static double
log_ratio(double found, double tried)
{
	return found > 0 && tried > 0 ? log(tried / found) : 0;
}

/* Without the class; FLOW_OUTSIDE: of all. */
static double
median_shift(const struct trial *trial, uint32_t class)
{
	const struct frequency_estimation *estimation = trial->estimation;
	size_t count = 0;

	for (size_t i = 0; i < estimation->graph->block_count; i++)
		if (estimation->block_classes[i] != class && trial->times->samples[i] > 0 &&
		    trial->found->blocks[i] > 0)
			trial->log_ratios[count++] = (struct weighted_value){
				log_ratio(trial->found->blocks[i], trial->blocks[i]), trial->times->samples[i]};
	return statistics_weighted_median(trial->log_ratios, count);
}

static void
set_shifts(const struct trial *trial)
{
	const double all = median_shift(trial, FLOW_OUTSIDE);

	for (uint32_t i = 0; i < trial->estimation->class_count; i++)
		trial->shifts[i] =
			trial->class_samples[i] > LARGE_CLASS * trial->all_samples ? median_shift(trial, i) : all;
}

static double
uncertainty(double found, double tried, double shift)
{
	return found > 0 && tried > 0 ? fmin(fabs(log_ratio(found, tried) - shift), UNCERTAINTY_MAX) : UNCERTAINTY_MAX;
}

static int
run_trial(const struct trial *trial, struct frequency_mle *mle, uint64_t number, double *block_uncertainties,
          double *edge_uncertainties)
{
	const struct flow_graph *graph = trial->estimation->graph;
	const struct block_times times = {trial->samples, trial->times->costs};
	int err;

	for (size_t i = 0; i < graph->block_count; i++) {
		const double samples = trial->times->samples[i];
		const double cost = TRIAL_SPREAD + TRIAL_SPREAD_SHORT / graph->blocks[i].count;
		const double spread =
			sqrt(cost * cost + 1 / (samples + 1)); /* plus the Poisson variance of the samples */

		trial->samples[i] = samples * random_factor((number << 40) + i + 1, spread);
	}
	err = frequency_mle_find(mle, &times, trial->blocks, trial->edges);
	if (err && err != -EAGAIN)
		return err;
	set_shifts(trial);
	for (size_t i = 0; i < graph->block_count; i++)
		block_uncertainties[i] += uncertainty(trial->found->blocks[i], trial->blocks[i],
		                                      trial->shifts[trial->estimation->block_classes[i]]) /
		                          TRIALS;
	for (size_t i = 0; i < graph->edge_count; i++)
		edge_uncertainties[i] += uncertainty(trial->found->edges[i], trial->edges[i],
		                                     trial->shifts[trial->estimation->edge_classes[i]]) /
		                         TRIALS;
	return 0;
}

static bool
trial_init(struct trial *trial)
{
	struct workspace *space = &trial->space;
	const struct flow_graph *graph = trial->estimation->graph;

	trial->samples = workspace_array(space, graph->block_count, sizeof(double));
	trial->blocks = workspace_array(space, graph->block_count, sizeof(double));
	trial->edges = workspace_array(space, graph->edge_count, sizeof(double));
	trial->class_samples = workspace_array(space, trial->estimation->class_count, sizeof(double));
	trial->shifts = workspace_array(space, trial->estimation->class_count, sizeof(double));
	trial->log_ratios = workspace_array(space, graph->block_count, sizeof(*trial->log_ratios));
	if (space->has_failed)
		return false;
	for (size_t i = 0; i < graph->block_count; i++) {
		trial->class_samples[trial->estimation->block_classes[i]] += trial->times->samples[i];
		trial->all_samples += trial->times->samples[i];
	}
	return true;
}

int
frequency_mle_uncertainty(struct frequency_mle *mle, const struct frequency_estimation *estimation,
                          const struct block_times *times, const struct flow_values *found, double *block_uncertainties,
                          double *edge_uncertainties)
{
	struct trial trial = {.estimation = estimation, .times = times, .found = found};
	int err;

	if (work_per_evaluation(mle) * RESTART_EVALUATIONS_MAX * TRIALS > TRIALS_WORK_MAX)
		return -E2BIG;
	err = trial_init(&trial) ? 0 : -ENOMEM;
	for (uint64_t i = 0; i < TRIALS && !err; i++)
		err = run_trial(&trial, mle, i, block_uncertainties, edge_uncertainties);
	workspace_free(&trial.space);
	return err;
}

/* The estimator. */

struct fitting {
	struct workspace space; /* of the arrays below */
	struct frequency_estimation *estimation;
	struct frequency_target *targets;
	double *scratch; /* samples per instruction */
	double *sums;    /* samples per block */
	double *costs;   /* cycles of an execution, per block */
	double *blocks;  /* F */
	double *edges;
	double *block_uncertainties; /* by frequency_mle_uncertainty(); INFINITY where they are not known */
	double *edge_uncertainties;
};

/* Samples and costs of blocks, from samples of instructions. */
static int
sum_blocks(struct fitting *fitting, const double *samples)
{
	const struct frequency_estimation *estimation = fitting->estimation;
	const struct flow_graph *graph = estimation->graph;

	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		fitting->costs[i] = frequency_typical_cost(estimation, block);
		fitting->sums[i] = frequency_block_sum(block, samples);
	}
	return frequency_pool(estimation, fitting->costs, fitting->sums);
}

static int
fit_samples(struct fitting *fitting, const double *samples)
{
	const struct frequency_estimation *estimation = fitting->estimation;
	const struct flow_graph *graph = estimation->graph;
	int err;

	err = sum_blocks(fitting, samples);
	if (err)
		return err;
	for (size_t i = 0; i < graph->block_count; i++) {
		const double cost = fitting->costs[i];

		fitting->targets[i] = (struct frequency_target){
			.value = fitting->sums[i] / cost,
			.below = cost,
			.above = cost,
			.slack = SHADOW / (cost + SHADOW),
		};
	}
	return frequency_fit(graph, fitting->targets, fitting->blocks, fitting->edges);
}

static uint8_t
fit_confidence(double uncertainty)
{
	return frequency_confidence_of(uncertainty, FIT_UNCERTAINTY_HIGH, FIT_UNCERTAINTY_MEDIUM);
}

static void
write_result(const struct fitting *fitting)
{
	const struct flow_graph *graph = fitting->estimation->graph;
	struct frequencies *result = fitting->estimation->result;

	for (size_t i = 0; i < graph->block_count; i++)
		result->blocks[i] = (struct frequency){fitting->blocks[i],
		                                       fit_confidence(fitting->block_uncertainties[i]), FREQUENCY_FIT};
	for (size_t i = 0; i < graph->edge_count; i++)
		result->edges[i] = (struct frequency){fitting->edges[i], fit_confidence(fitting->edge_uncertainties[i]),
		                                      FREQUENCY_FIT};
	result->is_relative = true;
}

static void
set_unknown(const struct fitting *fitting)
{
	for (size_t i = 0; i < fitting->estimation->graph->block_count; i++)
		fitting->block_uncertainties[i] = INFINITY;
	for (size_t i = 0; i < fitting->estimation->graph->edge_count; i++)
		fitting->edge_uncertainties[i] = INFINITY;
}

/* -EAGAIN: not quite the nearest. */
static int
fit_nearest(struct fitting *fitting)
{
	const struct frequency_input *input = fitting->estimation->input;
	double *samples = fitting->estimation->result->samples;
	int err;

	set_unknown(fitting);
	err = fit_samples(fitting, samples);
	if ((err && err != -EAGAIN) || input->skid == 0)
		return err;
	frequency_move_back(input, fitting->edges, samples, fitting->scratch);
	return fit_samples(fitting, samples);
}

/* Samples are where they were taken; then moved back by the flow that was found. */
static int
fit_likeliest(struct fitting *fitting, struct frequency_mle *mle)
{
	const struct frequency_input *input = fitting->estimation->input;
	const struct flow_graph *graph = fitting->estimation->graph;
	const struct block_times times = {fitting->sums, fitting->costs};
	const struct flow_values found = {fitting->blocks, fitting->edges};
	double *samples = fitting->estimation->result->samples, sum = 0;
	int err = 0, uncertainty_err = -E2BIG;

	for (unsigned round = 0; round < (input->skid > 0 ? ROUNDS : 1); round++) {
		for (size_t i = 0; i < graph->instruction_count; i++)
			samples[i] = (double)input->samples[i];
		if (round > 0)
			frequency_move_back(input, fitting->edges, samples, fitting->scratch);
		err = sum_blocks(fitting, samples);
		if (err)
			return err;
		err = frequency_mle_find(mle, &times, fitting->blocks, fitting->edges);
		if (err && err != -EAGAIN)
			return err;
		frequency_mle_set_start(mle);
	}
	for (size_t i = 0; i < graph->instruction_count; i++)
		sum += (double)input->samples[i];
	if (sum >= OUT_OF_ORDER_FEW_SAMPLES)
		uncertainty_err = frequency_mle_uncertainty(mle, fitting->estimation, &times, &found,
		                                            fitting->block_uncertainties, fitting->edge_uncertainties);
	if (uncertainty_err == -E2BIG)
		set_unknown(fitting);
	else if (uncertainty_err)
		return uncertainty_err;
	return err;
}

static bool
fitting_init(struct fitting *fitting)
{
	struct workspace *space = &fitting->space;
	const struct flow_graph *graph = fitting->estimation->graph;

	fitting->targets = workspace_array(space, graph->block_count, sizeof(*fitting->targets));
	fitting->scratch = workspace_array(space, graph->instruction_count, sizeof(double));
	fitting->sums = workspace_array(space, graph->block_count, sizeof(double));
	fitting->costs = workspace_array(space, graph->block_count, sizeof(double));
	fitting->blocks = workspace_array(space, graph->block_count, sizeof(double));
	fitting->edges = workspace_array(space, graph->edge_count, sizeof(double));
	fitting->block_uncertainties = workspace_array(space, graph->block_count, sizeof(double));
	fitting->edge_uncertainties = workspace_array(space, graph->edge_count, sizeof(double));
	return !space->has_failed;
}

int
frequency_estimate_out_of_order(struct frequency_estimation *estimation)
{
	struct fitting fitting = {.estimation = estimation};
	struct frequency_mle *mle = NULL;
	int err = -ENOMEM;

	if (!fitting_init(&fitting))
		goto out;
	err = frequency_mle_new(estimation->graph, &mle);
	if (err == -E2BIG)
		err = fit_nearest(&fitting);
	else if (!err)
		err = fit_likeliest(&fitting, mle);
	if (err && err != -EAGAIN)
		goto out;
	estimation->result->is_rough = err == -EAGAIN;
	write_result(&fitting);
	err = 0;
out:
	frequency_mle_free(mle);
	workspace_free(&fitting.space);
	return err;
}
