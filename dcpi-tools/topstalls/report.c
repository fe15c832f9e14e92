#include "dcpi-tools/topstalls/report.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"

static int
take_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct topstalls_report *report = context;

	top_instructions_add(&report->top, input, analysis);
	return 0;
}

static int
look_up(void *context, const struct code_image *code)
{
	struct topstalls_report *report = context;
	const struct top_lookup lookup = {
		.syntax = report->request->syntax,
		.demangle = report->request->demangle,
		.source = report->request->source,
	};

	return top_instructions_look_up(&report->top, code, &lookup);
}

int
topstalls_report_make(struct topstalls_report *report, const struct topstalls_request *request,
                      struct database *database)
{
	const struct survey_all_visitor visitor = {
		.context = report, .procedure = take_procedure, .image_end = look_up};
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	if (top_instructions_init(&report->top, request->limit))
		return message_cannot(NULL, "keep the stalls", -ENOMEM, NULL);
	status = survey_all_open(&report->survey, &request->survey, database);
	if (!status)
		status = survey_all_run(&report->survey, database, &visitor);
	if (status)
		return status;
	top_instructions_sort(&report->top);
	while (report->shown < report->top.count &&
	       topstalls_report_percent(report, report->top.stalls[report->shown].lost) >= request->cutoff_percent)
		report->shown++;
	return STATUS_OK;
}

void
topstalls_report_fini(struct topstalls_report *report)
{
	top_instructions_fini(&report->top);
	survey_all_fini(&report->survey);
}

double
topstalls_report_percent(const struct topstalls_report *report, double samples)
{
	return report->survey.samples ? 100 * samples / (double)report->survey.samples : 0;
}
