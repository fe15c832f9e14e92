#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "dcpi-tools/tar/request.h"
#include "profile/profile.h"
#include "profile/retention.h"

#define ROOM_BYTES (UINT64_C(8) << 30) /* that a copy may grow by */

struct paths {
	char *database, *data, *packed;
};

static int
find_paths(const struct tar_request *request, struct paths *paths)
{
	paths->database = scratch_file(&request->scratch, SCRATCH_DATABASE);
	paths->data = scratch_file(&request->scratch, SCRATCH_DATABASE "/data.mdb");
	paths->packed = scratch_file(&request->scratch, SCRATCH_FILE);
	return paths->database && paths->data && paths->packed ? 0 : -ENOMEM;
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
copy_database(const struct tar_request *request, const struct paths *paths)
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
		status = message_cannot(request->scratch.path, "copy the profile database", err,
		                        "TMPDIR names another place");
	else if (err)
		status = database_cannot_read(&database, err);
	database_close(&database);
	return status;
}

/* Fill the copy up with what files have, and write it once more, without what is free in it. */
static int
complete_copy(const struct tar_request *request, const struct paths *paths, struct tar_images *images)
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
	do /* what an import is bringing in, or left, is nothing to take along */
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
write_archive(const struct tar_request *request, const struct paths *paths, struct tar_images *images)
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
print_text(const struct tar_request *request, const struct tar_images *images)
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
print_json(const struct tar_request *request, const struct tar_images *images)
{
	return json_print(json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "dcpitar/1", "archive",
	                            json_shown(request->archive), "bytes", json_count(images->bytes), "epochs",
	                            json_count(images->epochs), "images", json_count(images->images), "named",
	                            json_count(images->named), "with_text", json_count(images->texts), "read_now",
	                            json_count(images->taken)),
	                  stdout);
}

static int
say_what_there_is(const struct tar_request *request, const struct tar_images *images)
{
	int err;

	if (strcmp(request->archive, "-") == 0) /* standard output has the archive */
		return STATUS_OK;
	err = request->options.format == FORMAT_JSON ? print_json(request, images) : print_text(request, images);
	return err ? message_cannot("standard output", "write the report", err, NULL) : STATUS_OK;
}

int
tar_pack(const struct tar_request *request)
{
	struct paths paths = {NULL};
	struct tar_images images = {0};
	int status = STATUS_OK, err;

	err = find_paths(request, &paths);
	if (!err)
		status = copy_database(request, &paths);
	if (!err && !status) {
		err = complete_copy(request, &paths, &images);
		if (!err)
			err = write_archive(request, &paths, &images);
	}
	if (err)
		status = message_cannot(request->archive, "write the archive", err, NULL);
	if (!status)
		status = say_what_there_is(request, &images);
	free(paths.packed);
	free(paths.data);
	free(paths.database);
	return status;
}
