#include "dcpi-tools/common/run_history.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/effective.h"
#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "profile/catalog.h"

#define SERIES_MAX    3
#define RUNS_LEAST    3
#define RUNS_MAX      8   /* of a series that are read: the last ones */
#define SPREAD_KNOWN  0.3 /* deviation of the logarithm of the noise; below, the rows themselves tell enough */
#define NINE_OF_TEN   1.645
#define MACHINE_SHARE 0.5 /* of the variance of the logarithm of the noise */

/* Labels that differ by their number alone. */
struct history_series {
	char *const *labels;
	size_t count;
};

/* Samples of one procedure in one run. */
struct run_sample {
	uint32_t image;
	uint64_t offset;
	size_t run;
	uint64_t samples, taken;
	double squares, unit; /* as in struct effective_sample */
};

struct run_counts {
	struct run_sample *list;
	size_t count, capacity;
};

/* The length of what stands before ".12" at its end; 0: there is no such end. */
static size_t
prefix_length(const char *label)
{
	size_t length = strlen(label);
	const size_t whole = length;

	while (length > 0 && isdigit((unsigned char)label[length - 1]))
		length--;
	return length > 1 && length < whole && label[length - 1] == '.' ? length - 1 : 0;
}

static bool
is_compared(const struct profile_sets *sets, const struct history_series *series)
{
	for (size_t i = 0; i < sets->count; i++)
		for (size_t j = 0; j < series->count; j++)
			if (sets->sets[i].request.label &&
			    fnmatch(sets->sets[i].request.label, series->labels[j], 0) == 0)
				return true;
	return false;
}

/* The longest series of sorted labels; how many there are. */
static size_t
find_series(const struct profile_sets *sets, char **labels, size_t count, struct history_series found[SERIES_MAX])
{
	size_t used = 0;

	for (size_t first = 0, end; first < count; first = end) {
		const size_t length = prefix_length(labels[first]);
		struct history_series series = {.labels = labels + first};
		size_t at;

		for (end = first + 1; end < count && prefix_length(labels[end]) == length &&
		                      strncmp(labels[end], labels[first], length) == 0;)
			end++;
		series.count = end - first;
		if (length == 0 || series.count < RUNS_LEAST || is_compared(sets, &series))
			continue;
		for (at = used; at > 0 && found[at - 1].count < series.count; at--)
			if (at < SERIES_MAX)
				found[at] = found[at - 1];
		if (at < SERIES_MAX)
			found[at] = series;
		used += used < SERIES_MAX;
	}
	for (size_t i = 0; i < used; i++) {
		if (found[i].count <= RUNS_MAX)
			continue;
		found[i].labels += found[i].count - RUNS_MAX;
		found[i].count = RUNS_MAX;
	}
	return used;
}

static int
add_counts(struct run_counts *counts, const struct selection *selection, const struct histogram *histogram,
           uint16_t event, size_t run)
{
	for (size_t i = 0; i < histogram->row_count; i++) {
		const struct histogram_row *row = &histogram->rows[i];
		struct run_sample *list = array_grow(counts->list, &counts->capacity, counts->count + 1, sizeof(*list));

		if (!list)
			return -ENOMEM;
		counts->list = list;
		list[counts->count++] = (struct run_sample){
			.image = selection->images[row->image].number,
			.offset = row->procedure.offset,
			.run = run,
			.samples = row->counts[event],
			.taken = row->taken[event],
			.squares = row->squares[event],
			.unit = (double)selection->events[event].period,
		};
	}
	return 0;
}

/* Procedures of one run; not 0 in *has when it has samples of the event. */
static int
read_run(const struct selection *selection, const char *event, struct symbolizer *symbolizer, size_t run,
         struct run_counts *counts, size_t *has)
{
	struct histogram_request request = {.selection = selection, .symbolizer = symbolizer};
	struct histogram histogram = {0};
	const size_t index = shown_events_find_event(selection, event);
	int err;

	if (index == selection->event_count || selection->events[index].selected == 0)
		return 0;
	request.image_titles = image_titles(selection);
	err = request.image_titles ? histogram_make(&request, &histogram) : -ENOMEM;
	if (!err)
		err = add_counts(counts, selection, &histogram, (uint16_t)index, run);
	histogram_fini(&histogram);
	image_titles_free(request.image_titles, selection->image_count);
	*has += !err;
	return err;
}

static int
compare_counts(const void *left, const void *right)
{
	const struct run_sample *a = left, *b = right;
	int order = (a->image > b->image) - (a->image < b->image);

	return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

/* By how much the procedures of one series vary. */
static int
test_series(struct run_counts *counts, size_t runs, struct variation *variation)
{
	const double ones[RUNS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
	const struct variation_request request = {.set_count = runs, .factors = ones, .noise = VARIATION_ESTIMATED};
	struct variation_row *rows = calloc(counts->count + 1, sizeof(*rows));
	uint64_t(*samples)[RUNS_MAX] = calloc(counts->count + 1, sizeof(*samples));
	struct effective_sample(*effective)[RUNS_MAX] = calloc(counts->count + 1, sizeof(*effective));
	double(*weights)[RUNS_MAX] = calloc(counts->count + 1, sizeof(*weights));
	size_t count = 0;
	int err = rows && samples && effective && weights ? 0 : -ENOMEM;

	if (!err && counts->count > 0)
		qsort(counts->list, counts->count, sizeof(*counts->list), compare_counts);
	for (size_t i = 0; i < counts->count && !err; i++) {
		const struct run_sample *of = &counts->list[i];
		struct effective_sample *to;

		if (i == 0 || compare_counts(&counts->list[i - 1], of) != 0)
			count++;
		to = &effective[count - 1][of->run];
		to->count += of->samples;
		to->taken += of->taken;
		to->squares += of->squares;
		to->unit = of->unit;
	}
	for (size_t i = 0; i < count && !err; i++) {
		for (size_t run = 0; run < runs; run++)
			effective[i][run].is_random = true; /* runs of one program are sampled alike */
		effective_weigh(effective[i], runs);
		for (size_t run = 0; run < runs; run++) {
			samples[i][run] = effective[i][run].count;
			weights[i][run] = effective[i][run].weight;
		}
		rows[i].counts = samples[i];
		rows[i].weights = weights[i];
	}
	if (!err)
		err = variation_test(&request, rows, count, variation);
	free(weights);
	free(effective);
	free(samples);
	free(rows);
	return err;
}

/* The machine's median noise as a normal distribution of its logarithm; precision is 1 / variance. */
struct machine_belief {
	double mean, precision;
};

/* Update by one series: its result without the prior that it was tested with, plus a program's own variance. */
static void
learn(struct machine_belief *belief, const struct variation *variation)
{
	const double all = NOISE_PRIOR_SPREAD * NOISE_PRIOR_SPREAD, own = (1 - MACHINE_SHARE) * all;
	const double spread = log(variation->noise_most / variation->noise_least) / (2 * NINE_OF_TEN);
	const double gained = 1 / (spread * spread) - 1 / all;
	double mean, precision;

	if (!(gained > 0))
		return;
	mean = (log(variation->noise) / (spread * spread) - log(NOISE_PRIOR_MEDIAN) / all) / gained;
	precision = 1 / (1 / gained + own);
	belief->mean = (belief->mean * belief->precision + mean * precision) / (belief->precision + precision);
	belief->precision += precision;
}

static int
read_series(struct run_history *history, const struct history_series *series, const char *event,
            struct database *database, struct symbolizer *symbolizer, struct machine_belief *belief)
{
	struct selection_request requests[RUNS_MAX] = {0};
	const struct selection_request *pointers[RUNS_MAX];
	struct selection *selections[RUNS_MAX] = {0};
	char *patterns[RUNS_MAX] = {0};
	struct run_counts counts = {0};
	struct variation variation = {0};
	size_t has = 0;
	int err = 0;

	for (size_t i = 0; i < series->count && !err; i++) {
		patterns[i] = profile_set_literal(series->labels[i]);
		requests[i] = (struct selection_request){.epoch = "all", .label = patterns[i]};
		pointers[i] = &requests[i];
		err = patterns[i] ? 0 : -ENOMEM;
	}
	if (!err)
		err = database_read_each(database->profile, pointers, series->count, selections);
	for (size_t i = 0; i < series->count; i++) {
		if (!err && selections[i])
			err = read_run(selections[i], event, symbolizer, i, &counts, &has);
		selection_free(selections[i]);
		free(patterns[i]);
	}
	if (!err && has == series->count)
		err = test_series(&counts, series->count, &variation);
	if (!err && has == series->count && variation.tested > 0) {
		learn(belief, &variation);
		history->series++;
		history->runs += series->count;
	}
	free(counts.list);
	return err;
}

static int
read_labels(struct run_history *history, const struct profile_sets *sets, const char *event, struct database *database)
{
	const struct selection_request all = {.epoch = "all", .label = "*"};
	const double machine = MACHINE_SHARE * NOISE_PRIOR_SPREAD * NOISE_PRIOR_SPREAD;
	struct machine_belief belief = {.mean = log(NOISE_PRIOR_MEDIAN), .precision = 1 / machine};
	struct symbolizer *symbolizer = symbolizer_new(database->profile);
	struct history_series series[SERIES_MAX];
	char **labels, why[512];
	size_t count, used;
	int err = symbolizer ? 0 : -ENOMEM;

	if (!err && catalog_labels(database->profile, &all, &labels, &count, why, sizeof(why)) == 0) {
		used = find_series(sets, labels, count, series);
		for (size_t i = 0; i < used && !err; i++)
			err = read_series(history, &series[i], event, database, symbolizer, &belief);
		catalog_free_labels(labels, count);
	}
	symbolizer_free(symbolizer);
	if (history->series > 0) {
		history->prior.median = exp(belief.mean);
		history->prior.spread =
			sqrt(1 / belief.precision + (1 - MACHINE_SHARE) * NOISE_PRIOR_SPREAD * NOISE_PRIOR_SPREAD);
	}
	return err;
}

int
run_history_read(struct run_history *history, const struct profile_sets *sets, const char *event)
{
	struct database database;
	int status, err;

	*history = (struct run_history){.prior = {NOISE_PRIOR_MEDIAN, NOISE_PRIOR_SPREAD}};
	if (sets->count == 0)
		return STATUS_OK;
	status = database_open(&database, sets->sets[0].directory);
	if (status)
		return status;
	err = read_labels(history, sets, event, &database);
	if (err)
		status = database_cannot_read(&database, err);
	database_close(&database);
	return status;
}

bool
run_history_matters(const struct variation *variation)
{
	return log(variation->noise_most / variation->noise_least) > 2 * NINE_OF_TEN * SPREAD_KNOWN;
}

void
run_history_print(const struct run_history *history, FILE *stream)
{
	fprintf(stream, "%.2g%%, ", 100 * history->prior.median);
	if (history->series == 0)
		fputs("a typical value of runs", stream);
	else
		fprintf(stream, "by %zu runs of %zu other program%s here", history->runs, history->series,
		        history->series == 1 ? "" : "s");
}
