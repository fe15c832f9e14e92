/*
 * Estimates beside exact counts in procedures of real programs: tests/recorded/accuracy/ has their code, real
 * samples of a clock, and what was counted (docs/accuracy.md). A floor is what the histogram must not fall below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/accuracy/specimen.h"

#define DIRECTORY "tests/recorded/accuracy/"

static const char *const programs[] = {"bzip2", "lua", "lzma", "sqlite", "zlib", "zstd"};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

enum recorded_source { SAMPLES, BURSTS, EXACT, SOURCES };

struct recorded_scores {
	struct accuracy_score mean[SOURCES]; /* of the programs */
	size_t procedures;
};

static struct frequencies
estimate(const struct specimen *specimen, enum recorded_source source)
{
	struct frequency_input input = specimen_input(specimen);
	struct frequencies result;

	if (source == BURSTS)
		input.bursts = specimen->burst_edges;
	if (source == EXACT) {
		input.block_counts = specimen->block_counts;
		input.edge_counts = specimen->edge_counts;
	}
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	return result;
}

/* Weights are samples, moved back by the exact flow. */
static struct score_item *
block_items(const struct specimen *specimen, const struct frequencies *result, const struct frequencies *exact)
{
	const struct flow_graph *graph = specimen->graph;
	struct score_item *items = calloc(graph->block_count + 1, sizeof(*items));

	assert_non_null(items);
	for (size_t i = 0; i < graph->block_count; i++) {
		items[i] = (struct score_item){
			.estimate = result->blocks[i].value,
			.truth = (double)specimen->block_counts[i],
			.confidence = result->blocks[i].confidence,
		};
		for (uint32_t k = 0; k < graph->blocks[i].count; k++)
			items[i].weight += exact->samples[graph->blocks[i].first + k];
	}
	return items;
}

static struct score_item *
edge_items(const struct specimen *specimen, const struct frequencies *result)
{
	struct score_item *items = calloc(specimen->graph->edge_count + 1, sizeof(*items));

	assert_non_null(items);
	for (size_t i = 0; i < specimen->graph->edge_count; i++)
		items[i] = (struct score_item){
			.weight = (double)specimen->edge_counts[i],
			.estimate = result->edges[i].value,
			.truth = (double)specimen->edge_counts[i],
			.confidence = result->edges[i].confidence,
		};
	return items;
}

static void
score_specimen(const struct specimen *specimen, enum recorded_source source, struct accuracy_score *score)
{
	struct frequencies result = estimate(specimen, source), exact = estimate(specimen, EXACT);
	struct score_item *blocks = block_items(specimen, &result, &exact), *edges = edge_items(specimen, &result);
	const struct score_procedure procedure = {
		.blocks = blocks,
		.block_count = specimen->graph->block_count,
		.edges = edges,
		.edge_count = specimen->graph->edge_count,
	};

	score_add(score, &procedure);
	free(blocks);
	free(edges);
	frequencies_fini(&result);
	frequencies_fini(&exact);
}

static void
score_program(const char *program, struct recorded_scores *scores)
{
	struct accuracy_score own[SOURCES] = {0};
	struct specimen specimen;
	char path[128];
	FILE *file;
	int err;

	snprintf(path, sizeof(path), DIRECTORY "%s.txt", program);
	file = fopen(path, "re");
	assert_non_null(file);
	while ((err = specimen_read(file, &specimen)) == 1) {
		assert_non_null(specimen.burst_edges);
		for (int source = 0; source < SOURCES; source++)
			score_specimen(&specimen, source, &own[source]);
		scores->procedures++;
		specimen_fini(&specimen);
	}
	assert_int_equal(err, 0);
	specimen_fini(&specimen);
	fclose(file);
	for (int source = 0; source < SOURCES; source++)
		score_add_mean(&scores->mean[source], &own[source]);
}

static int
score_all(void **state)
{
	static const char *const names[SOURCES] = {"samples", "bursts", "exact"};
	struct recorded_scores *scores = calloc(1, sizeof(*scores));

	*state = scores;
	if (!scores)
		return -1;
	for (size_t i = 0; i < PROGRAMS; i++)
		score_program(programs[i], scores);
	for (int source = 0; source < SOURCES; source++) {
		const struct accuracy_score *mean = &scores->mean[source];

		printf("# %s: blocks within 10/15/50 %%: %.1f %.1f %.1f; edges %.1f %.1f %.1f; medium within 15 %%: "
		       "%.1f; high: %.1f\n",
		       names[source], histogram_percent(&mean->relative, 1), histogram_percent(&mean->relative, 2),
		       histogram_percent(&mean->relative, 4), histogram_percent(&mean->edges_relative, 1),
		       histogram_percent(&mean->edges_relative, 2), histogram_percent(&mean->edges_relative, 4),
		       histogram_percent(&mean->by_confidence[CONFIDENCE_MEDIUM], 2),
		       histogram_percent(&mean->by_confidence[CONFIDENCE_HIGH], 2));
	}
	return 0;
}

static int
free_scores(void **state)
{
	free(*state);
	return 0;
}

#define AT_LEAST(percent, floor) assert_true((percent) >= (floor))

static void
every_program_has_recorded_procedures(void **state)
{
	const struct recorded_scores *scores = *state;

	assert_true(scores->procedures >= 3 * PROGRAMS);
}

static void
samples_alone_keep_their_floor(void **state)
{
	const struct accuracy_score *mean = &((const struct recorded_scores *)*state)->mean[SAMPLES];

	AT_LEAST(histogram_percent(&mean->relative, 1), 55);
	AT_LEAST(histogram_percent(&mean->relative, 4), 75);
}

static void
bursts_keep_their_floor(void **state)
{
	const struct accuracy_score *mean = &((const struct recorded_scores *)*state)->mean[BURSTS];

	AT_LEAST(histogram_percent(&mean->relative, 1), 75);
	AT_LEAST(histogram_percent(&mean->relative, 4), 93);
}

static void
exact_counts_are_exact(void **state)
{
	const struct accuracy_score *mean = &((const struct recorded_scores *)*state)->mean[EXACT];

	AT_LEAST(histogram_percent(&mean->relative, 0), 99.999);
	AT_LEAST(histogram_percent(&mean->edges_relative, 0), 99.999);
}

static void
what_is_called_high_or_medium_is(void **state)
{
	const struct recorded_scores *scores = *state;

	for (int source = SAMPLES; source <= BURSTS; source++) {
		const struct error_histogram *histograms = scores->mean[source].by_confidence;

		if (histograms[CONFIDENCE_MEDIUM].weight > 0)
			AT_LEAST(histogram_percent(&histograms[CONFIDENCE_MEDIUM], 2), 60);
		if (histograms[CONFIDENCE_HIGH].weight > 0)
			AT_LEAST(histogram_percent(&histograms[CONFIDENCE_HIGH], 2), 80);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program_has_recorded_procedures),
		cmocka_unit_test(samples_alone_keep_their_floor),
		cmocka_unit_test(bursts_keep_their_floor),
		cmocka_unit_test(exact_counts_are_exact),
		cmocka_unit_test(what_is_called_high_or_medium_is),
	};

	return cmocka_run_group_tests(tests, score_all, free_scores);
}
