#include "dcpi-tools/common/summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dcpi-tools/common/summary_cost.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/time_text.h"

#define IMAGES_NAMED 3 /* at most, for each reason that symbols are missing */

double
share_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* One paragraph: its heading once, then lines below each other. */
struct paragraph {
	const struct output *output;
	const char *heading;
};

static void
begin_line(struct paragraph *paragraph)
{
	const struct output *output = paragraph->output;

	fprintf(output->stream, "%s%-9s%s ", output_style(output, STYLE_FAINT), paragraph->heading,
	        output_plain(output, STYLE_FAINT));
	paragraph->heading = "";
}

static void print_line(struct paragraph *paragraph, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
print_line(struct paragraph *paragraph, const char *format, ...)
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
	struct paragraph paragraph = {.output = output, .heading = "Time:"};
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

static void
print_period(const struct selection_event *event, FILE *stream)
{
	char period[PERIOD_SIZE];

	if (event->period == 0)
		fputs("period varied", stream);
	else
		fprintf(stream, "1 per %s", format_period(event, event->period, period));
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

static void
print_weights(const struct summary *summary, const struct output *output)
{
	struct paragraph paragraph = {.output = output, .heading = "Weights:"};
	char text[SUMMARY_WEIGHTS_SIZE];

	for (size_t i = 0; i < summary->columns->count; i++) {
		if (!summary_weights(&summary->selection->events[summary->columns->events[i]], text))
			continue;
		begin_line(&paragraph);
		text_print(text, output->stream);
		fputc('\n', output->stream);
	}
}

static uint64_t
unknown_total(const struct slice_event *totals)
{
	uint64_t total = 0;

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		total += totals->unknown[cause];
	return total;
}

static void
print_samples(const struct summary *summary, const struct output *output)
{
	struct paragraph paragraph = {.output = output, .heading = "Samples:"};

	for (size_t i = 0; i < summary->columns->count; i++) {
		const struct selection_event *event = &summary->selection->events[summary->columns->events[i]];
		uint64_t unknown = unknown_total(&event->totals);
		double running;

		begin_line(&paragraph);
		text_print(event->name, output->stream);
		fprintf(output->stream, " %" PRIu64 " (", event->totals.samples);
		print_period(event, output->stream);
		fprintf(output->stream, "), %" PRIu64 " unknown (%.2f%%), %" PRIu64 " lost", unknown,
		        share_percent(unknown, event->totals.samples), event->totals.lost);
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
	struct paragraph paragraph = {.output = output, .heading = "Unknown:"};

	for (size_t i = 0; i < summary->columns->count; i++) {
		const struct selection_event *event = &summary->selection->events[summary->columns->events[i]];

		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
			uint64_t count = event->totals.unknown[cause];

			if (count == 0)
				continue;
			begin_line(&paragraph);
			text_print(event->name, output->stream);
			fprintf(output->stream, " %" PRIu64 " (%.2f%%) %s: %s\n", count,
			        share_percent(count, event->totals.samples), unknown_cause_name(cause),
			        unknown_cause_text(cause));
		}
	}
}

/* Images whose symbols are missing for one reason, the hottest (rows are sorted) first. */
static void
print_missing(const struct summary *summary, struct paragraph *paragraph, enum procedure_kind kind)
{
	const struct histogram *histogram = summary->histogram;
	uint16_t event = summary->columns->events[0];
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
	fprintf(stream, " %" PRIu64 " (%.2f%%) %s:", count, share_percent(count, summary->totals[event]),
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
	struct paragraph paragraph = {.output = output, .heading = "Symbols:"};

	for (int kind = PROCEDURE_NO_SYMBOL; kind < PROCEDURE_KINDS && summary->histogram; kind++)
		print_missing(summary, &paragraph, (enum procedure_kind)kind);
}

static void
print_records(const struct selection *selection, const struct output *output)
{
	struct paragraph paragraph = {.output = output, .heading = "Records:"};

	if (selection->sideband_lost)
		print_line(&paragraph, "%" PRIu64 " on processes and mappings lost: samples after them may be unknown",
		           selection->sideband_lost);
	if (selection->skipped)
		print_line(&paragraph, "%" PRIu64 " could not be decoded", selection->skipped);
}

/* "cpu-clock 704 samples/s per CPU, 12.7 us each" */
static void
print_event_cost(const struct selection_event *event, struct paragraph *paragraph)
{
	FILE *stream = paragraph->output->stream;
	const uint64_t cost_ns = cost_of_sample_ns(event);

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
	struct paragraph paragraph = {.output = output, .heading = "Cost:"};
	const struct selection *selection = summary->selection;
	const struct overhead *overhead = &selection->overhead;
	const double limit = cost_limit_percent(selection);
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
	if (cost_expected_percent(selection, &expected))
		fprintf(output->stream, "; %.2f%% expected at full load", expected);
	if (limit > 0)
		fprintf(output->stream, " (limit %g%%)", limit);
	fputc('\n', output->stream);
	if (overhead_shows_start(overhead))
		print_line(&paragraph, "besides, %.4g ms of processor time once, to start",
		           (double)overhead->start_ns / 1e6);
	for (size_t i = 0; i < summary->columns->count; i++)
		print_event_cost(&selection->events[summary->columns->events[i]], &paragraph);
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
	struct paragraph paragraph = {.output = output, .heading = "Events:"};

	for (size_t i = 0; i < selection->event_count; i++) {
		const struct selection_event *event = &selection->events[i];
		bool is_without_idle = leaves_out_idle_time(selection, event);

		if (event->is_truth || (event->available && strcmp(event->name, event->requested) == 0 &&
		                        !event->note[0] && !is_without_idle))
			continue;
		begin_line(&paragraph);
		print_event(event, is_without_idle, output->stream);
	}
}

void
summary_print(const struct summary *summary, const struct output *output)
{
	struct paragraph rows = {.output = output, .heading = "Rows:"};

	fputc('\n', output->stream);
	print_time(summary->selection, output);
	print_samples(summary, output);
	print_weights(summary, output);
	print_unknown(summary, output);
	print_symbols(summary, output);
	print_records(summary->selection, output);
	print_cost(summary, output);
	print_events(summary->selection, output);
	if (summary->shown < summary->row_count)
		print_line(&rows, "%zu of %zu", summary->shown, summary->row_count);
}
