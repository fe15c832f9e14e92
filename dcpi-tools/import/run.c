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
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/perf_import.h"
#include "dcpi-tools/import/report.h"
#include "dcpi-tools/import/scratch.h"
#include "dcpi-tools/import/target.h"

static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	stop = number;
}

/* Told to end, it leaves nothing half done, and nothing behind. */
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

/* All that is needed for every file. */
struct import_run {
	const struct import_request *request;
	struct target target;
	struct output output;
	json_t *imported; /* what JSON says of each */
};

static bool
is_standard_input(const char *file)
{
	return strcmp(file, "-") == 0;
}

static const char *
name_of(const char *file)
{
	return is_standard_input(file) ? "standard input" : file;
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

/* What the recording `fd` has, into the scratch database, and all of it into the one that was asked for. */
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
	struct database_merge adoption = {0};
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
		err = target_adopt(&run->target, scratch->profile, NULL, "of what it has, written", &adoption);
	if (err == -EINTR && stop)
		return say_stopped(file);
	if (err)
		return message_cannot(request->options.directory, "write the profile database", err, NULL);
	report->is_known = adoption.known > 0;
	if (report->epoch.id)
		report->epoch.id = adoption.first ? adoption.first : adoption.known_epoch;
	if (adoption.first)
		report->images = adoption.images;
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
		status = import_recording(run, name_of(file), fd, &scratch, report);
		scratch_close(&scratch);
	}
	if (fd != STDIN_FILENO)
		close(fd);
	free(report);
	return status;
}

static bool
is_same_directory(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int
import_database(struct import_run *run, const char *directory)
{
	const struct import_request *request = run->request;
	struct database database;
	struct database_merge adoption;
	int status, err;

	if (is_same_directory(directory, request->options.directory)) {
		message_print(directory, "this is the database that it should become part of");
		return STATUS_USAGE;
	}
	status = database_open(&database, directory);
	if (status)
		return status;
	err = target_adopt(&run->target, database.profile, request->host, "of the database", &adoption);
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
		err = json_array_append_new(run->imported, adoption_json(&adoption, directory)) ? -ENOMEM : 0;
	else
		err = adoption_print(&adoption, directory, &run->output);
	if (err)
		return message_cannot("standard output", "write the report", err, NULL);
	if (adoption.epochs + adoption.updated + adoption.known > 0)
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

/* The worst of all. */
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
	struct guard guard = {
		.subject = shown,
		.claim = "the database is damaged",
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
	int status;

	if (!shown)
		return message_cannot(NULL, "start", -ENOMEM, NULL);
	guard_enter(&guard);
	catch_signals();
	status = target_open(&run.target, request->options.directory, &stop);
	if (!status)
		status = import_into(&run);
	target_close(&run.target);
	guard_leave(&guard);
	free(shown);
	return status;
}
