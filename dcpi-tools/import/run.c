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
#include "dcpi-tools/common/temporary_directory.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/perf_import.h"
#include "dcpi-tools/import/report.h"
#include "profile/merge_database.h"
#include "profile/profile.h"

#define TRIES              5
#define TARGET_SIZE_LIMIT  (UINT64_C(64) << 30) /* bytes, of a database that is made */
#define SCRATCH_SIZE_LIMIT (UINT64_C(1) << 40)  /* bytes: the disk's size is the limit */

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

static void
scratch_close(struct import_scratch *scratch)
{
	profile_close(scratch->profile);
	temporary_directory_remove(scratch->directory);
}

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
	message_print(file, "told to stop; nothing of it is in the database");
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
		scratch_close(&scratch);
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
