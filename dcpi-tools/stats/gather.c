#include "dcpi-tools/stats/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"

/* While sets are read. */
struct gathering {
	struct report *report;
	bool *matched;  /* by --image: some set has one that is called so */
	char why[1024]; /* the last set that was passed by was; "" when none was */
	int passed;     /* the error of that */
};

static int
find_event(struct gathering *gathering, const struct profile_set_visit *visit, uint16_t *event)
{
	struct report *report = gathering->report;
	struct columns_request wanted = {.event_count = 1, .events = {report->event}};
	const struct selection_event *chosen;
	struct columns columns;
	int err;

	if (!report->event[0])
		wanted = report->request->columns;
	err = columns_choose(visit->selection, &wanted, &columns, gathering->why, sizeof(gathering->why));
	gathering->passed = err;
	if (err && visit->set->is_found)
		return PROFILE_SET_PASSED;
	if (err) {
		message_print(visit->set->title, "%s", gathering->why);
		return error_exit_status(err);
	}
	*event = columns.events[0];
	chosen = &visit->selection->events[*event];
	memcpy(report->event, chosen->name, sizeof(report->event));
	memcpy(report->unit, chosen->unit, sizeof(report->unit));
	return STATUS_OK;
}

/* Which images of the set were asked for; *wanted is NULL for all. */
static int
find_images(const struct gathering *gathering, const struct selection *selection, bool **wanted)
{
	const struct options *options = &gathering->report->request->options;

	*wanted = NULL;
	if (options->image_count == 0)
		return 0;
	*wanted = calloc(selection->image_count + 1, sizeof(**wanted));
	if (!*wanted)
		return -ENOMEM;
	for (size_t i = 0; i < options->image_count; i++)
		gathering->matched[i] |= images_match(selection, options->images[i], *wanted) > 0;
	return 0;
}

static int
describe_set(struct stats_set *details, const struct profile_set_visit *visit, uint16_t event,
             const struct rows_total *in_rows)
{
	const struct selection *selection = visit->selection;
	const struct selection_request *request = &visit->set->request;
	const struct selection_event *chosen = &selection->events[event];

	/* unknown samples have no image and no context: they are part of the whole only */
	details->samples = chosen->totals.samples;
	details->taken = chosen->totals_taken;
	details->squares = chosen->totals_squares;
	if (request->comm || request->cgroup || request->label) {
		details->samples = chosen->selected;
		details->taken = chosen->selected_taken;
		details->squares = chosen->selected_squares;
	}
	if (in_rows) {
		details->samples = in_rows->count;
		details->taken = in_rows->taken;
		details->squares = in_rows->squares;
	}
	details->is_random = chosen->weights.has_sum;
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		details->unknown += chosen->matched.unknown[cause];
	details->lost = chosen->matched.lost + chosen->matched.dropped;
	details->period = chosen->selected ? chosen->selected_events / (double)chosen->selected : 0;
	if (!summary_weights(chosen, details->weights))
		details->weights[0] = '\0';
	details->match = selection->match;
	details->is_labelled = request->label != NULL;
	details->run = selection->run;
	details->directory = strdup(visit->set->directory);
	return details->directory ? 0 : -ENOMEM;
}

static int
allocate(struct report *report)
{
	const size_t count = report->sets->count;

	report->details = calloc(count, sizeof(*report->details));
	report->factors = calloc(count, sizeof(*report->factors));
	report->totals = calloc(count, sizeof(*report->totals));
	report->above = calloc(count, sizeof(*report->above));
	report->rows = rows_new(report->request->kind, count, report->request->demangle);
	return report->details && report->factors && report->totals && report->above && report->rows ? 0 : -ENOMEM;
}

static int
add_set(struct gathering *gathering, const struct profile_set_visit *visit, uint16_t event)
{
	struct report *report = gathering->report;
	struct rows_addition addition = {
		.set = visit->index,
		.selection = visit->selection,
		.event = event,
		.symbolizer = visit->symbolizer,
	};
	struct rows_total in_rows;
	bool *wanted = NULL;
	int err = report->rows ? 0 : allocate(report);

	if (!err)
		err = find_images(gathering, visit->selection, &wanted);
	addition.wanted = wanted;
	if (!err)
		err = rows_add(report->rows, &addition, &in_rows);
	if (!err)
		err = describe_set(&report->details[visit->index], visit, event, wanted ? &in_rows : NULL);
	free(wanted);
	return err;
}

static int
visit_set(void *context, const struct profile_set_visit *visit)
{
	struct gathering *gathering = context;
	uint16_t event = 0;
	int status, err;

	status = find_event(gathering, visit, &event);
	if (!status) {
		err = add_set(gathering, visit, event);
		status = err ? database_cannot_read(visit->database, err) : STATUS_OK;
	}
	selection_free(visit->selection);
	return status;
}

/* Where all that was found had to be passed by, the reason says more than their number. */
static int
check_sets(const struct gathering *gathering)
{
	if (gathering->report->sets->count > 0 || !gathering->passed)
		return profile_sets_check(gathering->report->sets, 2, VARIATION_SETS_MAX);
	message_print(NULL, "%s", gathering->why);
	return error_exit_status(gathering->passed);
}

int
gather_sets(struct report *report)
{
	const struct options *options = &report->request->options;
	struct gathering gathering = {.report = report};
	int status;

	gathering.matched = calloc(options->image_count + 1, sizeof(*gathering.matched));
	if (!gathering.matched)
		return message_cannot(NULL, "read the sets", -ENOMEM, NULL);
	status = profile_sets_read(report->request->sets, 0, VARIATION_SETS_MAX, visit_set, &gathering);
	if (!status)
		status = check_sets(&gathering);
	for (size_t i = 0; !status && i < options->image_count; i++) {
		if (gathering.matched[i])
			continue;
		message_print(options->images[i], "no image with samples is called that in any of the sets");
		status = STATUS_EMPTY;
	}
	free(gathering.matched);
	return status;
}
