#include "dcpi-tools/diff/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "image/image_file.h"
#include "image/lines.h"
#include "image/symbols.h"
#define ALPHA 0.05 /* how often any row may be marked, if none has changed */

const char *const diff_measure_names[MEASURE_COUNT] = {"samples", "cpi", "frequency", "stalls"};

double
diff_report_unit(const struct diff_report *report, const char **name)
{
	static const struct {
		double size;
		const char *name;
	} units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
	const struct compare_scale *scale = &report->scale;
	double most = 0;

	*name = "";
	if (strcmp(input_event(&report->inputs[0])->unit, "ns") == 0 && scale->weights[0] > 0) {
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

/* While profile_sets_read() calls take_set(). */
struct diff_reading {
	struct diff_report *report;
	unsigned *hits; /* of each pattern */
};

static int
take_set(void *context, const struct profile_set_visit *visit)
{
	struct diff_reading *reading = context;

	struct diff_report *report = reading->report;
	const struct diff_request *request = report->request;
	const struct diff_code_request code = {
		.name = request->procedure, .syntax = request->syntax, .input = &request->input};
	struct diff_input *input = &report->inputs[visit->index];
	int status;

	if (!request->procedure)
		return input_read(input, &request->input, visit, reading->hits);
	status = input_open(input, &request->input, visit, reading->hits);
	return status ? status : diff_code_read(&report->codes[visit->index], input, &code, visit);
}

/* A file name in either side that looks like the pattern. */
static int
refuse_pattern(const struct diff_report *report, const char *pattern)
{
	const char *near = NULL;
	char *shown;

	for (unsigned side = 0; side < 2 && !near; side++)
		near = image_suggest(report->inputs[side].all.selection, pattern);
	shown = near ? text_shown(near) : NULL;
	message_print(pattern, "no image with samples is called that in either set%s%s%s",
	              shown ? "; did you mean " : "", shown ? shown : "", shown ? "?" : "");
	free(shown);
	return STATUS_EMPTY;
}

static int
read_inputs(struct diff_report *report)
{
	const struct diff_request *request = report->request;
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

/* Amounts are in events or ns where both periods are known and of one unit. */
static void
choose_scale(struct diff_report *report)
{
	const struct selection_event *before = input_event(&report->inputs[0]),
				     *after = input_event(&report->inputs[1]);
	struct compare_scale *scale = &report->scale;

	scale->z = statistics_z(report->request->confidence_percent / 100);
	for (unsigned side = 0; side < 2; side++) {
		scale->totals[side] = report->inputs[side].total;
		scale->weights[side] = (double)input_event(&report->inputs[side])->period;
		scale->is_random[side] = input_event(&report->inputs[side])->weights.has_sum;
	}
	report->is_one_unit = before->period > 0 && after->period > 0 && strcmp(before->unit, after->unit) == 0;
	if (!report->is_one_unit)
		scale->weights[0] = scale->weights[1] = 0;
	/* without periods, counts of one event are still counts of it */
	report->is_one_unit |= before->period == 0 && after->period == 0 && strcmp(before->name, after->name) == 0;
}

/* With several runs of a side, the noise from run to run can be estimated. */
static int
choose_runs(struct diff_report *report)
{
	struct compare_scale *scale = &report->scale;
	size_t count = 0;

	for (unsigned side = 0; side < 2; side++) {
		scale->runs[side] = report->inputs[side].run_count;
		count += report->inputs[side].run_count;
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
		for (size_t i = 0; i < report->inputs[side].run_count; i++) {
			const size_t run = i + (side ? report->inputs[0].run_count : 0);

			report->run_is_after[run] = side == 1;
			scale->run_totals[run] = report->inputs[side].run_totals[i];
			scale->run_units[run] = report->inputs[side].run_units[i];
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

static char *
read_source(struct image_file *file)
{
	struct symbol_table *symbols = NULL;
	struct image_lines *lines = NULL;
	char *source = NULL;

	if (symbol_table_from_file(file, &symbols) == 0 && image_lines_new(file, &lines) == 0)
		(void)image_lines_source(lines, &source);
	image_lines_free(lines);
	symbol_table_free(symbols);
	return source;
}

/* NULL where the file cannot be read. */
static char *
read_origin(void *context, const struct image *image, enum match_question question)
{
	struct image_guard guard;
	struct image_file *file;
	char *said = NULL;

	(void)context;
	image_guard_enter(&guard, image->path, NULL);
	if (image_file_open(image, &file) == 0) {
		if (question == MATCH_SOURCE)
			said = read_source(file);
		else
			(void)image_file_soname(file, &said);
		image_file_close(file);
	}
	image_guard_leave(&guard);
	return said;
}

/* A named procedure and its image, to sort procedures by image and name. */
struct match_named {
	uint32_t image;
	struct match_procedure procedure;
};

static int
compare_named(const void *a, const void *b)
{
	const struct match_named *one = a, *other = b;

	if (one->image != other->image)
		return one->image < other->image ? -1 : 1;
	return strcmp(one->procedure.name, other->procedure.name);
}

/* Each name of an image once. */
static int
take_procedures(const struct diff_input *input, struct match_procedure **procedures, struct match_image **by_image)
{
	struct match_named *named = calloc(input->row_count + 1, sizeof(*named));
	size_t count = 0, used = 0;

	*procedures = calloc(input->row_count + 1, sizeof(**procedures));
	if (!named || !*procedures) {
		free(named);
		return -ENOMEM;
	}
	for (size_t i = 0; i < input->row_count; i++) {
		const struct input_row *row = &input->rows[i];

		if (row->title && row->kind == PROCEDURE_NAMED)
			named[count++] = (struct match_named){row->image, {row->title, row->samples.count}};
	}
	if (count > 0)
		qsort(named, count, sizeof(*named), compare_named);
	for (size_t i = 0; i < count; i++) {
		struct match_image *image = by_image[named[i].image];

		if (i > 0 && compare_named(&named[i - 1], &named[i]) == 0) {
			(*procedures)[used - 1].samples += named[i].procedure.samples;
			continue;
		}
		(*procedures)[used] = named[i].procedure;
		if (image->procedure_count++ == 0)
			image->procedures = &(*procedures)[used];
		used++;
	}
	free(named);
	return 0;
}

/* The images that have rows. */
static int
list_images(const struct diff_input *input, struct match_input *matched, struct match_image **by_image)
{
	const size_t count = input->all.selection->image_count;
	bool *has = calloc(count + 1, sizeof(*has));

	matched->images = calloc(count + 1, sizeof(*matched->images));
	if (!has || !matched->images) {
		free(has);
		return -ENOMEM;
	}
	for (size_t i = 0; i < input->row_count; i++)
		has[input->rows[i].image] = true;
	for (uint32_t i = 0; i < count; i++) {
		if (!has[i])
			continue;
		by_image[i] = &matched->images[matched->count++];
		by_image[i]->image = input_image(input, i);
		by_image[i]->index = i;
	}
	free(has);
	return 0;
}

/* Each group with both sides and more than one build. */
static int
list_rebuilt(struct diff_report *report)
{
	report->rebuilt = calloc(report->group_count + 1, sizeof(*report->rebuilt));
	report->same_build = calloc(report->group_count + 1, sizeof(*report->same_build));
	if (!report->rebuilt || !report->same_build)
		return -ENOMEM;
	for (uint32_t group = 0; group < report->group_count; group++) {
		struct diff_rebuilt *rebuilt = &report->rebuilt[report->rebuilt_count];
		bool has[2] = {false};

		report->same_build[group] = match_is_same_build(report->matched, group);
		for (unsigned side = 0; side < 2; side++)
			for (size_t i = 0; i < report->matched[side].count && !has[side]; i++) {
				const struct match_image *image = &report->matched[side].images[i];

				if (image->group != group)
					continue;
				has[side] = true;
				rebuilt->images[side] = image->index;
				rebuilt->why = image->why ? image->why : "path";
			}
		if (has[0] && has[1] && !report->same_build[group] &&
		    input_image(&report->inputs[1], rebuilt->images[1])->kind != IMAGE_JIT)
			report->rebuilt_count++;
	}
	return 0;
}

/* Images of both inputs into groups. */
static int
group_images(struct diff_report *report)
{
	int found, err;

	for (unsigned side = 0; side < 2; side++) {
		const struct diff_input *input = &report->inputs[side];
		struct match_image **by_image = calloc(input->all.selection->image_count + 1, sizeof(*by_image));

		err = by_image ? list_images(input, &report->matched[side], by_image) : -ENOMEM;
		if (!err)
			err = take_procedures(input, &report->procedures[side], by_image);
		free(by_image);
		if (err)
			return err;
	}
	found = match_images(report->matched, read_origin, NULL);
	if (found < 0)
		return found;
	report->group_count = (size_t)found;
	for (unsigned side = 0; side < 2; side++) {
		const struct match_input *matched = &report->matched[side];
		const size_t count = report->inputs[side].all.selection->image_count;

		report->groups[side] = calloc(count + 1, sizeof(**report->groups));
		if (!report->groups[side])
			return -ENOMEM;
		for (size_t i = 0; i < matched->count; i++)
			report->groups[side][matched->images[i].index] = matched->images[i].group;
	}
	return list_rebuilt(report);
}

/* The rows of both inputs for match_procedures(); the caller frees them and their builds. */
static int
list_rows(const struct diff_report *report, struct match_row **rows, char (**builds)[BUILD_ID_TEXT_SIZE], size_t *count)
{
	size_t used = 0;

	*count = report->inputs[0].row_count + report->inputs[1].row_count;
	*rows = calloc(*count + 1, sizeof(**rows));
	*builds = calloc(*count + 1, sizeof(**builds));
	if (!*rows || !*builds)
		return -ENOMEM;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < report->inputs[side].row_count; i++) {
			const struct input_row *row = &report->inputs[side].rows[i];
			const uint32_t group = report->groups[side][row->image];

			(*rows)[used] = (struct match_row){
				.side = side,
				.index = (uint32_t)i,
				.group = group,
				.same_build = report->same_build[group],
				.kind = row->kind,
				.offset = row->offset,
				.title = row->title,
				.build = build_id_format(input_image(&report->inputs[side], row->image),
			                                 (*builds)[used]),
			};
			used++;
		}
	return 0;
}

/* The title is that of the second side's largest part. */
static void
take_row(const struct diff_report *report, const struct match_row *pair, struct diff_item *item, uint64_t *largest)
{
	const struct input_row *row = &report->inputs[pair->side].rows[pair->index];
	const bool is_first = item->images[pair->side] == DIFF_ITEM_NOWHERE;

	compare_count_add(&item->comparison.samples[pair->side], &row->samples);
	for (size_t i = 0; i < report->inputs[pair->side].run_count && item->comparison.runs && row->runs; i++)
		compare_count_add(&item->comparison.runs[i + (pair->side ? report->inputs[0].run_count : 0)],
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
make_item(const struct diff_report *report, const struct match_row *rows, size_t count, struct diff_item *item)
{
	struct compare_count samples[2], *runs = NULL;
	uint64_t largest[2] = {0};

	*item = (struct diff_item){.group = rows[0].group, .images = {DIFF_ITEM_NOWHERE, DIFF_ITEM_NOWHERE}};
	if (report->scale.run_count > 0) {
		runs = item->comparison.runs = calloc(report->scale.run_count, sizeof(*runs));
		if (!runs)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		take_row(report, &rows[i], item, largest);
	memcpy(samples, item->comparison.samples, sizeof(samples));
	compare_make(&report->scale, samples, &item->comparison);
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
make_items(struct diff_report *report)
{
	char(*builds)[BUILD_ID_TEXT_SIZE] = NULL;
	struct match_row *rows = NULL;
	size_t *starts = NULL, count;
	int err = list_rows(report, &rows, &builds, &count);

	if (err)
		goto out;
	err = match_procedures(rows, count, &starts, &report->item_count);
	if (err)
		goto out;
	report->items = calloc(report->item_count + 1, sizeof(*report->items));
	if (!report->items)
		err = -ENOMEM;
	for (size_t i = 0; i < report->item_count && !err; i++)
		err = make_item(report, &rows[starts[i]], starts[i + 1] - starts[i], &report->items[i]);
out:
	free(starts);
	free(builds);
	free(rows);
	return err;
}

/* Test all differences, sort the items by them, and move those that are shown to the front. */
static int
select_items(struct diff_report *report)
{
	const struct diff_request *request = report->request;
	const struct compare_rows comparisons = {&report->items->comparison, report->item_count,
	                                         sizeof(*report->items)};
	int err = compare_add_noise(&report->scale, &comparisons, &report->noise);

	if (!err)
		err = compare_adjust(&comparisons, ALPHA, &report->marked_count);
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

static int
compare_code(struct diff_report *report)
{
	const struct diff_code *codes = report->codes;
	const bool same_build = codes[0].offset == codes[1].offset &&
	                        match_is_one_build(input_image(&report->inputs[0], codes[0].image),
	                                           input_image(&report->inputs[1], codes[1].image));
	int err = code_rows_make(codes, same_build, report->request->view, &report->scale, ALPHA, &report->code);

	if (err != -ENOENT)
		return err ? message_cannot(NULL, "compare the procedure", err, NULL) : STATUS_OK;
	message_print(report->request->procedure,
	              "no line numbers of it are known in %s set; compile it with -g, or compare --instructions",
	              codes[0].has_lines   ? "the second"
	              : codes[1].has_lines ? "the first"
	                                   : "either");
	return STATUS_EMPTY;
}

bool
diff_report_shows_row(const struct diff_report *report, const struct code_row *row)
{
	const struct diff_request *request = report->request;
	size_t larger = 0;

	if (row->kind == ROW_PROCEDURE || row->kind == ROW_BLOCK)
		return !request->marked_only && (row->kind == ROW_PROCEDURE || !request->limit);
	if (request->marked_only && !row->comparison.is_marked)
		return false;
	for (size_t i = 0; request->limit && i < report->code.count; i++) {
		const struct code_row *other = &report->code.rows[i];

		larger += other->kind == row->kind &&
		          (fabs(other->comparison.change) > fabs(row->comparison.change) ||
		           (fabs(other->comparison.change) == fabs(row->comparison.change) && other < row));
	}
	return !request->limit || larger < request->limit;
}

int
diff_report_make(struct diff_report *report, const struct diff_request *request, struct database *database)
{
	int status, err;

	(void)database;
	memset(report, 0, sizeof(*report));
	report->request = request;
	status = read_inputs(report);
	if (status)
		return status;
	choose_scale(report);
	if (choose_runs(report))
		return message_cannot(NULL, "compare the sets", -ENOMEM, NULL);
	if (report->scale.run_count > 0)
		status = run_history_read(&report->history, &request->sets, input_event(&report->inputs[0])->name);
	if (status)
		return status;
	report->scale.noise.prior = &report->history.prior;
	if (request->procedure)
		return compare_code(report);
	err = group_images(report);
	if (!err)
		err = make_items(report);
	if (!err)
		err = select_items(report);
	return err ? message_cannot(NULL, "compare the sets", err, NULL) : STATUS_OK;
}

void
diff_report_fini(struct diff_report *report)
{
	for (unsigned side = 0; side < 2; side++) {
		match_input_fini(&report->matched[side]);
		free(report->procedures[side]);
		free(report->groups[side]);
		diff_code_fini(&report->codes[side]);
		input_fini(&report->inputs[side]);
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
