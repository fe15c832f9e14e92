#include "dcpi-tools/ctl/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"
#include "process/attribution.h"

#define PERCENT 0.01
#define MILLI   1e-3
#define NANO    1e-9

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
print_head(const struct ctl_metric *metric, FILE *stream)
{
	fprintf(stream, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name, metric->type);
}

/* A label's value, with what the format wants escaped. */
static void
print_label(const char *name, const char *value, FILE *stream)
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
	print_head(metric, stream);
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
			print_head(metric, stream);
		has_head = true;
		fprintf(stream, "%s{", metric->name);
		print_label("event", json_text(event, "name"), stream);
		fputc('}', stream);
		print_value(value, metric->scale, stream);
	}
}

/* Causes that did not occur are there with 0: a series that begins at its first event hides it from rate(). */
static void
print_unknown(const json_t *events, FILE *stream)
{
	static const struct ctl_metric metric = {"dcpi_unknown_samples_total", "counter",
	                                         "Samples that could not be given to an image, by cause."};
	json_t *event;
	size_t i;

	if (json_array_size(events) > 0)
		print_head(&metric, stream);
	json_array_foreach (events, i, event) {
		const json_t *causes = json_object_get(event, "unknown");

		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
			const char *name = unknown_cause_name(cause);

			fprintf(stream, "%s{", metric.name);
			print_label("event", json_text(event, "name"), stream);
			fputc(',', stream);
			print_label("cause", name, stream);
			fprintf(stream, "} %" JSON_INTEGER_FORMAT "\n",
			        json_integer_value(json_object_get(causes, name)));
		}
	}
}

static void
print_events(const json_t *events, FILE *stream)
{
	static const struct ctl_metric metric = {
		"dcpi_event_available", "gauge",
		"1 for an event that was asked for and is counted, by itself or by what stands in for it."};
	json_t *event;
	size_t i;

	if (json_array_size(events) > 0)
		print_head(&metric, stream);
	json_array_foreach (events, i, event) {
		if (is_repeated(events, i, "requested"))
			continue;
		fprintf(stream, "%s{", metric.name);
		print_label("requested", json_text(event, "requested"), stream);
		fputc(',', stream);
		print_label("event", json_text(event, "name"), stream);
		fprintf(stream, "} %d\n", json_is_true(json_object_get(event, "available")));
	}
}

static void
print_status(const json_t *status, uint64_t now_ns, FILE *stream)
{
	static const struct ctl_metric build = {"dcpi_build_info", "gauge", "The version of dcpid."};
	static const struct ctl_metric success = {"dcpi_last_flush_success", "gauge",
	                                          "0 while the database cannot be written."};
	static const struct ctl_metric trouble = {"dcpi_troubles", "gauge",
	                                          "Things that are wrong; dcpictl status says which."};
	const json_t *counted = value_of(status, "totals.events"), *events = json_object_get(status, "events");

	print_head(&build, stream);
	fprintf(stream, "%s{", build.name);
	print_label("version", json_text(status, "version"), stream);
	fputs("} 1\n", stream);
	for (size_t i = 0; i < COUNT(totals); i++)
		print_by_event(counted, &totals[i], stream);
	print_unknown(counted, stream);
	print_events(events, stream);
	for (size_t i = 0; i < COUNT(rates); i++)
		print_by_event(events, &rates[i], stream);
	print_head(&trouble, stream);
	fprintf(stream, "%s %zu\n", trouble.name, json_array_size(json_object_get(status, "trouble")));
	print_head(&success, stream);
	fprintf(stream, "%s %d\n", success.name, !json_is_string(value_of(status, "last_flush.error")));
	for (size_t i = 0; i < COUNT(singles); i++)
		print_single(status, &singles[i], now_ns, stream);
}

int
metrics_print(const json_t *status, uint64_t now_ns, FILE *stream)
{
	static const struct ctl_metric up = {"dcpi_up", "gauge", "1 when dcpid runs and answers."};

	print_head(&up, stream);
	fprintf(stream, "%s %d\n", up.name, status != NULL);
	if (status)
		print_status(status, now_ns, stream);
	return fflush(stream) || ferror(stream) ? -EIO : 0;
}

static int
write_to(int fd, const json_t *status, uint64_t now_ns)
{
	FILE *stream = fdopen(fd, "w");
	int err;

	if (!stream) {
		err = -errno;
		close(fd);
		return err;
	}
	err = fchmod(fd, 0644) ? -errno : metrics_print(status, now_ns, stream);
	if (fclose(stream) && !err)
		err = -errno;
	return err;
}

int
metrics_write(const json_t *status, uint64_t now_ns, const char *path)
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
	err = write_to(fd, status, now_ns);
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}
