#include "dcpi-tools/prof/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool
is_by_context(const struct request *request)
{
	const struct selection_request *wanted = &request->options.request;

	return wanted->comm || wanted->cgroup || wanted->label;
}

/* Unknown samples have no image and no context: they are part of the whole only. */
static void
choose_totals(struct report *report)
{
	for (size_t i = 0; i < report->choice.selection->event_count; i++) {
		const struct selection_event *event = &report->choice.selection->events[i];

		report->totals[i] = event->totals.samples;
		if (is_by_context(report->request))
			report->totals[i] = event->selected;
		if (report->request->options.image_count > 0)
			report->totals[i] = report->histogram.totals[i];
	}
}

static int
make_histogram(struct report *report, struct profile *profile)
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

static int
select_and_sort(struct report *report, struct database *database)
{
	int status, err;
	uint64_t total;

	status = report_choose(&report->choice, database, &report->request->options, &report->request->columns);
	if (status)
		return status;
	err = make_histogram(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	choose_totals(report);
	histogram_sort(&report->histogram, &report->choice.columns);
	total = report->totals[report->choice.columns.events[0]];
	report->shown = histogram_cut(&report->histogram, &report->choice.columns, total, report->request->keep_percent,
	                              report->request->limit);
	report->row_count = histogram_cut(&report->histogram, &report->choice.columns, total, 100, 0);
	return STATUS_OK;
}

/* Whether there is nothing to report on: then a sentence says more than an empty table. */
static bool
is_empty(const struct report *report)
{
	for (size_t i = 0; i < report->choice.columns.count; i++)
		if (report->totals[report->choice.columns.events[i]] > 0)
			return false;
	return true;
}

int
prof_report_make(struct report *report, const struct request *request, struct database *database)
{
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = select_and_sort(report, database);
	if (status || !is_empty(report))
		return status;
	return report_choice_empty(database);
}

void
prof_report_fini(struct report *report)
{
	histogram_fini(&report->histogram);
	report_choice_fini(&report->choice);
}

struct summary
prof_report_summary(const struct report *report)
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
