#include "dcpi-tools/diff/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/pair.h"

#define ALPHA 0.05 /* how often any row may be marked, if none has changed */

const char *const measure_names[MEASURE_COUNT] = {"samples", "cpi", "frequency", "stalls"};

const char *
item_image(const struct report *report, const struct diff_item *item, unsigned side)
{
	return item->images[side] == ITEM_NOWHERE ? NULL : report->sides[side].all.titles[item->images[side]];
}

double
diff_report_unit(const struct report *report, const char **name)
{
	static const struct {
		double size;
		const char *name;
	} units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
	const struct scale *scale = &report->scale;
	double most = 0;

	*name = "";
	if (strcmp(side_event(&report->sides[0])->unit, "ns") == 0 && scale->weights[0] > 0) {
		*name = "s";
		return 1e9;
	}
	for (unsigned side = 0; side < 2; side++)
		most = fmax(most,
		            (double)scale->totals[side].count * (scale->weights[side] > 0 ? scale->weights[side] : 1));
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (most < 100 * units[i].size)
			continue;
		*name = units[i].name;
		return units[i].size;
	}
	return 1;
}

struct diff_reading {
	struct report *report;
	unsigned *hits; /* of each pattern */
};

static int
take_set(void *context, const struct profile_set_visit *visit)
{
	struct diff_reading *reading = context;

	struct report *report = reading->report;
	const struct request *request = report->request;
	const struct code_request code = {
		.name = request->procedure, .syntax = request->syntax, .side = &request->side};
	struct diff_side *side = &report->sides[visit->index];
	int status;

	if (!request->procedure)
		return side_read(side, &request->side, visit, reading->hits);
	status = side_open(side, &request->side, visit, reading->hits);
	return status ? status : code_read(&report->codes[visit->index], side, &code, visit);
}

/* A file name in either side that looks like the pattern. */
static int
refuse_pattern(const struct report *report, const char *pattern)
{
	const char *near = NULL;
	char *shown;

	for (unsigned side = 0; side < 2 && !near; side++)
		near = image_suggest(report->sides[side].all.selection, pattern);
	shown = near ? text_shown(near) : NULL;
	message_print(pattern, "no image with samples is called that in either set%s%s%s",
	              shown ? "; did you mean " : "", shown ? shown : "", shown ? "?" : "");
	free(shown);
	return STATUS_EMPTY;
}

static int
read_sides(struct report *report)
{
	const struct request *request = report->request;
	struct diff_reading reading = {.report = report, .hits = calloc(request->pattern_count + 1, sizeof(unsigned))};
	int status;

	if (!reading.hits)
		return message_cannot(NULL, "read the sets", -ENOMEM, NULL);
	status = profile_sets_read((struct profile_sets *)&request->sets, 2, 2, take_set, &reading);
	for (size_t i = 0; i < request->pattern_count && !status; i++)
		if (reading.hits[i] == 0)
			status = refuse_pattern(report, request->patterns[i].text);
	free(reading.hits);
	return status;
}

/* Samples are compared as what they stand for, where that is known and the same. */
static void
choose_scale(struct report *report)
{
	const struct selection_event *before = side_event(&report->sides[0]), *after = side_event(&report->sides[1]);
	struct scale *scale = &report->scale;

	scale->z = statistics_z(report->request->confidence_percent / 100);
	for (unsigned side = 0; side < 2; side++) {
		scale->totals[side] = report->sides[side].total;
		scale->weights[side] = (double)side_event(&report->sides[side])->period;
		scale->is_random[side] = side_event(&report->sides[side])->weights.has_sum;
	}
	report->is_one_unit = before->period > 0 && after->period > 0 && strcmp(before->unit, after->unit) == 0;
	if (!report->is_one_unit)
		scale->weights[0] = scale->weights[1] = 0;
	/* without periods, counts of one event are still counts of it */
	report->is_one_unit |= before->period == 0 && after->period == 0 && strcmp(before->name, after->name) == 0;
}

/* With several runs of a side, what they differ by is known. */
static int
choose_runs(struct report *report)
{
	struct scale *scale = &report->scale;
	size_t count = 0;

	for (unsigned side = 0; side < 2; side++) {
		scale->runs[side] = report->sides[side].run_count;
		count += report->sides[side].run_count;
	}
	if (count < 3)
		return 0;
	report->run_is_after = calloc(count, sizeof(*report->run_is_after));
	report->run_totals = calloc(count, sizeof(*report->run_totals));
	scale->run_totals = calloc(count, sizeof(*scale->run_totals));
	scale->run_units = calloc(count, sizeof(*scale->run_units));
	if (!report->run_is_after || !report->run_totals || !scale->run_totals || !scale->run_units)
		return -ENOMEM;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < report->sides[side].run_count; i++) {
			const size_t run = i + (side ? report->sides[0].run_count : 0);

			report->run_is_after[run] = side == 1;
			scale->run_totals[run] = report->sides[side].run_totals[i];
			scale->run_units[run] = report->sides[side].run_units[i];
			report->run_totals[run] = (double)scale->run_totals[run].taken;
		}
	scale->run_count = count;
	scale->noise = (struct variation_sides){
		.set_count = count,
		.is_after = report->run_is_after,
		.totals = report->run_totals,
		.confidence = report->request->confidence_percent / 100,
	};
	return 0;
}

/* The rows of both sides as pair.h takes them; the caller frees them and their builds. */
static int
list_rows(const struct report *report, struct pair_row **rows, char (**builds)[BUILD_ID_TEXT_SIZE], size_t *count)
{
	size_t used = 0;

	*count = report->sides[0].row_count + report->sides[1].row_count;
	*rows = calloc(*count + 1, sizeof(**rows));
	*builds = calloc(*count + 1, sizeof(**builds));
	if (!*rows || !*builds)
		return -ENOMEM;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < report->sides[side].row_count; i++) {
			const struct side_row *row = &report->sides[side].rows[i];
			const uint32_t group = report->groups[side][row->image];

			(*rows)[used] = (struct pair_row){
				.side = side,
				.index = (uint32_t)i,
				.group = group,
				.same_build = report->same_build[group],
				.kind = row->kind,
				.offset = row->offset,
				.title = row->title,
				.build = build_id_format(side_image(&report->sides[side], row->image), (*builds)[used]),
			};
			used++;
		}
	return 0;
}

/* The title is that of the second side's largest part. */
static void
take_row(const struct report *report, const struct pair_row *pair, struct diff_item *item, uint64_t *largest)
{
	const struct side_row *row = &report->sides[pair->side].rows[pair->index];
	const bool is_first = item->images[pair->side] == ITEM_NOWHERE;

	side_count_add(&item->comparison.samples[pair->side], &row->samples);
	for (size_t i = 0; i < report->sides[pair->side].run_count && item->comparison.runs && row->runs; i++)
		side_count_add(&item->comparison.runs[i + (pair->side ? report->sides[0].run_count : 0)],
		               &row->runs[i]);
	figures_add(&item->figures[pair->side], &row->figures);
	if (!is_first && row->samples.count <= largest[pair->side])
		return;
	largest[pair->side] = row->samples.count;
	item->images[pair->side] = row->image;
	item->offsets[pair->side] = row->offset;
	item->has_offset[pair->side] = row->title && row->kind <= PROCEDURE_UNNAMED;
	item->title = row->title;
}

static int
make_item(const struct report *report, const struct pair_row *rows, size_t count, struct diff_item *item)
{
	struct side_count samples[2], *runs = NULL;
	uint64_t largest[2] = {0};

	*item = (struct diff_item){.group = rows[0].group, .images = {ITEM_NOWHERE, ITEM_NOWHERE}};
	if (report->scale.run_count > 0) {
		runs = item->comparison.runs = calloc(report->scale.run_count, sizeof(*runs));
		if (!runs)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		take_row(report, &rows[i], item, largest);
	memcpy(samples, item->comparison.samples, sizeof(samples));
	comparison_make(&report->scale, samples, &item->comparison);
	item->comparison.runs = runs;
	return 0;
}

static int
compare_items(const void *a, const void *b, void *context)
{
	const struct diff_item *one = a, *other = b;
	const double change = fabs(one->comparison.change), other_change = fabs(other->comparison.change);
	const uint64_t samples = one->comparison.samples[0].count + one->comparison.samples[1].count;
	const uint64_t other_samples = other->comparison.samples[0].count + other->comparison.samples[1].count;
	int order;

	(void)context;
	if (change != other_change)
		return change < other_change ? 1 : -1;
	if (samples != other_samples)
		return samples < other_samples ? 1 : -1;
	order = strcmp(one->title ? one->title : "", other->title ? other->title : "");
	return order ? order : (one->group > other->group) - (one->group < other->group);
}

static int
make_items(struct report *report)
{
	char(*builds)[BUILD_ID_TEXT_SIZE] = NULL;
	struct pair_row *rows = NULL;
	size_t *starts = NULL, count;
	int err = list_rows(report, &rows, &builds, &count);

	if (!err)
		err = rows_pair(rows, count, &starts, &report->item_count);
	if (!err)
		report->items = calloc(report->item_count + 1, sizeof(*report->items));
	if (!err && !report->items)
		err = -ENOMEM;
	for (size_t i = 0; i < report->item_count && !err; i++)
		err = make_item(report, &rows[starts[i]], starts[i + 1] - starts[i], &report->items[i]);
	free(starts);
	free(builds);
	free(rows);
	return err;
}

/* Those that are marked come first when they alone are shown. */
static int
judge_items(struct report *report)
{
	const struct request *request = report->request;
	const struct comparisons comparisons = {&report->items->comparison, report->item_count, sizeof(*report->items)};
	int err;

	err = comparisons_add_noise(&report->scale, &comparisons, &report->noise);

	if (!err)
		err = comparisons_judge(&comparisons, ALPHA, &report->marked_count);
	if (err)
		return err;
	if (report->item_count > 0)
		qsort_r(report->items, report->item_count, sizeof(*report->items), compare_items, report);
	for (size_t i = 0; i < report->item_count; i++) {
		if (request->limit && report->shown == request->limit)
			break;
		if (request->marked_only && !report->items[i].comparison.is_marked)
			continue;
		const struct diff_item shown = report->items[i];

		report->items[i] = report->items[report->shown];
		report->items[report->shown++] = shown;
	}
	return 0;
}

/* Whether the procedure is one build's on both sides, at one place. */
static bool
is_same_code(const struct report *report)
{
	const struct diff_code *codes = report->codes;

	return codes[0].offset == codes[1].offset &&
	       images_are_one_build(side_image(&report->sides[0], codes[0].image),
	                            side_image(&report->sides[1], codes[1].image));
}

static int
compare_code(struct report *report)
{
	int err = code_rows_make(report->codes, is_same_code(report), report->request->view, &report->scale, ALPHA,
	                         &report->code);

	if (err != -ENOENT)
		return err ? message_cannot(NULL, "compare the procedure", err, NULL) : STATUS_OK;
	message_print(report->request->procedure,
	              "no line numbers of it are known in %s set; compile it with -g, or compare --instructions",
	              report->codes[0].has_lines   ? "the second"
	              : report->codes[1].has_lines ? "the first"
	                                           : "either");
	return STATUS_EMPTY;
}

int
diff_report_make(struct report *report, const struct request *request, struct database *database)
{
	int status, err;

	(void)database;
	memset(report, 0, sizeof(*report));
	report->request = request;
	status = read_sides(report);
	if (status)
		return status;
	choose_scale(report);
	if (choose_runs(report))
		return message_cannot(NULL, "compare the sets", -ENOMEM, NULL);
	if (report->scale.run_count > 0)
		status = run_history_read(&report->history, &request->sets, side_event(&report->sides[0])->name);
	if (status)
		return status;
	report->scale.noise.prior = &report->history.prior;
	if (request->procedure)
		return compare_code(report);
	err = diff_report_meet(report);
	if (!err)
		err = make_items(report);
	if (!err)
		err = judge_items(report);
	return err ? message_cannot(NULL, "compare the sets", err, NULL) : STATUS_OK;
}

void
diff_report_fini(struct report *report)
{
	for (unsigned side = 0; side < 2; side++) {
		meet_side_fini(&report->met[side]);
		free(report->procedures[side]);
		free(report->groups[side]);
		code_fini(&report->codes[side]);
		side_fini(&report->sides[side]);
	}
	code_rows_fini(&report->code);
	for (size_t i = 0; i < report->item_count && report->items; i++)
		free(report->items[i].comparison.runs);
	free(report->run_is_after);
	free(report->run_totals);
	free(report->scale.run_totals);
	free(report->scale.run_units);
	free(report->rebuilt);
	free(report->same_build);
	free(report->items);
}
