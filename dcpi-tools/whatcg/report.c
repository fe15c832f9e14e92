#include "dcpi-tools/whatcg/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/symbolizer.h"

static int
keep_procedure(struct whatcg_report *report, const struct procedure_input *input, const struct whatcg_part *part)
{
	const struct procedure procedure = {
		.kind = input->symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = input->symbol->offset,
		.name = input->symbol->name,
	};
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
	const struct whatcg_row *row = context;
	const double one_high = whatcg_row_high(row, &one->summary), other_high = whatcg_row_high(row, &other->summary);

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
		const double most = whatcg_row_high(&request->stall, &stalled[shown]->summary);

		if (most <= 0 || 100 * most / (double)report->survey.samples < request->cutoff_percent)
			break;
		shown++;
	}
	report->stalled = stalled;
	report->stalled_count = shown;
	return STATUS_OK;
}

int
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
	qsort(report->images, report->survey.selection->image_count, sizeof(*report->images), whatcg_part_compare);
	if (report->procedure_count)
		qsort(report->procedures, report->procedure_count, sizeof(*report->procedures), whatcg_part_compare);
	return request->has_stall ? find_stalled(report) : STATUS_OK;
}

void
whatcg_report_fini(struct whatcg_report *report)
{
	for (size_t i = 0; i < report->procedure_count; i++)
		free(report->procedures[i].title);
	free(report->stalled);
	free(report->procedures);
	free(report->images);
	survey_all_fini(&report->survey);
}

size_t
whatcg_report_cut(const struct whatcg_report *report, const struct whatcg_part *parts, size_t count)
{
	const struct whatcg_request *request = report->request;
	size_t shown = 0;

	while (shown < count && shown < request->limit && parts[shown].samples &&
	       share_percent(parts[shown].samples, report->survey.samples) >= request->cutoff_percent)
		shown++;
	return shown;
}
