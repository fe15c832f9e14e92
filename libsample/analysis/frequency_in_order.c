/*
 * DCPI's own method, section 6.1: where an instruction issues without a dynamic stall, its samples are F times the
 * least cycles that it takes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_internal.h"

#define IN_ORDER_FEW_SAMPLES 20   /* in a class: too few to tell ratios apart */
#define CLUSTER_WIDTH        1.10 /* largest to smallest ratio, but for noise */
#define CLUSTER_NOISE        2.0  /* standard deviations that two ratios of one cluster may be apart */
#define CLUSTER_SHARE        4    /* one in so many issue points is enough for a cluster */
#define HEAD_SHARE           0.10 /* of what others have: heads of blocks with less issue along with what is before */
#define IGNORED_SHARE        0.05 /* of a class' least cycles: a cluster with fewer is not enough */

/* An instruction that may start an issue group, with all that issues along with it. */
struct issue_point {
	double ratio;   /* samples / minimum */
	double samples; /* with those that it waits with */
	double minimum; /* cycles */
	double own;     /* samples of the group alone: what a stall would be */
	double own_minimum;
	bool is_head; /* of a block: it may have issued along with the end of the one before, and have no samples then
	               */
};

struct ratio_cluster {
	size_t first, count;
	double frequency;
	double samples;
	bool has_others; /* it contains an instruction that is no head of a block */
};

static int
compare_ratios(const void *a, const void *b)
{
	const struct issue_point *one = a, *other = b;

	return (one->ratio > other->ratio) - (one->ratio < other->ratio);
}

/*
 * A static wait for a latency that varies: while something in between stalls, the latency passes too, and samples that
 * were expected on the waiting instruction are on that. So all from behind the one to the other count together.
 */
static void
join_waiting(const struct frequency_estimation *estimation, const struct flow_block *block, size_t from, size_t to,
             struct issue_point *point)
{
	const struct frequency_input *input = estimation->input;
	size_t start = from;

	for (size_t i = from; i < to && input->waits_for; i++) {
		const uint32_t producer = input->waits_for[i];

		if (estimation->minimum[i] > 1 && producer >= block->first && producer < i && producer + 1 < start)
			start = producer + 1;
	}
	for (size_t i = start; i < from; i++) {
		point->samples += estimation->result->samples[i];
		point->minimum += estimation->minimum[i];
	}
}

/* An instruction that can issue with the one before adds its samples: if it has any, they did not issue together. */
static size_t
block_issue_points(const struct frequency_estimation *estimation, const struct flow_block *block,
                   struct issue_point *points)
{
	const double *minimum = estimation->minimum;
	const size_t end = (size_t)block->first + block->count;
	size_t count = 0;

	for (size_t i = block->first; i < end;) {
		struct issue_point point = {0};
		const size_t from = i;

		do {
			point.samples += estimation->result->samples[i];
			point.minimum += minimum[i];
			i++;
		} while (i < end && (minimum[i] <= 0 || point.minimum <= 0));
		point.own = point.samples;
		point.own_minimum = point.minimum;
		join_waiting(estimation, block, from, i, &point);
		if (point.minimum <= 0)
			continue;
		point.ratio = point.samples / point.minimum;
		point.is_head = from == block->first && estimation->input->width > 1;
		points[count++] = point;
	}
	return count;
}

/* The largest ratio that noise allows beside the smallest one of a cluster. */
static double
cluster_limit(const struct issue_point *lowest, const struct issue_point *point)
{
	const double noise = sqrt(lowest->samples + 1) / lowest->minimum + sqrt(point->samples + 1) / point->minimum;

	return lowest->ratio * CLUSTER_WIDTH + CLUSTER_NOISE * noise;
}

static struct ratio_cluster
cluster_at(const struct issue_point *points, size_t count, size_t first)
{
	struct ratio_cluster cluster = {.first = first};
	double minimum = 0;

	for (size_t i = first; i < count && points[i].ratio <= cluster_limit(&points[first], &points[i]); i++) {
		cluster.samples += points[i].samples;
		minimum += points[i].minimum;
		cluster.has_others |= !points[i].is_head;
		cluster.count++;
	}
	cluster.frequency = cluster.samples / minimum;
	return cluster;
}

/* The lowest cluster that is large enough, by which no stall is longer than any can be; count 0: there is none. */
static struct ratio_cluster
find_cluster(const struct frequency_estimation *estimation, const struct issue_point *points, size_t count)
{
	const size_t enough = (count + CLUSTER_SHARE - 1) / CLUSTER_SHARE;
	double all = 0, longest = 0, others = INFINITY;

	for (size_t i = 0; i < count; i++) {
		others = points[i].is_head ? others : fmin(others, points[i].ratio);
		all += points[i].minimum;
		longest = fmax(longest, points[i].own);
	}
	for (size_t first = 0; first + enough <= count;) {
		const struct issue_point *last = &points[first + enough - 1];
		struct ratio_cluster cluster;

		if (last->ratio > cluster_limit(&points[first], last)) {
			first++;
			continue;
		}
		cluster = cluster_at(points, count, first);
		if (cluster.count >= enough && cluster.frequency > 0 &&
		    (cluster.has_others || !isfinite(others) || cluster.frequency >= HEAD_SHARE * others) &&
		    cluster.samples >= IGNORED_SHARE * all * cluster.frequency &&
		    longest <= cluster.frequency * estimation->longest_stall)
			return cluster;
		first += cluster.count < enough ? 1 : cluster.count;
	}
	return (struct ratio_cluster){0};
}

static uint8_t
cluster_confidence(const struct ratio_cluster *cluster, size_t count)
{
	if (cluster->count >= 3 && cluster->samples >= 100 && cluster->count * 3 >= count)
		return CONFIDENCE_HIGH;
	if (cluster->count >= 2 && cluster->samples >= 30)
		return CONFIDENCE_MEDIUM;
	return CONFIDENCE_LOW;
}

static struct frequency
estimate_class(const struct frequency_estimation *estimation, struct issue_point *points, size_t count)
{
	struct frequency frequency = {.confidence = CONFIDENCE_LOW, .method = FREQUENCY_SUM};
	double samples = 0, minimum = 0;
	struct ratio_cluster cluster = {0};

	if (count == 0)
		return (struct frequency){0};
	for (size_t i = 0; i < count; i++) {
		samples += points[i].own;
		minimum += points[i].own_minimum;
	}
	qsort(points, count, sizeof(*points), compare_ratios);
	if (samples >= IN_ORDER_FEW_SAMPLES)
		cluster = find_cluster(estimation, points, count);
	frequency.value = minimum > 0 ? samples / minimum : samples;
	if (cluster.count == 0)
		return frequency;
	frequency.value = cluster.frequency;
	frequency.method = FREQUENCY_CLUSTER;
	frequency.confidence = cluster_confidence(&cluster, count);
	return frequency;
}

/* Blocks in the order of their classes: `order`, and where each class begins: `starts`, one more than there are. */
static void
sort_by_class(const struct frequency_estimation *estimation, uint32_t *order, uint32_t *starts)
{
	const struct flow_graph *graph = estimation->graph;

	for (size_t i = 0; i < graph->block_count; i++)
		starts[estimation->block_classes[i] + 1]++;
	for (size_t i = 0; i < estimation->class_count; i++)
		starts[i + 1] += starts[i];
	for (size_t i = graph->block_count; i-- > 0;)
		order[--starts[estimation->block_classes[i] + 1]] = (uint32_t)i;
	for (size_t i = 0; i < estimation->class_count; i++)
		starts[i] = starts[i + 1];
	starts[estimation->class_count] = (uint32_t)graph->block_count;
}

static int
estimate_classes(const struct frequency_estimation *estimation, struct frequency *classes)
{
	const struct flow_graph *graph = estimation->graph;
	struct workspace space = {0};
	struct issue_point *points = workspace_array(&space, graph->instruction_count, sizeof(*points));
	uint32_t *starts = workspace_array(&space, estimation->class_count + 1, sizeof(*starts));
	uint32_t *order = workspace_array(&space, graph->block_count, sizeof(*order));

	if (space.has_failed)
		goto out;
	sort_by_class(estimation, order, starts);
	for (size_t i = 0; i < estimation->class_count; i++) {
		size_t count = 0;

		for (uint32_t k = starts[i]; k < starts[i + 1]; k++)
			count += block_issue_points(estimation, &graph->blocks[order[k]], points + count);
		classes[i] = estimate_class(estimation, points, count);
	}
out:
	workspace_free(&space);
	return space.has_failed ? -ENOMEM : 0;
}

int
frequency_estimate_in_order(struct frequency_estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	struct frequency *classes = calloc(estimation->class_count + 1, sizeof(*classes));
	int err;

	if (!classes)
		return -ENOMEM;
	err = estimate_classes(estimation, classes);
	for (size_t i = 0; i < graph->block_count && !err; i++)
		estimation->result->blocks[i] = classes[estimation->block_classes[i]];
	for (size_t i = 0; i < graph->edge_count && !err; i++)
		estimation->result->edges[i] = classes[estimation->edge_classes[i]];
	free(classes);
	return err ? err : frequency_complete(estimation, NULL);
}
