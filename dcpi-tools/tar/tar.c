#include "dcpi-tools/tar/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/tar/archive.h"
#include "dcpi-tools/tar/images.h"
#include "profile/lmdb_pages.h"
#include "profile/profile.h"
#include "profile/retention.h"

#define ROOM_BYTES (UINT64_C(8) << 30) /* that a copy may grow by */

/* Names in the temporary directory. */
#define DATABASE "db" /* the database's directory */
#define PACKED   "packed"

struct tar_paths {
	char *database, *data, *packed;
};

/* For free(); NULL when memory ends. */
static char *
path_in(const struct tar_request *request, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", request->directory, name) < 0 ? NULL : path;
}

static int
new_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	return fd;
}

static int
copy_database(const struct tar_request *request, const struct tar_paths *paths)
{
	struct database database;
	int status, fd, err;

	status = database_open(&database, request->options.directory);
	if (status)
		return status;
	fd = mkdir(paths->database, 0700) ? -errno : new_file(paths->data);
	err = fd < 0 ? fd : database_snapshot(&database, fd);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (err == -ENOSPC)
		status = message_cannot(request->directory, "copy the profile database", err,
		                        "TMPDIR names another place");
	else if (err)
		status = database_cannot_read(&database, err);
	database_close(&database);
	return status;
}

/* Add names and text from files to the copy, and write it once more, without free pages. */
static int
complete_copy(const struct tar_request *request, const struct tar_paths *paths, struct tar_images *images)
{
	struct profile_options options = {.write = true};
	struct profile *profile;
	struct stat file;
	int fd, err;

	if (stat(paths->data, &file))
		return -errno;
	options.size_limit = (uint64_t)file.st_size + ROOM_BYTES;
	err = profile_open(paths->database, &options, &profile);
	if (err)
		return err;
	do /* the copy may have a part of an import that runs or was broken off */
		err = profile_drop_old(profile, &(struct retention_options){0}, 0);
	while (err > 0);
	if (!err)
		err = tar_images_take(profile, request->images, images);
	fd = err ? err : new_file(paths->packed);
	if (!err)
		err = fd < 0 ? fd : profile_snapshot(profile, fd);
	if (fd >= 0)
		close(fd);
	profile_close(profile);
	return err;
}

static int
write_archive(const struct tar_request *request, const struct tar_paths *paths, struct tar_images *images)
{
	struct archive_content content = {.name = request->name, .time_s = (int64_t)(images->end_ns / 1000000000)};
	struct atomic_file file;
	struct stat packed;
	int fd = open(paths->packed, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0 || fstat(fd, &packed))
		return -errno;
	content.fd = fd;
	content.size = images->bytes = (uint64_t)packed.st_size;
	err = atomic_file_open(&file, request->archive);
	if (!err)
		err = atomic_file_close(&file, archive_pack(&content, file.stream));
	close(fd);
	return err;
}

static int
print_packed_text(const struct tar_request *request, const struct tar_images *images)
{
	char *shown = text_shown(request->archive);

	if (!shown)
		return -ENOMEM;
	printf("%s: %zu epoch%s, %.1f MiB; of %zu image%s with samples, %zu have names and %zu their text\n", shown,
	       images->epochs, images->epochs == 1 ? "" : "s", (double)images->bytes / (1 << 20), images->images,
	       images->images == 1 ? "" : "s", images->named, images->texts);
	free(shown);
	return 0;
}

static int
print_packed_json(const struct tar_request *request, const struct tar_images *images)
{
	return json_print(json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "dcpitar/1", "archive",
	                            json_shown(request->archive), "bytes", json_count(images->bytes), "epochs",
	                            json_count(images->epochs), "images", json_count(images->images), "named",
	                            json_count(images->named), "with_text", json_count(images->texts), "read_now",
	                            json_count(images->taken)),
	                  stdout);
}

static int
print_packed(const struct tar_request *request, const struct tar_images *images)
{
	int err;

	if (strcmp(request->archive, "-") == 0) /* standard output has the archive */
		return STATUS_OK;
	err = request->options.format == FORMAT_JSON ? print_packed_json(request, images)
	                                             : print_packed_text(request, images);
	return err ? message_cannot("standard output", "write the report", err, NULL) : STATUS_OK;
}

int
tar_pack(const struct tar_request *request)
{
	const struct tar_paths paths = {
		.database = path_in(request, DATABASE),
		.data = path_in(request, DATABASE "/data.mdb"),
		.packed = path_in(request, PACKED),
	};
	struct tar_images images = {0};
	int status = STATUS_OK, err = paths.database && paths.data && paths.packed ? 0 : -ENOMEM;

	if (!err)
		status = copy_database(request, &paths);
	if (status)
		goto out;
	if (!err)
		err = complete_copy(request, &paths, &images);
	if (!err)
		err = write_archive(request, &paths, &images);
	if (err)
		status = message_cannot(request->archive, "write the archive", err, NULL);
	else
		status = print_packed(request, &images);
out:
	free(paths.packed);
	free(paths.data);
	free(paths.database);
	return status;
}

static int
open_archive(const char *path)
{
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int
print_failure(const struct tar_request *request, int err, const char *why)
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
	return err ? print_failure(request, err, why) : STATUS_OK;
}

/* LMDB trusts the content of its file, and the archive is not trusted: see profile/lmdb_pages.h. */
static int
verify(const struct tar_request *request, const char *data)
{
	const int fd = open(data, O_RDONLY | O_CLOEXEC);
	char why[PAGES_WHY_SIZE];
	int err = fd < 0 ? -errno : pages_verify(fd, why, sizeof(why));

	if (fd >= 0)
		close(fd);
	if (err == -DCPI_EDAMAGED) {
		message_print(request->archive, "cannot open the database in it: %s (it was not extracted)", why);
		return STATUS_DAMAGED;
	}
	return err ? message_cannot(request->archive, "open the database in it", err, NULL) : STATUS_OK;
}

/* Open it once: the target must be a database. Messages name the archive, not the temporary directory. */
static int
open_once(const struct tar_request *request, const char *directory)
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
move_to_target(const struct tar_request *request, const char *directory)
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
print_extracted(const struct tar_request *request, uint64_t bytes)
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
	char *directory = path_in(request, DATABASE);
	char *data = path_in(request, DATABASE "/data.mdb");
	uint64_t bytes = 0;
	int status;

	if (!directory || !data || mkdir(directory, 0700)) {
		status = message_cannot(request->target, "make the directory", directory && data ? -errno : -ENOMEM,
		                        NULL);
		goto out;
	}
	status = unpack(request, data, &bytes);
	if (status)
		goto out;
	status = verify(request, data);
	if (status)
		goto out;
	status = open_once(request, directory);
	if (status)
		goto out;
	status = move_to_target(request, directory);
	if (!status)
		status = print_extracted(request, bytes);
out:
	free(data);
	free(directory);
	return status;
}
