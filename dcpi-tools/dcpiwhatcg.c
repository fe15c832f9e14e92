/*
 * dcpiwhatcg - where all the cycles have gone: man/dcpiwhatcg.1.scd
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/breakdown.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/common/symbolizer.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"

const char *argp_program_version = "dcpiwhatcg " DCPI_VERSION;

/* What the user asked for. */
struct whatcg_request {
	struct survey_request survey;
	bool by_image, by_procedure;
	bool has_stall;
	struct breakdown_row stall;
	bool demangle;
	size_t limit; /* images, procedures */
	double cutoff_percent;
};

/* Samples of something, and what is known of them. */
struct whatcg_part {
	uint32_t image;
	char *title;       /* of the procedure; NULL: the image */
	uint64_t samples;  /* all */
	uint64_t taken;    /* how many these are before they are weighted */
	uint64_t analyzed; /* of procedures that were analysed */
	struct stall_summary summary;
};

struct whatcg_report {
	const struct whatcg_request *request;
	struct survey_all survey;
	struct whatcg_part all;
	struct whatcg_part *images;     /* by image, then by samples */
	struct whatcg_part *procedures; /* by samples */
	size_t procedure_count, procedure_capacity;
	const struct whatcg_part **stalled; /* procedures to be shown with --stall, in its order */
	size_t stalled_count;
};

/* Most samples first. */
static int
compare_parts(const void *a, const void *b)
{
	const struct whatcg_part *one = a, *other = b;

	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	if (one->image != other->image)
		return one->image > other->image ? 1 : -1;
	return one->title && other->title ? strcmp(one->title, other->title) : 0;
}

static int
keep_procedure(struct whatcg_report *report, const struct procedure_input *input, const struct whatcg_part *part)
{
	const struct procedure procedure = procedure_of_symbol(input->symbol);
	struct whatcg_part *parts = array_grow(report->procedures, &report->procedure_capacity,
	                                       report->procedure_count + 1, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	report->procedures = parts;
	parts[report->procedure_count] = *part;
	parts[report->procedure_count].title =
		procedure_title(&procedure, input->code->image, report->request->demangle);
	if (!parts[report->procedure_count].title)
		return -ENOMEM;
	report->procedure_count++;
	return 0;
}

static int
take_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct whatcg_report *report = context;
	struct whatcg_part *image = &report->images[input->code->index];
	const struct whatcg_part part = {
		.image = input->code->index,
		.samples = analysis->time_samples,
		.taken = analysis->time_taken,
		.analyzed = analysis->time_samples,
		.summary = analysis->summary,
	};

	image->analyzed += part.analyzed;
	stall_summary_add(&image->summary, &part.summary);
	report->all.analyzed += part.analyzed;
	stall_summary_add(&report->all.summary, &part.summary);
	if (!report->request->by_procedure && !report->request->has_stall)
		return 0;
	return keep_procedure(report, input, &part);
}

static int
begin(struct whatcg_report *report)
{
	const struct selection *selection = report->survey.selection;

	report->all.samples = report->survey.samples;
	report->all.taken = report->survey.taken;
	report->images = calloc(selection->image_count + 1, sizeof(*report->images));
	if (!report->images)
		return message_cannot(NULL, "add the images up", -ENOMEM, NULL);
	for (uint32_t i = 0; i < selection->image_count; i++) {
		report->images[i].image = i;
		if (!report->survey.wanted || report->survey.wanted[i])
			report->images[i].samples = code_image_count(selection, i, 0, UINT64_MAX, report->survey.event,
			                                             &report->images[i].taken, NULL);
	}
	return STATUS_OK;
}

static int
compare_stalls(const void *a, const void *b, void *context)
{
	const struct whatcg_part *one = *(const struct whatcg_part *const *)a,
				 *other = *(const struct whatcg_part *const *)b;
	const struct breakdown_row *row = context;
	const double one_high = breakdown_row_high(row, &one->summary),
		     other_high = breakdown_row_high(row, &other->summary);

	if (one_high != other_high)
		return one_high < other_high ? 1 : -1;
	return (one > other) - (one < other);
}

/* The procedures that lost most for the reason of --stall. */
static int
find_stalled(struct whatcg_report *report)
{
	const struct whatcg_request *request = report->request;
	const struct whatcg_part **stalled = calloc(report->procedure_count + 1, sizeof(struct whatcg_part *));
	size_t shown = 0;

	if (!stalled)
		return message_cannot(NULL, "sort the procedures", -ENOMEM, NULL);
	for (size_t i = 0; i < report->procedure_count; i++)
		stalled[i] = &report->procedures[i];
	if (report->procedure_count)
		qsort_r(stalled, report->procedure_count, sizeof(struct whatcg_part *), compare_stalls,
		        (void *)(uintptr_t)&request->stall);
	while (shown < report->procedure_count && shown < request->limit) {
		const double most = breakdown_row_high(&request->stall, &stalled[shown]->summary);

		if (most <= 0 || 100 * most / (double)report->survey.samples < request->cutoff_percent)
			break;
		shown++;
	}
	report->stalled = stalled;
	report->stalled_count = shown;
	return STATUS_OK;
}

static int
whatcg_report_make(struct whatcg_report *report, const struct whatcg_request *request, struct database *database)
{
	const struct survey_all_visitor visitor = {.context = report, .procedure = take_procedure};
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = survey_all_open(&report->survey, &request->survey, database);
	if (!status)
		status = begin(report);
	if (!status)
		status = survey_all_run(&report->survey, database, &visitor);
	if (status)
		return status;
	qsort(report->images, report->survey.selection->image_count, sizeof(*report->images), compare_parts);
	if (report->procedure_count)
		qsort(report->procedures, report->procedure_count, sizeof(*report->procedures), compare_parts);
	return request->has_stall ? find_stalled(report) : STATUS_OK;
}

static void
whatcg_report_fini(struct whatcg_report *report)
{
	for (size_t i = 0; i < report->procedure_count; i++)
		free(report->procedures[i].title);
	free(report->stalled);
	free(report->procedures);
	free(report->images);
	survey_all_fini(&report->survey);
}

/* How many of the first of `count` sorted parts are to be shown. */
static size_t
whatcg_report_cut(const struct whatcg_report *report, const struct whatcg_part *parts, size_t count)
{
	const struct whatcg_request *request = report->request;
	size_t shown = 0;

	while (shown < count && shown < request->limit && parts[shown].samples &&
	       summary_percent(parts[shown].samples, report->survey.samples) >= request->cutoff_percent)
		shown++;
	return shown;
}

/* ---- text: figure 4 of the DCPI paper, of all, of images and of procedures ---- */

static void
print_part(const struct whatcg_part *part, const struct output *output)
{
	struct breakdown breakdown;
	double vague, missing;

	breakdown_make(&part->summary, (double)part->samples, &breakdown);
	breakdown_rest(breakdown.tallied, part->analyzed, part->samples, &vague, &missing);
	if (breakdown.actual_cycles > 0)
		breakdown_print_rows(&breakdown, output);
	breakdown_print_total("Total tallied", breakdown.tallied, output);
	breakdown_print_total("Frequency unknown", vague, output);
	breakdown_print_total("Not analysed", missing, output);
	breakdown_print_rule(output);
	breakdown_print_total("All samples", breakdown.tallied + vague + missing, output);
}

static void
print_heading(const char *text, const struct output *output)
{
	fputs(output_style(output, STYLE_HEADING), output->stream);
	text_print(text, output->stream);
	fputs(output_plain(output, STYLE_HEADING), output->stream);
}

static void
print_parts(const struct whatcg_report *report, const struct whatcg_part *parts, size_t count,
            const struct output *output)
{
	const size_t shown = whatcg_report_cut(report, parts, count);

	for (size_t i = 0; i < shown; i++) {
		const char *image = report->survey.titles[parts[i].image];

		fputc('\n', output->stream);
		if (parts[i].title) {
			print_heading(parts[i].title, output);
			fputs(" in ", output->stream);
			text_print(image, output->stream);
		} else {
			print_heading(image, output);
		}
		fprintf(output->stream, ", %.2f%% of the samples\n",
		        summary_percent(parts[i].samples, report->survey.samples));
		print_part(&parts[i], output);
	}
}

static double
percent(const struct whatcg_report *report, double samples)
{
	return 100 * samples / (double)report->survey.samples;
}

static void
fill_stalls(const struct whatcg_report *report, struct table *table)
{
	const struct breakdown_row *row = &report->request->stall;

	for (size_t i = 0; i < report->stalled_count; i++) {
		const struct whatcg_part *part = report->stalled[i];

		table_format(table, STYLE_PLAIN, "%.2f%%", percent(report, breakdown_row_low(row, &part->summary)));
		table_format(table, STYLE_PLAIN, "%.2f%%", percent(report, breakdown_row_high(row, &part->summary)));
		table_format(table, STYLE_PLAIN, "%.2f%%", percent(report, (double)part->samples));
		table_text(table, STYLE_PLAIN, part->title);
		table_text(table, STYLE_PLAIN, report->survey.titles[part->image]);
	}
}

/* The procedures that lost most for one reason. */
static int
print_stalls(const struct whatcg_report *report, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "least", .align = TABLE_RIGHT, .min_width = 7},
		{.heading = "most", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "samples", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "procedure", .cut = TABLE_CUT_END, .gap = 1, .max_width = 50},
		{.heading = "image", .cut = TABLE_CUT_START, .gap = 2},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int err;

	if (!table)
		return -ENOMEM;
	fill_stalls(report, table);
	fputc('\n', output->stream);
	print_heading(report->request->stall.name, output);
	fputs(", in percent of all samples:\n", output->stream);
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

static int
whatcg_report_print_text(const struct whatcg_report *report, const struct output *output)
{
	const struct whatcg_request *request = report->request;
	int err = 0;

	survey_all_print_head(&report->survey, output);
	fputc('\n', output->stream);
	print_part(&report->all, output);
	fputc('\n', output->stream);
	survey_all_print_gaps(&report->survey, output);
	if (request->by_image)
		print_parts(report, report->images, report->survey.selection->image_count, output);
	if (request->by_procedure)
		print_parts(report, report->procedures, report->procedure_count, output);
	if (request->has_stall)
		err = print_stalls(report, output);
	return err;
}

/* ---- schema dcpiwhatcg/1 ---- */

static json_t *
summary_json(const struct whatcg_part *part)
{
	struct breakdown breakdown;
	double vague, missing;
	json_t *summary;
	int failed = 0;

	breakdown_make(&part->summary, (double)part->samples, &breakdown);
	breakdown_rest(breakdown.tallied, part->analyzed, part->samples, &vague, &missing);
	breakdown.tallied_percent = breakdown.tallied;
	summary = breakdown_json(&breakdown);
	failed |= json_object_set_new(summary, "frequency_unknown", json_real(vague));
	failed |= json_object_set_new(summary, "not_analyzed", json_real(missing));
	return json_kept(summary, failed);
}

/* Whose samples: an image's, or a procedure's. */
static json_t *
part_samples_json(const struct whatcg_report *report, const struct whatcg_part *part)
{
	const struct survey_all *survey = &report->survey;
	json_t *object = json_pack("{s:o, s:o}", "image", json_shown(survey->titles[part->image]), "samples",
	                           json_count(part->samples));
	int failed = !object;

	if (survey->selection->events[survey->event].is_weighted)
		failed |= json_object_set_new(object, "taken", json_count(part->taken));
	if (part->title)
		failed |= json_object_set_new(object, "procedure", json_shown(part->title));
	return json_kept(object, failed);
}

static json_t *
parts_json(const struct whatcg_report *report, const struct whatcg_part *parts, size_t count)
{
	const size_t shown = whatcg_report_cut(report, parts, count);
	json_t *array = json_array();
	int failed = !array;

	for (size_t i = 0; i < shown; i++) {
		json_t *object = part_samples_json(report, &parts[i]);

		failed |= json_object_set_new(object, "summary", summary_json(&parts[i]));
		failed |= json_array_append_new(array, object);
	}
	return json_kept(array, failed);
}

static json_t *
stalled_json(const struct whatcg_report *report)
{
	const struct breakdown_row *row = &report->request->stall;
	json_t *array = json_array();
	int failed = !array;

	for (size_t i = 0; i < report->stalled_count; i++) {
		const struct whatcg_part *part = report->stalled[i];
		json_t *object = part_samples_json(report, part);

		failed |= json_object_set_new(object, "low", json_real(breakdown_row_low(row, &part->summary)));
		failed |= json_object_set_new(object, "high", json_real(breakdown_row_high(row, &part->summary)));
		failed |= json_array_append_new(array, object);
	}
	return json_pack("{s:s, s:o}", "reason", row->name, "procedures", json_kept(array, failed));
}

static int
whatcg_report_print_json(const struct whatcg_report *report, FILE *stream)
{
	const struct whatcg_request *request = report->request;
	json_t *root = survey_all_json(&report->survey, "dcpiwhatcg/1");
	int failed = 0;

	failed |= json_object_set_new(root, "summary", summary_json(&report->all));
	if (request->by_image)
		failed |= json_object_set_new(
			root, "images", parts_json(report, report->images, report->survey.selection->image_count));
	if (request->by_procedure)
		failed |= json_object_set_new(root, "procedures",
		                              parts_json(report, report->procedures, report->procedure_count));
	if (request->has_stall)
		failed |= json_object_set_new(root, "stall", stalled_json(report));
	return json_print(json_kept(root, failed), stream);
}

static void
take_stall(void *member, char *text, struct argp_state *state)
{
	struct whatcg_request *request = member;

	request->has_stall = true;
	if (!breakdown_row_find(text, &request->stall))
		argp_error(state, "--stall takes a row's name or a letter: %s", breakdown_row_names());
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTIONS_SURVEY(struct whatcg_request, survey),
	OPTION_TRUE(1, "by-image", 'i', struct whatcg_request, by_image, "Also of each image"),
	OPTION_TRUE(1, "by-procedure", 'p', struct whatcg_request, by_procedure, "Also of each procedure"),
	OPTION_CALL(1, "stall", 0, "REASON", 0, take_stall,
                    "Also the procedures that lost most for REASON: a row's name, or its letter"),
	OPTION_COUNT(1, "limit", "N", struct whatcg_request, limit, "At most N images, and N procedures (default: 10)"),
	OPTION_DOUBLE(1, "cutoff", "PERCENT", struct whatcg_request, cutoff_percent, 0, 100,
                      "Leave out images and procedures with less of all samples"),
	OPTION_NO_DEMANGLE(struct whatcg_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Show where the cycles went: what procedures lost to which reason, added up.\v"
	       "Without options: the latest epoch, all images. See dcpiwhatcg(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT,
	.options = offsetof(struct whatcg_request, survey.options),
};

TOOL_DEFINE(whatcg)

int
main(int argc, char **argv)
{
	struct whatcg_request request = {.demangle = true, .limit = 10};
	struct whatcg_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
