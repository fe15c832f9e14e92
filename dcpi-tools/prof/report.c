#include "dcpi-tools/prof/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Unknown samples have no image and no context: they are part of the whole only. */
static void
choose_totals(struct prof_report *report)
{
	const struct selection_request *wanted = &report->request->options.request;

	for (size_t i = 0; i < report->choice.selection->event_count; i++) {
		const struct selection_event *event = &report->choice.selection->events[i];

		report->totals[i] = event->totals.samples;
		if (wanted->comm || wanted->cgroup || wanted->label)
			report->totals[i] = event->selected;
		if (report->request->options.image_count > 0)
			report->totals[i] = report->histogram.totals[i];
	}
}

static int
make_histogram(struct prof_report *report, struct profile *profile)
{
	struct histogram_request request = {
		.selection = report->choice.selection,
		.wanted = report->choice.wanted,
		.image_titles = report->choice.titles,
		.demangle = report->request->demangle,
	};
	int err;

	if (!report->request->by_image)
		request.symbolizer = symbolizer_new(profile);
	err = report->request->by_image || request.symbolizer ? 0 : -ENOMEM;
	if (!err)
		err = histogram_make(&request, &report->histogram);
	symbolizer_free(request.symbolizer);
	return err;
}

int
prof_report_make(struct prof_report *report, const struct prof_request *request, struct database *database)
{
	const struct columns *columns = &report->choice.columns;
	int status, err;
	uint64_t total;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = report_choose(&report->choice, database, &request->options, &request->columns);
	if (status)
		return status;
	err = make_histogram(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	choose_totals(report);
	histogram_sort(&report->histogram, columns);
	total = report->totals[columns->events[0]];
	report->shown = histogram_cut(&report->histogram, columns, total, request->keep_percent, request->limit);
	report->row_count = histogram_cut(&report->histogram, columns, total, 100, 0);
	for (size_t i = 0; i < columns->count; i++)
		if (report->totals[columns->events[i]] > 0)
			return STATUS_OK;
	return report_choice_empty(database); /* a sentence says more than an empty table */
}

void
prof_report_fini(struct prof_report *report)
{
	histogram_fini(&report->histogram);
	report_choice_fini(&report->choice);
}

struct summary
prof_report_summary(const struct prof_report *report)
{
	return (struct summary){
		.selection = report->choice.selection,
		.request = &report->request->options.request,
		.columns = &report->choice.columns,
		.histogram = &report->histogram,
		.totals = report->totals,
		.shown = report->shown,
		.row_count = report->row_count,
	};
}
