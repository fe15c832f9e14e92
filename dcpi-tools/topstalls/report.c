#include "dcpi-tools/topstalls/report.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"

static int
take_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct report *report = context;

	if (report->request->survey.check)
		return judged_add(&report->judged, input, analysis);
	worst_add(&report->worst, input, analysis);
	return 0;
}

static int
look_up(void *context, const struct code_image *code)
{
	struct report *report = context;
	const struct worst_lookup lookup = {
		.syntax = report->request->syntax,
		.demangle = report->request->demangle,
		.source = report->request->source,
	};

	return worst_look_up(&report->worst, code, &lookup);
}

static void
cut(struct report *report)
{
	while (report->shown < report->worst.count &&
	       topstalls_report_percent(report, report->worst.stalls[report->shown].lost) >=
	               report->request->cutoff_percent)
		report->shown++;
}

int
topstalls_report_make(struct report *report, const struct request *request, struct database *database)
{
	const struct survey_all_visitor visitor = {
		.context = report, .procedure = take_procedure, .image_end = look_up};
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	if (worst_init(&report->worst, request->limit))
		return message_cannot(NULL, "keep the stalls", -ENOMEM, NULL);
	status = survey_all_open(&report->survey, &request->survey, database);
	if (!status && request->survey.check)
		report->judged = (struct judged){.profile = database->profile,
		                                 .epoch = stall_truth_epoch(report->survey.selection),
		                                 .demangle = request->demangle};
	if (!status)
		status = survey_all_run(&report->survey, database, &visitor);
	if (status)
		return status;
	worst_sort(&report->worst);
	judged_sort(&report->judged);
	cut(report);
	return STATUS_OK;
}

void
topstalls_report_fini(struct report *report)
{
	worst_fini(&report->worst);
	judged_fini(&report->judged);
	survey_all_fini(&report->survey);
}

double
topstalls_report_percent(const struct report *report, double samples)
{
	return report->survey.samples ? 100 * samples / (double)report->survey.samples : 0;
}
