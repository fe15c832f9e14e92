#include "dcpi-tools/ctl/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"
#include "process/attribution.h"
#include "profile/epoch.h"

#define SECONDS_MAX 1000000000 /* 32 years: no daemon runs longer */
#define PERCENT     0.01
#define MILLI       1e-3
#define NANO        1e-9

/* ---- For people ---- */

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
print_unwind(const json_t *unwind, size_t width, FILE *stream)
{
	char loaded[STATUS_NUMBER_SIZE], images[STATUS_NUMBER_SIZE], bytes[STATUS_NUMBER_SIZE],
		waiting[STATUS_NUMBER_SIZE];

	if (!json_is_object(unwind))
		return;
	print_label("unwind tables", width, stream);
	fprintf(stream, "of %s of %s programs and libraries that call stacks had frames in, %s; %s to be made\n",
	        status_format_count(count_of(unwind, "loaded"), loaded),
	        status_format_count(count_of(unwind, "images"), images),
	        status_format_size(count_of(unwind, "bytes"), bytes),
	        status_format_count(count_of(unwind, "waiting"), waiting));
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
	print_unwind(json_object_get(status, "unwind"), width, stream);
	print_trouble(status, width, stream);
	print_losses(status, width, stream);
	print_cost(status, width, stream);
	return fflush(stream) || ferror(stream) ? -EIO : 0;
}

/* ---- For Prometheus ---- */

/* A value of the status as a metric; `path` has at most two steps, as "database.bytes". */
struct ctl_metric {
	const char *name;
	const char *type;
	const char *help;
	const char *path;
	double scale; /* from the status' unit to Prometheus' base unit; 1: as it is; 0: a time */
};

static const struct ctl_metric singles[] = {
	{"dcpi_start_time_seconds", "gauge", "When dcpid began to collect, seconds since 1970.", "since", 0},
	{"dcpi_epoch", "gauge", "Number of the epoch that is being collected.", "epoch.id", 1},
	{"dcpi_epoch_start_time_seconds", "gauge", "When it began, seconds since 1970.", "epoch.start", 0},
	{"dcpi_epochs_total", "counter", "Epochs begun.", "totals.epochs", 1},
	{"dcpi_lost_records_total", "counter", "Records on processes and mappings that were lost.",
         "totals.sideband_lost", 1},
	{"dcpi_undecoded_records_total", "counter", "Records that could not be decoded.", "totals.skipped", 1},
	{"dcpi_flushes_total", "counter", "Flushes that were written to the database.", "totals.flushes", 1},
	{"dcpi_flush_failures_total", "counter", "Tries to write a flush that failed.", "totals.flush_failures", 1},
	{"dcpi_last_flush_timestamp_seconds", "gauge", "When the last flush was written, seconds since 1970.",
         "last_flush.at", 0},
	{"dcpi_last_flush_duration_seconds", "gauge", "Time that the last flush took.", "last_flush.ms", MILLI},
	{"dcpi_last_flush_keys", "gauge", "Distinct keys that the last flush wrote.", "last_flush.keys", 1},
	{"dcpi_kept_samples", "gauge", "Samples in memory that are not yet in the database.", "kept", 1},
	{"dcpi_tally_keys", "gauge", "Distinct keys counted in memory.", "tally.keys", 1},
	{"dcpi_tally_limit_keys", "gauge", "Keys that there is room for.", "tally.limit", 1},
	{"dcpi_tally_full", "gauge", "1 while memory for counts is full and samples may be lost.", "tally.full", 1},
	{"dcpi_database_size_bytes", "gauge", "Size of the database's file.", "database.bytes", 1},
	{"dcpi_database_used_bytes", "gauge", "Of it, what is in use.", "database.used", 1},
	{"dcpi_database_limit_bytes", "gauge", "Size that the file may grow to.", "database.limit", 1},
	{"dcpi_database_epochs", "gauge", "Epochs in the database.", "database.epochs", 1},
	{"dcpi_database_slices", "gauge", "Slices in the database.", "database.slices", 1},
	{"dcpi_database_images", "gauge", "Images in the database.", "database.images", 1},
	{"dcpi_database_contexts", "gauge", "Contexts in the database.", "database.contexts", 1},
	{"dcpi_database_blocks", "gauge", "Blocks of counts in the database.", "database.blocks", 1},
	{"dcpi_cpus", "gauge", "CPUs that are sampled.", "rings.cpus", 1},
	{"dcpi_idle_cpus", "gauge", "Of them, those that are sampled rarely as they are idle.", "idle.cpus", 1},
	{"dcpi_idle_ticks_per_second", "gauge", "Timer interrupts that found a CPU idle, of all CPUs, in this epoch.",
         "idle.ticks_per_second", 1},
	{"dcpi_processes", "gauge", "Processes remembered in memory.", "processes", 1},
	{"dcpi_mappings", "gauge", "Mappings remembered in memory.", "mappings", 1},
	{"dcpi_images", "gauge", "Images remembered in memory.", "images", 1},
	{"dcpi_contexts", "gauge", "Contexts remembered in memory.", "contexts", 1},
	{"dcpi_cgroups", "gauge", "Control groups remembered in memory.", "cgroups", 1},
	{"dcpi_cpu_seconds_total", "counter", "Processor time that dcpid used.", "cpu_seconds", 1},
	{"dcpi_cpu_ratio", "gauge", "Its share of the processor time of all CPUs since dcpid began.",
         "overhead_percent", PERCENT},
	{"dcpi_resident_memory_bytes", "gauge", "Memory that dcpid has resident.", "rss_bytes", 1},
	{"dcpi_overhead_limit_ratio", "gauge", "Share of the machine that sampling may cost.", "overhead.limit_percent",
         PERCENT},
	{"dcpi_overhead_expected_ratio", "gauge", "Share that it costs when all CPUs are busy.",
         "overhead.expected_percent", PERCENT},
	{"dcpi_overhead_measured_ratio", "gauge", "Share that it did cost in this epoch, dcpid included.",
         "overhead.measured_percent", PERCENT},
};

/* Counted by event since dcpid began. */
static const struct ctl_metric totals[] = {
	{"dcpi_samples_total", "counter", "Samples taken, unknown ones included.", "samples", 1},
	{"dcpi_lost_samples_total", "counter", "Samples that found no room in the kernel's buffers.", "lost", 1},
	{"dcpi_dropped_samples_total", "counter", "Samples given up because the database could not be written.",
         "dropped", 1},
	{"dcpi_throttled_total", "counter", "Times that the kernel stopped the event for a moment.", "throttled", 1},
};

/* By event of the epoch. */
static const struct ctl_metric rates[] = {
	{"dcpi_sampling_rate_hertz", "gauge", "Samples per second and busy CPU that were asked for; 0: see the period.",
         "rate", 1},
	{"dcpi_sampling_period", "gauge", "Events, or nanoseconds, per sample; 0: it varies.", "period", 1},
	{"dcpi_sample_cost_seconds", "gauge", "Processor time that taking one sample costs, as measured.", "cost_ns",
         NANO},
	{"dcpi_event_running_ratio", "gauge", "Share of the time in which the event was on a counter.",
         "running_percent", PERCENT},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const json_t *
value_of(const json_t *object, const char *path)
{
	const char *dot = strchr(path, '.');
	char first[32];

	if (!dot)
		return json_object_get(object, path);
	snprintf(first, sizeof(first), "%.*s", (int)(dot - path), path);
	return json_object_get(json_object_get(object, first), dot + 1);
}

static void
print_metric_head(const struct ctl_metric *metric, FILE *stream)
{
	fprintf(stream, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name, metric->type);
}

/* A label's value, with what the format wants escaped. */
static void
print_metric_label(const char *name, const char *value, FILE *stream)
{
	fprintf(stream, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n') {
			fputs("\\n", stream);
			continue;
		}
		if (*value == '\\' || *value == '"')
			fputc('\\', stream);
		fputc(*value, stream);
	}
	fputc('"', stream);
}

/* NAME{LABEL="VALUE"} or NAME{LABEL="VALUE",SECOND="SECOND_VALUE"}: what is before the number. */
static void
print_series(const struct ctl_metric *metric, const char *label, const char *value, const char *second,
             const char *second_value, FILE *stream)
{
	fprintf(stream, "%s{", metric->name);
	print_metric_label(label, value, stream);
	if (second) {
		fputc(',', stream);
		print_metric_label(second, second_value, stream);
	}
	fputc('}', stream);
}

/* Whole numbers stay whole: a double cannot count past 2^53. */
static void
print_value(const json_t *value, double scale, FILE *stream)
{
	if (json_is_boolean(value))
		fprintf(stream, " %d\n", json_is_true(value));
	else if (json_is_integer(value) && scale == 1)
		fprintf(stream, " %" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
	else
		fprintf(stream, " %.9g\n", json_number_value(value) * scale);
}

static void
print_time(const json_t *value, uint64_t now_ns, FILE *stream)
{
	uint64_t time_ns;

	if (json_is_string(value) && time_parse(json_string_value(value), now_ns, &time_ns) == 0)
		fprintf(stream, " %.3f\n", (double)time_ns / 1e9);
	else
		fputs(" 0\n", stream);
}

static void
print_single(const json_t *status, const struct ctl_metric *metric, uint64_t now_ns, FILE *stream)
{
	const json_t *value = value_of(status, metric->path);

	if (!value || (json_is_null(value) && metric->scale != 0))
		return;
	print_metric_head(metric, stream);
	fputs(metric->name, stream);
	if (metric->scale == 0)
		print_time(value, now_ns, stream);
	else
		print_value(value, metric->scale, stream);
}

/* Two requested events may be counted by one; the format allows a series once. */
static bool
is_repeated(const json_t *events, size_t index, const char *key)
{
	const char *name = json_text(json_array_get(events, index), key);

	for (size_t i = 0; i < index; i++)
		if (strcmp(json_text(json_array_get(events, i), key), name) == 0)
			return true;
	return false;
}

/* One series for each of `events` that is counted. */
static void
print_by_event(const json_t *events, const struct ctl_metric *metric, FILE *stream)
{
	bool has_head = false;
	json_t *event;
	size_t i;

	json_array_foreach (events, i, event) {
		const json_t *value = json_object_get(event, metric->path);

		if (!json_is_number(value) || json_is_false(json_object_get(event, "available")) ||
		    is_repeated(events, i, "name"))
			continue;
		if (!has_head)
			print_metric_head(metric, stream);
		has_head = true;
		print_series(metric, "event", json_text(event, "name"), NULL, NULL, stream);
		print_value(value, metric->scale, stream);
	}
}

/* Causes that did not occur are there with 0: a series that begins at its first event hides it from rate(). */
static void
print_metric_unknown(const json_t *events, FILE *stream)
{
	static const struct ctl_metric metric = {"dcpi_unknown_samples_total", "counter",
	                                         "Samples that could not be given to an image, by cause."};
	json_t *event;
	size_t i;

	if (json_array_size(events) > 0)
		print_metric_head(&metric, stream);
	json_array_foreach (events, i, event) {
		const json_t *causes = json_object_get(event, "unknown");

		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
			const char *name = unknown_cause_name(cause);

			print_series(&metric, "event", json_text(event, "name"), "cause", name, stream);
			fprintf(stream, " %" JSON_INTEGER_FORMAT "\n",
			        json_integer_value(json_object_get(causes, name)));
		}
	}
}

static void
print_metric_events(const json_t *events, FILE *stream)
{
	static const struct ctl_metric metric = {
		"dcpi_event_available", "gauge",
		"1 for an event that was asked for and is counted, by itself or by what stands in for it."};
	json_t *event;
	size_t i;

	if (json_array_size(events) > 0)
		print_metric_head(&metric, stream);
	json_array_foreach (events, i, event) {
		if (is_repeated(events, i, "requested"))
			continue;
		print_series(&metric, "requested", json_text(event, "requested"), "event", json_text(event, "name"),
		             stream);
		fprintf(stream, " %d\n", json_is_true(json_object_get(event, "available")));
	}
}

static void
print_metrics(const json_t *status, uint64_t now_ns, FILE *stream)
{
	static const struct ctl_metric build = {"dcpi_build_info", "gauge", "The version of dcpid."};
	static const struct ctl_metric success = {"dcpi_last_flush_success", "gauge",
	                                          "0 while the database cannot be written."};
	static const struct ctl_metric trouble = {"dcpi_troubles", "gauge",
	                                          "Things that are wrong; dcpictl status says which."};
	const json_t *counted = value_of(status, "totals.events"), *events = json_object_get(status, "events");

	print_metric_head(&build, stream);
	print_series(&build, "version", json_text(status, "version"), NULL, NULL, stream);
	fputs(" 1\n", stream);
	for (size_t i = 0; i < COUNT(totals); i++)
		print_by_event(counted, &totals[i], stream);
	print_metric_unknown(counted, stream);
	print_metric_events(events, stream);
	for (size_t i = 0; i < COUNT(rates); i++)
		print_by_event(events, &rates[i], stream);
	print_metric_head(&trouble, stream);
	fprintf(stream, "%s %zu\n", trouble.name, json_array_size(json_object_get(status, "trouble")));
	print_metric_head(&success, stream);
	fprintf(stream, "%s %d\n", success.name, !json_is_string(value_of(status, "last_flush.error")));
	for (size_t i = 0; i < COUNT(singles); i++)
		print_single(status, &singles[i], now_ns, stream);
}

int
status_print_metrics(const json_t *status, uint64_t now_ns, FILE *stream)
{
	static const struct ctl_metric up = {"dcpi_up", "gauge", "1 when dcpid runs and answers."};

	print_metric_head(&up, stream);
	fprintf(stream, "%s %d\n", up.name, status != NULL);
	if (status)
		print_metrics(status, now_ns, stream);
	return fflush(stream) || ferror(stream) ? -EIO : 0;
}

static int
write_metrics_to(int fd, const json_t *status, uint64_t now_ns)
{
	FILE *stream = fdopen(fd, "w");
	int err;

	if (!stream) {
		err = -errno;
		close(fd);
		return err;
	}
	err = fchmod(fd, 0644) ? -errno : status_print_metrics(status, now_ns, stream);
	if (fclose(stream) && !err)
		err = -errno;
	return err;
}

/* Not by atomic_file.h: that follows links, and root writes here into a directory that another user may own. */
int
status_write_metrics(const json_t *status, uint64_t now_ns, const char *path)
{
	char temporary[PATH_MAX];
	int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	struct stat there;
	int fd, err;

	if (length < 0 || (size_t)length >= sizeof(temporary))
		return -ENAMETOOLONG;
	if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) /* root must not replace /dev/stdout */
		return -EEXIST;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_metrics_to(fd, status, now_ns);
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}
