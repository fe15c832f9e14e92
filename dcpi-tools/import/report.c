#include "dcpi-tools/import/report.h"

#include <errno.h>
#include <inttypes.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "process/attribution.h"

static int
print_events(const struct perf_import_report *report, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "samples", .align = TABLE_RIGHT, .min_width = 12},
		{.heading = "unknown", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "lost", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "throttled", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "event", .align = TABLE_LEFT, .gap = 2},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int err;

	if (!table)
		return -errno;
	for (size_t i = 0; i < report->epoch.event_count; i++) {
		const struct slice_event *event = &report->events[i];
		uint64_t unknown = 0;

		if (event_is_sum(&report->epoch.events[i]))
			continue;
		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			unknown += event->unknown[cause];
		table_format(table, STYLE_PLAIN, "%" PRIu64, event->samples);
		table_format(table, STYLE_PLAIN, "%" PRIu64, unknown);
		table_format(table, STYLE_PLAIN, "%" PRIu64, event->lost);
		table_format(table, STYLE_PLAIN, "%" PRIu64, event->throttled);
		table_text(table, STYLE_PLAIN, report->epoch.events[i].name);
	}
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

/* Why samples have no image, over all events. */
static void
print_unknown(const struct perf_import_report *report, FILE *stream)
{
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < report->epoch.event_count; i++)
			if (report->epoch.events[i].encoding.type != EVENT_TYPE_DCPIX)
				sum += report->events[i].unknown[cause];
		if (sum > 0)
			fprintf(stream, "Unknown:  %" PRIu64 " sample%s: %s\n", sum, sum == 1 ? "" : "s",
			        unknown_cause_text(cause));
	}
}

static void
print_left_out(const struct perf_import_report *report, FILE *stream)
{
	if (report->call_chains)
		fprintf(stream, "Left out: the call chains of %" PRIu64 " samples; their own addresses are counted\n",
		        report->call_chains);
	if (report->events_left_out)
		fprintf(stream, "Left out: %" PRIu64 " events for which an epoch has no room (%d)\n",
		        report->events_left_out, EVENTS_MAX);
	if (report->no_event)
		fprintf(stream, "Left out: %" PRIu64 " samples of events that are not described, or left out\n",
		        report->no_event);
	if (report->late)
		fprintf(stream, "Doubt:    %" PRIu64 " records came later than others that are younger\n",
		        report->late);
}

int
import_report_print(const struct perf_import_report *report, const char *file, const struct output *output)
{
	const struct epoch *epoch = &report->epoch;
	char duration[TIME_TEXT_SIZE];
	FILE *stream = output->stream;
	int err;

	text_print(file, stream);
	fprintf(stream, ": %" PRIu64 " sample%s in %s", report->samples, text_plural(report->samples),
	        duration_format(report->duration_ns, duration));
	if (epoch->host[0]) {
		fputs(" on ", stream);
		text_print(epoch->host, stream);
	}
	fprintf(stream, ", %" PRIu64 " image%s, %s epoch %" PRIu32 "%s\n", report->images, text_plural(report->images),
	        report->is_known ? "known as" : "into", epoch->id, report->is_known ? ": nothing was added" : "");
	err = print_events(report, output);
	print_unknown(report, stream);
	print_left_out(report, stream);
	return err;
}

static json_t *
json_unknown(const struct slice_event *event)
{
	json_t *object = json_object();
	int failed = !object;

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		if (event->unknown[cause])
			failed |= json_object_set_new(object, unknown_cause_name(cause),
			                              json_count(event->unknown[cause]));
	return json_kept(object, failed);
}

/* The events that the samples of event `index` stand for; null: not known. */
static json_t *
json_worth(const struct perf_import_report *report, size_t index)
{
	const struct epoch *epoch = &report->epoch;
	uint64_t events = report->events[index].samples * epoch->events[index].period;

	for (size_t i = 0; i < epoch->event_count; i++)
		if (epoch_weighed_event(epoch, i) == index)
			events += report->events[i].samples;
	return events ? json_count(events) : json_null();
}

static json_t *
json_events(const struct perf_import_report *report)
{
	json_t *array = json_array();
	int failed = !array;

	for (size_t i = 0; i < report->epoch.event_count; i++) {
		const struct event *event = &report->epoch.events[i];
		const struct slice_event *sum = &report->events[i];

		if (event_is_sum(event))
			continue;
		failed |= json_array_append_new(
			array, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_shown(event->name),
		                         "unit", json_shown(event->encoding.unit), "period",
		                         event->period ? json_count(event->period) : json_null(), "samples",
		                         json_count(sum->samples), "events", json_worth(report, i), "lost",
		                         json_count(sum->lost), "throttled", json_count(sum->throttled), "unknown",
		                         json_unknown(sum)));
	}
	return json_kept(array, failed);
}

json_t *
import_report_json(const struct perf_import_report *report, const char *file)
{
	const struct epoch *epoch = &report->epoch;
	json_t *root = json_object();
	int failed = !root;

	failed |= json_object_set_new(root, "file", json_shown(file));
	failed |= json_object_set_new(root, "epoch", epoch->id ? json_count(epoch->id) : json_null());
	failed |= json_object_set_new(root, "known", json_boolean(report->is_known));
	failed |= json_object_set_new(root, "host", json_shown(epoch->host));
	failed |= json_object_set_new(root, "kernel", json_shown(epoch->kernel));
	failed |= json_object_set_new(root, "start", json_time(epoch->start_ns));
	failed |= json_object_set_new(root, "end", json_time(epoch->end_ns));
	failed |= json_object_set_new(root, "seconds", json_real((double)report->duration_ns / 1e9));
	failed |= json_object_set_new(root, "bytes", json_count(report->bytes));
	failed |= json_object_set_new(root, "samples", json_count(report->samples));
	failed |= json_object_set_new(root, "images", json_count(report->images));
	failed |= json_object_set_new(root, "events", json_events(report));
	failed |= json_object_set_new(root, "call_chains_left_out", json_count(report->call_chains));
	failed |= json_object_set_new(root, "events_left_out", json_count(report->events_left_out));
	failed |= json_object_set_new(root, "samples_left_out", json_count(report->no_event));
	failed |= json_object_set_new(root, "late_records", json_count(report->late));
	failed |= json_object_set_new(root, "damage",
	                              report->fault.text
	                                      ? json_pack("{s:o, s:s}", "offset", json_count(report->fault.offset),
	                                                  "reason", report->fault.text)
	                                      : json_null());
	return json_kept(root, failed);
}

int
import_merge_print(const struct database_merge *merged, const char *directory, const struct output *output)
{
	const uint64_t epochs = merged->epochs + merged->updated;
	FILE *stream = output->stream;

	text_print(directory, stream);
	fprintf(stream, ": %" PRIu64 " epoch%s, %" PRIu64 " slice%s, %" PRIu64 " image%s (%" PRIu64 " of them new)",
	        epochs, text_plural(epochs), merged->slices, text_plural(merged->slices), merged->images,
	        text_plural(merged->images), merged->new_images);
	if (merged->first)
		fprintf(stream, ", into epoch%s %" PRIu32, merged->first == merged->last ? "" : "s", merged->first);
	if (merged->first != merged->last)
		fprintf(stream, " to %" PRIu32, merged->last);
	fputc('\n', stream);
	if (merged->updated)
		fprintf(stream, "Went on:  %" PRIu64 " epoch%s taken the place of what was here\n", merged->updated,
		        merged->updated == 1 ? " that was here has" : "s that were here have");
	if (merged->known)
		fprintf(stream, "Known:    %" PRIu64 " epoch%s here already\n", merged->known,
		        merged->known == 1 ? " is" : "s are");
	return ferror(stream) ? -EIO : 0;
}

json_t *
import_merge_json(const struct database_merge *merged, const char *directory)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "database", json_shown(directory),
	                 "first_epoch", merged->first ? json_count(merged->first) : json_null(), "last_epoch",
	                 merged->last ? json_count(merged->last) : json_null(), "epochs", json_count(merged->epochs),
	                 "updated_epochs", json_count(merged->updated), "known_epochs", json_count(merged->known),
	                 "slices", json_count(merged->slices), "images", json_count(merged->images), "new_images",
	                 json_count(merged->new_images));
}
