#include "dcpi-tools/common/summary.h"

#include <errno.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/summary_cost.h"

/*
 * What samples were weighted from. The keys are there where they were, so that whoever reads a profile of one period
 * meets what it always was.
 */
static int
json_add_weights(json_t *object, const struct selection_event *event)
{
	int failed = 0;

	if (!event->is_weighted)
		return 0;
	failed |= json_object_set_new(object, "taken", json_count(event->totals_taken));
	failed |= json_object_set_new(object, "selected_taken", json_count(event->selected_taken));
	failed |= json_object_set_new(object, "selected_events", json_count((uint64_t)event->selected_events));
	failed |= json_object_set_new(object, "longest_period",
	                              event->longest_period ? json_count(event->longest_period) : json_null());
	return failed;
}

static json_t *
event_json(const struct summary *summary, size_t index)
{
	const struct selection_event *event = &summary->selection->events[index];

	const uint64_t cost_ns = cost_of_sample_ns(event);
	const double running = slice_event_running_percent(&event->totals);

	json_t *object = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "name",
		json_shown(event->name), "requested", json_shown(event->requested), "unit", json_shown(event->unit),
		"period", json_count(event->period), "rate", json_count(event->rate), "cost_ns",
		cost_ns ? json_count(cost_ns) : json_null(), "samples", json_count(event->totals.samples), "selected",
		json_count(summary->totals[index]), "lost", json_count(event->totals.lost), "dropped",
		json_count(event->totals.dropped), "throttled", json_count(event->totals.throttled), "running_percent",
		running < 0 ? json_null() : json_real(running), "available", event->available, "note",
		json_shown(event->note));

	return json_kept(object, json_add_weights(object, event));
}

static bool
is_column(const struct columns *columns, size_t index)
{
	for (size_t i = 0; i < columns->count; i++)
		if (columns->events[i] == index)
			return true;
	return false;
}

/* Those that are shown, then the others. */
static json_t *
events_json(const struct summary *summary)
{
	json_t *events = json_array();
	int failed = !events;

	for (size_t i = 0; i < summary->columns->count; i++)
		failed |= json_array_append_new(events, event_json(summary, summary->columns->events[i]));
	for (size_t i = 0; i < summary->selection->event_count; i++)
		if (!is_column(summary->columns, i) && !summary->selection->events[i].is_truth)
			failed |= json_array_append_new(events, event_json(summary, i));
	return json_kept(events, failed);
}

static json_t *
epochs_json(const struct selection *selection)
{
	json_t *epochs = json_array();
	int failed = !epochs;

	for (size_t i = 0; i < selection->epoch_count; i++)
		failed |= json_array_append_new(epochs, json_integer(selection->epochs[i].id));
	return json_kept(epochs, failed);
}

static json_t *
unknown_json(const struct selection *selection)
{
	json_t *unknown = json_object();
	int failed = !unknown;

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		uint64_t count = 0;

		for (size_t i = 0; i < selection->event_count; i++)
			count += selection->events[i].totals.unknown[cause];
		failed |= json_object_set_new(unknown, unknown_cause_name(cause), json_count(count));
	}
	return json_kept(unknown, failed);
}

static json_t *
daemon_json(const struct selection *selection)
{
	if (selection->overhead.cpu_ns == 0)
		return json_null();
	return json_real(overhead_daemon_percent(&selection->overhead));
}

/* What is not known is null. */
static json_t *
percent_json(bool is_known, double percent)
{
	return is_known ? json_real(percent) : json_null();
}

static json_t *
overhead_json(const struct selection *selection)
{
	const struct overhead *overhead = &selection->overhead;
	const double limit = cost_limit_percent(selection);
	double expected = 0;
	const bool has_expected = cost_expected_percent(selection, &expected);

	return json_pack("{s:o, s:o, s:o, s:o}", "limit_percent", percent_json(limit > 0, limit), "expected_percent",
	                 percent_json(has_expected, expected), "measured_percent",
	                 percent_json(overhead->cpu_ns && !overhead->is_unknown, overhead_percent(overhead)),
	                 "start_cpu_ns", json_count(overhead->start_ns));
}

/* After the rows, so that a reader of the text meets the table first. */
int
summary_json_totals(const struct summary *summary, json_t *root)
{
	const struct selection *selection = summary->selection;
	uint64_t lost = 0, dropped = 0, throttled = 0;
	int failed = 0;

	for (size_t i = 0; i < selection->event_count; i++) {
		lost += selection->events[i].totals.lost;
		dropped += selection->events[i].totals.dropped;
		throttled += selection->events[i].totals.throttled;
	}
	failed |= json_object_set_new(root, "unknown", unknown_json(selection));
	failed |= json_object_set_new(root, "lost", json_count(lost));
	failed |= json_object_set_new(root, "dropped", json_count(dropped));
	failed |= json_object_set_new(root, "throttled", json_count(throttled));
	failed |= json_object_set_new(root, "sideband_lost", json_count(selection->sideband_lost));
	failed |= json_object_set_new(root, "skipped", json_count(selection->skipped));
	failed |= json_object_set_new(root, "overhead_percent", daemon_json(selection));
	failed |= json_object_set_new(root, "overhead", overhead_json(selection));
	return failed ? -ENOMEM : 0;
}

int
summary_json_events(const struct summary *summary, json_t *root)
{
	const struct selection *selection = summary->selection;
	int failed = 0;

	failed |= json_object_set_new(root, "start", json_time(selection->start_ns));
	failed |= json_object_set_new(root, "end", json_time(selection->end_ns));
	failed |= json_object_set_new(root, "epochs", epochs_json(selection));
	failed |= json_object_set_new(root, "label", json_shown(summary->request->label));
	failed |= json_object_set_new(root, "events", events_json(summary));
	return failed ? -ENOMEM : 0;
}
