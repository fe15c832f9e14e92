#include "dcpi-tools/loc/exact.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/emulated/run.h"
#include "dcpi-tools/loc/exact_report.h"
#include "dcpi-tools/loc/join.h"
#include "dcpi-tools/loc/profile.h"
#include "dcpi-tools/loc/trace_read.h"
#include "emulator/locality/trace_file.h"
#include "locality/record.h"

#define PLUGIN_NAME    "dcpi-trace.so"
#define ROOM_BYTES     (UINT64_C(128) << 20) /* that a trace's sums and records may take */
#define RECORDS        "records"             /* in the run's directory */
#define MILLION        1e6
#define DIRECTORY_SIZE (PATH_MAX + sizeof(RECORDS) + 1)

/* For prepare(): the run begins. */
struct exact_start {
	const struct loc_exact_request *request;
	char records[DIRECTORY_SIZE];
};

/* ---- the run ---- */

static int
write_request(const struct loc_exact_request *request, const char *directory)
{
	const struct trace_request asked = {.size = sizeof(asked), .exact = (uint64_t)(request->millions * MILLION)};
	char path[DIRECTORY_SIZE];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/" TRACE_REQUEST_NAME, directory);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, &asked, sizeof(asked)) != (ssize_t)sizeof(asked))
		err = errno ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
	return err ? message_cannot(path, "write it", err, NULL) : STATUS_OK;
}

/* The program leaves its record in a directory of the run's. */
static int
prepare(void *context, const char *directory)
{
	struct exact_start *start = context;

	snprintf(start->records, sizeof(start->records), "%s/" RECORDS, directory);
	if (mkdir(start->records, 0700))
		return message_cannot(start->records, "make a directory for the program's record", -errno, NULL);
	if (setenv(LOCALITY_DIRECTORY, start->records, 1))
		return message_cannot(NULL, "start", -ENOMEM, NULL);
	return write_request(start->request, directory);
}

/* ---- what it left ---- */

static int
add_record(void *context, const struct run_file *file)
{
	int err = file->fd >= 0 ? loc_profile_add(context, file->fd) : -EPROTO;

	if (err == -EAGAIN)
		return 0; /* a process that ended at once */
	((struct loc_profile *)context)->damaged += err == -EPROTO;
	return err == -EPROTO ? 0 : err;
}

/* STATUS_OK, or an exit status after a message. */
static int
read_all(const struct emulated_run *run, const char *records, struct loc_profile *profile, struct trace *trace)
{
	int err = run_directory_each_file(records, LOCALITY_PREFIX, add_record, profile);

	if (!err || err == -ENOENT)
		err = loc_profile_finish(profile);
	if (err)
		return message_cannot(records, "read what the program recorded", err, NULL);
	err = trace_init(trace);
	if (!err)
		err = trace_read(trace, run->directory);
	if (err)
		return message_cannot(run->directory, "read the trace's sums", err, NULL);
	if (trace->processes == 0) {
		message_print(NULL, "nothing was traced: the emulator did not start the program");
		return STATUS_FAILURE;
	}
	return STATUS_OK;
}

static int
report(const struct loc_exact_request *request, const struct exact_report *report)
{
	FILE *stream = request->output ? fopen(request->output, "we") : stderr;
	int err;

	if (!stream)
		return message_cannot(request->output, "write the report", -errno, NULL);
	err = request->json ? exact_print_json(report, stream) : exact_print_text(report, stream);
	if (!err && fflush(stream) != 0)
		err = -errno;
	if (request->output && fclose(stream) != 0 && !err)
		err = -errno;
	return err ? message_cannot(request->output, "write the report", err, NULL) : STATUS_OK;
}

static int
join_and_report(const struct loc_exact_request *request, const struct emulated_run *run,
                const struct loc_profile *profile, struct trace *trace)
{
	struct join join;
	const struct exact_report made = {request, run, profile, trace, &join};
	int err = join_make(&join, profile, trace), status;

	status = err ? message_cannot(NULL, "put the trace beside the record", err, NULL) : report(request, &made);
	join_fini(&join);
	if (!status && run->disk_filled) {
		message_print(run->directory, "its disk is full: the trace and the record are not all, and the program "
		                              "was ended; TMPDIR names another place");
		return STATUS_FAILURE;
	}
	return status;
}

int
loc_exact(const struct loc_exact_request *request)
{
	struct exact_start start = {.request = request};
	const struct run_request run_request = {
		.command = request->command,
		.plugin = PLUGIN_NAME,
		.does = "dcpiloc --exact traces",
		.room_bytes = ROOM_BYTES,
		.prepare = prepare,
		.context = &start,
	};
	struct loc_profile profile;
	struct trace trace = {.images = NULL};
	struct emulated_run run;
	int status = run_program(&run, &run_request);

	if (status) {
		run_remove(&run);
		return status;
	}
	loc_profile_init(&profile);
	status = read_all(&run, start.records, &profile, &trace);
	if (!status)
		status = join_and_report(request, &run, &profile, &trace);
	trace_fini(&trace);
	loc_profile_fini(&profile);
	run_remove(&run);
	return run_exit_status(&run, status);
}
