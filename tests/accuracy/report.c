#include "tests/accuracy/report.h"

#include <stdio.h>

struct score
report_mean(const struct result *results, size_t count, enum source source, bool of_kernels)
{
	struct score mean = {0};

	for (size_t i = 0; i < count; i++)
		if (results[i].is_kernel == of_kernels)
			score_add_mean(&mean, &results[i].scores[source]);
	return mean;
}

static void
print_heading(enum source source)
{
	printf("\n%-34s %5s %7s | %-21s| %-21s| %-12s| %-12s| %-24s\n", source_name(source), "", "", "blocks, relative",
	       "blocks, absolute", "one scale", "edges, rel.", "within 15 %: of what share");
	printf("%-34s %5s %7s | %3s %3s %3s %3s %3s  | %3s %3s %3s %3s %3s  | %3s %3s %3s | %3s %3s %3s | %-12s %-12s "
	       "%-12s\n",
	       "", "procs", "samples", "5", "10", "15", "25", "50", "5", "10", "15", "25", "50", "10", "25", "50", "10",
	       "25", "50", "low", "medium", "high");
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

void
report_line(const char *name, const struct score *score)
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
report_text(const struct result *results, size_t count, enum source source)
{
	const struct score kernels = report_mean(results, count, source, true);
	const struct score real = report_mean(results, count, source, false);

	print_heading(source);
	for (size_t i = 0; i < count; i++)
		report_line(results[i].name, &results[i].scores[source]);
	if (kernels.procedures)
		report_line("mean of kernels", &kernels);
	if (real.procedures)
		report_line("mean of real programs", &real);
}
