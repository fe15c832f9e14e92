#include "dcpi-tools/common/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"

#define IMAGES_NAMED 3 /* at most, for each reason that symbols are missing */

double
summary_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* One paragraph: its heading once, then lines below each other. */
struct summary_paragraph {
	const struct output *output;
	const char *heading;
};

static void
begin_line(struct summary_paragraph *paragraph)
{
	const struct output *output = paragraph->output;

	fprintf(output->stream, "%s%-9s%s ", output_style(output, STYLE_FAINT), paragraph->heading,
	        output_plain(output, STYLE_FAINT));
	paragraph->heading = "";
}

static void print_line(struct summary_paragraph *paragraph, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void
print_line(struct summary_paragraph *paragraph, const char *format, ...)
{
	va_list arguments;

	begin_line(paragraph);
	va_start(arguments, format);
	vfprintf(paragraph->output->stream, format, arguments);
	va_end(arguments);
	fputc('\n', paragraph->output->stream);
}

static void
print_time(const struct selection *selection, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Time:"};
	char range[2 * TIME_TEXT_SIZE], covered[TIME_TEXT_SIZE];
	const struct epoch *first;

	if (selection->epoch_count == 0)
		return;
	first = &selection->epochs[0];
	begin_line(&paragraph);
	fprintf(output->stream, "%s (%s), ", time_format_range(selection->start_ns, selection->end_ns, range),
	        duration_format(selection->covered_ns, covered));
	if (selection->epoch_count > 1) {
		fprintf(output->stream, "%zu epochs, %" PRIu32 " to %" PRIu32 "\n", selection->epoch_count, first->id,
		        selection->epochs[selection->epoch_count - 1].id);
		return;
	}
	fprintf(output->stream, "epoch %" PRIu32, first->id);
	if (first->label[0]) {
		fputs(" '", output->stream);
		text_print(first->label, output->stream);
		fputc('\'', output->stream);
	}
	fputc('\n', output->stream);
}

#define PERIOD_SIZE (EVENT_UNIT_SIZE + 32)

/* "4 ms", "62000 cycles" */
static const char *
format_period(const struct selection_event *event, uint64_t period, char text[PERIOD_SIZE])
{
	if (strcmp(event->unit, "ns") != 0)
		snprintf(text, PERIOD_SIZE, "%" PRIu64 " %s", period, event->unit);
	else if (period >= 1000000)
		snprintf(text, PERIOD_SIZE, "%.4g ms", (double)period / 1e6);
	else
		snprintf(text, PERIOD_SIZE, "%.4g us", (double)period / 1e3);
	return text;
}

bool
summary_weights(const struct selection_event *event, char text[SUMMARY_WEIGHTS_SIZE])
{
	char unit[PERIOD_SIZE], longest[PERIOD_SIZE];

	if (!event->is_weighted)
		return false;
	format_period(event, event->period, unit);
	if (event->longest_period)
		snprintf(text, SUMMARY_WEIGHTS_SIZE,
		         "%s: %" PRIu64 " samples of %s to %s are weighted by their period, and count as %" PRIu64
		         " of %s",
		         event->name, event->totals_taken, unit, format_period(event, event->longest_period, longest),
		         event->totals.samples, unit);
	else
		snprintf(text, SUMMARY_WEIGHTS_SIZE,
		         "%s: %" PRIu64 " samples are weighted by their period, which varied, and count as %" PRIu64
		         " of %s",
		         event->name, event->totals_taken, event->totals.samples, unit);
	return true;
}

void
summary_print_weights(const struct selection_event *event, const char *heading, FILE *stream)
{
	char text[SUMMARY_WEIGHTS_SIZE];

	if (!summary_weights(event, text))
		return;
	fputs(heading, stream);
	text_print(text, stream);
	fputc('\n', stream);
}

void
summary_print_samples(const struct selection *selection, uint16_t event, uint64_t samples, FILE *stream)
{
	const struct selection_event *sampled = &selection->events[event];
	char range[2 * TIME_TEXT_SIZE];

	fputs("Samples:    ", stream);
	text_print(sampled->name, stream);
	fprintf(stream, " %" PRIu64 ", %.2f%% of all; %s\n", samples, summary_percent(samples, sampled->totals.samples),
	        time_format_range(selection->start_ns, selection->end_ns, range));
	summary_print_weights(sampled, "Weights:    ", stream);
}

static void
print_weights(const struct summary *summary, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Weights:"};
	char text[SUMMARY_WEIGHTS_SIZE];

	for (size_t i = 0; i < summary->shown_events->count; i++) {
		if (!summary_weights(shown_events_event(summary->selection, summary->shown_events, i), text))
			continue;
		begin_line(&paragraph);
		text_print(text, output->stream);
		fputc('\n', output->stream);
	}
}

static void
print_samples(const struct summary *summary, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Samples:"};

	for (size_t i = 0; i < summary->shown_events->count; i++) {
		const struct selection_event *event = shown_events_event(summary->selection, summary->shown_events, i);
		char period[PERIOD_SIZE];
		uint64_t unknown = 0;
		double running;

		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			unknown += event->totals.unknown[cause];
		begin_line(&paragraph);
		text_print(event->name, output->stream);
		fprintf(output->stream, " %" PRIu64 " (%s%s), %" PRIu64 " unknown (%.2f%%), %" PRIu64 " lost",
		        event->totals.samples, event->period ? "1 per " : "period varied",
		        event->period ? format_period(event, event->period, period) : "", unknown,
		        summary_percent(unknown, event->totals.samples), event->totals.lost);
		if (event->totals.dropped)
			fprintf(output->stream, ", %" PRIu64 " dropped", event->totals.dropped);
		running = slice_event_running_percent(&event->totals);
		if (running >= 0 && running < SLICE_RUNNING_WHOLE)
			fprintf(output->stream, ", counted %.1f%% of the time", running);
		if (event->totals.throttled)
			fprintf(output->stream, ", throttled %" PRIu64 " time%s", event->totals.throttled,
			        event->totals.throttled == 1 ? "" : "s");
		fputc('\n', output->stream);
	}
}

static void
print_unknown(const struct summary *summary, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Unknown:"};

	for (size_t i = 0; i < summary->shown_events->count; i++) {
		const struct selection_event *event = shown_events_event(summary->selection, summary->shown_events, i);

		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
			uint64_t count = event->totals.unknown[cause];

			if (count == 0)
				continue;
			begin_line(&paragraph);
			text_print(event->name, output->stream);
			fprintf(output->stream, " %" PRIu64 " (%.2f%%) %s: %s\n", count,
			        summary_percent(count, event->totals.samples), unknown_cause_name(cause),
			        unknown_cause_text(cause));
		}
	}
}

/* Images whose symbols are missing for one reason, the hottest (rows are sorted) first. */
static void
print_missing(const struct summary *summary, struct summary_paragraph *paragraph, enum procedure_kind kind)
{
	const struct histogram *histogram = summary->histogram;
	uint16_t event = summary->shown_events->events[0];
	FILE *stream = paragraph->output->stream;
	uint64_t count = 0;
	size_t images = 0;

	for (size_t i = 0; i < histogram->row_count; i++)
		if (histogram->rows[i].procedure.kind == kind)
			count += histogram->rows[i].counts[event];
	if (count == 0)
		return;
	begin_line(paragraph);
	text_print(summary->selection->events[event].name, stream);
	fprintf(stream, " %" PRIu64 " (%.2f%%) %s:", count, summary_percent(count, summary->totals[event]),
	        procedure_kind_text(kind));
	for (size_t i = 0; i < histogram->row_count; i++) {
		if (histogram->rows[i].procedure.kind != kind || ++images > IMAGES_NAMED)
			continue;
		fputs(images == 1 ? " " : ", ", stream);
		text_print(histogram->rows[i].image_title, stream);
	}
	if (images > IMAGES_NAMED)
		fprintf(stream, " and %zu more", images - IMAGES_NAMED);
	fputc('\n', stream);
}

static void
print_symbols(const struct summary *summary, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Symbols:"};

	for (int kind = PROCEDURE_NO_SYMBOL; kind < PROCEDURE_KINDS && summary->histogram; kind++)
		print_missing(summary, &paragraph, (enum procedure_kind)kind);
}

/* Stacks whose outermost callers are not known: below the root, by cause. */
static void
print_truncated(const struct summary *summary, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Truncated:"};
	const struct call_tree *stacks = summary->stacks;

	for (uint32_t at = stacks ? stacks->nodes[0].first_child : 0; at; at = stacks->nodes[at].next_sibling) {
		const struct call_frame *frame = &stacks->frames[stacks->nodes[at].frame];

		if (!frame->image_title)
			print_line(&paragraph, "%" PRIu64 " stacks (%.2f%%) %s: %s", stacks->nodes[at].total,
			           summary_percent(stacks->nodes[at].total, stacks->samples),
			           stack_end_name(frame->end), stack_end_text(frame->end));
	}
}

static void
print_records(const struct selection *selection, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Records:"};

	if (selection->sideband_lost)
		print_line(&paragraph, "%" PRIu64 " on processes and mappings lost: samples after them may be unknown",
		           selection->sideband_lost);
	if (selection->skipped)
		print_line(&paragraph, "%" PRIu64 " could not be decoded", selection->skipped);
}

/* The cost that was expected of the epoch where it is highest; false when that is not known of any. */
static bool
expected_percent(const struct selection *selection, double *percent)
{
	bool any = false;

	for (size_t i = 0; i < selection->epoch_count; i++) {
		const struct epoch *epoch = &selection->epochs[i];
		double expected;

		if (!overhead_expected(epoch->events, epoch->event_count, &expected))
			continue;
		if (!any || expected > *percent)
			*percent = expected;
		any = true;
	}
	return any;
}

/* The limit that the newest epoch's rates were chosen from; 0 when they were given. */
static double
limit_percent(const struct selection *selection)
{
	if (selection->epoch_count == 0)
		return 0;
	return (double)selection->epochs[selection->epoch_count - 1].overhead_limit_ppm / 1e4;
}

/* Processor time of one sample, in the mean over all epochs; 0 when it is not known. */
static uint64_t
sample_cost_ns(const struct selection_event *event)
{
	const double interrupts = (double)event->overhead.interrupts;

	if (event->overhead.is_unknown)
		return 0;
	return interrupts > 0 ? (uint64_t)((double)event->overhead.sample_ns / interrupts + 0.5) : event->cost_ns;
}

/* "cpu-clock 704 samples/s per CPU, 12.7 us each" */
static void
print_event_cost(const struct selection_event *event, struct summary_paragraph *paragraph)
{
	FILE *stream = paragraph->output->stream;
	const uint64_t cost_ns = sample_cost_ns(event);

	if (cost_ns == 0)
		return;
	begin_line(paragraph);
	text_print(event->name, stream);
	if (event->rate)
		fprintf(stream, " %" PRIu64 " samples/s per CPU,", event->rate);
	fprintf(stream, " %.1f us each\n", (double)cost_ns / 1e3);
}

static void
print_cost(const struct summary *summary, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Cost:"};
	const struct selection *selection = summary->selection;
	const struct overhead *overhead = &selection->overhead;
	const double limit = limit_percent(selection);
	double expected;

	if (overhead->cpu_ns == 0 || (overhead->is_unknown && overhead->daemon_ns == 0)) /* not dcpid's */
		return;
	begin_line(&paragraph);
	if (overhead->is_unknown)
		fprintf(output->stream, "dcpid used %.2f%% of the machine's processor time, besides taking the samples",
		        overhead_daemon_percent(overhead));
	else
		fprintf(output->stream, "%.2f%% of the machine's processor time, %.2f%% of it dcpid's own",
		        overhead_percent(overhead), overhead_daemon_percent(overhead));
	if (expected_percent(selection, &expected))
		fprintf(output->stream, "; %.2f%% expected at full load", expected);
	if (limit > 0)
		fprintf(output->stream, " (limit %g%%)", limit);
	fputc('\n', output->stream);
	if (overhead_shows_start(overhead))
		print_line(&paragraph, "besides, %.4g ms of processor time once, to start",
		           (double)overhead->start_ns / 1e6);
	for (size_t i = 0; i < summary->shown_events->count; i++)
		print_event_cost(&selection->events[summary->shown_events->events[i]], &paragraph);
}

/* A halted CPU does not stop a clock, but its samples are left out. */
static bool
leaves_out_idle_time(const struct selection *selection, const struct selection_event *event)
{
	const struct epoch *newest;

	if (selection->epoch_count == 0 || !event->available || strcmp(event->unit, "ns") != 0)
		return false;
	newest = &selection->epochs[selection->epoch_count - 1];
	for (size_t i = 0; i < newest->event_count; i++)
		if (strcmp(newest->events[i].name, event->name) == 0)
			return !newest->events[i].idle;
	return false;
}

static void
print_event(const struct selection_event *event, bool is_without_idle, FILE *stream)
{
	const char *separator = ": ";

	text_print(event->name, stream);
	if (!event->available) {
		fputs(" is not available here", stream);
	} else if (strcmp(event->name, event->requested) != 0) {
		fputs(" stands in for ", stream);
		text_print(event->requested, stream);
	}
	if (event->note[0]) {
		fputs(separator, stream);
		text_print(event->note, stream);
		separator = "; ";
	}
	if (is_without_idle)
		fprintf(stream, "%sidle time is not counted", separator);
	fputc('\n', stream);
}

static void
print_events(const struct selection *selection, const struct output *output)
{
	struct summary_paragraph paragraph = {.output = output, .heading = "Events:"};

	for (size_t i = 0; i < selection->event_count; i++) {
		const struct selection_event *event = &selection->events[i];
		bool is_without_idle = leaves_out_idle_time(selection, event);

		if (event->is_hidden || (event->available && strcmp(event->name, event->requested) == 0 &&
		                         !event->note[0] && !is_without_idle))
			continue;
		begin_line(&paragraph);
		print_event(event, is_without_idle, output->stream);
	}
}

void
summary_print(const struct summary *summary, const struct output *output)
{
	struct summary_paragraph rows = {.output = output, .heading = "Rows:"};

	fputc('\n', output->stream);
	print_time(summary->selection, output);
	print_samples(summary, output);
	print_weights(summary, output);
	print_unknown(summary, output);
	print_symbols(summary, output);
	print_truncated(summary, output);
	print_records(summary->selection, output);
	print_cost(summary, output);
	print_events(summary->selection, output);
	if (summary->shown < summary->row_count)
		print_line(&rows, "%zu of %zu", summary->shown, summary->row_count);
}

static json_t *
event_json(const struct summary *summary, size_t index)
{
	const struct selection_event *event = &summary->selection->events[index];
	const uint64_t cost_ns = sample_cost_ns(event);
	const double running = slice_event_running_percent(&event->totals);
	json_t *weights, *object;

	object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "name",
	                   json_shown(event->name), "requested", json_shown(event->requested), "unit",
	                   json_shown(event->unit), "period", json_count(event->period), "rate",
	                   json_count(event->rate), "cost_ns", cost_ns ? json_count(cost_ns) : json_null(), "samples",
	                   json_count(event->totals.samples), "selected", json_count(summary->totals[index]), "lost",
	                   json_count(event->totals.lost), "dropped", json_count(event->totals.dropped), "throttled",
	                   json_count(event->totals.throttled), "running_percent",
	                   running < 0 ? json_null() : json_real(running), "available", event->available, "note",
	                   json_shown(event->note));
	if (!event->is_weighted) /* of one period: no such keys, as in the first version of the schema */
		return object;
	weights = json_pack("{s:o, s:o, s:o, s:o}", "taken", json_count(event->totals_taken), "selected_taken",
	                    json_count(event->selected_taken), "selected_events",
	                    json_count((uint64_t)event->selected_events), "longest_period",
	                    event->longest_period ? json_count(event->longest_period) : json_null());
	return json_kept(object, json_object_update_new(object, weights));
}

/* Those that are shown, then the others. */
static json_t *
events_json(const struct summary *summary)
{
	json_t *events = json_array();
	int failed = !events;

	for (size_t i = 0; i < summary->shown_events->count; i++)
		failed |= json_array_append_new(events, event_json(summary, summary->shown_events->events[i]));
	for (size_t i = 0; i < summary->selection->event_count; i++)
		if (!shown_events_include(summary->shown_events, i) && !summary->selection->events[i].is_hidden)
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

/* null when it is not known */
static json_t *
percent_json(bool is_known, double percent)
{
	return is_known ? json_real(percent) : json_null();
}

static json_t *
overhead_json(const struct selection *selection)
{
	const struct overhead *overhead = &selection->overhead;
	const double limit = limit_percent(selection);
	double expected = 0;
	const bool has_expected = expected_percent(selection, &expected);

	return json_pack("{s:o, s:o, s:o, s:o}", "limit_percent", percent_json(limit > 0, limit), "expected_percent",
	                 percent_json(has_expected, expected), "measured_percent",
	                 percent_json(overhead->cpu_ns && !overhead->is_unknown, overhead_percent(overhead)),
	                 "start_cpu_ns", json_count(overhead->start_ns));
}

int
summary_json_totals(const struct summary *summary, json_t *root)
{
	const struct selection *selection = summary->selection;
	uint64_t lost = 0, dropped = 0, throttled = 0;
	json_t *more;

	for (size_t i = 0; i < selection->event_count; i++) {
		lost += selection->events[i].totals.lost;
		dropped += selection->events[i].totals.dropped;
		throttled += selection->events[i].totals.throttled;
	}
	more = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "unknown", unknown_json(selection), "lost",
	                 json_count(lost), "dropped", json_count(dropped), "throttled", json_count(throttled),
	                 "sideband_lost", json_count(selection->sideband_lost), "skipped",
	                 json_count(selection->skipped), "overhead_percent",
	                 percent_json(selection->overhead.cpu_ns > 0, overhead_daemon_percent(&selection->overhead)),
	                 "overhead", overhead_json(selection));
	return json_object_update_new(root, more) ? -ENOMEM : 0;
}

int
summary_json_events(const struct summary *summary, json_t *root)
{
	const struct selection *selection = summary->selection;
	json_t *more = json_pack("{s:o, s:o, s:o, s:o, s:o}", "start", json_time(selection->start_ns), "end",
	                         json_time(selection->end_ns), "epochs", epochs_json(selection), "label",
	                         json_shown(summary->request->label), "events", events_json(summary));

	return json_object_update_new(root, more) ? -ENOMEM : 0;
}
