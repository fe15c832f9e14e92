#include "dcpi-tools/stats/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/effective.h"
#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"

#define SAME_PERIOD 1e-9 /* parts that periods may differ by, for they are means */

/* ---- Reading the sets ---- */

/* While sets are read. */
struct stats_reader {
	struct stats_report *report;
	bool *matched;  /* by --image: some set has one that is called so */
	char why[1024]; /* the last set was skipped; "": none was */
	int skipped;    /* the error of that */
};

static int
find_event(struct stats_reader *reader, const struct profile_set_visit *visit, uint16_t *event)
{
	struct stats_report *report = reader->report;
	struct shown_events_request wanted = {.event_count = 1, .events = {report->event}};
	const struct selection_event *chosen;
	struct shown_events shown_events;
	int err;

	if (!report->event[0])
		wanted = report->request->shown_events;
	err = shown_events_choose(visit->selection, &wanted, &shown_events, reader->why, sizeof(reader->why));
	reader->skipped = err;
	if (err && visit->set->is_found)
		return PROFILE_SET_PASSED;
	if (err) {
		message_print(visit->set->title, "%s", reader->why);
		return error_exit_status(err);
	}
	*event = shown_events.events[0];
	chosen = &visit->selection->events[*event];
	memcpy(report->event, chosen->name, sizeof(report->event));
	memcpy(report->unit, chosen->unit, sizeof(report->unit));
	return STATUS_OK;
}

/* Which images of the set were asked for; *wanted is NULL for all. */
static int
find_images(const struct stats_reader *reader, const struct selection *selection, bool **wanted)
{
	const struct options *options = &reader->report->request->options;

	*wanted = NULL;
	if (options->image_count == 0)
		return 0;
	*wanted = calloc(selection->image_count + 1, sizeof(**wanted));
	if (!*wanted)
		return -ENOMEM;
	for (size_t i = 0; i < options->image_count; i++)
		reader->matched[i] |= images_match(selection, options->images[i], *wanted) > 0;
	return 0;
}

static int
describe_set(struct stats_set *details, const struct profile_set_visit *visit, uint16_t event,
             const struct stats_total *in_rows)
{
	const struct selection *selection = visit->selection;
	const struct selection_request *request = &visit->set->request;
	const struct selection_event *chosen = &selection->events[event];

	/* unknown samples have no image and no context: they are part of the whole only */
	if (in_rows)
		details->total = *in_rows;
	else if (request->comm || request->cgroup || request->label)
		details->total =
			(struct stats_total){chosen->selected, chosen->selected_taken, chosen->selected_squares};
	else
		details->total =
			(struct stats_total){chosen->totals.samples, chosen->totals_taken, chosen->totals_squares};
	details->is_random = chosen->weights.has_sum;
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		details->unknown += chosen->matched.unknown[cause];
	details->lost = chosen->matched.lost + chosen->matched.dropped;
	details->period = chosen->selected ? chosen->selected_events / (double)chosen->selected : 0;
	if (!summary_weights(chosen, details->weights))
		details->weights[0] = '\0';
	details->match = selection->match;
	details->is_labelled = request->label != NULL;
	details->run = selection->run;
	details->directory = strdup(visit->set->directory);
	return details->directory ? 0 : -ENOMEM;
}

static int
allocate(struct stats_report *report)
{
	const size_t count = report->sets->count;

	report->details = calloc(count, sizeof(*report->details));
	report->factors = calloc(count, sizeof(*report->factors));
	report->totals = calloc(count, sizeof(*report->totals));
	report->above = calloc(count, sizeof(*report->above));
	report->rows = rows_new(report->request->kind, count, report->request->demangle);
	return report->details && report->factors && report->totals && report->above && report->rows ? 0 : -ENOMEM;
}

static int
add_set(struct stats_reader *reader, const struct profile_set_visit *visit, uint16_t event)
{
	struct stats_report *report = reader->report;
	struct stats_addition addition = {
		.set = visit->index,
		.selection = visit->selection,
		.event = event,
		.symbolizer = visit->symbolizer,
	};
	struct stats_total in_rows;
	bool *wanted = NULL;
	int err = report->rows ? 0 : allocate(report);

	if (!err)
		err = find_images(reader, visit->selection, &wanted);
	addition.wanted = wanted;
	if (!err)
		err = rows_add(report->rows, &addition, &in_rows);
	if (!err)
		err = describe_set(&report->details[visit->index], visit, event, wanted ? &in_rows : NULL);
	free(wanted);
	return err;
}

static int
visit_set(void *context, const struct profile_set_visit *visit)
{
	struct stats_reader *reader = context;
	uint16_t event = 0;
	int status, err;

	status = find_event(reader, visit, &event);
	if (!status) {
		err = add_set(reader, visit, event);
		status = err ? database_cannot_read(visit->database, err) : STATUS_OK;
	}
	selection_free(visit->selection);
	return status;
}

static int
read_sets(struct stats_report *report)
{
	const struct options *options = &report->request->options;
	struct stats_reader reader = {.report = report};
	int status;

	reader.matched = calloc(options->image_count + 1, sizeof(*reader.matched));
	if (!reader.matched)
		return message_cannot(NULL, "read the sets", -ENOMEM, NULL);
	status = profile_sets_read(report->request->sets, 0, VARIATION_SETS_MAX, visit_set, &reader);
	if (!status && report->sets->count == 0 && reader.skipped) {
		message_print(NULL, "%s", reader.why); /* why the last set was skipped explains more than "no sets" */
		status = error_exit_status(reader.skipped);
	} else if (!status) {
		status = profile_sets_check(report->sets, 2, VARIATION_SETS_MAX);
	}
	for (size_t i = 0; !status && i < options->image_count; i++) {
		if (reader.matched[i])
			continue;
		message_print(options->images[i], "no image with samples is called that in any of the sets");
		status = STATUS_EMPTY;
	}
	free(reader.matched);
	return status;
}

/* ---- Comparing them ---- */

bool
stats_report_divides_by_run(const struct stats_report *report, size_t set)
{
	return report->details[set].is_labelled && report->knows_runs;
}

uint64_t
stats_report_time_ns(const struct stats_report *report, size_t set)
{
	const struct stats_set *details = &report->details[set];

	return stats_report_divides_by_run(report, set) ? details->run.elapsed_ns : details->match.covered_ns;
}

/* The value of a count of set `set`, before samples_per_value() scales all of them. */
static double
count_value(const struct stats_report *report, size_t set)
{
	const struct stats_set *details = &report->details[set];
	const uint64_t time_ns = stats_report_time_ns(report, set);

	switch (report->request->normalization) {
	case NORMALIZE_TOTAL:
		return details->total.count ? 1 / (double)details->total.count : 1;
	case NORMALIZE_TIME:
		return (report->has_periods ? details->period : 1) / (time_ns ? (double)time_ns : 1);
	default:
		return report->has_periods ? details->period : 1;
	}
}

/* Samples for a unit of count_value(): those of the first set, or such that the number of all samples stays as it is.
 */
static double
samples_per_value(const struct stats_report *report)
{
	double samples = 0, sum = 0;

	if (report->request->normalization == NORMALIZE_NONE)
		return 1 / count_value(report, 0);
	for (size_t i = 0; i < report->sets->count; i++) {
		samples += (double)report->details[i].total.count;
		sum += (double)report->details[i].total.count * count_value(report, i);
	}
	return sum > 0 ? samples / sum : 1;
}

/* The factors of sets; 1 where nothing is to be divided and all periods are equal. */
static void
choose_factors(struct stats_report *report)
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
			report->factors[i] = count_value(report, i) * samples_per_value(report);
		report->totals[i] = (double)report->details[i].total.count * report->factors[i];
		report->total += report->totals[i];
	}
}

/* All samples of a set. `weight`: what one would count as if there were none. */
static struct effective_sample
whole_set(const struct stats_set *details, double weight)
{
	return (struct effective_sample){
		.count = details->total.count,
		.taken = details->total.taken,
		.squares = details->total.squares,
		.unit = details->period,
		.is_random = details->is_random,
		.weight = weight,
	};
}

/* `others`: the rest of each set. A row without samples in a set has the average weight of the set. */
static void
weigh_row(const struct stats_report *report, const struct stats_row *row, struct effective_sample *samples,
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
find_weights(struct stats_report *report)
{
	const size_t rows = rows_count(report->rows), sets = report->sets->count;
	struct effective_sample *samples = calloc(2 * sets, sizeof(*samples));

	report->weights = calloc(sets, sizeof(*report->weights));
	report->row_weights = calloc(rows * sets + 1, sizeof(*report->row_weights));
	if (!samples || !report->weights || !report->row_weights) {
		free(samples);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sets; i++)
		samples[i] = whole_set(&report->details[i], 0);
	effective_weigh(samples, sets);
	for (size_t i = 0; i < sets; i++)
		report->weights[i] = samples[i].weight;
	for (size_t i = 0; i < rows; i++)
		weigh_row(report, rows_get(report->rows, i), samples, samples + sets, &report->row_weights[i * sets]);
	free(samples);
	return 0;
}

static int
test_rows(struct stats_report *report)
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
		samples[i] = (double)report->details[i].total.count;
	if (report->request->normalization == NORMALIZE_TOTAL)
		request.totals = samples;
	for (size_t i = 0; i < count && tested; i++) {
		tested[i].counts = rows_get(report->rows, i)->counts;
		tested[i].weights = &report->row_weights[i * sets];
	}
	if (tested && samples && report->list)
		err = variation_test(&request, tested, count, &report->variation);
	for (size_t i = 0; i < count && !err; i++) {
		report->list[i] = (struct stats_report_row){
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
	const struct stats_report_row *a = left, *b = right;
	const struct stats_request *request = context;
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
choose_rows(struct stats_report *report)
{
	const struct stats_request *request = report->request;
	const double least = report->total * request->cutoff_percent / 100;
	double few = 0;
	size_t kept = 0;

	for (size_t i = 0; i < report->row_count; i++) {
		struct stats_report_row row = report->list[i];

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
find_outlying_sets(struct stats_report *report)
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
evaluate(struct stats_report *report)
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
stats_report_make(struct stats_report *report, const struct stats_request *request, struct database *database)
{
	int status;

	(void)database;
	memset(report, 0, sizeof(*report));
	report->request = request;
	report->sets = request->sets;
	status = read_sets(report);
	return status ? status : evaluate(report);
}

void
stats_report_fini(struct stats_report *report)
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
stats_report_row_name(const struct stats_report *report)
{
	static const char *const names[] = {
		[ROW_PROCEDURE] = "procedure", [ROW_IMAGE] = "image", [ROW_INSTRUCTION] = "instruction"};

	return names[report->request->kind];
}
