#include "dcpi-tools/emu/calibrate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/model_file.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/emu/calibrate/describe.h"
#include "dcpi-tools/emu/calibrate/report.h"

#define TRIES 3

static int
choose_pipeline(const struct host *host, struct pipeline *pipeline)
{
	char directory[PATH_MAX], note[1024] = "";
	int err;

	pipeline_directory(directory, sizeof(directory));
	err = pipeline_choose(directory, NULL, host->cpu, pipeline, note, sizeof(note));
	if (*note)
		message_print(NULL, "%s", note);
	return err ? error_exit_status(err) : 0;
}

/* Figures that contradict each other may be better the next time. An exit status. */
static int
measure(const struct host *host, const struct pipeline *pipeline, struct measurements *measured,
        struct machine *machine)
{
	char why[512] = "";
	int err = -DCPI_ECONFIG;

	for (unsigned i = 0; err == -DCPI_ECONFIG && i < TRIES; i++) {
		err = measure_host(host, measured);
		if (!err)
			err = describe_machine(host, measured, pipeline, machine, why, sizeof(why));
	}
	if (err == -DCPI_ECONFIG)
		message_print(NULL, "cannot describe this machine: %s; nothing was written", why);
	else if (err)
		return message_cannot(NULL, "measure this machine", err, NULL);
	return err ? error_exit_status(err) : 0;
}

/* All directories above `path`. */
static int
make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int err;

		*slash = '\0';
		err = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (err)
			return err;
	}
	return 0;
}

static int
choose_path(const struct calibrate_request *request, char *path, size_t size)
{
	char directory[PATH_MAX];
	int used, err;

	if (request->path) {
		used = snprintf(path, size, "%s", request->path);
		err = used > 0 && (size_t)used < size ? 0 : -ENAMETOOLONG;
		return err ? message_cannot(request->path, "write the description", err, NULL) : 0;
	}
	if (machine_own_directory(directory, sizeof(directory))) {
		message_print(NULL,
		              "there is no home directory to write the description to; name a file with --output");
		return STATUS_USAGE;
	}
	used = snprintf(path, size, "%s/host" MODEL_FILE_SUFFIX, directory);
	err = used > 0 && (size_t)used < size ? make_directories(path) : -ENAMETOOLONG;
	return err ? message_cannot(path, "make its directory", err, NULL) : 0;
}

static int
write_machine(const struct machine *machine, FILE *stream)
{
	char head[512], date[32] = "";
	const time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		(void)strftime(date, sizeof(date), " on %F", &local);
	snprintf(head, sizeof(head),
	         "# What dcpiemu calibrate found of this machine%s.\n"
	         "# Sizes are the kernel's, latencies and bandwidths measured; assumed are prefetchers, what predicts\n"
	         "# branches, the TLB of code and the write buffer.\n",
	         date);
	return describe_write(machine, head, stream);
}

/* Measure, and write; whether that can be done is known before. An exit status. */
static int
measure_into(const char *path, const struct host *host, const struct pipeline *pipeline, struct measurements *measured,
             struct machine *machine)
{
	struct atomic_file file;
	int status, err = atomic_file_open(&file, path);

	if (err)
		return message_cannot(path, "write the description", err, NULL);
	status = measure(host, pipeline, measured, machine);
	if (status) {
		(void)atomic_file_close(&file, -ECANCELED);
		return status;
	}
	err = write_machine(machine, file.stream);
	if (!err && file.path && fchmod(fileno(file.stream), 0644))
		err = -errno;
	err = atomic_file_close(&file, err);
	return err ? message_cannot(path, "write the description", err, NULL) : STATUS_OK;
}

int
calibrate_run(const struct calibrate_request *request, const struct output *output)
{
	char path[PATH_MAX], why[512] = "";
	struct measurements *measured;
	struct pipeline pipeline;
	struct machine machine;
	struct host host;
	int status, err = host_read("/sys", "/proc", &host, why, sizeof(why));

	if (err) {
		message_print(NULL, "cannot describe this machine: %s", why);
		return error_exit_status(err);
	}
	status = choose_pipeline(&host, &pipeline);
	if (!status)
		status = choose_path(request, path, sizeof(path));
	if (status)
		return status;
	measured = calloc(1, sizeof(*measured));
	if (!measured)
		return message_cannot(NULL, "measure this machine", -ENOMEM, NULL);
	status = measure_into(path, &host, &pipeline, measured, &machine);
	if (!status) {
		err = emu_report_measured(&host, measured, &machine, output);
		fprintf(output->stream, "\nWritten: %s\n", path);
	}
	free(measured);
	return err ? message_cannot(NULL, "print", err, NULL) : status;
}
