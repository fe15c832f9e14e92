#include "dcpi-tools/export/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int
find_points(struct report *report, struct profile *profile)
{
	struct sample_points_request request = {
		.selection = report->choice.selection,
		.wanted = report->choice.wanted,
		.columns = &report->choice.columns,
		.symbolizer = symbolizer_new(profile),
		.demangle = report->request->demangle,
	};
	int err;

	err = request.symbolizer ? sample_points_make(&request, &report->points) : -ENOMEM;
	symbolizer_free(request.symbolizer);
	if (!err)
		err = export_report_find_places(report);
	return err;
}

uint64_t
export_report_unknown(const struct report *report, uint16_t event, unsigned cause)
{
	return report->has_unknown ? report->choice.selection->events[event].totals.unknown[cause] : 0;
}

/* Unknown samples have no image and no context, so they are of no selection by these. */
static void
add_up(struct report *report)
{
	const struct options *options = &report->request->options;

	report->has_unknown = options->image_count == 0 && !options->request.comm && !options->request.cgroup &&
	                      !options->request.label;
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const uint16_t event = report->choice.columns.events[i];

		for (size_t j = 0; j < report->points.count; j++)
			report->written[event] +=
				sample_points_samples(&report->points, &report->points.points[j], event);
		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			report->written[event] += export_report_unknown(report, event, cause);
	}
}

static bool
is_empty(const struct report *report)
{
	for (size_t i = 0; i < report->choice.columns.count; i++)
		if (report->written[report->choice.columns.events[i]] > 0)
			return false;
	return true;
}

int
export_report_make(struct report *report, const struct request *request, struct database *database)
{
	int status, err;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = report_choose(&report->choice, database, &request->options, &request->columns);
	if (status)
		return status;
	err = find_points(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	add_up(report);
	return is_empty(report) ? report_choice_empty(database) : STATUS_OK;
}

void
export_report_fini(struct report *report)
{
	strings_free(report->strings);
	free(report->places);
	free(report->stretches);
	sample_points_fini(&report->points);
	report_choice_fini(&report->choice);
}
