#include "dcpi-tools/stats/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define SAME_PERIOD 1e-9 /* parts that periods may differ by, for they are means */

/* While sets are read. */
struct gathering {
	struct report *report;
	bool *matched;  /* by --image: some set has one that is called so */
	char why[1024]; /* the last set that was passed by was; "" when none was */
	int passed;     /* the error of that */
};

static int
find_event(struct gathering *gathering, const struct profile_set_visit *visit, uint16_t *event)
{
	struct report *report = gathering->report;
	struct columns_request wanted = {.event_count = 1, .events = {report->event}};
	const struct selection_event *chosen;
	struct columns columns;
	int err;

	if (!report->event[0])
		wanted = report->request->columns;
	err = columns_choose(visit->selection, &wanted, &columns, gathering->why, sizeof(gathering->why));
	gathering->passed = err;
	if (err && visit->set->is_found)
		return PROFILE_SET_PASSED;
	if (err) {
		message_print(visit->set->title, "%s", gathering->why);
		return error_exit_status(err);
	}
	*event = columns.events[0];
	chosen = &visit->selection->events[*event];
	memcpy(report->event, chosen->name, sizeof(report->event));
	memcpy(report->unit, chosen->unit, sizeof(report->unit));
	return STATUS_OK;
}

/* Which images of the set were asked for; *wanted is NULL for all. */
static int
find_images(const struct gathering *gathering, const struct selection *selection, bool **wanted)
{
	const struct options *options = &gathering->report->request->options;

	*wanted = NULL;
	if (options->image_count == 0)
		return 0;
	*wanted = calloc(selection->image_count + 1, sizeof(**wanted));
	if (!*wanted)
		return -ENOMEM;
	for (size_t i = 0; i < options->image_count; i++)
		gathering->matched[i] |= images_match(selection, options->images[i], *wanted) > 0;
	return 0;
}

static int
describe_set(struct stats_set *details, const struct profile_set_visit *visit, uint16_t event, uint64_t in_rows,
             bool by_image)
{
	const struct selection *selection = visit->selection;
	const struct selection_request *request = &visit->set->request;
	const struct selection_event *chosen = &selection->events[event];

	/* unknown samples have no image and no context: they are part of the whole only */
	details->samples = chosen->totals.samples;
	if (request->comm || request->cgroup || request->label)
		details->samples = chosen->selected;
	if (by_image)
		details->samples = in_rows;
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		details->unknown += chosen->matched.unknown[cause];
	details->lost = chosen->matched.lost + chosen->matched.dropped;
	details->period = chosen->selected ? chosen->selected_events / (double)chosen->selected : 0;
	details->match = selection->match;
	details->directory = strdup(visit->set->directory);
	return details->directory ? 0 : -ENOMEM;
}

static int
allocate(struct report *report)
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
add_set(struct gathering *gathering, const struct profile_set_visit *visit, uint16_t event)
{
	struct report *report = gathering->report;
	struct rows_addition addition = {
		.set = visit->index,
		.selection = visit->selection,
		.event = event,
		.symbolizer = visit->symbolizer,
	};
	uint64_t in_rows = 0;
	bool *wanted = NULL;
	int err = report->rows ? 0 : allocate(report);

	if (!err)
		err = find_images(gathering, visit->selection, &wanted);
	addition.wanted = wanted;
	if (!err)
		err = rows_add(report->rows, &addition, &in_rows);
	if (!err)
		err = describe_set(&report->details[visit->index], visit, event, in_rows, wanted != NULL);
	free(wanted);
	return err;
}

static int
visit_set(void *context, const struct profile_set_visit *visit)
{
	struct gathering *gathering = context;
	uint16_t event = 0;
	int status, err;

	status = find_event(gathering, visit, &event);
	if (!status) {
		err = add_set(gathering, visit, event);
		status = err ? database_cannot_read(visit->database, err) : STATUS_OK;
	}
	selection_free(visit->selection);
	return status;
}

/* Where all that was found had to be passed by, the reason says more than their number. */
static int
check_sets(const struct gathering *gathering)
{
	if (gathering->report->sets->count > 0 || !gathering->passed)
		return profile_sets_check(gathering->report->sets, 2, VARIATION_SETS_MAX);
	message_print(NULL, "%s", gathering->why);
	return error_exit_status(gathering->passed);
}

static int
read_sets(struct report *report)
{
	const struct options *options = &report->request->options;
	struct gathering gathering = {.report = report};
	int status;

	gathering.matched = calloc(options->image_count + 1, sizeof(*gathering.matched));
	if (!gathering.matched)
		return message_cannot(NULL, "read the sets", -ENOMEM, NULL);
	status = profile_sets_read(report->request->sets, 0, VARIATION_SETS_MAX, visit_set, &gathering);
	if (!status)
		status = check_sets(&gathering);
	for (size_t i = 0; !status && i < options->image_count; i++) {
		if (gathering.matched[i])
			continue;
		message_print(options->images[i], "no image with samples is called that in any of the sets");
		status = STATUS_EMPTY;
	}
	free(gathering.matched);
	return status;
}

/* What a count of set `set` stands for, before all are scaled so that a set has as many samples as it has on average.
 */
static double
worth(const struct report *report, size_t set)
{
	const struct stats_set *details = &report->details[set];

	switch (report->request->normalization) {
	case NORMALIZE_TOTAL:
		return details->samples ? 1 / (double)details->samples : 1;
	case NORMALIZE_TIME:
		return (report->has_periods ? details->period : 1) /
		       (details->match.covered_ns ? (double)details->match.covered_ns : 1);
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

	report->has_periods = true;
	for (size_t i = 0; i < count; i++) {
		report->has_periods &= report->details[i].period > 0;
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

static int
test_rows(struct report *report)
{
	const size_t count = rows_count(report->rows), sets = report->sets->count;
	struct variation_request request = {
		.set_count = sets, .factors = report->factors, .noise = report->request->noise};
	struct variation_row *tested = calloc(count + 1, sizeof(*tested));
	double *samples = calloc(sets, sizeof(*samples));
	int err = -ENOMEM;

	report->list = calloc(count + 1, sizeof(*report->list));
	for (size_t i = 0; i < sets && samples; i++)
		samples[i] = (double)report->details[i].samples;
	if (report->request->normalization == NORMALIZE_TOTAL)
		request.totals = samples;
	for (size_t i = 0; i < count && tested; i++)
		tested[i].counts = rows_get(report->rows, i)->counts;
	if (tested && samples && report->list)
		err = variation_test(&request, tested, count, &report->variation);
	for (size_t i = 0; i < count && !err; i++) {
		report->list[i] = (struct report_row){
			.row = rows_get(report->rows, i),
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
evaluate(struct report *report)
{
	int err;

	choose_factors(report);
	err = test_rows(report);
	if (!err)
		err = variation_outliers(report->totals, report->factors, report->sets->count, report->variation.noise,
		                         &report->median_total, report->above);
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
report_make(struct report *report, const struct request *request, struct database *database)
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
report_fini(struct report *report)
{
	for (size_t i = 0; i < report->sets->count && report->details; i++)
		free(report->details[i].directory);
	free(report->details);
	free(report->factors);
	free(report->totals);
	free(report->above);
	free(report->list);
	rows_free(report->rows);
}

int
report_row_outliers(const struct report *report, const struct report_row *row, double *above)
{
	const size_t count = report->sets->count;
	double *values = calloc(count, sizeof(*values)), median;
	int err;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		values[i] = (double)row->row->counts[i] * report->factors[i];
	err = variation_outliers(values, report->factors, count, row->variation.noise, &median, above);
	free(values);
	return err;
}

static int
ascending(const void *left, const void *right)
{
	return descending(*(const double *)right, *(const double *)left);
}

const struct report_row *
report_outlier_reason(const struct report *report, size_t set, double *part)
{
	const double distance = report->totals[set] - report->median_total;
	const size_t count = report->sets->count;
	double *values = calloc(count, sizeof(*values)), most = 0;
	const struct report_row *reason = NULL;

	for (size_t i = 0; i < report->row_count && values; i++) {
		const struct report_row *row = &report->list[i];
		double own;

		for (size_t j = 0; j < count; j++)
			values[j] = (double)row->row->counts[j] * report->factors[j];
		own = values[set];
		qsort(values, count, sizeof(*values), ascending);
		own = (own - (values[(count - 1) / 2] + values[count / 2]) / 2) / distance;
		if (own <= most)
			continue;
		most = own;
		reason = row;
	}
	free(values);
	*part = most;
	return reason;
}

const char *
report_row_name(const struct report *report)
{
	static const char *const names[] = {
		[ROW_PROCEDURE] = "procedure", [ROW_IMAGE] = "image", [ROW_INSTRUCTION] = "instruction"};

	return names[report->request->kind];
}
