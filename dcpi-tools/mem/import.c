/* dcpimem import: samples of accesses that `perf mem` and `perf c2c` recorded */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/kept.h"
#include "dcpi-tools/mem/recorded.h"

struct mem_import_request {
	struct command_once once;
	size_t limit;
	bool by_object;
	const char *file;
	const char *objects; /* directory of logs; NULL: none */
};

/* ---- what is said of a recording ---- */

static int
say_damage(const char *file, const struct recorded_outcome *outcome)
{
	const struct perf_data_fault *fault = &outcome->fault;

	message_print(file, "damaged at offset %" PRIu64 " (0x%" PRIx64 "): %s; %s", fault->offset, fault->offset,
	              fault->text, outcome->samples ? "what came before it counts" : "there was no access before it");
	return STATUS_DAMAGED;
}

static int
say_empty(const char *file, enum recorded_kind kind)
{
	if (kind == RECORDED_SPE_PIPE)
		message_print(file, "it has what Arm's SPE wrote, which comes in the order of time from a file alone: "
		                    "write the pipe to a file, and import that");
	else if (kind == RECORDED_SPE_NO_TIME)
		message_print(file, "what Arm's SPE wrote has no times, or nothing says how to convert them: 'perf "
		                    "record -e arm_spe/ts_enable=1/' of perf 5.14 or later records both");
	else if (kind == RECORDED_NO_ADDRESSES)
		message_print(file, "its events do not sample the addresses of data: 'perf mem record -a -- PROGRAM' "
		                    "or 'perf c2c record -a -- PROGRAM' does");
	else
		message_print(file, "no access was sampled");
	return STATUS_EMPTY;
}

/* What is left out of a profile. */
static void
say_left_out(const char *file, const struct recorded_outcome *outcome)
{
	if (outcome->unmapped)
		message_print(file, "there was no room for %" PRIu64 " mappings; what is there has no names",
		              outcome->unmapped);
	if (outcome->others)
		message_print(file, "%" PRIu64 " samples of events without addresses of data are left out",
		              outcome->others);
}

/* What Arm's SPE could not write, or wrote so that it is not of full use. */
static void
say_missing(const char *file, const struct spe_areas_counts *spe)
{
	if (spe->truncated)
		message_print(file,
		              "Arm's SPE had no room for records %" PRIu64 " times: 'perf record -m ,64M' gives "
		              "it more",
		              spe->truncated);
	if (spe->collided)
		message_print(file,
		              "Arm's SPE dropped operations that came before the one before was written, in "
		              "%" PRIu64 " pieces: a longer period (perf record -c) loses fewer",
		              spe->collided);
	if (spe->damaged || spe->left_out)
		message_print(file,
		              "%" PRIu64 " damaged records of Arm's SPE and %" PRIu64 " pieces beyond the limit "
		              "are left out",
		              spe->damaged, spe->left_out);
	if (spe->timeless)
		message_print(file, "%" PRIu64 " accesses without a time are left out", spe->timeless);
	if (spe->unowned)
		message_print(file,
		              "of %" PRIu64 " accesses the thread is not known: they are counted, but belong to "
		              "no object ('perf record --switch-events' says which thread runs)",
		              spe->unowned);
}

/* Times that do not go together. */
static int
say_clock(const char *file, enum recorded_kind kind)
{
	if (kind == RECORDED_SPE_OBJECTS)
		message_print(file, "times of Arm's SPE are not those of the objects, which are of CLOCK_MONOTONIC: "
		                    "'dcpimem run' and 'dcpimem record' sample both");
	else if (kind == RECORDED_SPE_OTHER_CLOCK)
		message_print(file,
		              "times of Arm's SPE are not those of the other records, which are of another clock: "
		              "record it without -k (--clockid)");
	else
		message_print(file, "its times are not those of the objects, which are of CLOCK_MONOTONIC: "
		                    "'perf mem record -k CLOCK_MONOTONIC' records such");
	return STATUS_USAGE;
}

/* An exit status, after a message unless it is STATUS_OK. `result`: of recorded_read(). */
static int
say_result(const char *file, const struct recorded_outcome *outcome, int result)
{
	if (result == -EINVAL && outcome->kind != RECORDED_ACCESSES)
		return say_clock(file, outcome->kind);
	if (result == -DCPI_EDAMAGED && outcome->fault.text) {
		if (outcome->samples)
			say_left_out(file, outcome);
		return say_damage(file, outcome);
	}
	if (result)
		return message_cannot(file, "import the recording", result,
		                      result == -ESPIPE ? "through a pipe goes what 'perf record -o -' writes; name "
		                                          "the file"
		                                        : NULL);
	if (!outcome->samples)
		return say_empty(file, outcome->kind);
	say_left_out(file, outcome);
	say_missing(file, &outcome->spe);
	return STATUS_OK;
}

/* ---- the command ---- */

/* The file itself, or what is in perf's directory. A descriptor or -errno. */
static int
open_recording(const char *file)
{
	char path[PATH_MAX];
	struct stat status;
	int fd;

	if (strcmp(file, "-") == 0)
		return STDIN_FILENO;
	if (stat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
		if (snprintf(path, sizeof(path), "%s/data", file) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		file = path;
	}
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fd;
}

static int
import_recording(const struct mem_import_request *request, const char *file, int fd, struct recorded_outcome *outcome)
{
	const struct mem_view view = {
		.limit = request->limit,
		.by_object = request->by_object,
		.header = true,
		.counts = &outcome->counts,
	};
	struct atomic_file report = {0};
	int status = mem_begin_kept(&request->once, &report), kept = STATUS_OK, printed, result;
	bool has_profile;

	if (status)
		return status;
	result = recorded_read(&(struct recorded_request){fd, request->objects, MEM_ACCESS_MAX}, outcome);
	status = say_result(file, outcome, result);
	has_profile = outcome->samples && (!result || result == -DCPI_EDAMAGED);
	if (has_profile)
		kept = mem_keep(&request->once, &outcome->profile,
		                &(struct mem_kept){.called = text_basename(file),
		                                   .start_ns = outcome->start_ns,
		                                   .end_ns = outcome->end_ns,
		                                   .machine = &outcome->machine});
	printed = mem_end_kept(&request->once, has_profile ? &outcome->profile : NULL, &view, &report);
	recorded_fini(outcome);
	return status ? status : kept ? kept : printed;
}

static int
import_run(const struct mem_import_request *request)
{
	struct recorded_outcome *outcome = calloc(1, sizeof(*outcome));
	const int fd = open_recording(request->file);
	int status;

	if (!outcome || fd < 0) {
		free(outcome);
		return message_cannot(request->file, "open the recording", fd < 0 ? fd : -ENOMEM, NULL);
	}
	status = import_recording(request, fd == STDIN_FILENO ? "standard input" : request->file, fd, outcome);
	free(outcome);
	if (fd != STDIN_FILENO)
		close(fd);
	return status;
}

static void
take_file(void *member, char *text, struct argp_state *state)
{
	const char **file = member;

	if (*file)
		argp_error(state, "one recording at a time: %s or %s?", *file, text);
	*file = text;
}

static void
check(void *checked, struct argp_state *state)
{
	const struct mem_import_request *request = checked;

	command_check_kept(&request->once.common, state);
}

int
mem_import_main(int argc, char **argv)
{
	static const struct option_row rows[] = {
		OPTION_HEADING(1, "What is imported:"),
		OPTION_TEXT(1, "objects", "DIR", struct mem_import_request, objects,
	                    "The objects that trackers logged in DIR, of a recording with CLOCK_MONOTONIC"),
		MEM_KEPT_ROWS(struct mem_import_request, "it is called as the file otherwise"),
		MEM_REPORT_ROWS(struct mem_import_request),
		OPTION_ARGUMENT(offsetof(struct mem_import_request, file), take_file),
		OPTION_END,
	};
	static const struct command_line line = {
		.rows = rows,
		.arguments = "FILE",
		.doc = "Report which memory objects are accessed remotely or shared falsely, of a recording of perf "
		       "mem record or perf c2c record (perf.data; - is standard input).",
		.shared = SHARED_DATABASE,
		.options = offsetof(struct mem_import_request, once.common.options),
		.argument_missing = "which recording? dcpimem import FILE",
		.check = check,
	};
	struct mem_import_request request = {.limit = 0};
	int status = command_line_read(&line, &request, argc, argv);

	if (!status)
		status = import_run(&request);
	options_fini(&request.once.common.options);
	return status;
}
