#include "dcpi-tools/common/survey_all.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"

#define IMAGES_NAMED 3 /* at most, for each reason */

static const char unknown[] = "it is not known which image they are of: dcpiprof says why";

static bool
is_wanted(const struct survey_all *survey, uint32_t image)
{
	return !survey->wanted || survey->wanted[image];
}

static int
add_gap(struct survey_all *survey, uint32_t image, const char *why, uint64_t samples)
{
	struct survey_gap *gaps;

	if (!samples)
		return 0;
	for (size_t i = 0; i < survey->gap_count; i++)
		if (survey->gaps[i].image == image && strcmp(survey->gaps[i].why, why) == 0) {
			survey->gaps[i].samples += samples;
			return 0;
		}
	gaps = array_grow(survey->gaps, &survey->gap_capacity, survey->gap_count + 1, sizeof(*gaps));
	if (!gaps)
		return -ENOMEM;
	survey->gaps = gaps;
	gaps[survey->gap_count++] = (struct survey_gap){.why = why, .image = image, .samples = samples};
	return 0;
}

/* Unknown samples have no image and no context: they are part of the whole only. */
static int
choose_total(struct survey_all *survey, const struct survey_request *request)
{
	const struct selection_request *wanted = &request->options.request;
	const struct selection_event *event = &survey->selection->events[survey->event];
	const bool is_by_context = wanted->comm || wanted->cgroup || wanted->label;
	uint64_t known = 0, known_taken = 0;

	for (size_t i = 0; i < survey->selection->count_count; i++) {
		const struct selection_count *count = &survey->selection->counts[i];

		if (count->event != survey->event || !is_wanted(survey, count->image))
			continue;
		known += count->count;
		known_taken += count->taken;
	}
	survey->samples = known;
	survey->taken = known_taken;
	if (survey->wanted || is_by_context || event->totals.samples <= known)
		return 0;
	survey->samples = event->totals.samples;
	survey->taken = event->totals_taken;
	return add_gap(survey, SURVEY_NO_IMAGE, unknown, event->totals.samples - known);
}

void
survey_all_leave_out(struct survey_all *survey)
{
	const struct selection *selection = survey->selection;

	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];

		if (is_wanted(survey, count->image))
			other_cores_add(&survey->left_out, selection, survey->event, count->event, count->count);
	}
}

int
survey_all_open(struct survey_all *survey, const struct survey_request *request, struct database *database)
{
	struct image_request images = {
		.patterns = request->options.images,
		.count = request->options.image_count,
	};
	int status;

	memset(survey, 0, sizeof(*survey));
	status = database_select(database, &request->options.request, &survey->selection);
	if (!status)
		status = time_event_ask(survey->selection, request->event, database->directory, &survey->event);
	if (!status)
		status = model_ask(survey->selection, request->cpu, survey->event, &survey->model);
	if (status)
		return status;
	images.event = survey->event;
	status = images_ask(survey->selection, &images, &survey->titles, &survey->wanted);
	if (status)
		return status;
	survey_all_leave_out(survey);
	if (choose_total(survey, request))
		return message_cannot(NULL, "add the samples up", -ENOMEM, NULL);
	if (survey->samples)
		return STATUS_OK;
	message_print(database->directory, "no samples in what was selected");
	return STATUS_EMPTY;
}

void
survey_all_fini(struct survey_all *survey)
{
	if (survey->titles)
		image_titles_free(survey->titles, survey->selection->image_count);
	free(survey->wanted);
	free(survey->gaps);
	selection_free(survey->selection);
	memset(survey, 0, sizeof(*survey));
}

struct survey_run {
	struct survey_all *survey;
	const struct survey_all_visitor *visitor;
	struct progress progress;
	uint64_t done; /* samples */
};

static void
show_progress(struct survey_run *run, uint64_t samples)
{
	run->done += samples;
	progress_show(&run->progress, run->done, run->survey->samples);
}

static int
visit_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct survey_run *run = context;

	run->survey->procedure_count++;
	run->survey->analyzed += analysis->time_samples;
	run->survey->is_relative |= analysis->frequencies.is_relative;
	show_progress(run, analysis->time_samples);
	return run->visitor->procedure(run->visitor->context, input, analysis);
}

static int
note_gap(void *context, uint32_t image, const char *why, uint64_t samples)
{
	struct survey_run *run = context;

	show_progress(run, samples);
	return add_gap(run->survey, image, why, samples);
}

static int
visit_code(struct survey_run *run, struct code_image *code, const struct path_records *records)
{
	const struct survey_visitor visitor = {.context = run, .procedure = visit_procedure, .skipped = note_gap};
	const struct procedure_input input = {
		.selection = run->survey->selection,
		.code = code,
		.event = run->survey->event,
		.pipeline = &run->survey->model.pipeline,
		.exact = &records->exact.paths,
		.branches = &records->branches.paths,
		.bursts = &records->bursts.paths,
		.ignore_exact = run->survey->ignore_exact,
	};
	const size_t before = run->survey->procedure_count;
	int err;

	err = survey_image(&input, &visitor);
	run->survey->image_count += run->survey->procedure_count > before;
	if (!err && run->visitor->image_end)
		err = run->visitor->image_end(run->visitor->context, code);
	return err;
}

static int
visit_image(struct survey_run *run, uint32_t image, uint64_t samples, const struct path_records *records)
{
	const struct selection *selection = run->survey->selection;
	struct code_image code;
	int err;

	err = code_image_open(&code, selection, image);
	if (!err)
		err = code_image_read(&code);
	if (err && err != -ENOMEM)
		err = note_gap(run, image, code_image_trouble(selection->images[image].image, err), samples);
	else if (!err)
		err = visit_code(run, &code, records);
	code_image_close(&code);
	return err;
}

/* An exit status. The database is read before the guard of the image file is entered: its faults are not the file's. */
static int
visit_guarded(struct survey_run *run, uint32_t image, uint64_t samples, struct database *database)
{
	char *shown = text_shown(run->survey->titles[image]);
	struct guard guard = {
		.subject = shown ? shown : "?",
		.claim = "its code cannot be read: the file is damaged",
		.advice = "name others with --image",
		.status = STATUS_FAILURE,
	};
	struct path_records records;
	int err;

	err = path_records_read(database->profile, run->survey->selection, run->survey->selection->images[image].number,
	                        &records);
	if (err) {
		free(shown);
		return database_cannot_read(database, err);
	}
	guard_enter(&guard);
	err = visit_image(run, image, samples, &records);
	guard_leave(&guard);
	path_records_fini(&records);
	free(shown);
	return err ? message_cannot(run->survey->titles[image], "analyse its procedures", err, NULL) : STATUS_OK;
}

static int
compare_gaps(const void *a, const void *b)
{
	const struct survey_gap *one = a, *other = b;

	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	return (one->image > other->image) - (one->image < other->image);
}

int
survey_all_run(struct survey_all *survey, struct database *database, const struct survey_all_visitor *visitor)
{
	struct survey_run run = {.survey = survey, .visitor = visitor};
	int status = STATUS_OK;

	progress_begin(&run.progress, "of the samples analysed");
	for (uint32_t i = 0; i < survey->selection->image_count && !status; i++) {
		const uint64_t samples = code_image_samples(survey->selection, i, 0, UINT64_MAX, survey->event);

		if (samples && is_wanted(survey, i))
			status = visit_guarded(&run, i, samples, database);
	}
	progress_end(&run.progress);
	if (survey->gap_count)
		qsort(survey->gaps, survey->gap_count, sizeof(*survey->gaps), compare_gaps);
	return status;
}

void
survey_all_print_head(const struct survey_all *survey, const struct output *output)
{
	const struct selection *selection = survey->selection;
	FILE *stream = output->stream;

	summary_print_samples(selection, survey->event, survey->samples, stream);
	other_cores_print(&survey->left_out, selection, output);
	model_print(&survey->model, output);
	if (!survey->is_relative)
		return;
	fputs(output_style(output, STYLE_WARNING), stream);
	fputs("Frequency:  right within a procedure only unless counted; cycles (CPI) are within x2 at best, samples "
	      "are what they are\n",
	      stream);
	fputs(output_plain(output, STYLE_WARNING), stream);
}

/* "5.60%  [kernel], /usr/bin/gzip and 2 more: the reason": the gaps from `first` on, which are sorted, of its reason.
 */
static void
print_reason(const struct survey_all *survey, size_t first, FILE *stream)
{
	const char *why = survey->gaps[first].why;
	uint64_t samples = 0;
	size_t count = 0;

	for (size_t i = first; i < survey->gap_count; i++)
		if (strcmp(survey->gaps[i].why, why) == 0)
			samples += survey->gaps[i].samples;
	fprintf(stream, "              %6.2f%%  ", summary_percent(samples, survey->samples));
	for (size_t i = first; i < survey->gap_count; i++) {
		const struct survey_gap *gap = &survey->gaps[i];

		if (gap->image == SURVEY_NO_IMAGE || strcmp(gap->why, why) != 0 || ++count > IMAGES_NAMED)
			continue;
		fputs(count > 1 ? ", " : "", stream);
		text_print(survey->titles[gap->image], stream);
	}
	if (count > IMAGES_NAMED)
		fprintf(stream, " and %zu more", count - IMAGES_NAMED);
	fprintf(stream, "%s%s\n", count ? ": " : "", why);
}

void
survey_all_print_gaps(const struct survey_all *survey, const struct output *output)
{
	const uint64_t missing = survey->samples - survey->analyzed;
	FILE *stream = output->stream;

	fprintf(stream, "Analysed:     %6.2f%% of the samples: %zu procedure%s of %zu image%s\n",
	        summary_percent(survey->analyzed, survey->samples), survey->procedure_count,
	        text_plural(survey->procedure_count), survey->image_count, text_plural(survey->image_count));
	if (!missing)
		return;
	fprintf(stream, "Not analysed: %6.2f%%\n", summary_percent(missing, survey->samples));
	for (size_t i = 0; i < survey->gap_count; i++) {
		size_t first = 0;

		while (strcmp(survey->gaps[first].why, survey->gaps[i].why) != 0)
			first++;
		if (first == i)
			print_reason(survey, i, stream);
	}
}

static json_t *
gaps_json(const struct survey_all *survey)
{
	json_t *gaps = json_array();
	int failed = !gaps;

	for (size_t i = 0; i < survey->gap_count; i++) {
		const struct survey_gap *gap = &survey->gaps[i];

		failed |= json_array_append_new(
			gaps,
			json_pack("{s:s, s:o, s:o}", "reason", gap->why, "image",
		                  gap->image == SURVEY_NO_IMAGE ? json_null() : json_shown(survey->titles[gap->image]),
		                  "samples", json_count(gap->samples)));
	}
	return json_kept(gaps, failed);
}

json_t *
survey_all_json(const struct survey_all *survey, const char *schema)
{
	const struct selection *selection = survey->selection;
	const struct selection_event *event = &selection->events[survey->event];
	json_t *sampled = json_pack("{s:o, s:o, s:o}", "name", json_shown(event->name), "unit", json_shown(event->unit),
	                            "period", event->period ? json_count(event->period) : json_null());
	json_t *root =
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "schema", schema, "start",
	                  json_time(selection->start_ns), "end", json_time(selection->end_ns), "event", sampled,
	                  "model", model_json(&survey->model), "relative", survey->is_relative, "samples",
	                  json_count(survey->samples), "analyzed", json_count(survey->analyzed), "procedure_count",
	                  json_count(survey->procedure_count), "not_analyzed", gaps_json(survey));
	int failed = !root;

	if (event->is_weighted)
		failed |= json_object_set_new(root, "taken", json_count(survey->taken));
	failed |= other_cores_json(&survey->left_out, selection, root);
	return json_kept(root, failed);
}
