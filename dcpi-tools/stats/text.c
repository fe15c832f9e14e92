/*
 * The table has the layout of figure 3 of the DCPI paper, with a p-value. Below it: what the sets are, which noise was
 * assumed, which sets and counts are outliers, and what is missing.
 */
#include "dcpi-tools/stats/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"

#define SETS_A_LINE     4
#define PROCEDURE_WIDTH 50 /* columns that names are aligned in */
#define LEAST_P         1e-4
#define COLUMNS_MAX     12
#define ROWS_NAMED      5 /* marked ones whose outliers are named */
#define SECOND_NS       1e9
#define SETS_NAMED      8 /* of each */
#define SETS_LISTED     64
#define SHARED_NAMED    3    /* pairs of sets */
#define NOTABLE_PART    0.01 /* of a set's samples that are unknown or lost */

/* ---- The table ---- */

static size_t
digits(uint64_t number)
{
	size_t count = 1;

	while (number >= 10) {
		number /= 10;
		count++;
	}
	return count;
}

/* "set 1 = 860301   set 2 = 862645   ...            TOTAL      7144601", four sets a line. */
static void
print_totals(const struct stats_report *report, FILE *stream)
{
	const size_t count = report->sets->count;
	uint64_t total = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		total += report->details[i].total.count;
		most = report->details[i].total.count > most ? report->details[i].total.count : most;
	}
	fputs("Number of samples of type ", stream);
	text_print(report->event, stream);
	fputc('\n', stream);
	for (size_t i = 0; i < count; i++) {
		const size_t width = digits(i + 1) + digits(report->details[i].total.count);
		const bool ends = i % SETS_A_LINE == SETS_A_LINE - 1 || i + 1 == count;

		fprintf(stream, "set %zu = %" PRIu64, i + 1, report->details[i].total.count);
		if (!ends || i < SETS_A_LINE)
			fprintf(stream, "%*s", (int)(digits(count) + digits(most) - width), "");
		if (ends && i < SETS_A_LINE)
			fprintf(stream, "            TOTAL      %" PRIu64, total);
		fputs(ends ? "\n" : "   ", stream);
	}
}

static void
print_head(const struct stats_report *report, FILE *stream)
{
	static const char *const scaled[] = {
		[NORMALIZE_NONE] = "",
		[NORMALIZE_TOTAL] = ", scaled to sets of the same total,",
		[NORMALIZE_TIME] = ", scaled to sets of the same length,",
	};

	print_totals(report, stream);
	fprintf(stream,
	        "\nStatistics calculated using the sample counts%s for each %s from %zu different sample set(s)\n",
	        scaled[report->request->normalization], stats_report_row_name(report), report->sets->count);
}

static struct table *
make_table(const struct stats_report *report)
{
	static const struct {
		const char *heading;
		size_t width;
	} numbers[] = {{"range%", 8},   {"sum", 10}, {"sum%", 8}, {"N", 5}, {"mean", 10},
	               {"std-dev", 10}, {"min", 10}, {"max", 10}, {"p ", 8}};
	struct table_column columns[COLUMNS_MAX];
	size_t count = 0;

	for (; count < sizeof(numbers) / sizeof(numbers[0]); count++)
		columns[count] = (struct table_column){.heading = numbers[count].heading,
		                                       .align = TABLE_RIGHT,
		                                       .gap = 1,
		                                       .min_width = numbers[count].width};
	if (report->request->kind != ROW_IMAGE)
		columns[count++] = (struct table_column){.heading = stats_report_row_name(report),
		                                         .cut = TABLE_CUT_END,
		                                         .gap = 2,
		                                         .max_width = PROCEDURE_WIDTH};
	columns[count++] = (struct table_column){.heading = "image", .cut = TABLE_CUT_START, .gap = 2};
	return table_new(columns, count);
}

static void
fill_p(struct table *table, const struct stats_report_row *row, enum style style)
{
	const char *mark = row->is_marked ? "*" : " ";

	if (!row->variation.is_tested)
		table_text(table, STYLE_FAINT, "- ");
	else if (row->variation.p < LEAST_P)
		table_format(table, style, "<%.4f%s", LEAST_P, mark);
	else
		table_format(table, style, "%.4f%s", row->variation.p, mark);
}

static void
fill_table(const struct stats_report *report, struct table *table)
{
	for (size_t i = 0; i < report->shown; i++) {
		const struct stats_report_row *row = &report->list[i];
		const struct variation_row *values = &row->variation;
		const enum style style = row->is_marked ? STYLE_HOT : STYLE_PLAIN;

		table_format(table, style, "%.2f%%", 100 * values->range);
		table_format(table, STYLE_PLAIN, "%.2f", values->sum);
		table_format(table, STYLE_PLAIN, "%.2f%%", 100 * values->sum / report->total);
		table_format(table, STYLE_PLAIN, "%zu", values->set_count);
		table_format(table, STYLE_PLAIN, "%.2f", values->mean);
		table_format(table, STYLE_PLAIN, "%.2f", values->deviation);
		table_format(table, STYLE_PLAIN, "%.2f", values->least);
		table_format(table, STYLE_PLAIN, "%.2f", values->most);
		fill_p(table, row, style);
		if (row->row->title)
			table_text(table, style, row->row->title);
		table_text(table, STYLE_PLAIN, row->row->path);
	}
}

/* ---- The footer ---- */

/* Begin a line of the footer: the heading on the first of a paragraph, blanks on the next. */
static void
begin_line(const struct output *output, const char **heading)
{
	fprintf(output->stream, "%s%-9s%s ", output_style(output, STYLE_FAINT), *heading,
	        output_plain(output, STYLE_FAINT));
	*heading = "";
}

static void
print_sets(const struct stats_report *report, const struct output *output)
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

/* The time that counts are divided by, and why it is not that of the runs where it is not. */
static void
print_time(const struct stats_report *report, const struct output *output)
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
print_weights(const struct stats_report *report, const struct output *output)
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
print_noise(const struct stats_report *report, const struct output *output)
{
	const struct stats_request *request = report->request;
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

/* How far set `set` of a row is above its median, as a part of that, if it is an outlier; else 0. 0 or -ENOMEM. */
static int
find_row_outliers(const struct stats_report *report, const struct stats_report_row *row, double *above)
{
	const size_t count = report->sets->count;
	double *values = calloc(2 * count, sizeof(*values)), *factors, median;
	int err;

	if (!values)
		return -ENOMEM;
	factors = values + count;
	for (size_t i = 0; i < count; i++) {
		values[i] = (double)row->row->counts[i] * report->factors[i];
		factors[i] = report->factors[i] * row->weights[i];
	}
	err = variation_outliers(values, factors, count, row->variation.noise, &median, above);
	free(values);
	return err;
}

/* The row that has most of an outlying set's distance, and which part of it; NULL: there is none. */
static const struct stats_report_row *
find_outlier_reason(const struct stats_report *report, size_t set, double *part)
{
	const double distance = report->totals[set] - report->median_total;
	const size_t count = report->sets->count;
	double *values = calloc(count, sizeof(*values)), most = 0;
	const struct stats_report_row *reason = NULL;

	for (size_t i = 0; i < report->row_count && values; i++) {
		const struct stats_report_row *row = &report->list[i];
		double own;

		for (size_t j = 0; j < count; j++)
			values[j] = (double)row->row->counts[j] * report->factors[j];
		own = values[set];
		own = (own - statistics_median(values, count)) / distance;
		if (own <= most)
			continue;
		most = own;
		reason = row;
	}
	free(values);
	*part = most;
	return reason;
}

static void
print_outlying_set(const struct stats_report *report, size_t set, FILE *stream)
{
	double part = 0;
	const struct stats_report_row *reason = find_outlier_reason(report, set, &part);

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
print_outlying_counts(const struct stats_report_row *row, const double *above, size_t count, FILE *stream)
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
print_outliers(const struct stats_report *report, const struct output *output)
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
		err = find_row_outliers(report, &report->list[i], above);
		if (err || !has_outlier(above, count))
			continue;
		begin_line(output, &heading);
		print_outlying_counts(&report->list[i], above, count, output->stream);
		named++;
	}
	free(above);
	return err;
}

/* Two ranges of time may share a slice, which is a part of both as a whole. */
static bool
share_time(const struct stats_report *report, size_t left, size_t right)
{
	const struct profile_set *sets = report->sets->sets;
	const struct selection_match *a = &report->details[left].match, *b = &report->details[right].match;

	return report->sets->kind == SET_TIME && strcmp(sets[left].directory, sets[right].directory) == 0 &&
	       a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

static void
print_shared(const struct stats_report *report, const struct output *output)
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
			        "is taken whole\n",
			        i + 1, j + 1);
		}
	}
}

static void
print_missing(const struct stats_report *report, const struct output *output)
{
	const char *heading = "Missing:";

	for (size_t i = 0; i < report->sets->count && i < SETS_LISTED; i++) {
		const struct stats_set *details = &report->details[i];

		if ((double)(details->unknown + details->lost) <= NOTABLE_PART * (double)details->total.count)
			continue;
		begin_line(output, &heading);
		fprintf(output->stream, "set %zu: %" PRIu64 " unknown, %" PRIu64 " lost while it was sampled\n", i + 1,
		        details->unknown, details->lost);
	}
	if (report->few > 0) {
		begin_line(output, &heading);
		fprintf(output->stream,
		        "%zu %s%s with less than %d samples a set, %.2f%% of all, which cannot be distinguished from "
		        "noise (--all shows them)\n",
		        report->few, stats_report_row_name(report), report->few == 1 ? "" : "s", VARIATION_LEAST,
		        report->few_percent);
	}
}

static int
print_footer(const struct stats_report *report, const struct output *output)
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

/* ---- All ---- */

int
stats_report_print_text(const struct stats_report *report, const struct output *output)
{
	const bool header = report->request->options.header;
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	fill_table(report, table);
	if (header) {
		print_head(report, output->stream);
		table_print_rule(table, output);
	}
	err = table_print(table, output, header);
	if (!err && header)
		err = print_footer(report, output);
	table_free(table);
	return err;
}
