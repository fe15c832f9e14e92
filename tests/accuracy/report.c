#include "tests/accuracy/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The mean of the kernels, or of the others. */
static struct accuracy_score
mean_of(const struct accuracy_result *results, size_t count, enum accuracy_source source, bool of_kernels)
{
	struct accuracy_score mean = {0};

	for (size_t i = 0; i < count; i++)
		if (results[i].is_kernel == of_kernels)
			score_add_mean(&mean, &results[i].scores[source]);
	return mean;
}

static void
print_heading(enum accuracy_source source)
{
	printf("\n%-34s %5s %7s | %-21s| %-21s| %-12s| %-12s| %-24s\n", source_name(source), "", "", "blocks, relative",
	       "blocks, absolute", "one scale", "edges, rel.", "within 15 %: of what share");
	printf("%-34s %5s %7s | %3s %3s %3s %3s %3s  | %3s %3s %3s %3s %3s  | %3s %3s %3s | %3s %3s %3s | %-12s %-12s "
	       "%-12s\n",
	       "", "procs", "samples", "5", "10", "15", "25", "50", "5", "10", "15", "25", "50", "10", "25", "50", "10",
	       "25", "50", "low", "medium", "high");
}

static void
print_share(const struct accuracy_score *score, unsigned confidence)
{
	const struct error_histogram *histogram = &score->by_confidence[confidence];

	if (histogram->weight > 0)
		printf(" %3.0f of %3.0f %% ", histogram_percent(histogram, 2),
		       100 * histogram->weight / score->relative.weight);
	else
		printf("  -           ");
}

void
report_line(const char *name, const struct accuracy_score *score)
{
	printf("%-34.34s %5zu %7.0f |", name, score->procedures, score->samples);
	for (size_t k = 0; k < SCORE_LIMITS; k++)
		printf(" %3.0f", histogram_percent(&score->relative, k));
	printf("  |");
	for (size_t k = 0; k < SCORE_LIMITS; k++)
		printf(" %3.0f", histogram_percent(&score->absolute, k));
	printf("  | %3.0f %3.0f %3.0f | %3.0f %3.0f %3.0f |", histogram_percent(&score->program, 1),
	       histogram_percent(&score->program, 3), histogram_percent(&score->program, 4),
	       histogram_percent(&score->edges_relative, 1), histogram_percent(&score->edges_relative, 3),
	       histogram_percent(&score->edges_relative, 4));
	for (unsigned confidence = CONFIDENCE_LOW; confidence <= CONFIDENCE_HIGH; confidence++)
		print_share(score, confidence);
	printf("\n");
}

void
report_text(const struct accuracy_result *results, size_t count, enum accuracy_source source)
{
	const struct accuracy_score kernels = mean_of(results, count, source, true);
	const struct accuracy_score real = mean_of(results, count, source, false);

	print_heading(source);
	for (size_t i = 0; i < count; i++)
		report_line(results[i].name, &results[i].scores[source]);
	if (kernels.procedures)
		report_line("mean of kernels", &kernels);
	if (real.procedures)
		report_line("mean of real programs", &real);
}

/* The tables between the marks of docs/accuracy.md. */

static const char *const source_titles[SOURCE_COUNT] = {"samples alone", "samples and bursts", "exact counts"};

static void
print_histogram(const struct error_histogram *histogram)
{
	for (size_t k = 0; k < SCORE_LIMITS; k++)
		printf(" %.0f |", histogram_percent(histogram, k));
	printf(" %.0f |\n", histogram->weight > 0 ? 100 * histogram->within_twice / histogram->weight : 0);
}

/* A way to be right, one row for each source; exact counts need no factor. */
static void
print_way(const char *name, const struct accuracy_result *results, size_t count, bool of_kernels, size_t offset)
{
	const bool is_absolute = strstr(name, "absolute");

	for (unsigned source = 0; source < (is_absolute ? SOURCE_COUNT : SOURCE_EXACT); source++) {
		const struct accuracy_score mean = mean_of(results, count, source, of_kernels);

		printf("| %s | %s |", name, source_titles[source]);
		print_histogram((const struct error_histogram *)(const void *)((const char *)&mean + offset));
	}
}

static void
print_means(const struct accuracy_result *results, size_t count, bool of_kernels)
{
	printf("| mean of %s | from | 5 %% | 10 %% | 15 %% | 25 %% | 50 %% | x2 |\n|---|---|---|---|---|---|---|---|\n",
	       of_kernels ? "the kernels" : "the real programs");
	print_way("blocks, relative", results, count, of_kernels, offsetof(struct accuracy_score, relative));
	print_way("blocks, one scale a program", results, count, of_kernels, offsetof(struct accuracy_score, program));
	print_way("blocks, absolute", results, count, of_kernels, offsetof(struct accuracy_score, absolute));
	print_way("edges, relative", results, count, of_kernels, offsetof(struct accuracy_score, edges_relative));
	print_way("edges, absolute", results, count, of_kernels, offsetof(struct accuracy_score, edges_absolute));
	if (!of_kernels)
		printf("| DCPI: blocks, absolute | samples alone, in order | 73 | 87 | 92 | | | |\n"
		       "| DCPI: edges, absolute | samples alone, in order | | 58 | | | | |\n");
	printf("\n");
}

/* Where a tenth, half and nine tenths of the samples have estimates that are too high by less. */
static void
print_factors(const struct accuracy_result *results, size_t count)
{
	printf("Absolute estimates of procedures are too high, where they are right relative to one another, by\n"
	       "these factors (a tenth of the samples below, half, nine tenths):");
	for (unsigned source = 0; source < SOURCE_EXACT; source++) {
		const struct accuracy_score mean = mean_of(results, count, source, false);

		printf("%s %s %.1f, %.1f, %.1f", source ? ";" : "", source_titles[source], score_factor(&mean, 0.1),
		       score_factor(&mean, 0.5), score_factor(&mean, 0.9));
	}
	printf(".\n\n");
}

static void
print_confidences(const struct accuracy_result *results, size_t count)
{
	printf("| called | from | share of the samples | 5 %% | 10 %% | 15 %% | 25 %% | 50 %% | x2 |\n"
	       "|---|---|---|---|---|---|---|---|---|\n");
	for (unsigned source = 0; source < SOURCE_COUNT; source++) {
		const struct accuracy_score mean = mean_of(results, count, source, false);

		for (unsigned confidence = CONFIDENCE_LOW; confidence <= CONFIDENCE_EXACT; confidence++) {
			const struct error_histogram *histogram = &mean.by_confidence[confidence];

			if (histogram->weight <= 0)
				continue;
			printf("| %s | %s | %.0f %% |", frequency_confidence_name(confidence), source_titles[source],
			       100 * histogram->weight / mean.relative.weight);
			print_histogram(histogram);
		}
	}
	printf("\n");
}

static void
print_programs(const struct accuracy_result *results, size_t count)
{
	printf("| | procedures | samples | of the program's | samples alone: 10 %% | 15 %% | 50 %% | and bursts: 10 %% "
	       "| "
	       "15 %% | 50 %% | exact: 5 %% |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < count; i++) {
		const struct accuracy_result *result = &results[i];

		printf("| `%s` | %zu | %.0f | %.0f %% |", result->name, result->scores[0].procedures,
		       result->scores[0].samples,
		       result->samples > 0 ? 100 * result->scores[0].samples / result->samples : 0);
		for (unsigned source = 0; source < SOURCE_EXACT; source++)
			printf(" %.0f | %.0f | %.0f |", histogram_percent(&result->scores[source].relative, 1),
			       histogram_percent(&result->scores[source].relative, 2),
			       histogram_percent(&result->scores[source].relative, 4));
		printf(" %.0f |\n", histogram_percent(&result->scores[SOURCE_EXACT].absolute, 0));
	}
}

#define WORST 15

struct worst {
	const struct accuracy_result *result;
	const struct result_procedure *judged;
	double lost; /* samples that are not within a tenth */
};

static int
compare_worst(const void *a, const void *b)
{
	const struct worst *one = a, *other = b;

	return (one->lost < other->lost) - (one->lost > other->lost);
}

/* Where most samples of real programs are in blocks that are off by more than a tenth. */
static int
print_worst(const struct accuracy_result *results, size_t count)
{
	struct worst *worst;
	size_t all = 0, found = 0;

	for (size_t i = 0; i < count; i++)
		all += results[i].procedure_count;
	worst = calloc(all + 1, sizeof(*worst));
	if (!worst)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < results[i].procedure_count && !results[i].is_kernel; k++) {
			const struct result_procedure *judged = &results[i].procedures[k];
			const struct error_histogram *relative = &judged->relative[SOURCE_SAMPLES];

			worst[found++] = (struct worst){&results[i], judged, relative->weight - relative->within[1]};
		}
	qsort(worst, found, sizeof(*worst), compare_worst);
	printf("| the worst, from samples alone | procedure | samples | 10 %% | 50 %% | and bursts: 10 %% | 50 %% |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < found && i < WORST; i++) {
		const struct error_histogram *relative = worst[i].judged->relative;

		printf("| `%s` | `%s` | %.0f | %.0f | %.0f | %.0f | %.0f |\n", worst[i].result->name,
		       worst[i].judged->name, worst[i].judged->samples, histogram_percent(&relative[SOURCE_SAMPLES], 1),
		       histogram_percent(&relative[SOURCE_SAMPLES], 4), histogram_percent(&relative[SOURCE_BURSTS], 1),
		       histogram_percent(&relative[SOURCE_BURSTS], 4));
	}
	printf("\n");
	free(worst);
	return 0;
}

int
report_markdown(const struct accuracy_result *results, size_t count)
{
	int err;

	print_means(results, count, false);
	print_factors(results, count);
	print_confidences(results, count);
	err = print_worst(results, count);
	print_means(results, count, true);
	print_programs(results, count);
	return err;
}
