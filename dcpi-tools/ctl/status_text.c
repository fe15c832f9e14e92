#include "dcpi-tools/ctl/status_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"
#include "profile/epoch.h"

#define SECONDS_MAX 1000000000 /* 32 years: no daemon runs longer */

static uint64_t
count_of(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static double
real_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

const char *
status_format_count(uint64_t count, char text[STATUS_NUMBER_SIZE])
{
	char digits[STATUS_NUMBER_SIZE];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *at = text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return text;
}

const char *
status_format_size(uint64_t bytes, char text[STATUS_NUMBER_SIZE])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(text, STATUS_NUMBER_SIZE, value < 100 && value != (uint64_t)value ? "%.1f %s" : "%.0f %s", value,
	         units[unit]);
	return text;
}

/* Nanoseconds of a duration of any size: the status comes from another program. */
static uint64_t
nanoseconds(double seconds)
{
	if (!(seconds > 0))
		return 0;
	return seconds < SECONDS_MAX ? (uint64_t)(seconds * 1e9) : (uint64_t)SECONDS_MAX * 1000000000;
}

static void
print_head(const json_t *status, FILE *stream)
{
	const json_t *epoch = json_object_get(status, "epoch");
	const char *label = json_text(epoch, "label");
	char duration[TIME_TEXT_SIZE];

	fprintf(stream, "dcpid %s (process %" PRIu64 "), collecting for %s, epoch %" PRIu64 "%s%s%s\n",
	        json_text(status, "version"), count_of(status, "pid"),
	        duration_format(nanoseconds(real_of(status, "seconds")), duration), count_of(epoch, "id"),
	        *label ? " \"" : "", label, *label ? "\"" : "");
}

static void
print_label(const char *label, size_t width, FILE *stream)
{
	size_t used = text_width(label);

	fprintf(stream, "  %s%*s", label, (int)(used < width ? width - used : 0) + 2, "");
}

/* The sampling rate and its cost. A clock's period is the inverse of its rate, so it is not printed. */
static void
print_frequency(const json_t *event, FILE *stream)
{
	const uint64_t rate = count_of(event, "rate"), period = count_of(event, "period");
	const uint64_t cost_ns = count_of(event, "cost_ns");
	const bool is_clock = strcmp(json_text(event, "unit"), "ns") == 0;
	char often[STATUS_NUMBER_SIZE];

	if (period && (!is_clock || !rate))
		fprintf(stream, "a sample every %s %s, ", status_format_count(period, often), json_text(event, "unit"));
	if (rate)
		fprintf(stream, "%s samples/s per CPU, ", status_format_count(rate, often));
	if (cost_ns)
		fprintf(stream, "%.1f us each, ", (double)cost_ns / 1e3);
}

static void
print_event(const json_t *event, size_t width, FILE *stream)
{
	char samples[STATUS_NUMBER_SIZE], lost[STATUS_NUMBER_SIZE], throttled[STATUS_NUMBER_SIZE],
		dropped[STATUS_NUMBER_SIZE];
	const bool available = json_is_true(json_object_get(event, "available"));
	const json_t *running = json_object_get(event, "running_percent");
	const char *note = json_text(event, "note");
	const bool stands_in = available && strcmp(json_text(event, "name"), json_text(event, "requested")) != 0;

	print_label(json_text(event, available ? "name" : "requested"), width, stream);
	if (available) {
		print_frequency(event, stream);
		fprintf(stream, "%s samples, %s lost, %s throttled",
		        status_format_count(count_of(event, "samples"), samples),
		        status_format_count(count_of(event, "lost"), lost),
		        status_format_count(count_of(event, "throttled"), throttled));
	} else {
		fprintf(stream, "not available here\n");
	}
	/* the counts are of a part of the time where events share a counter */
	if (json_is_number(running) && json_number_value(running) < SLICE_RUNNING_WHOLE)
		fprintf(stream, ", counted %.1f %% of the time", json_number_value(running));
	if (count_of(event, "dropped"))
		fprintf(stream, ", %s dropped", status_format_count(count_of(event, "dropped"), dropped));
	if (available)
		fputc('\n', stream);
	if (*note) {
		print_label("", width, stream);
		if (stands_in)
			fprintf(stream, "stands in for %s: ", json_text(event, "requested"));
		fprintf(stream, "%s\n", note);
	}
}

/* The causes of all events together: which event an unknown sample belongs to matters less than why it is unknown. */
static void
print_unknown(const json_t *events, size_t width, FILE *stream)
{
	json_t *causes = json_object(), *counts;
	uint64_t unknown = 0, samples = 0;
	const char *cause, *separator = " (";
	char text[STATUS_NUMBER_SIZE];
	json_t *event, *count;
	size_t i;

	json_array_foreach (events, i, event) {
		samples += count_of(event, "samples");
		counts = json_object_get(event, "unknown");
		json_object_foreach (counts, cause, count) {
			uint64_t more = count_of(counts, cause);

			unknown += more;
			json_object_set_new(causes, cause, json_integer((json_int_t)(count_of(causes, cause) + more)));
		}
	}
	print_label("unknown", width, stream);
	fprintf(stream, "%.2f %% of the samples", samples ? 100.0 * (double)unknown / (double)samples : 0);
	json_object_foreach (causes, cause, count) {
		fprintf(stream, "%s%s %s", separator, cause, status_format_count(count_of(causes, cause), text));
		separator = ", ";
	}
	fprintf(stream, "%s\n", unknown ? ")" : "");
	json_decref(causes);
}

static void
print_database(const json_t *status, uint64_t now_ns, size_t width, FILE *stream)
{
	const json_t *database = json_object_get(status, "database");
	const json_t *flush = json_object_get(status, "last_flush");
	char used[STATUS_NUMBER_SIZE], limit[STATUS_NUMBER_SIZE], ago[TIME_TEXT_SIZE];
	uint64_t at_ns = 0;

	print_label("database", width, stream);
	fprintf(stream, "%s %s of %s, ", json_text(database, "path"),
	        status_format_size(count_of(database, "used"), used),
	        status_format_size(count_of(database, "limit"), limit));
	if (count_of(database, "kept"))
		fprintf(stream, "%" PRIu64 " epoch%s kept, ", count_of(database, "kept"),
		        text_plural(count_of(database, "kept")));
	if (time_parse(json_text(flush, "at"), now_ns, &at_ns))
		fprintf(stream, "nothing flushed yet\n");
	else
		fprintf(stream, "last flush %s ago took %.0f ms\n",
		        duration_format(now_ns > at_ns ? now_ns - at_ns : 0, ago), real_of(flush, "ms"));
}

static void
print_trouble(const json_t *status, size_t width, FILE *stream)
{
	const json_t *sentences = json_object_get(status, "trouble");
	const json_t *sentence;
	size_t i;

	json_array_foreach (sentences, i, sentence) {
		print_label("trouble", width, stream);
		fprintf(stream, "%s\n", json_string_value(sentence) ? json_string_value(sentence) : "?");
	}
}

static void
print_labels(const json_t *status, size_t width, FILE *stream)
{
	const json_t *labels = json_object_get(status, "labels"), *label;
	char text[STATUS_NUMBER_SIZE];
	size_t i;

	json_array_foreach (labels, i, label) {
		const uint64_t processes = count_of(label, "processes");

		print_label(i ? "" : "labels", width, stream);
		fprintf(stream, "%s: %s process%s\n", json_text(label, "label"), status_format_count(processes, text),
		        processes == 1 ? "" : "es");
	}
}

static void
print_captured(const json_t *capture, size_t width, FILE *stream)
{
	char bytes[STATUS_NUMBER_SIZE], limit[STATUS_NUMBER_SIZE];

	if (!json_is_object(capture))
		return;
	print_label("captured", width, stream);
	fprintf(stream, "%s of names and text of programs (limit %s)%s\n",
	        status_format_size(count_of(capture, "bytes"), bytes),
	        status_format_size(count_of(capture, "limit"), limit),
	        json_is_true(json_object_get(capture, "full")) ? ": full, no more is taken" : "");
}

static void
print_losses(const json_t *status, size_t width, FILE *stream)
{
	const uint64_t lost = count_of(status, "sideband_lost"), skipped = count_of(status, "skipped");
	char text[STATUS_NUMBER_SIZE];

	if (lost) {
		print_label("records", width, stream);
		fprintf(stream, "%s on mappings and processes lost: what came after them may be unknown\n",
		        status_format_count(lost, text));
	}
	if (skipped) {
		print_label("records", width, stream);
		fprintf(stream, "%s could not be decoded\n", status_format_count(skipped, text));
	}
}

static void
print_cost(const json_t *status, size_t width, FILE *stream)
{
	const json_t *overhead = json_object_get(status, "overhead");
	const json_t *measured = json_object_get(overhead, "measured_percent");
	const json_t *expected = json_object_get(overhead, "expected_percent");
	const double limit = real_of(overhead, "limit_percent");
	char resident[STATUS_NUMBER_SIZE];

	print_label("cost", width, stream);
	if (json_is_number(measured))
		fprintf(stream, "%.2f %% of the machine's CPU time, %.2f %% of it dcpid's own",
		        json_number_value(measured), real_of(overhead, "dcpid_percent"));
	else
		fprintf(stream, "dcpid used %.2f %% of the machine's CPU time, besides taking samples",
		        real_of(status, "overhead_percent"));
	if (json_is_number(expected))
		fprintf(stream, "; %.2f %% expected at full load", json_number_value(expected));
	if (limit > 0)
		fprintf(stream, " (limit %g %%)", limit);
	fputc('\n', stream);
	if (real_of(overhead, "start_cpu_ns") > 0) {
		print_label("", width, stream);
		fprintf(stream, "besides, %.4g ms of CPU time once, to start\n",
		        real_of(overhead, "start_cpu_ns") / 1e6);
	}
	print_label("memory", width, stream);
	fprintf(stream, "%s\n", status_format_size(count_of(status, "rss_bytes"), resident));
}

static void
print_cpus(const json_t *status, size_t width, FILE *stream)
{
	const json_t *idle = json_object_get(status, "idle");
	const uint64_t idle_cpus = count_of(idle, "cpus");

	print_label("cpus", width, stream);
	fputs(json_text(status, "cpus"), stream);
	if (idle_cpus)
		fprintf(stream, "; %" PRIu64 " idle, and sampled rarely until %s again", idle_cpus,
		        idle_cpus == 1 ? "it works" : "they work");
	fputc('\n', stream);
	if (real_of(idle, "ticks_per_second") >= 0.5) {
		print_label("", width, stream);
		fprintf(stream, "%.0f timer interrupts a second found a CPU idle\n", real_of(idle, "ticks_per_second"));
	}
}

int
status_print(const json_t *status, uint64_t now_ns, FILE *stream)
{
	const json_t *events = json_object_get(status, "events");
	size_t width = text_width("database");
	json_t *event;
	size_t i;

	json_array_foreach (events, i, event) {
		const bool available = json_is_true(json_object_get(event, "available"));
		size_t needed = text_width(json_text(event, available ? "name" : "requested"));

		if (needed > width)
			width = needed;
	}
	print_head(status, stream);
	json_array_foreach (events, i, event)
		print_event(event, width, stream);
	print_unknown(events, width, stream);
	if (*json_text(status, "cpus"))
		print_cpus(status, width, stream);
	print_labels(status, width, stream);
	print_database(status, now_ns, width, stream);
	print_captured(json_object_get(status, "capture"), width, stream);
	print_trouble(status, width, stream);
	print_losses(status, width, stream);
	print_cost(status, width, stream);
	return fflush(stream) || ferror(stream) ? -EIO : 0;
}
