#include "dcpi-tools/export/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/image_choice.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"

static int
choose_columns(struct report *report, const char *directory)
{
	char why[1024];
	int err;

	err = columns_choose(report->selection, &report->request->columns, &report->columns, why, sizeof(why));
	if (!err)
		return 0;
	message_print(directory, "%s", why);
	return error_exit_status(err);
}

static int
choose_images(struct report *report)
{
	const struct options *options = &report->request->options;
	const struct image_request images = {
		.patterns = options->images,
		.count = options->image_count,
		.event = report->columns.events[0],
	};

	report->titles = image_titles(report->selection);
	if (!report->titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	return images_choose(report->selection, report->titles, &images, &report->wanted);
}

static int
find_points(struct report *report, struct profile *profile)
{
	struct points_request request = {
		.selection = report->selection,
		.wanted = report->wanted,
		.symbolizer = symbolizer_new(profile),
		.demangle = report->request->demangle,
	};
	int err;

	err = request.symbolizer ? points_make(&request, &report->points) : -ENOMEM;
	symbolizer_free(request.symbolizer);
	if (!err)
		err = report_find_places(report);
	return err;
}

uint64_t
report_unknown(const struct report *report, uint16_t event, unsigned cause)
{
	return report->has_unknown ? report->selection->events[event].totals.unknown[cause] : 0;
}

/* Unknown samples have no image and no context, so they are of no selection by these. */
static void
add_up(struct report *report)
{
	const struct options *options = &report->request->options;

	report->has_unknown = options->image_count == 0 && !options->request.comm && !options->request.cgroup &&
	                      !options->request.label;
	for (size_t i = 0; i < report->columns.count; i++) {
		const uint16_t event = report->columns.events[i];

		for (size_t j = 0; j < report->points.count; j++)
			report->written[event] += point_samples(&report->points, &report->points.points[j], event);
		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			report->written[event] += report_unknown(report, event, cause);
	}
}

static bool
is_empty(const struct report *report)
{
	for (size_t i = 0; i < report->columns.count; i++)
		if (report->written[report->columns.events[i]] > 0)
			return false;
	return true;
}

int
report_make(struct report *report, const struct request *request, struct database *database)
{
	int status, err;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->options.request, &report->selection);
	if (!status)
		status = choose_columns(report, database->directory);
	if (!status)
		status = choose_images(report);
	if (status)
		return status;
	err = find_points(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	add_up(report);
	if (!is_empty(report))
		return STATUS_OK;
	message_print(database->directory, "no samples in what was selected");
	return STATUS_EMPTY;
}

void
report_fini(struct report *report)
{
	strings_free(report->strings);
	free(report->places);
	free(report->stretches);
	points_fini(&report->points);
	image_titles_free(report->titles, report->selection ? report->selection->image_count : 0);
	free(report->wanted);
	selection_free(report->selection);
}
