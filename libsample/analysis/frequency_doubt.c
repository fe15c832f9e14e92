/* How certain the shares of a chain are: it is disturbed as chance would have done it, and solved again. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_chain.h"
#include "analysis/weighted_median.h"

#define TIMES        8   /* that it is disturbed */
#define PLUS_MINUS   8   /* times more, or fewer, cuts */
#define OBSERVATIONS 2.0 /* that count as one: which way a branch goes depends on the way it went before */
#define CYCLES       0.5 /* deviation of the logarithm of what an instruction takes, between blocks */

double
chain_edge_doubt(const struct chain *chain, uint32_t edge)
{
	return sqrt(log(1 + OBSERVATIONS / ((double)chain->seen[edge] + 0.5)));
}

struct doubt {
	struct chain *chain;
	double *weights, *starts; /* undisturbed */
	double *again;            /* shares, disturbed */
	double cut;
	uint64_t random;
};

/* xorshift64* (Vigna 2016): the same numbers each time, for the same result. Above 0, at most 1. */
static double
draw(struct doubt *doubt)
{
	doubt->random ^= doubt->random >> 12;
	doubt->random ^= doubt->random << 25;
	doubt->random ^= doubt->random >> 27;
	return (double)((doubt->random * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 1) * 0x1p-53;
}

/* A factor whose logarithm is normal (Box and Muller 1958). */
static double
draw_factor(struct doubt *doubt, double deviation)
{
	const double radius = sqrt(-2 * log(draw(doubt)));

	return exp(deviation * radius * cos(2 * M_PI * draw(doubt)));
}

static void
disturb(struct doubt *doubt, int time)
{
	struct chain *chain = doubt->chain;
	const struct flow_graph *graph = chain->graph;

	for (uint32_t i = 0; i < graph->edge_count; i++)
		chain->weights[i] = doubt->weights[i] * draw_factor(doubt, chain_edge_doubt(chain, i));
	for (size_t i = 0; i < graph->block_count; i++)
		chain->starts[i] = doubt->starts[i] * draw_factor(doubt, CYCLES);
	chain->cut = time % 2 ? doubt->cut * PLUS_MINUS : doubt->cut / PLUS_MINUS;
}

/* The logarithm of the factor by which all are larger: half of the samples are in blocks that have a larger one. */
static double
common_change(const struct doubt *doubt, const double *shares, struct weighted *changes)
{
	const size_t blocks = doubt->chain->graph->block_count;
	size_t count = 0;

	for (size_t i = 0; i < blocks; i++) {
		if (shares[i] <= 0 || doubt->again[i] <= 0)
			continue;
		changes[count++] = (struct weighted){log(doubt->again[i] / shares[i]), doubt->starts[i]};
	}
	return weighted_median(changes, count);
}

static int
add_time(struct doubt *doubt, int time, const double *shares, struct weighted *changes, double *doubts)
{
	const size_t blocks = doubt->chain->graph->block_count;
	double common;
	int err;

	disturb(doubt, time);
	err = chain_solve(doubt->chain, doubt->again);
	if (err)
		return err;
	common = common_change(doubt, shares, changes);
	for (size_t i = 0; i < blocks; i++) {
		const double change =
			shares[i] > 0 && doubt->again[i] > 0 ? log(doubt->again[i] / shares[i]) - common : 1;

		doubts[i] += change * change / TIMES;
	}
	return 0;
}

int
chain_doubt(struct chain *chain, const double *shares, double *doubts)
{
	const struct flow_graph *graph = chain->graph;
	struct weighted *changes = calloc(graph->block_count + 1, sizeof(*changes));
	struct doubt doubt = {
		.chain = chain,
		.weights = chain->weights,
		.starts = chain->starts,
		.again = calloc(graph->block_count + 1, sizeof(double)),
		.cut = chain->cut,
		.random = 88172645463325252,
	};
	int err = -ENOMEM;

	chain->weights = calloc(graph->edge_count + 1, sizeof(double));
	chain->starts = calloc(graph->block_count + 1, sizeof(double));
	if (changes && doubt.again && chain->weights && chain->starts)
		err = 0;
	for (size_t i = 0; i < graph->block_count; i++)
		doubts[i] = 0;
	for (int time = 0; time < TIMES && !err; time++)
		err = add_time(&doubt, time, shares, changes, doubts);
	for (size_t i = 0; i < graph->block_count; i++)
		doubts[i] = sqrt(doubts[i]);
	free(chain->weights);
	free(chain->starts);
	chain->weights = doubt.weights;
	chain->starts = doubt.starts;
	chain->cut = doubt.cut;
	free(doubt.again);
	free(changes);
	return err;
}
