#include "dcpi-tools/stats/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/effective.h"
#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/stats/gather.h"

#define SAME_PERIOD 1e-9 /* parts that periods may differ by, for they are means */

bool
stats_report_divides_by_run(const struct report *report, size_t set)
{
	return report->details[set].is_labelled && report->knows_runs;
}

uint64_t
stats_report_time_ns(const struct report *report, size_t set)
{
	const struct stats_set *details = &report->details[set];

	return stats_report_divides_by_run(report, set) ? details->run.elapsed_ns : details->match.covered_ns;
}

/* What a count of set `set` stands for, before all are scaled so that a set has as many samples as it has on average.
 */
static double
worth(const struct report *report, size_t set)
{
	const struct stats_set *details = &report->details[set];
	const uint64_t time_ns = stats_report_time_ns(report, set);

	switch (report->request->normalization) {
	case NORMALIZE_TOTAL:
		return details->samples ? 1 / (double)details->samples : 1;
	case NORMALIZE_TIME:
		return (report->has_periods ? details->period : 1) / (time_ns ? (double)time_ns : 1);
	default:
		return report->has_periods ? details->period : 1;
	}
}

/* What a unit of worth is in samples: of the first set, or so that all sets together have as many as they have. */
static double
samples_a_worth(const struct report *report)
{
	double samples = 0, sum = 0;

	if (report->request->normalization == NORMALIZE_NONE)
		return 1 / worth(report, 0);
	for (size_t i = 0; i < report->sets->count; i++) {
		samples += (double)report->details[i].samples;
		sum += (double)report->details[i].samples * worth(report, i);
	}
	return sum > 0 ? samples / sum : 1;
}

/* Counts of one period are left as they are. */
static void
choose_factors(struct report *report)
{
	const size_t count = report->sets->count;

	report->has_periods = report->knows_runs = true;
	for (size_t i = 0; i < count; i++) {
		report->has_periods &= report->details[i].period > 0;
		report->knows_runs &= report->details[i].run.is_known || !report->details[i].is_labelled;
		report->is_scaled |= fabs(report->details[i].period / report->details[0].period - 1) > SAME_PERIOD;
	}
	report->is_scaled &= report->has_periods;
	for (size_t i = 0; i < count; i++) {
		report->factors[i] = 1;
		if (report->is_scaled || report->request->normalization != NORMALIZE_NONE)
			report->factors[i] = worth(report, i) * samples_a_worth(report);
		report->totals[i] = (double)report->details[i].samples * report->factors[i];
		report->total += report->totals[i];
	}
}

/* All samples of a set. `weight`: what one would count as if there were none. */
static struct effective_sample
whole_set(const struct stats_set *details, double weight)
{
	return (struct effective_sample){
		.count = details->samples,
		.taken = details->taken,
		.squares = details->squares,
		.unit = details->period,
		.is_random = details->is_random,
		.weight = weight,
	};
}

static void
weigh_sets(struct report *report, struct effective_sample *samples)
{
	const size_t sets = report->sets->count;

	for (size_t i = 0; i < sets; i++)
		samples[i] = whole_set(&report->details[i], 0);
	effective_weigh(samples, sets);
	for (size_t i = 0; i < sets; i++)
		report->weights[i] = samples[i].weight;
}

/* `others`: what the sets have besides the row. A row without samples in a set weighs there as all of the set does. */
static void
weigh_row(const struct report *report, const struct row *row, struct effective_sample *samples,
          struct effective_sample *others, double *weights)
{
	const size_t sets = report->sets->count;

	for (size_t i = 0; i < sets; i++) {
		const struct effective_sample whole = whole_set(&report->details[i], report->weights[i]);

		samples[i] = whole;
		samples[i].count = row->counts[i];
		samples[i].taken = row->taken[i];
		samples[i].squares = row->squares[i];
		others[i] = effective_rest(&whole, &samples[i]);
	}
	if (report->request->normalization == NORMALIZE_TOTAL)
		effective_weigh_parts(samples, others, sets);
	else
		effective_weigh(samples, sets);
	for (size_t i = 0; i < sets; i++)
		weights[i] = samples[i].weight;
}

static int
find_weights(struct report *report)
{
	const size_t rows = rows_count(report->rows), sets = report->sets->count;
	struct effective_sample *samples = calloc(2 * sets, sizeof(*samples));

	report->weights = calloc(sets, sizeof(*report->weights));
	report->row_weights = calloc(rows * sets + 1, sizeof(*report->row_weights));
	if (!samples || !report->weights || !report->row_weights) {
		free(samples);
		return -ENOMEM;
	}
	weigh_sets(report, samples);
	for (size_t i = 0; i < rows; i++)
		weigh_row(report, rows_get(report->rows, i), samples, samples + sets, &report->row_weights[i * sets]);
	free(samples);
	return 0;
}

static int
test_rows(struct report *report)
{
	const size_t count = rows_count(report->rows), sets = report->sets->count;
	struct variation_request request = {.set_count = sets,
	                                    .factors = report->factors,
	                                    .noise = report->request->noise,
	                                    .prior = &report->history.prior};
	struct variation_row *tested = calloc(count + 1, sizeof(*tested));
	double *samples = calloc(sets, sizeof(*samples));
	int err = -ENOMEM;

	free(report->list);
	report->marked = 0;
	report->list = calloc(count + 1, sizeof(*report->list));
	for (size_t i = 0; i < sets && samples; i++)
		samples[i] = (double)report->details[i].samples;
	if (report->request->normalization == NORMALIZE_TOTAL)
		request.totals = samples;
	for (size_t i = 0; i < count && tested; i++) {
		tested[i].counts = rows_get(report->rows, i)->counts;
		tested[i].weights = &report->row_weights[i * sets];
	}
	if (tested && samples && report->list)
		err = variation_test(&request, tested, count, &report->variation);
	for (size_t i = 0; i < count && !err; i++) {
		report->list[i] = (struct report_row){
			.row = rows_get(report->rows, i),
			.weights = tested[i].weights,
			.variation = tested[i],
			.is_marked = tested[i].is_tested && tested[i].p <= report->request->p,
		};
		report->marked += report->list[i].is_marked;
	}
	report->row_count = count;
	free(tested);
	free(samples);
	return err;
}

static int
descending(double left, double right)
{
	return (left < right) - (left > right);
}

static int
compare_rows(const void *left, const void *right, void *context)
{
	const struct report_row *a = left, *b = right;
	const struct request *request = context;
	int order = 0;

	if (request->sort == SORT_SUM)
		order = descending(a->variation.sum, b->variation.sum);
	else if (request->sort == SORT_P)
		order = descending(b->variation.p, a->variation.p);
	else if (request->sort == SORT_DEVIATION)
		order = descending(a->variation.deviation, b->variation.deviation);
	else
		order = b->is_marked - a->is_marked;
	if (!order)
		order = descending(a->variation.range, b->variation.range);
	if (!order)
		order = descending(a->variation.sum, b->variation.sum);
	return order ? order : strcmp(a->row->key, b->row->key);
}

/* Those to show come first. */
static void
choose_rows(struct report *report)
{
	const struct request *request = report->request;
	const double least = report->total * request->cutoff_percent / 100;
	double few = 0;
	size_t kept = 0;

	for (size_t i = 0; i < report->row_count; i++) {
		struct report_row row = report->list[i];

		if (!row.variation.is_tested && !request->all) {
			few += row.variation.sum;
			report->few++;
			continue;
		}
		if (row.variation.sum < least || row.variation.sum <= 0)
			continue;
		report->list[i] = report->list[kept];
		report->list[kept++] = row;
	}
	report->few_percent = report->total > 0 ? 100 * few / report->total : 0;
	qsort_r(report->list, kept, sizeof(*report->list), compare_rows, (void *)request);
	report->shown = request->limit && request->limit < kept ? request->limit : kept;
}

static int
find_outlying_sets(struct report *report)
{
	const size_t count = report->sets->count;
	double *factors = calloc(count, sizeof(*factors));
	int err;

	if (!factors)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		factors[i] = report->factors[i] * report->weights[i];
	err = variation_outliers(report->totals, factors, count, report->variation.noise, &report->median_total,
	                         report->above);
	free(factors);
	return err;
}

static int
evaluate(struct report *report)
{
	int err, status;

	choose_factors(report);
	report->history.prior = (struct noise_prior){NOISE_PRIOR_MEDIAN, NOISE_PRIOR_SPREAD};
	err = find_weights(report);
	if (!err)
		err = test_rows(report);
	if (!err && report->request->noise < 0 && run_history_matters(&report->variation)) {
		status = run_history_read(&report->history, report->sets, report->event);
		if (status)
			return status;
		err = test_rows(report);
	}
	if (!err)
		err = find_outlying_sets(report);
	if (err)
		return message_cannot(NULL, "compare the sets", err, NULL);
	if (report->total > 0) {
		choose_rows(report);
		return STATUS_OK;
	}
	message_print(NULL, "no samples of %s in any of the sets", report->event);
	return STATUS_EMPTY;
}

int
stats_report_make(struct report *report, const struct request *request, struct database *database)
{
	int status;

	(void)database;
	memset(report, 0, sizeof(*report));
	report->request = request;
	report->sets = request->sets;
	status = gather_sets(report);
	return status ? status : evaluate(report);
}

void
stats_report_fini(struct report *report)
{
	for (size_t i = 0; i < report->sets->count && report->details; i++)
		free(report->details[i].directory);
	free(report->details);
	free(report->factors);
	free(report->weights);
	free(report->row_weights);
	free(report->totals);
	free(report->above);
	free(report->list);
	rows_free(report->rows);
}

const char *
stats_report_row_name(const struct report *report)
{
	static const char *const names[] = {
		[ROW_PROCEDURE] = "procedure", [ROW_IMAGE] = "image", [ROW_INSTRUCTION] = "instruction"};

	return names[report->request->kind];
}
