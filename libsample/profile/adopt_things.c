/* Images and contexts of another database, and what was captured of images: see adopt_parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/adopt_parts.h"
#include "profile/captured_table.h"
#include "profile/records.h"

/* At its place; a map of things is not filled in order. */
static int
insert(struct number_map *map, uint32_t from, uint32_t to)
{
	struct number_pair *pairs = array_grow(map->pairs, &map->capacity, map->count + 1, sizeof(*pairs));
	size_t at = map->count;

	if (!pairs)
		return -ENOMEM;
	map->pairs = pairs;
	while (at > 0 && pairs[at - 1].from > from)
		at--;
	memmove(&pairs[at + 1], &pairs[at], (map->count - at) * sizeof(*pairs));
	pairs[at] = (struct number_pair){from, to};
	map->count++;
	return 0;
}

/* The path that is known here is where the file is here. */
static int
find_or_add_image(struct adopting *adopting, const struct image *image, uint32_t *number)
{
	int err = identity_find_image(adopting->to_store, adopting->to_txn, image, number);

	if (err != -ENOENT)
		return err;
	adopting->adoption->new_images++;
	return identity_intern_image(adopting->to_store, adopting->to_txn, image, number);
}

/* What refers to something that is not there is damaged. */
static int
get(struct adopting *adopting, enum table table, uint32_t number, MDB_val *value)
{
	int err = store_get(adopting->from_store, adopting->from_txn, table, number, value);

	return err == -ENOENT ? -DCPI_EDAMAGED : err;
}

int
adopt_image(struct adopting *adopting, uint32_t from, uint32_t *to)
{
	struct image_record *record;
	MDB_val value;
	int err;

	*to = number_map_find(&adopting->images, from);
	if (*to)
		return 0;
	err = get(adopting, TABLE_IMAGES, from, &value);
	if (err)
		return err;
	record = malloc(sizeof(*record));
	if (!record)
		return -ENOMEM;
	err = image_decode(value.mv_data, value.mv_size, record);
	if (!err && record->image.build_id_size > 0) { /* which file it was there means nothing here */
		record->image.device_major = record->image.device_minor = 0;
		record->image.inode = record->image.inode_generation = 0;
	}
	record->image.is_roots = false; /* it was root's there */
	if (!err)
		err = find_or_add_image(adopting, &record->image, to);
	free(record);
	adopting->adoption->images++;
	return err ? err : insert(&adopting->images, from, *to);
}

int
adopt_context(struct adopting *adopting, uint32_t from, uint32_t *to)
{
	struct context_record *record;
	uint32_t next = 0;
	MDB_val value;
	int err;

	*to = number_map_find(&adopting->contexts, from);
	if (*to)
		return 0;
	err = get(adopting, TABLE_CONTEXTS, from, &value);
	if (err)
		return err;
	record = malloc(sizeof(*record));
	if (!record)
		return -ENOMEM;
	err = store_next_id(adopting->to_store, adopting->to_txn, TABLE_CONTEXTS, &next);
	if (!err)
		err = context_decode(value.mv_data, value.mv_size, record);
	if (!err)
		err = identity_intern_context(adopting->to_store, adopting->to_txn, &record->context, to);
	free(record);
	adopting->adoption->contexts++;
	adopting->adoption->new_contexts += *to == next;
	return err ? err : insert(&adopting->contexts, from, *to);
}

/* Names, unless there are some here. */
static int
adopt_symbols(struct adopting *adopting, const struct number_pair *image)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	MDB_val value, here;
	int err;

	err = store_get(adopting->from_store, adopting->from_txn, TABLE_SYMBOLS, image->from, &value);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = store_get(adopting->to_store, adopting->to_txn, TABLE_SYMBOLS, image->to, &here);
	if (err != -ENOENT)
		return err;
	write_bytes(&writer, value.mv_data, value.mv_size);
	adopt_note(adopting, value.mv_size);
	err = store_put(adopting->to_store, adopting->to_txn, TABLE_SYMBOLS, image->to, &writer);
	writer_fini(&writer);
	return err;
}

static bool
has_text(struct adopting *adopting, uint32_t image)
{
	struct store_walk walk;
	uint32_t block;
	int result = captured_walk_begin(adopting->to_store, adopting->to_txn, image, &walk);

	if (result)
		return true; /* whatever is there stays */
	result = captured_walk_next(&walk, image, &block);
	store_walk_end(&walk);
	return result != 0;
}

/* Layout and text, unless there is some here: parcels of an image have no block in common. */
static int
adopt_text(struct adopting *adopting, const struct number_pair *image)
{
	struct store_walk walk;
	uint32_t block;
	int result;

	if (!adopting->from_store->has[TABLE_TEXT] || has_text(adopting, image->to))
		return 0;
	result = captured_walk_begin(adopting->from_store, adopting->from_txn, image->from, &walk);
	if (result)
		return result;
	while ((result = captured_walk_next(&walk, image->from, &block)) > 0) {
		adopt_note(adopting, walk.value.mv_size);
		result = captured_table_put(adopting->to_store, adopting->to_txn, image->to, block, walk.value.mv_data,
		                            walk.value.mv_size, 0);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}

/* All of an image's in one piece: a kill must not leave a part, which would be taken for what there is. */
int
adopt_captured(struct adopting *adopting)
{
	int err = 0;

	for (size_t i = 0; !err && i < adopting->images.count; i++) {
		err = adopt_step(adopting);
		if (!err)
			err = adopt_symbols(adopting, &adopting->images.pairs[i]);
		if (!err)
			err = adopt_text(adopting, &adopting->images.pairs[i]);
	}
	return err;
}
