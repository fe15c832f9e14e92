#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/tar/archive.h"
#include "dcpi-tools/tar/request.h"
#include "profile/verify.h"

static int
open_archive(const char *path)
{
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int
say_failure(const struct tar_request *request, int err, const char *why)
{
	if (err == -DCPI_EDAMAGED) {
		message_print(request->archive, "%s", why);
		return STATUS_DAMAGED;
	}
	if (err == -EFBIG) {
		message_print(request->archive, "the database in it has more than %" PRIu64 " MiB; --limit raises that",
		              request->limit_bytes >> 20);
		return STATUS_FAILURE;
	}
	return message_cannot(request->archive, "extract the database", err, NULL);
}

static int
unpack(const struct tar_request *request, const char *data, uint64_t *bytes)
{
	int from = open_archive(request->archive), to, err;
	char why[200];

	if (from < 0)
		return message_cannot(request->archive, "open the archive", from, NULL);
	to = open(data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	err = to < 0 ? -errno : archive_unpack(from, to, request->limit_bytes, bytes, why, sizeof(why));
	if (!err && fsync(to))
		err = -errno;
	if (to >= 0)
		close(to);
	if (from != STDIN_FILENO)
		close(from);
	return err ? say_failure(request, err, why) : STATUS_OK;
}

/* LMDB would believe what a stranger wrote: see profile/verify.h. */
static int
verify(const struct tar_request *request, const char *data)
{
	const int fd = open(data, O_RDONLY | O_CLOEXEC);
	char why[VERIFY_WHY_SIZE];
	int err = fd < 0 ? -errno : profile_verify_file(fd, why, sizeof(why));

	if (fd >= 0)
		close(fd);
	if (err == -DCPI_EDAMAGED) {
		message_print(request->archive, "cannot open the database in it: %s (it was not extracted)", why);
		return STATUS_DAMAGED;
	}
	return err ? message_cannot(request->archive, "open the database in it", err, NULL) : STATUS_OK;
}

/* Open it once: what is no database must not be called one. Its sentences would name where it is now. */
static int
try_it(const struct tar_request *request, const char *directory)
{
	const struct profile_options options = {.write = false};
	char *shown = text_shown(request->archive);
	struct guard guard = {
		.subject = shown ? shown : "?",
		.claim = "the database in it is damaged",
		.advice = "it was not extracted",
		.status = STATUS_DAMAGED,
	};
	struct profile *profile;
	int err;

	guard_enter(&guard);
	err = profile_open(directory, &options, &profile);
	if (!err)
		profile_close(profile);
	guard_leave(&guard);
	free(shown);
	return err ? message_cannot(request->archive, "open the database in it", err, NULL) : STATUS_OK;
}

static int
move(const struct tar_request *request, const char *directory)
{
	if (chmod(directory, 0750) == 0 &&
	    renameat2(AT_FDCWD, directory, AT_FDCWD, request->target, RENAME_NOREPLACE) == 0)
		return STATUS_OK;
	if (errno == EEXIST) {
		message_print(request->target, "is there already: --to names another directory");
		return STATUS_FAILURE;
	}
	return message_cannot(request->target, "make the directory", -errno, NULL);
}

static int
say_where(const struct tar_request *request, uint64_t bytes)
{
	char *shown = text_shown(request->target);
	int err = 0;

	if (request->options.format == FORMAT_JSON)
		err = json_print(json_pack("{s:s, s:o, s:o, s:o}", "schema", "dcpitar-extract/1", "archive",
		                           json_shown(request->archive), "directory", json_shown(request->target),
		                           "bytes", json_count(bytes)),
		                 stdout);
	else
		printf("%s: %.1f MiB; 'dcpiprof --db %s' shows it\n", shown ? shown : "?", (double)bytes / (1 << 20),
		       shown ? shown : "?");
	free(shown);
	return err ? message_cannot("standard output", "write the report", err, NULL) : STATUS_OK;
}

int
tar_extract(const struct tar_request *request)
{
	char *directory = scratch_file(&request->scratch, SCRATCH_DATABASE);
	char *data = scratch_file(&request->scratch, SCRATCH_DATABASE "/data.mdb");
	uint64_t bytes = 0;
	int status;

	if (!directory || !data || mkdir(directory, 0700))
		status = message_cannot(request->target, "make the directory", directory && data ? -errno : -ENOMEM,
		                        NULL);
	else
		status = unpack(request, data, &bytes);
	if (!status)
		status = verify(request, data);
	if (!status)
		status = try_it(request, directory);
	if (!status)
		status = move(request, directory);
	if (!status)
		status = say_where(request, bytes);
	free(data);
	free(directory);
	return status;
}
