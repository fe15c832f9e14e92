#include "dcpi-tools/tar/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "code/capture.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/sample_points.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/tar/archive.h"
#include "image/image_file.h"
#include "profile/lmdb_pages.h"
#include "profile/profile.h"
#include "profile/retention.h"

#define CAPTURED_MAX (UINT64_C(4) << 30) /* bytes of a database that are names and text */
#define ROOM_BYTES   (UINT64_C(8) << 30) /* that a copy may grow by */

/* ---- Names and text of images, for a machine that does not have their files ---- */

struct tar_images {
	uint64_t end_ns; /* of what was sampled, since 1970 */
	size_t epochs;
	size_t images;  /* with samples, that names may be had for */
	size_t named;   /* of these, now */
	size_t texts;   /* and whose sampled text is there */
	size_t taken;   /* from files, by this */
	uint64_t bytes; /* of data.mdb in the end */
};

/* Names and text taken from one image. */
struct tar_values {
	struct captured captured;
	struct captured_value *parcels;
	size_t parcel_capacity;
};

/* An offset that has samples, or is in a call stack. */
struct tar_point {
	const struct selection_image *image;
	uint64_t offset;
};

struct tar_reader {
	struct profile *profile;
	struct tar_point *points; /* by image and offset */
	size_t point_count, point_capacity;
	struct tar_images *images;
	struct capture_place *places; /* of the present image */
	size_t place_count, place_capacity;
};

static int
copy_value(struct captured_value *value, uint32_t block, const void *data, size_t size)
{
	void *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	free((void *)value->data);
	*value = (struct captured_value){.block = block, .data = copy, .size = size};
	return 0;
}

static int
add_parcel(struct tar_values *values, uint32_t block, const void *data, size_t size)
{
	struct captured_value *grown;
	int err;

	grown = array_grow(values->parcels, &values->parcel_capacity, values->captured.parcel_count + 1,
	                   sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	values->parcels = grown;
	values->captured.parcels = grown;
	grown += values->captured.parcel_count;
	memset(grown, 0, sizeof(*grown));
	err = copy_value(grown, block, data, size);
	if (!err)
		values->captured.parcel_count++;
	return err;
}

static int
take_value(void *context, enum capture_part part, uint32_t block, const void *data, size_t size)
{
	struct tar_values *values = context;

	switch (part) {
	case CAPTURE_SYMBOLS:
		return copy_value(&values->captured.symbols, 0, data, size);
	case CAPTURE_LAYOUT:
		return copy_value(&values->captured.layout, 0, data, size);
	default:
		return add_parcel(values, block, data, size);
	}
}

/* The blocks of an image that have samples, and the granules in them: points from `start` to `end` - 1. */
static int
find_places(struct tar_reader *reader, size_t start, size_t end)
{
	reader->place_count = 0;
	for (size_t i = start; i < end; i++) {
		const uint64_t offset = reader->points[i].offset;
		const uint32_t block = (uint32_t)(offset / CAPTURED_BLOCK_SIZE);
		struct capture_place *last = reader->places + reader->place_count;

		if (reader->place_count == 0 || last[-1].block != block) {
			struct capture_place *grown = array_grow(reader->places, &reader->place_capacity,
			                                         reader->place_count + 1, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			reader->places = grown;
			last = grown + reader->place_count++;
			*last = (struct capture_place){.block = block};
		} else {
			last--;
		}
		last->granules |= UINT64_C(1) << offset % CAPTURED_BLOCK_SIZE / CAPTURE_GRANULE;
	}
	return 0;
}

static int
compare_blocks(const void *a, const void *b)
{
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static bool
has_text(const struct tar_reader *reader, const struct captured_extent *extent)
{
	for (size_t i = 0; i < reader->place_count; i++)
		if (extent->count == 0 || !bsearch(&reader->places[i].block, extent->blocks, extent->count,
		                                   sizeof(*extent->blocks), compare_blocks))
			return false;
	return true;
}

static bool
has_names(const struct captured_extent *extent)
{
	return extent->has_symbols && extent->has_layout;
}

static int
read_file(const struct tar_reader *reader, const struct image *image, const struct captured_extent *extent,
          struct tar_values *values)
{
	const struct capture_wish wish = {
		.places = reader->places,
		.place_count = reader->place_count,
		.known = extent->blocks,
		.known_count = extent->count,
		.names = !has_names(extent),
	};
	struct image_guard guard;
	struct image_file *file;
	int err;

	image_guard_enter(&guard, image->path, "leave it out with --no-images");
	err = image_file_open(image, &file);
	if (!err) {
		err = capture_take(file, &wish, take_value, values);
		image_file_close(file);
	}
	image_guard_leave(&guard);
	return err;
}

/* Take what the database lacks from the image's file. Only errors of the database are returned. */
static int
take_image(struct tar_reader *reader, const struct selection_image *image, const struct captured_extent *extent)
{
	struct tar_values values = {.parcels = NULL};
	int err = read_file(reader, image->image, extent, &values);

	if (err) {
		err = err == -ENOMEM ? err : 0; /* its file is gone, another one, no ELF file, ... */
	} else if (values.captured.symbols.data || values.captured.layout.data || values.captured.parcel_count) {
		err = profile_put_captured(reader->profile, image->number, &values.captured, CAPTURED_MAX);
		reader->images->taken += !err;
		err = err == -EDQUOT ? 0 : err;
	}
	for (size_t i = 0; i < values.captured.parcel_count; i++)
		free((void *)values.parcels[i].data);
	free(values.parcels);
	free((void *)values.captured.symbols.data);
	free((void *)values.captured.layout.data);
	return err;
}

static int
look_at_image(struct tar_reader *reader, const struct selection_image *image, bool read_files)
{
	const bool is_file = image->image->kind == IMAGE_USER || image->image->kind == IMAGE_VDSO;
	struct captured_extent extent;
	int err = profile_get_extent(reader->profile, image->number, &extent);

	if (err)
		return err;
	if (read_files && is_file && (!has_names(&extent) || !has_text(reader, &extent))) {
		err = take_image(reader, image, &extent);
		free(extent.blocks);
		extent.blocks = NULL;
		if (!err)
			err = profile_get_extent(reader->profile, image->number, &extent);
		if (err)
			return err;
	}
	reader->images->images++;
	reader->images->named += extent.has_symbols || image->image->kind == IMAGE_JIT;
	reader->images->texts += has_text(reader, &extent);
	free(extent.blocks);
	return 0;
}

static int
take_all(struct tar_reader *reader, bool read_files)
{
	struct progress progress;
	int err = 0;

	progress_begin(&progress, "of the samples' images looked at");
	for (size_t start = 0, end; start < reader->point_count && !err; start = end) {
		const struct selection_image *image = reader->points[start].image;

		for (end = start; end < reader->point_count && reader->points[end].image->number == image->number;
		     end++)
			;
		progress_show(&progress, start, reader->point_count);
		err = find_places(reader, start, end);
		if (!err && image->image->kind != IMAGE_ANON)
			err = look_at_image(reader, image, read_files);
	}
	progress_end(&progress);
	return err;
}

static int
compare_points(const void *a, const void *b)
{
	const struct tar_point *one = a, *other = b;

	if (one->image->number != other->image->number)
		return one->image->number < other->image->number ? -1 : 1;
	return (one->offset > other->offset) - (one->offset < other->offset);
}

static int
add_points(struct tar_reader *reader, const struct selection *selection)
{
	const struct sample_points_request request = {.selection = selection};
	struct sample_points points;
	int err = sample_points_make(&request, &points);

	for (size_t i = 0; i < points.count && !err; i++) {
		struct tar_point *point = ARRAY_APPEND(reader->points, reader->point_count, reader->point_capacity);

		if (point)
			*point =
				(struct tar_point){&selection->images[points.points[i].image], points.points[i].offset};
		else
			err = -ENOMEM;
	}
	sample_points_fini(&points);
	return err;
}

/*
 * Count them; with `read_files`, first take from the files that are still there what is missing from the database,
 * which must be open for writing. 0, or an error of the database.
 */
static int
tar_images_take(struct profile *profile, bool read_files, struct tar_images *images)
{
	/* callers in call stacks need names, too, though they may have no samples */
	const struct selection_request requests[] = {{.epoch = "all"}, {.epoch = "all", .stacks = true}};
	struct tar_reader reader = {.profile = profile, .images = images};
	struct selection *selections[ARRAY_COUNT(requests)] = {NULL};
	char why[256];
	int err = 0;

	memset(images, 0, sizeof(*images));
	for (size_t i = 0; i < ARRAY_COUNT(requests) && !err; i++) {
		err = selection_read(profile, &requests[i], &selections[i], why, sizeof(why));
		if (err)
			break;
		images->epochs = selections[i]->epoch_count;
		images->end_ns = selections[i]->end_ns;
		err = add_points(&reader, selections[i]);
	}
	if (!err && reader.point_count > 0) {
		qsort(reader.points, reader.point_count, sizeof(*reader.points), compare_points);
		err = take_all(&reader, read_files);
	}
	free(reader.places);
	free(reader.points);
	for (size_t i = 0; i < ARRAY_COUNT(requests); i++)
		selection_free(selections[i]);
	return err == -DCPI_ENOSELECTION ? 0 : err; /* there are no samples yet */
}

/* ---- Pack and extract ---- */

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
print_packed(const struct tar_request *request, const struct tar_images *images)
{
	char *shown;
	int err = 0;

	if (strcmp(request->archive, "-") == 0) /* standard output has the archive */
		return STATUS_OK;
	shown = text_shown(request->archive);
	if (!shown)
		err = -ENOMEM;
	else if (request->options.format == FORMAT_JSON)
		err = json_print(json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "dcpitar/1", "archive",
		                           shown, "bytes", json_count(images->bytes), "epochs",
		                           json_count(images->epochs), "images", json_count(images->images), "named",
		                           json_count(images->named), "with_text", json_count(images->texts),
		                           "read_now", json_count(images->taken)),
		                 stdout);
	else
		printf("%s: %zu epoch%s, %.1f MiB; of %zu image%s with samples, %zu have names and %zu their text\n",
		       shown, images->epochs, images->epochs == 1 ? "" : "s", (double)images->bytes / (1 << 20),
		       images->images, images->images == 1 ? "" : "s", images->named, images->texts);
	free(shown);
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
	const bool is_standard = strcmp(request->archive, "-") == 0;
	int from = is_standard ? STDIN_FILENO : open(request->archive, O_RDONLY | O_CLOEXEC), to, err;
	char why[200];

	if (from < 0)
		return message_cannot(request->archive, "open the archive", -errno, NULL);
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
