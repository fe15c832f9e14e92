#include "profile/selection_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/counts.h"
#include "profile/records.h"

/* Which context was looked up last: neighbours in the table often have the same. */
struct last_context {
	uint32_t number;
	bool known;
	bool matches;
};

static bool
context_matches(const struct context_filter *filter, struct last_context *last, uint32_t number)
{
	if (!last->known || last->number != number) {
		last->number = number;
		last->known = true;
		last->matches = context_filter_has(filter, number);
	}
	return last->matches;
}

/* The blocks of one slice: they are neighbours. */
static int
read_slice_blocks(struct selection_parts *parts, struct store_walk *walk, const struct scope_slice *slice)
{
	size_t epoch = selection_epoch_index(parts->selection, slice->epoch);
	size_t event_count = parts->selection->epochs[epoch].event_count;
	const struct event_map *map = &parts->event_maps[epoch];
	struct counts_key key = {.slice = slice->id};
	struct last_context last = {0};
	uint8_t first[COUNTS_KEY_SIZE];
	int result;

	counts_key_encode(&key, first);
	result = store_walk_seek(walk, first, sizeof(first));
	if (result)
		return result;
	while ((result = store_walk_next(walk)) > 0) {
		result = counts_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
		if (result || key.slice != slice->id)
			return result;
		if (key.event >= event_count)
			return -DCPI_EDAMAGED;
		if (!context_matches(&parts->filter, &last, key.context))
			continue;
		result = block_list_add(&parts->blocks, key.image, key.block, map->events[key.event],
		                        walk->value.mv_data, walk->value.mv_size);
		if (result)
			return result;
	}
	return result;
}

int
selection_read_blocks(struct selection_parts *parts)
{
	struct store_walk walk;
	int err;

	err = store_walk_begin(parts->store, parts->txn, TABLE_COUNTS, &walk);
	if (err)
		return err;
	for (size_t i = 0; !err && i < parts->scope.slice_count; i++)
		err = read_slice_blocks(parts, &walk, &parts->scope.slices[i]);
	store_walk_end(&walk);
	return err;
}

static int
compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* The distinct image numbers of the blocks, ascending; *numbers is the caller's to free. */
static int
list_images(const struct block_list *list, uint32_t **numbers, size_t *count)
{
	size_t all = 0, distinct = 0;

	*numbers = calloc(list->count ? list->count : 1, sizeof(**numbers));
	if (!*numbers)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		if (i == 0 || list->blocks[i].image != list->blocks[i - 1].image)
			(*numbers)[all++] = list->blocks[i].image;
	qsort(*numbers, all, sizeof(**numbers), compare_numbers);
	for (size_t i = 0; i < all; i++)
		if (i == 0 || (*numbers)[i] != (*numbers)[i - 1])
			(*numbers)[distinct++] = (*numbers)[i];
	*count = distinct;
	return 0;
}

/* A copy in one piece, path and all; NULL when memory ends. */
static struct image *
copy_image(const struct image *image)
{
	size_t path_size = strlen(image->path) + 1;
	struct image *copy = malloc(sizeof(*copy) + path_size);

	if (!copy)
		return NULL;
	*copy = *image;
	copy->path = memcpy(copy + 1, image->path, path_size);
	return copy;
}

static int
read_image(struct selection_parts *parts, uint32_t number, struct selection_image *image)
{
	struct image_record record;
	MDB_val value;
	int err;

	err = store_get(parts->store, parts->txn, TABLE_IMAGES, number, &value);
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	err = image_decode(value.mv_data, value.mv_size, &record);
	if (err)
		return err;
	image->number = number;
	image->image = copy_image(&record.image);
	return image->image ? 0 : -ENOMEM;
}

int
selection_read_images(struct selection_parts *parts)
{
	struct selection *selection = parts->selection;
	uint32_t *numbers;
	size_t count;
	int err;

	err = list_images(&parts->blocks, &numbers, &count);
	if (err)
		return err;
	selection->images = calloc(count ? count : 1, sizeof(*selection->images));
	err = selection->images ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < count; i++) {
		err = read_image(parts, numbers[i], &selection->images[i]);
		if (!err)
			selection->image_count++;
	}
	free(numbers);
	return err;
}
