#include "dcpi-tools/tar/images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "code/capture.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "image/image_file.h"

#define CAPTURED_MAX (UINT64_C(4) << 30) /* bytes of a database that are names and text */

/* Names and text taken from one image. */
struct tar_values {
	struct captured captured;
	struct captured_value *parcels;
	size_t parcel_capacity;
};

struct tar_reader {
	struct profile *profile;
	const struct selection *selection;
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

static void
values_fini(struct tar_values *values)
{
	for (size_t i = 0; i < values->captured.parcel_count; i++)
		free((void *)values->parcels[i].data);
	free(values->parcels);
	free((void *)values->captured.symbols.data);
	free((void *)values->captured.layout.data);
}

/* The blocks of an image that have samples, and the granules in them: counts from `start` to `end` - 1. */
static int
find_places(struct tar_reader *reader, size_t start, size_t end)
{
	reader->place_count = 0;
	for (size_t i = start; i < end; i++) {
		const uint64_t offset = reader->selection->counts[i].offset;
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
	char *shown = text_shown(image->path);
	struct guard guard = procedure_guard(shown);
	struct image_file *file;
	int err;

	guard.advice = "leave it out with --no-images";
	guard_enter(&guard);
	err = image_file_open(image, &file);
	if (!err) {
		err = capture_take(file, &wish, take_value, values);
		image_file_close(file);
	}
	guard_leave(&guard);
	free(shown);
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
	values_fini(&values);
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
	const struct selection *selection = reader->selection;
	struct progress progress;
	int err = 0;

	progress_begin(&progress, "of the samples' images looked at");
	for (size_t start = 0, end; start < selection->count_count && !err; start = end) {
		const struct selection_image *image = &selection->images[selection->counts[start].image];

		for (end = start;
		     end < selection->count_count && selection->counts[end].image == selection->counts[start].image;
		     end++)
			;
		progress_show(&progress, start, selection->count_count);
		err = find_places(reader, start, end);
		if (!err && image->image->kind != IMAGE_ANON)
			err = look_at_image(reader, image, read_files);
	}
	progress_end(&progress);
	return err;
}

int
tar_images_take(struct profile *profile, bool read_files, struct tar_images *images)
{
	const struct selection_request request = {.epoch = "all"};
	struct tar_reader reader = {.profile = profile, .images = images};
	struct selection *selection;
	char why[256];
	int err;

	memset(images, 0, sizeof(*images));
	err = selection_read(profile, &request, &selection, why, sizeof(why));
	if (err)
		return err == -DCPI_ENOSELECTION ? 0 : err; /* there are no samples yet */
	reader.selection = selection;
	images->epochs = selection->epoch_count;
	images->end_ns = selection->end_ns;
	err = take_all(&reader, read_files);
	free(reader.places);
	selection_free(selection);
	return err;
}
