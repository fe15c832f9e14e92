/*
 * accuracy - how near estimated frequencies are to exact counts, in recordings that tests/accuracy/record made
 *
 * accuracy [--least SAMPLES] [--procedures] [--models DIRECTORY] RECORDING...
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/accuracy/recording.h"

struct options {
	const char *models;
	uint64_t least;
	bool procedures; /* a line each */
};

struct counted {
	const struct options *options;
	struct score score;
};

static void
print_heading(void)
{
	printf("%-34s %5s %7s | %-21s| %-21s| %-12s| %-24s\n", "", "", "", "blocks, relative", "blocks, absolute",
	       "edges, rel.", "within 15 %: of what share");
	printf("%-34s %5s %7s | %3s %3s %3s %3s %3s  | %3s %3s %3s %3s %3s  | %3s %3s %3s | %-12s %-12s %-12s\n", "",
	       "procs", "samples", "5", "10", "15", "25", "50", "5", "10", "15", "25", "50", "10", "25", "50", "low",
	       "medium", "high");
}

static void
print_share(const struct score *score, unsigned confidence)
{
	const struct histogram *histogram = &score->by_confidence[confidence];

	if (histogram->weight > 0)
		printf(" %3.0f of %3.0f %% ", histogram_percent(histogram, 2),
		       100 * histogram->weight / score->relative.weight);
	else
		printf("  -           ");
}

static void
print_score(const char *name, const struct score *score)
{
	printf("%-34.34s %5zu %7.0f |", name, score->procedures, score->samples);
	for (size_t k = 0; k < SCORE_LIMITS; k++)
		printf(" %3.0f", histogram_percent(&score->relative, k));
	printf("  |");
	for (size_t k = 0; k < SCORE_LIMITS; k++)
		printf(" %3.0f", histogram_percent(&score->absolute, k));
	printf("  | %3.0f %3.0f %3.0f |", histogram_percent(&score->edges_relative, 1),
	       histogram_percent(&score->edges_relative, 3), histogram_percent(&score->edges_relative, 4));
	for (unsigned confidence = CONFIDENCE_LOW; confidence <= CONFIDENCE_HIGH; confidence++)
		print_share(score, confidence);
	printf("\n");
}

/* By how much estimates are too high, absolutely, where they are right relative to one another. */
static double
absolute_factor(const struct score_procedure *procedure)
{
	return procedure->absolute / score_best_scale(procedure->blocks, procedure->block_count);
}

static void
count_procedure(const struct visited *visited, void *user)
{
	struct counted *counted = user;
	char name[64];

	score_add(&counted->score, &visited->score);
	if (counted->options->procedures) {
		struct score own = {0};

		score_add(&own, &visited->score);
		snprintf(name, sizeof(name), "  %.23s%s x%.2f", visited->name,
		         visited->exact->graph->is_complete ? "" : "?", absolute_factor(&visited->score));
		print_score(name, &own);
	}
}

static int
print_source(const struct options *options, enum source source, char **paths, int count)
{
	struct score real = {0}, kernels = {0};

	printf("\n%s\n", source_name(source));
	print_heading();
	for (int i = 0; i < count; i++) {
		struct recording *recording = recording_open(paths[i], options->models);
		struct counted counted = {.options = options};

		if (!recording)
			return EXIT_FAILURE;
		if (recording_visit(recording, source, options->least, count_procedure, &counted))
			return EXIT_FAILURE;
		print_score(recording_name(recording), &counted.score);
		score_add_mean(strncmp(recording_name(recording), "kernel.", 7) == 0 ? &kernels : &real,
		               &counted.score);
		recording_close(recording);
	}
	if (kernels.procedures)
		print_score("mean of kernels", &kernels);
	if (real.procedures)
		print_score("mean of real programs", &real);
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	static const struct option options_long[] = {
		{"least", required_argument, NULL, 'l'},
		{"procedures", no_argument, NULL, 'p'},
		{"models", required_argument, NULL, 'm'},
		{0},
	};
	struct options options = {.models = "config/cpus", .least = 200};
	int option, status;

	while ((option = getopt_long(argc, argv, "", options_long, NULL)) != -1) {
		if (option == 'l')
			options.least = strtoull(optarg, NULL, 10);
		else if (option == 'p')
			options.procedures = true;
		else if (option == 'm')
			options.models = optarg;
		else
			return 2;
	}
	status = print_source(&options, SOURCE_SAMPLES, argv + optind, argc - optind);
	if (!status)
		status = print_source(&options, SOURCE_BURSTS, argv + optind, argc - optind);
	return status;
}
