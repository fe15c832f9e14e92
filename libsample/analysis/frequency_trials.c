/*
 * What a flow would be if costs were others: some trials, each with all blocks' samples multiplied by chance. A
 * frequency that several blocks bear out hardly moves; one that hangs on a single block moves as far as that. It is the
 * only sign that was found to tell good from bad estimates: see docs/analysis.md.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"
#include "analysis/weighted_median.h"

#define TRIALS       8
#define SPREAD       0.3  /* of the logarithm of a chance factor, */
#define SPREAD_SHORT 1.0  /* and so much more in a block of one instruction */
#define LARGE        0.05 /* of all samples: such a class is compared with all others, not with itself */
#define DOUBT_MOST   3.0

struct trial {
	const struct estimation *estimation;
	const struct block_times *times;
	const struct flow_values *found;
	double *samples, *blocks, *edges; /* of this trial */
	double *class_samples;
	double all_samples;
	double *shifts; /* of classes: by how much all others moved, on the median */
	struct weighted *moves;
};

/* The same in each run: SplitMix64. Its logarithm has Laplace's distribution. */
static double
chance_factor(uint64_t seed, double spread)
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
move(double found, double tried)
{
	return found > 0 && tried > 0 ? log(tried / found) : 0;
}

/* Without the class; FLOW_OUTSIDE: of all. */
static double
median_move(const struct trial *trial, uint32_t class)
{
	const struct estimation *estimation = trial->estimation;
	size_t count = 0;

	for (size_t i = 0; i < estimation->graph->block_count; i++)
		if (estimation->block_classes[i] != class && trial->times->samples[i] > 0 &&
		    trial->found->blocks[i] > 0)
			trial->moves[count++] = (struct weighted){move(trial->found->blocks[i], trial->blocks[i]),
			                                          trial->times->samples[i]};
	return weighted_median(trial->moves, count);
}

static void
set_shifts(const struct trial *trial)
{
	const double all = median_move(trial, FLOW_OUTSIDE);

	for (uint32_t i = 0; i < trial->estimation->class_count; i++)
		trial->shifts[i] = trial->class_samples[i] > LARGE * trial->all_samples ? median_move(trial, i) : all;
}

static double
doubt(double found, double tried, double shift)
{
	return found > 0 && tried > 0 ? fmin(fabs(move(found, tried) - shift), DOUBT_MOST) : DOUBT_MOST;
}

static int
try_once(const struct trial *trial, struct likely_flow *flow, uint64_t number, double *block_doubts,
         double *edge_doubts)
{
	const struct flow_graph *graph = trial->estimation->graph;
	const struct block_times times = {trial->samples, trial->times->costs};
	int err;

	for (size_t i = 0; i < graph->block_count; i++) {
		const double samples = trial->times->samples[i];
		const double cost = SPREAD + SPREAD_SHORT / graph->blocks[i].count;
		const double spread = sqrt(cost * cost + 1 / (samples + 1)); /* and Poisson's, of the samples */

		trial->samples[i] = samples * chance_factor((number << 40) + i + 1, spread);
	}
	err = likely_flow_find(flow, &times, trial->blocks, trial->edges);
	if (err && err != -EAGAIN)
		return err;
	set_shifts(trial);
	for (size_t i = 0; i < graph->block_count; i++)
		block_doubts[i] += doubt(trial->found->blocks[i], trial->blocks[i],
		                         trial->shifts[trial->estimation->block_classes[i]]) /
		                   TRIALS;
	for (size_t i = 0; i < graph->edge_count; i++)
		edge_doubts[i] += doubt(trial->found->edges[i], trial->edges[i],
		                        trial->shifts[trial->estimation->edge_classes[i]]) /
		                  TRIALS;
	return 0;
}

static bool
trial_init(struct trial *trial)
{
	const struct flow_graph *graph = trial->estimation->graph;

	trial->samples = calloc(graph->block_count + 1, sizeof(double));
	trial->blocks = calloc(graph->block_count + 1, sizeof(double));
	trial->edges = calloc(graph->edge_count + 1, sizeof(double));
	trial->class_samples = calloc(trial->estimation->class_count + 1, sizeof(double));
	trial->shifts = calloc(trial->estimation->class_count + 1, sizeof(double));
	trial->moves = calloc(graph->block_count + 1, sizeof(*trial->moves));
	if (!trial->samples || !trial->blocks || !trial->edges || !trial->class_samples || !trial->shifts ||
	    !trial->moves)
		return false;
	for (size_t i = 0; i < graph->block_count; i++) {
		trial->class_samples[trial->estimation->block_classes[i]] += trial->times->samples[i];
		trial->all_samples += trial->times->samples[i];
	}
	return true;
}

static void
trial_fini(struct trial *trial)
{
	free(trial->samples);
	free(trial->blocks);
	free(trial->edges);
	free(trial->class_samples);
	free(trial->shifts);
	free(trial->moves);
}

int
likely_flow_doubt(struct likely_flow *flow, const struct estimation *estimation, const struct block_times *times,
                  const struct flow_values *found, double *block_doubts, double *edge_doubts)
{
	struct trial trial = {.estimation = estimation, .times = times, .found = found};
	int err;

	if (!likely_flow_is_quick(flow, TRIALS))
		return -E2BIG;
	err = trial_init(&trial) ? 0 : -ENOMEM;
	for (uint64_t i = 0; i < TRIALS && !err; i++)
		err = try_once(&trial, flow, i, block_doubts, edge_doubts);
	trial_fini(&trial);
	return err;
}
