/* What the sets are, what noise was taken for, who stands out, and what is missing. */
#include "dcpi-tools/stats/foot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

#define ROWS_NAMED   5 /* marked ones whose outliers are named */
#define SECOND_NS    1e9
#define SETS_NAMED   8 /* of each */
#define SETS_LISTED  64
#define SHARED_NAMED 3    /* pairs of sets */
#define NOTABLE_PART 0.01 /* of a set's samples that are unknown or lost */

/* A paragraph's heading once, then blanks below it. */
static void
begin_line(const struct output *output, const char **heading)
{
	fprintf(output->stream, "%s%-9s%s ", output_style(output, STYLE_FAINT), *heading,
	        output_plain(output, STYLE_FAINT));
	*heading = "";
}

static void
print_sets(const struct report *report, const struct output *output)
{
	const size_t count = report->sets->count;
	const char *heading = "Sets:";
	char range[2 * TIME_TEXT_SIZE];

	for (size_t i = 0; i < count && i < SETS_LISTED; i++) {
		const struct selection_match *match = &report->details[i].match;

		begin_line(output, &heading);
		fprintf(output->stream, "%zu ", i + 1);
		text_print(report->sets->sets[i].title, output->stream);
		fprintf(output->stream, ": %s, epoch%s %" PRIu32,
		        time_format_range(match->start_ns, match->end_ns, range),
		        match->last_epoch > match->first_epoch ? "s" : "", match->first_epoch);
		if (match->last_epoch > match->first_epoch)
			fprintf(output->stream, " to %" PRIu32, match->last_epoch);
		if (report->request->normalization == NORMALIZE_TIME)
			fprintf(output->stream, ", %.3f s", (double)stats_report_time_ns(report, i) / SECOND_NS);
		if (fabs(report->factors[i] - 1) > 1e-9)
			fprintf(output->stream, ", counts times %.4g", report->factors[i]);
		fputc('\n', output->stream);
	}
	if (count > SETS_LISTED) {
		begin_line(output, &heading);
		fprintf(output->stream, "and %zu more\n", count - SETS_LISTED);
	}
}

/* What was counted is divided by, and, where it is not what one would want, why. */
static void
print_time(const struct report *report, const struct output *output)
{
	const size_t count = report->sets->count;
	const char *heading = "Time:";
	size_t labelled = 0, unknown = 0, first = 0;

	if (report->request->normalization != NORMALIZE_TIME)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct stats_set *details = &report->details[i];

		labelled += details->is_labelled;
		if (details->is_labelled && !details->run.is_known && unknown++ == 0)
			first = i;
	}
	begin_line(output, &heading);
	if (labelled == 0 || unknown > 0)
		fputs("counts are divided by the length of the slices that a set has samples in", output->stream);
	else
		fputs("counts are divided by how long the runs of a set lasted", output->stream);
	if (labelled > 0 && labelled < count && unknown == 0)
		fputs(", without a label by the length of its slices", output->stream);
	if (unknown > 0) {
		fprintf(output->stream, ": how long runs lasted is not known of set %zu (", first + 1);
		text_print(report->sets->sets[first].title, output->stream);
		fputc(')', output->stream);
	}
	if (unknown > 1)
		fprintf(output->stream, " and %zu more", unknown - 1);
	fputc('\n', output->stream);
}

static void
print_weights(const struct report *report, const struct output *output)
{
	const char *heading = "Weights:";

	for (size_t i = 0; i < report->sets->count && i < SETS_LISTED; i++) {
		if (!report->details[i].weights[0])
			continue;
		begin_line(output, &heading);
		fprintf(output->stream, "set %zu: ", i + 1);
		text_print(report->details[i].weights, output->stream);
		fputc('\n', output->stream);
	}
}

/* "2.8%", with two digits whatever its size. */
static void
print_percent(const char *before, double part, FILE *stream)
{
	fprintf(stream, "%s%.2g%%", before, 100 * part);
}

static void
print_noise(const struct report *report, const struct output *output)
{
	const struct request *request = report->request;
	const struct variation *variation = &report->variation;
	const char *heading = "Noise:", *name = stats_report_row_name(report),
		   *plural = variation->tested == 1 ? "" : "s";

	begin_line(output, &heading);
	fputs("sampling", output->stream);
	if (variation->noise > 0)
		print_percent(", and ", variation->noise, output->stream);
	if (request->noise > 0)
		fputs(" from set to set, as was said", output->stream);
	if (request->noise < 0) {
		print_percent(" from set to set (", variation->noise_least, output->stream);
		print_percent(" to ", variation->noise_most, output->stream);
		fprintf(output->stream, "): by th%s %zu %s%s and ", variation->tested == 1 ? "is" : "ese",
		        variation->tested, name, plural);
		run_history_print(&report->history, output->stream);
	}
	fputc('\n', output->stream);
	begin_line(output, &heading);
	fprintf(output->stream, "* p <= %g: varies more%s. Holm's p of %zu %s%s\n", request->p,
	        request->noise < 0 ? " than what has a noise like the others'" : " (chi-square of counts)",
	        variation->tested, name, plural);
}

static void
print_outlying_set(const struct report *report, size_t set, FILE *stream)
{
	double part = 0;
	const struct report_row *reason = stats_report_outlier_reason(report, set, &part);

	fprintf(stream, "set %zu (", set + 1);
	text_print(report->sets->sets[set].title, stream);
	fprintf(stream, "): %.0f samples, %.1f%% %s the median", report->totals[set], 100 * fabs(report->above[set]),
	        report->above[set] > 0 ? "above" : "below");
	if (reason) {
		fprintf(stream, "; %.0f%% of it is ", 100 * fmin(part, 1));
		text_print(reason->row->title ? reason->row->title : reason->row->path, stream);
	}
	fputc('\n', stream);
}

/* "smooth_: set 5 +97%, set 8 +98%" */
static void
print_outlying_counts(const struct report_row *row, const double *above, size_t count, FILE *stream)
{
	const char *separator = ": ";
	size_t named = 0;

	text_print(row->row->title ? row->row->title : row->row->path, stream);
	for (size_t i = 0; i < count; i++) {
		if (above[i] == 0 || ++named > SETS_NAMED)
			continue;
		fprintf(stream, "%sset %zu %+.0f%%", separator, i + 1, 100 * above[i]);
		separator = ", ";
	}
	fprintf(stream, "%s\n", named > SETS_NAMED ? ", ..." : "");
}

static bool
has_outlier(const double *above, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (above[i] != 0)
			return true;
	return false;
}

static int
print_outliers(const struct report *report, const struct output *output)
{
	const size_t count = report->sets->count;
	double *above = calloc(count, sizeof(*above));
	const char *heading = "Outliers:";
	size_t named = 0;
	int err = above ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++) {
		if (report->above[i] == 0)
			continue;
		begin_line(output, &heading);
		print_outlying_set(report, i, output->stream);
	}
	for (size_t i = 0; i < report->shown && named < ROWS_NAMED && !err; i++) {
		if (!report->list[i].is_marked)
			continue;
		err = stats_report_row_outliers(report, &report->list[i], above);
		if (err || !has_outlier(above, count))
			continue;
		begin_line(output, &heading);
		print_outlying_counts(&report->list[i], above, count, output->stream);
		named++;
	}
	free(above);
	return err;
}

/* Two stretches of time may meet in a slice, which both take whole. */
static bool
share_time(const struct report *report, size_t left, size_t right)
{
	const struct profile_set *sets = report->sets->sets;
	const struct selection_match *a = &report->details[left].match, *b = &report->details[right].match;

	return report->sets->kind == SET_TIME && strcmp(sets[left].directory, sets[right].directory) == 0 &&
	       a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

static void
print_shared(const struct report *report, const struct output *output)
{
	const char *heading = "Shared:";
	size_t named = 0;

	for (size_t i = 0; i < report->sets->count; i++) {
		for (size_t j = i + 1; j < report->sets->count; j++) {
			if (!share_time(report, i, j) || ++named > SHARED_NAMED)
				continue;
			begin_line(output, &heading);
			fprintf(output->stream,
			        "sets %zu and %zu have samples in common: what the database keeps of a stretch of time "
			        "is "
			        "taken whole\n",
			        i + 1, j + 1);
		}
	}
}

static void
print_missing(const struct report *report, const struct output *output)
{
	const char *heading = "Missing:";

	for (size_t i = 0; i < report->sets->count && i < SETS_LISTED; i++) {
		const struct stats_set *details = &report->details[i];

		if ((double)(details->unknown + details->lost) <= NOTABLE_PART * (double)details->samples)
			continue;
		begin_line(output, &heading);
		fprintf(output->stream, "set %zu: %" PRIu64 " unknown, %" PRIu64 " lost while it was sampled\n", i + 1,
		        details->unknown, details->lost);
	}
	if (report->few > 0) {
		begin_line(output, &heading);
		fprintf(output->stream,
		        "%zu %s%s with less than %d samples a set, %.2f%% of all, which cannot be told from noise "
		        "(--all "
		        "shows them)\n",
		        report->few, stats_report_row_name(report), report->few == 1 ? "" : "s", VARIATION_LEAST,
		        report->few_percent);
	}
}

int
foot_print(const struct report *report, const struct output *output)
{
	int err;

	fputc('\n', output->stream);
	print_sets(report, output);
	print_time(report, output);
	print_weights(report, output);
	print_noise(report, output);
	err = print_outliers(report, output);
	if (!err)
		print_missing(report, output);
	print_shared(report, output);
	return err;
}
