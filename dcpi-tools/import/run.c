#include "dcpi-tools/import/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/temporary_directory.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/perf_import.h"
#include "process/attribution.h"
#include "profile/merge_database.h"
#include "profile/profile.h"

#define TRIES              5
#define TARGET_SIZE_LIMIT  (UINT64_C(64) << 30) /* bytes, of a database that is made */
#define SCRATCH_SIZE_LIMIT (UINT64_C(1) << 40)  /* bytes: the disk's size is the limit */

/* ---- The report ---- */

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

/* How stacks ended that were not followed to their outermost frame. */
static void
print_truncated(const struct perf_import_report *report, FILE *stream)
{
	for (unsigned end = 0; end < STACK_END_COUNT; end++)
		if (report->truncated[end])
			fprintf(stream, "Truncated: %" PRIu64 " stack%s of %" PRIu64 ": %s\n", report->truncated[end],
			        text_plural(report->truncated[end]), report->call_chains, stack_end_text(end));
}

static void
print_left_out(const struct perf_import_report *report, FILE *stream)
{
	if (report->call_chains_left_out)
		fprintf(stream,
		        "Left out: the call stacks of %" PRIu64
		        " samples, for which an epoch has no room (%d events)\n",
		        report->call_chains_left_out, EVENTS_MAX);
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

static int
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
	print_truncated(report, stream);
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

static json_t *
json_truncated(const struct perf_import_report *report)
{
	json_t *object = json_object();
	int failed = !object;

	for (unsigned end = 0; end < STACK_END_COUNT; end++)
		if (report->truncated[end])
			failed |= json_object_set_new(object, stack_end_name(end), json_count(report->truncated[end]));
	return json_kept(object, failed);
}

static json_t *
import_report_json(const struct perf_import_report *report, const char *file)
{
	const struct epoch *epoch = &report->epoch;
	json_t *damage = report->fault.text ? json_pack("{s:o, s:s}", "offset", json_count(report->fault.offset),
	                                                "reason", report->fault.text)
	                                    : json_null();

	return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
	                 "file", json_shown(file), "epoch", epoch->id ? json_count(epoch->id) : json_null(), "known",
	                 report->is_known, "host", json_shown(epoch->host), "kernel", json_shown(epoch->kernel),
	                 "start", json_time(epoch->start_ns), "end", json_time(epoch->end_ns), "seconds",
	                 (double)report->duration_ns / 1e9, "bytes", json_count(report->bytes), "samples",
	                 json_count(report->samples), "images", json_count(report->images), "events",
	                 json_events(report), "call_chains", json_count(report->call_chains), "call_chains_left_out",
	                 json_count(report->call_chains_left_out), "truncated", json_truncated(report),
	                 "events_left_out", json_count(report->events_left_out), "samples_left_out",
	                 json_count(report->no_event), "late_records", json_count(report->late), "damage", damage);
}

static int
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

static json_t *
import_merge_json(const struct database_merge *merged, const char *directory)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "database", json_shown(directory),
	                 "first_epoch", merged->first ? json_count(merged->first) : json_null(), "last_epoch",
	                 merged->last ? json_count(merged->last) : json_null(), "epochs", json_count(merged->epochs),
	                 "updated_epochs", json_count(merged->updated), "known_epochs", json_count(merged->known),
	                 "slices", json_count(merged->slices), "images", json_count(merged->images), "new_images",
	                 json_count(merged->new_images));
}

static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	stop = number;
}

/* After a signal nothing is imported by half, and no scratch directory stays behind. */
static void
catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

/* ---- The database that is imported into, also while a dcpid writes to it ---- */

struct import_target {
	const char *directory; /* borrowed */
	struct profile *profile;
};

/* -ESTALE: dcpid compacted the database, so the file that was opened has been replaced. */
static int
open_again(struct import_target *target)
{
	const struct profile_options options = {.write = true, .beside = true, .size_limit = TARGET_SIZE_LIMIT};
	int err = -ESTALE;

	profile_close(target->profile);
	target->profile = NULL;
	for (int i = 0; i < TRIES && err == -ESTALE; i++)
		err = profile_open(target->directory, &options, &target->profile);
	if (err)
		target->profile = NULL;
	return err;
}

static int
target_open(struct import_target *target, const char *directory)
{
	int err;

	*target = (struct import_target){.directory = directory};
	err = open_again(target);
	if (!err)
		return 0;
	return message_cannot(directory, "write the profile database", err,
	                      err == -EACCES || err == -EPERM || err == -EROFS ? "name one of your own with --db DIR"
	                                                                       : NULL);
}

static int
show_progress(void *context, uint64_t done, uint64_t all)
{
	progress_show(context, done, all);
	return stop ? -EINTR : 0;
}

/*
 * All that `from` holds becomes part of the target, or nothing; `host` as in struct database_merge_options; `what` is
 * shown when it takes long. As profile_merge_database(), or -EINTR after a signal.
 */
static int
target_merge(struct import_target *target, struct profile *from, const char *host, const char *what,
             struct database_merge *merged)
{
	struct progress progress;
	const struct database_merge_options options = {.host = host, .proceed = show_progress, .context = &progress};
	int err = target->profile ? 0 : open_again(target);

	progress_begin(&progress, what);
	for (int i = 0; i < TRIES && !err; i++) {
		err = profile_merge_database(target->profile, from, &options, merged);
		if (err != -ESTALE)
			break;
		err = open_again(target);
	}
	progress_end(&progress);
	return err;
}

/* ---- A database in $TMPDIR or /tmp, in which an import grows before it is merged as a whole ---- */

struct import_scratch {
	struct profile *profile; /* a writer's */
	char directory[PATH_MAX];
};

/* 0, or an exit status after a message. */
static int
scratch_open(struct import_scratch *scratch)
{
	const struct profile_options options = {.write = true, .size_limit = SCRATCH_SIZE_LIMIT};
	const char *parent = temporary_directory_parent("/tmp");
	int err;

	err = temporary_directory_make(parent, "dcpimport", scratch->directory, sizeof(scratch->directory));
	if (err)
		return message_cannot(parent, "make a directory for what is imported", err,
		                      "TMPDIR names another place");
	err = profile_open(scratch->directory, &options, &scratch->profile);
	if (!err)
		return 0;
	err = message_cannot(scratch->directory, "write what is imported", err, "TMPDIR names another place");
	temporary_directory_remove(scratch->directory);
	return err;
}

/* ---- Files and directories of the command line ---- */

/* What all files share. */
struct import_run {
	const struct import_request *request;
	struct import_target target;
	struct output output;
	json_t *imported; /* JSON of each file */
};

static bool
is_standard_input(const char *file)
{
	return strcmp(file, "-") == 0;
}

static int
say_stopped(const char *file)
{
	message_print(file, "interrupted; nothing of it is in the database");
	return STATUS_FAILURE;
}

static int
say_damage(const char *file, const struct perf_import_report *report)
{
	const struct perf_data_fault *fault = &report->fault;

	if (report->epoch.id)
		message_print(file,
		              "damaged at offset %" PRIu64 " (0x%" PRIx64
		              "): %s; what came before it is epoch %" PRIu32,
		              fault->offset, fault->offset, fault->text, report->epoch.id);
	else
		message_print(file, "damaged at offset %" PRIu64 " (0x%" PRIx64 "): %s; there was no sample before it",
		              fault->offset, fault->offset, fault->text);
	return STATUS_DAMAGED;
}

/* Warn of places that found no room: memory ended, or a recording has more of them than dcpid would follow. */
static void
warn_of_memory(const char *file, const struct perf_import_report *report)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < report->epoch.event_count; i++)
		if (report->epoch.events[i].encoding.type != EVENT_TYPE_DCPIX)
			samples += report->events[i].unknown[UNKNOWN_MEMORY];
	if (samples > 0)
		message_print(file, "there was no room for the places of %" PRIu64 " samples; they count as unknown",
		              samples);
}

static int
print_perf_report(const struct import_run *run, const char *file, const struct perf_import_report *report)
{
	int err;

	warn_of_memory(file, report);
	if (run->request->options.format == FORMAT_JSON)
		err = json_array_append_new(run->imported, import_report_json(report, file)) ? -ENOMEM : 0;
	else
		err = import_report_print(report, file, &run->output);
	return err ? message_cannot("standard output", "write the report", err, NULL) : STATUS_OK;
}

/* Import the recording `fd` into the scratch database, and merge that into the target. */
static int
import_recording(struct import_run *run, const char *file, int fd, struct import_scratch *scratch,
                 struct perf_import_report *report)
{
	const struct import_request *request = run->request;
	const struct perf_import_request recording = {
		.profile = scratch->profile,
		.known = run->target.profile,
		.fd = fd,
		.label = request->label ? request->label : text_basename(file),
		.host = request->host,
		.sums = request->sums,
		.stop = &stop,
	};
	struct database_merge merged = {0};
	int result, err = 0;

	result = perf_import(&recording, report);
	if (result == -EINTR && stop)
		return say_stopped(file);
	if (result == -ESPIPE)
		return message_cannot(file, "import the recording", result,
		                      "through a pipe goes what 'perf record -o -' writes; name the file");
	if (result && (result != -DCPI_EDAMAGED || !report->fault.text))
		return message_cannot(file, "import the recording", result, NULL);
	if (report->epoch.id)
		err = target_merge(&run->target, scratch->profile, NULL, "of what it has, written", &merged);
	if (err == -EINTR && stop)
		return say_stopped(file);
	if (err)
		return message_cannot(request->options.directory, "write the profile database", err, NULL);
	report->is_known = merged.known > 0;
	if (report->epoch.id)
		report->epoch.id = merged.first ? merged.first : merged.known_epoch;
	if (merged.first)
		report->images = merged.images;
	if (report->epoch.id)
		err = print_perf_report(run, file, report);
	if (result)
		return say_damage(file, report);
	if (report->epoch.id)
		return err;
	message_print(file, "there are no samples in it");
	return STATUS_EMPTY;
}

/* The file `path`, called `file`. */
static int
import_file(struct import_run *run, const char *file, const char *path)
{
	struct perf_import_report *report = calloc(1, sizeof(*report));
	struct import_scratch scratch;
	int status, fd = STDIN_FILENO;

	if (!report)
		return message_cannot(NULL, "import the recording", -ENOMEM, NULL);
	if (!is_standard_input(file))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		free(report);
		return message_cannot(file, "open the recording", -errno, NULL);
	}
	status = scratch_open(&scratch);
	if (!status) {
		status = import_recording(run, is_standard_input(file) ? "standard input" : file, fd, &scratch, report);
		profile_close(scratch.profile);
		temporary_directory_remove(scratch.directory);
	}
	if (fd != STDIN_FILENO)
		close(fd);
	free(report);
	return status;
}

static int
import_database(struct import_run *run, const char *directory)
{
	const struct import_request *request = run->request;
	struct database database;
	struct database_merge merged;
	struct stat from, to;
	int status, err;

	if (stat(directory, &from) == 0 && stat(request->options.directory, &to) == 0 && from.st_dev == to.st_dev &&
	    from.st_ino == to.st_ino) {
		message_print(directory, "this is the database that it should become part of");
		return STATUS_USAGE;
	}
	status = database_open(&database, directory);
	if (status)
		return status;
	err = target_merge(&run->target, database.profile, request->host, "of the database", &merged);
	if (err == -EINTR && stop)
		status = say_stopped(directory);
	else if (err == -DCPI_EDAMAGED)
		status = database_cannot_read(&database, err);
	else if (err)
		status = message_cannot(request->options.directory, "write the profile database", err, NULL);
	database_close(&database);
	if (status)
		return status;
	if (request->options.format == FORMAT_JSON)
		err = json_array_append_new(run->imported, import_merge_json(&merged, directory)) ? -ENOMEM : 0;
	else
		err = import_merge_print(&merged, directory, &run->output);
	if (err)
		return message_cannot("standard output", "write the report", err, NULL);
	if (merged.epochs + merged.updated + merged.known > 0)
		return STATUS_OK;
	message_print(directory, "there are no epochs in it");
	return STATUS_EMPTY;
}

static bool
is_directory(const char *file)
{
	struct stat status;

	return !is_standard_input(file) && stat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool
has_file(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* A database, or what perf makes a directory for: with --kcore, beside a copy of the kernel; with --threads. */
static int
import_directory(struct import_run *run, const char *directory)
{
	char path[PATH_MAX];

	if (has_file(directory, "data.mdb") || !has_file(directory, "data"))
		return import_database(run, directory);
	if (has_file(directory, "data.0")) {
		message_print(directory, "it was recorded by several threads, in files that dcpimport does not read; "
		                         "record without --threads");
		return STATUS_USAGE;
	}
	snprintf(path, sizeof(path), "%s/data", directory);
	return import_file(run, directory, path);
}

/* The largest exit status of all files. */
static int
import_all(struct import_run *run)
{
	int worst = STATUS_OK;

	for (size_t i = 0; i < run->request->file_count && !stop; i++) {
		const char *file = run->request->files[i];
		int status = is_directory(file) ? import_directory(run, file) : import_file(run, file, file);

		if (status > worst)
			worst = status;
	}
	return worst;
}

static int
import_into(struct import_run *run)
{
	const struct options *options = &run->request->options;
	const bool is_json = options->format == FORMAT_JSON;
	int status, err = 0, end;

	run->imported = json_array();
	output_open(&run->output, is_json ? COLOR_NEVER : options->color, false);
	status = import_all(run);
	if (is_json)
		err = json_print(json_pack("{s:s, s:o, s:o}", "schema", "dcpimport/1", "database",
		                           json_shown(options->directory), "imported", run->imported),
		                 run->output.stream);
	else
		json_decref(run->imported);
	end = output_close(&run->output);
	if (err || end)
		return message_cannot("standard output", "write the report", err ? err : end, NULL);
	return status;
}

int
import_run(const struct import_request *request)
{
	struct import_run run = {.request = request};
	char *shown = text_shown(request->options.directory);
	struct guard guard = database_guard(shown);
	int status;

	if (!shown)
		return message_cannot(NULL, "start", -ENOMEM, NULL);
	guard_enter(&guard);
	catch_signals();
	status = target_open(&run.target, request->options.directory);
	if (!status)
		status = import_into(&run);
	profile_close(run.target.profile);
	guard_leave(&guard);
	free(shown);
	return status;
}
