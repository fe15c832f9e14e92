#include "collectord/status.h"

#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/small_file.h"
#include "base/text.h"
#include "process/attribution.h"

#define SLOW_S 30 /* a flush that takes longer is reported */

/* ---- sentences ---- */

static void
format_clock(uint64_t time_ns, char *text, size_t size)
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm broken;

	if (!localtime_r(&seconds, &broken) || !strftime(text, size, "%H:%M", &broken))
		snprintf(text, size, "?");
}

void
status_explain_error(const char *directory, int err, char *text, size_t size)
{
	const struct passwd *passwd;
	const struct group *entry;
	char user[64], group[64];

	if (err != -DCPI_EGONE) {
		snprintf(text, size, "%s", error_text(err));
		return;
	}
	/* by name, as commands are written; by number where there is no name */
	snprintf(user, sizeof(user), "%u", geteuid());
	snprintf(group, sizeof(group), "%u", getegid());
	passwd = getpwuid(geteuid());
	entry = getgrgid(getegid());
	if (passwd)
		snprintf(user, sizeof(user), "%s", passwd->pw_name);
	if (entry)
		snprintf(group, sizeof(group), "%s", entry->gr_name);
	snprintf(text, size, "%s: 'install -d -m 0750 -o %s -g %s %s'", error_text(err), user, group, directory);
}

static bool
describe_failure(const struct collection_view *view, char *text, size_t size)
{
	char since[16], reason[STATUS_SENTENCE_SIZE / 2];

	if (!view->flush_error)
		return false;
	format_clock(view->trouble_since_ns, since, sizeof(since));
	status_explain_error(view->config->database, view->flush_error, reason, sizeof(reason));
	snprintf(text, size, "cannot write %s: %s; %" PRIu64 " samples kept in memory, %" PRIu64 " dropped since %s",
	         view->config->database, reason, view->kept, view->trouble_dropped, since);
	return true;
}

static bool
describe_slowness(const struct collection_view *view, char *text, size_t size)
{
	if (view->flush_error || view->flush_pending_ns < SLOW_S * SECOND_NS)
		return false;
	snprintf(text, size, "writing %s has taken %" PRIu64 " s so far; %" PRIu64 " samples kept in memory",
	         view->config->database, view->flush_pending_ns / SECOND_NS, view->kept);
	return true;
}

static bool
describe_reader(const struct collection_view *view, char *text, size_t size)
{
	const struct profile_stats *stats = &view->profile;
	char since[16], command[64], who[96] = "a process";

	if (!stats->reader)
		return false;
	format_clock(stats->reader_since_ns, since, sizeof(since));
	if (stats->reader > 0) {
		(void)small_file_read(command, sizeof(command), "/proc/%d/comm", stats->reader); /* "" on failure */
		snprintf(who, sizeof(who), "process %d (%s)", stats->reader, *command ? command : "?");
	}
	snprintf(text, size,
	         "%s has been reading the database since %s and does not go on: %.1f MiB cannot be used again until "
	         "it does, or ends; after five minutes, and at the size limit, it is cut off",
	         who, since, (double)stats->reader_bytes / (1 << 20));
	return true;
}

static bool
describe_full_memory(const struct collection_view *view, char *text, size_t size)
{
	if (!view->stalled)
		return false;
	snprintf(text, size, "memory for counts is full: samples that it has no room for are dropped");
	return true;
}

static bool
describe_full_tables(const struct collection_view *view, char *text, size_t size)
{
	if (!view->attribution.is_full)
		return false;
	snprintf(text, size,
	         "memory for names is full until the database takes them: samples of images that are new count as "
	         "unknown (no-memory), those of new commands as " CONTEXT_OTHER);
	return true;
}

static bool
describe_aside(const struct collection_view *view, char *text, size_t size)
{
	const struct quarantined *aside = &view->aside;

	if (!*aside->name)
		return false;
	snprintf(text, size,
	         "the database was damaged: what it held is in %s/%s (%.1f MiB) until somebody saves what is whole of "
	         "it "
	         "('dcpictl --db %s/%s salvage --to NEWDIR') and removes it",
	         view->config->database, aside->name, (double)aside->bytes / (1 << 20), view->config->database,
	         aside->name);
	return true;
}

bool
status_health(const struct collection_view *view, unsigned index, char *text, size_t size)
{
	static bool (*const kinds[])(const struct collection_view *, char *, size_t) = {
		describe_failure,     describe_slowness, describe_full_memory,
		describe_full_tables, describe_reader,   describe_aside,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i](view, text, size) && index-- == 0)
			return true;
	return false;
}

/* ---- JSON ---- */

/* Text that came from outside, as JSON allows it: jansson refuses what is not UTF-8. */
static json_t *
shown(const char *text)
{
	char escaped[4 * PATH_MAX];

	return json_string(escape_text(text, escaped, sizeof(escaped)));
}

/* Counters stay below 2^63 for centuries; one that does not is damaged, and no reason to show a negative number. */
static json_t *
number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *
moment(uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm broken;
	char text[64];

	if (!time_ns || !gmtime_r(&seconds, &broken) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &broken))
		return json_null();
	return json_string(text);
}

static json_t *
unknown_json(const struct slice_event *event)
{
	json_t *causes = json_object();

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		if (event->unknown[cause])
			json_object_set_new(causes, unknown_cause_name(cause), number(event->unknown[cause]));
	return causes;
}

static json_t *
event_json(const struct event *event, const struct slice_event *counted)
{
	const double running = slice_event_running_percent(counted);

	return json_pack("{s:o,s:o,s:b,s:o,s:s,s:o,s:o,s:o,s:i,s:b,s:b,s:o,s:o,s:o,s:o,s:o,s:o}", "name",
	                 shown(event->name), "requested", shown(event->requested), "available", (int)event->available,
	                 "note", shown(event->note), "unit", event->encoding.unit, "period", number(event->period),
	                 "rate", number(event->rate), "cost_ns", event->cost_ns ? number(event->cost_ns) : json_null(),
	                 "precise", (int)event->precise, "user", (int)event->user, "kernel", (int)event->kernel,
	                 "samples", number(counted->samples), "lost", number(counted->lost), "dropped",
	                 number(counted->dropped), "throttled", number(counted->throttled), "running_percent",
	                 running < 0 ? json_null() : json_real(running), "unknown", unknown_json(counted));
}

/* Since dcpid began: the epochs before this one, and this one. */
static json_t *
totals_event_json(const struct collection_view *view, const struct collection_past_event *past)
{
	struct slice_event counts = past->counts;

	for (size_t i = 0; i < view->epoch->event_count; i++)
		if (view->epoch->events[i].available && strcmp(view->epoch->events[i].name, past->name) == 0)
			slice_event_add(&counts, &view->totals.events[i]);
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "name", shown(past->name), "samples", number(counts.samples),
	                 "lost", number(counts.lost), "dropped", number(counts.dropped), "throttled",
	                 number(counts.throttled), "unknown", unknown_json(&counts));
}

static json_t *
totals_json(const struct collection_view *view)
{
	const struct collection_past *past = view->past;
	json_t *events = json_array();

	for (size_t i = 0; past && i < past->event_count; i++)
		json_array_append_new(events, totals_event_json(view, &past->events[i]));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "samples", number(view->samples), "unknown",
	                 number(view->unknown), "lost", number(view->lost), "epochs", number(past ? past->epochs : 0),
	                 "events", events, "sideband_lost", number(view->sideband_lost), "skipped",
	                 number(view->skipped), "flushes", number(view->flushes), "flush_failures",
	                 number(view->flush_tries - view->flushes), "sessions", number(view->sessions));
}

static json_t *
events_json(const struct collection_view *view)
{
	json_t *events = json_array();

	for (size_t i = 0; i < view->epoch->event_count; i++)
		if (!event_is_sum(&view->epoch->events[i]))
			json_array_append_new(events, event_json(&view->epoch->events[i], &view->totals.events[i]));
	return events;
}

static json_t *
database_json(const struct collection_view *view)
{
	const struct profile_stats *stats = &view->profile;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "path", shown(view->config->database), "bytes",
	                 number(stats->file_bytes), "used", number(stats->used_bytes), "limit",
	                 number(stats->size_limit), "epochs", number(stats->epochs), "slices", number(stats->slices),
	                 "images", number(stats->images), "contexts", number(stats->contexts), "blocks",
	                 number(stats->blocks), "kept", number(stats->kept));
}

static json_t *
trouble_json(const struct collection_view *view)
{
	json_t *sentences = json_array();
	char text[STATUS_SENTENCE_SIZE];

	for (unsigned i = 0; status_health(view, i, text, sizeof(text)); i++)
		json_array_append_new(sentences, shown(text));
	return sentences;
}

/* null: no stacks of programs are sampled. */
static json_t *
unwind_json(const struct collection_view *view)
{
	const struct unwind_tables_stats *unwind = &view->unwind;

	if (!view->unwinds)
		return json_null();
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "images", number(unwind->images), "loaded",
	                 number(unwind->loaded), "waiting", number(unwind->waiting), "without", number(unwind->without),
	                 "bytes", number(unwind->memory), "made", number(unwind->made), "evicted",
	                 number(unwind->evicted), "cpu_ns", number(unwind->cpu_ns));
}

/* null: nothing is captured. */
static json_t *
capture_json(const struct collection_view *view)
{
	const struct capturer_stats *capture = &view->capture;

	if (!view->captures)
		return json_null();
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b}", "taken", number(capture->taken), "failed",
	                 number(capture->failed), "waiting", number(capture->waiting), "cpu_ns",
	                 number(capture->cpu_ns), "bytes", number(capture->bytes), "limit", number(capture->limit),
	                 "full", (int)capture->is_full, "kernel", (int)!capture->kernel_is_closed);
}

double
status_overhead_percent(uint64_t cpu_time_ns, uint64_t elapsed_ns, uint64_t cpu_count)
{
	if (elapsed_ns == 0 || cpu_count == 0)
		return 0;
	return 100.0 * (double)cpu_time_ns / ((double)elapsed_ns * (double)cpu_count);
}

/* What is not known is null. */
static json_t *
percent(bool is_known, double value)
{
	return is_known ? json_real(value) : json_null();
}

/* What the epoch costs. */
static json_t *
overhead_json(const struct collection_view *view)
{
	const struct overhead *overhead = &view->overhead;
	const struct epoch *epoch = view->epoch;
	double expected = 0;
	const bool has_expected = overhead_expected(epoch->events, epoch->event_count, &expected);

	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "limit_percent",
	                 percent(epoch->overhead_limit_ppm > 0, (double)epoch->overhead_limit_ppm / 1e4),
	                 "expected_percent", percent(has_expected, expected), "measured_percent",
	                 percent(overhead->cpu_ns && !overhead->is_unknown, overhead_percent(overhead)),
	                 "dcpid_percent", percent(overhead->cpu_ns, overhead_daemon_percent(overhead)), "start_cpu_ns",
	                 number(overhead->start_ns));
}

json_t *
status_json(const struct collection_view *view, const struct status_process *process)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct attribution_stats *attribution = &view->attribution;
	const struct epoch *epoch = view->epoch;
	const struct file_ids_stats *files = &view->files;
	const struct proc_reader_stats *reader = &view->reader;
	const double overhead = status_overhead_percent(process->cpu_time_ns, process->elapsed_ns, view->cpu_count);
	json_t *status;

	status = json_pack("{s:s,s:s,s:i,s:o,s:f,s:o,s:o,s:{s:o,s:o,s:o,s:o,s:o,s:o},s:o}", "schema",
	                   "dcpictl-status/1", "version", DCPI_VERSION, "pid", (int)getpid(), "since",
	                   moment(process->since_ns), "seconds", (double)process->elapsed_ns / 1e9, "database",
	                   database_json(view), "socket", shown(process->socket), "epoch", "id", number(epoch->id),
	                   "label", shown(epoch->label), "start", moment(epoch->start_ns), "host", shown(epoch->host),
	                   "kernel", shown(epoch->kernel), "cpu", shown(epoch->cpu), "slice", number(view->slice));
	if (!status)
		return NULL;
	json_object_set_new(status, "trouble", trouble_json(view));
	json_object_set_new(status, "kept", number(view->kept));
	json_object_set_new(status, "events", events_json(view));
	json_object_set_new(status, "tally",
	                    json_pack("{s:o,s:o,s:b}", "keys", number(view->tally_size), "limit",
	                              number(view->tally_limit), "full", (int)view->stalled));
	json_object_set_new(status, "cpus", shown(view->cpus));
	/* CPUs that are sampled rarely as they are idle, and the interrupts that found a CPU idle */
	json_object_set_new(status, "idle",
	                    json_pack("{s:o,s:o,s:f}", "cpus", number(view->idle_cpus), "ticks",
	                              number(view->idle_ticks), "ticks_per_second", view->idle_ticks_per_s));
	json_object_set_new(status, "rings",
	                    json_pack("{s:o,s:o,s:o}", "cpus", number(view->cpu_count), "sample_bytes",
	                              number(view->config->ring_pages * page), "sideband_bytes",
	                              number(view->config->sideband_pages * page)));
	json_object_set_new(status, "processes", number(attribution->processes));
	json_object_set_new(status, "mappings", number(attribution->mappings));
	json_object_set_new(status, "images", number(attribution->images));
	json_object_set_new(status, "contexts", number(attribution->contexts));
	json_object_set_new(status, "cgroups", number(attribution->cgroups));
	json_object_set_new(status, "last_flush",
	                    json_pack("{s:o,s:f,s:o,s:o}", "at", moment(view->flush_time_ns), "ms",
	                              (double)view->flush_duration_ns / 1e6, "keys", number(view->flush_entries),
	                              "error",
	                              view->flush_error ? json_string(error_text(view->flush_error)) : json_null()));
	json_object_set_new(status, "cpu_seconds", json_real((double)process->cpu_time_ns / 1e9));
	json_object_set_new(status, "overhead_percent", json_real(overhead));
	json_object_set_new(status, "overhead", overhead_json(view));
	json_object_set_new(status, "rss_bytes", number(process->resident_bytes));
	json_object_set_new(status, "own_bytes", number(process->own_bytes));
	json_object_set_new(status, "sideband_lost", number(view->totals.sideband_lost));
	json_object_set_new(status, "skipped", number(view->totals.skipped));
	/* files that got samples, and were read for their build-id */
	json_object_set_new(status, "files",
	                    json_pack("{s:o,s:o,s:o,s:o,s:o}", "read", number(files->read), "unread",
	                              number(files->unread), "hung", number(files->hung), "changed",
	                              number(files->changed), "waiting", number(files->waiting)));
	/* processes that were read from /proc */
	json_object_set_new(status, "proc",
	                    json_pack("{s:o,s:o,s:o,s:o}", "scans", number(reader->scans), "processes",
	                              number(reader->processes), "unread", number(reader->unread), "hung",
	                              number(reader->hung)));
	json_object_set_new(status, "capture", capture_json(view));
	json_object_set_new(status, "unwind", unwind_json(view)); /* unwind tables of call stacks */
	json_object_set_new(status, "totals", totals_json(view));
	return status;
}
