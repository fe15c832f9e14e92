#include "dcpi-tools/import/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/perf_import.h"
#include "dcpi-tools/import/report.h"

static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	stop = number;
}

/* Asked to end, nothing is left half done. */
static void
catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

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

static void
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
}

/* An exit status, after a message unless it is 0. */
static int
say_result(const char *file, const char *database, const struct perf_import_report *report, int err)
{
	if (err == -DCPI_EDAMAGED && report->fault.text) {
		say_damage(file, report);
		return STATUS_DAMAGED;
	}
	if (err == -EINTR) {
		message_print(file, "told to stop; nothing of it is in the database");
		return STATUS_FAILURE;
	}
	if (err)
		return message_cannot(database, "import the recording", err, NULL);
	if (report->epoch.id)
		return STATUS_OK;
	message_print(file, "there are no samples in it");
	return STATUS_EMPTY;
}

/* The recording `file` into the database; *report is filled in any case. */
static int
import_file(const struct import_request *request, struct profile *profile, const char *file,
            struct perf_import_report *report)
{
	struct perf_import_request recording = {
		.profile = profile,
		.fd = STDIN_FILENO,
		.label = request->label ? request->label : text_basename(name_of(file)),
		.host = request->host,
		.sums = request->sums,
		.stop = &stop,
	};
	int err;

	memset(report, 0, sizeof(*report));
	if (!is_standard_input(file))
		recording.fd = open(file, O_RDONLY | O_CLOEXEC);
	if (recording.fd < 0)
		return message_cannot(file, "open the recording", -errno, NULL);
	err = perf_import(&recording, report);
	if (recording.fd != STDIN_FILENO)
		close(recording.fd);
	return say_result(name_of(file), request->options.directory, report, err);
}

static int
append(json_t *array, const struct import_request *request, const char *file, const struct perf_import_report *report,
       const struct output *output)
{
	if (request->options.format != FORMAT_JSON)
		return import_report_print(report, name_of(file), output);
	return json_array_append_new(array, import_report_json(report, name_of(file))) ? -ENOMEM : 0;
}

static int
import_all(const struct import_request *request, struct profile *profile, json_t *array, const struct output *output)
{
	struct perf_import_report *report = malloc(sizeof(*report));
	int result = STATUS_OK, err = report ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < request->file_count && !stop; i++) {
		const char *file = request->files[i];
		int status = import_file(request, profile, file, report);

		if (status > result)
			result = status;
		if (report->epoch.id && (status == STATUS_OK || status == STATUS_DAMAGED))
			err = append(array, request, file, report, output);
	}
	free(report);
	return err ? message_cannot("standard output", "write the report", err, NULL) : result;
}

static json_t *
wrap(const char *directory, json_t *array)
{
	return json_pack("{s:s, s:o, s:o}", "schema", "dcpimport/1", "database", json_shown(directory), "imported",
	                 array);
}

static int
import_into(const struct import_request *request, struct profile *profile)
{
	const bool is_json = request->options.format == FORMAT_JSON;
	json_t *array = json_array();
	struct output output;
	int status, err = 0, end;

	output_open(&output, is_json ? COLOR_NEVER : request->options.color, false);
	status = import_all(request, profile, array, &output);
	if (is_json)
		err = json_print(wrap(request->options.directory, array), output.stream);
	else
		json_decref(array);
	end = output_close(&output);
	if (err || end)
		return message_cannot("standard output", "write the report", err ? err : end, NULL);
	return status;
}

int
import_run(const struct import_request *request)
{
	const char *directory = request->options.directory;
	const struct profile_options options = {.write = true, .beside = true};
	struct guard guard = {
		.subject = text_shown(directory),
		.claim = "the database is damaged",
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
	struct profile *profile;
	int err, status;

	if (!guard.subject)
		return message_cannot(NULL, "start", -ENOMEM, NULL);
	guard_enter(&guard);
	catch_signals();
	err = profile_open(directory, &options, &profile);
	if (err)
		return message_cannot(
			directory, "write the profile database", err,
			err == -EACCES || err == -EPERM || err == -EROFS ? "name one of your own with --db DIR" : NULL);
	status = import_into(request, profile);
	profile_close(profile);
	guard_leave(&guard);
	free((char *)(uintptr_t)guard.subject);
	return status;
}
