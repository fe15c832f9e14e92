/* What is there of an image's text: see captured.h. */
#include "profile/captured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/captured_table.h"
#include "profile/handle.h"
#include "profile/records.h"

#define PARCEL_BYTES ((size_t)CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE)

struct taking {
	struct captured_text *text;
	size_t block_capacity, byte_capacity;
};

static int
take_parcel(struct taking *taking, const MDB_val *value)
{
	struct captured_text *text = taking->text;
	const size_t used = text->count * CAPTURED_BLOCK_SIZE;
	uint32_t numbers[CAPTURED_PARCEL_MAX];
	struct captured_block *blocks;
	uint8_t *bytes;
	int count;

	bytes = array_grow(text->bytes, &taking->byte_capacity, used + PARCEL_BYTES, 1);
	if (!bytes)
		return -ENOMEM;
	text->bytes = bytes;
	blocks = array_grow(text->blocks, &taking->block_capacity, text->count + CAPTURED_PARCEL_MAX, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	text->blocks = blocks;
	count = captured_parcel_decode(value->mv_data, value->mv_size, numbers, bytes + used);
	for (int i = 0; i < count; i++) /* where its bytes are is told once they do not move any more */
		blocks[text->count++] = (struct captured_block){.number = numbers[i]};
	return count < 0 ? count : 0;
}

static int
compare_blocks(const void *a, const void *b)
{
	const struct captured_block *one = a, *other = b;

	return (one->number > other->number) - (one->number < other->number);
}

/* Keep one of a block that is there twice, which none should be. */
static void
settle(struct captured_text *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < text->count; i++)
		text->blocks[i].bytes = text->bytes + i * CAPTURED_BLOCK_SIZE;
	if (text->count)
		qsort(text->blocks, text->count, sizeof(*text->blocks), compare_blocks);
	for (size_t i = 0; i < text->count; i++)
		if (kept == 0 || text->blocks[kept - 1].number != text->blocks[i].number)
			text->blocks[kept++] = text->blocks[i];
	text->count = kept;
}

static int
take_all(const struct store *store, MDB_txn *txn, uint32_t image, struct taking *taking)
{
	struct store_walk walk;
	uint32_t block;
	int result = captured_walk_begin(store, txn, image, &walk);

	if (result)
		return result;
	while ((result = captured_walk_next(&walk, image, &block)) > 0) {
		if (block != CAPTURED_BLOCK_NONE)
			result = take_parcel(taking, &walk.value);
		if (result < 0)
			break;
	}
	store_walk_end(&walk);
	return result;
}

int
profile_get_text(struct profile *profile, uint32_t image, struct captured_text *text)
{
	struct taking taking = {.text = text};
	MDB_txn *txn;
	int err;

	memset(text, 0, sizeof(*text));
	if (!profile->store.has[TABLE_TEXT])
		return 0;
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = store_leave(&profile->store, txn, take_all(&profile->store, txn, image, &taking));
	if (err == -DCPI_EVERSION)
		text->count = 0;
	settle(text);
	return err;
}

void
captured_text_fini(struct captured_text *text)
{
	free(text->blocks);
	free(text->bytes);
	memset(text, 0, sizeof(*text));
}

/* A value that cannot be read has no blocks. */
static int
note_blocks(struct captured_extent *extent, size_t *capacity, const MDB_val *value)
{
	uint32_t numbers[CAPTURED_PARCEL_MAX], *blocks;
	const int count = captured_parcel_blocks(value->mv_data, value->mv_size, numbers);

	blocks = array_grow(extent->blocks, capacity, extent->count + CAPTURED_PARCEL_MAX, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	extent->blocks = blocks;
	for (int i = 0; i < count; i++)
		blocks[extent->count++] = numbers[i];
	return 0;
}

static int
note_text(const struct store *store, MDB_txn *txn, uint32_t image, struct captured_extent *extent)
{
	struct store_walk walk;
	size_t capacity = 0;
	uint32_t block;
	int result = captured_walk_begin(store, txn, image, &walk);

	if (result)
		return result;
	while ((result = captured_walk_next(&walk, image, &block)) > 0) {
		extent->has_layout |= block == CAPTURED_BLOCK_NONE;
		if (block != CAPTURED_BLOCK_NONE)
			result = note_blocks(extent, &capacity, &walk.value);
		if (result < 0)
			break;
	}
	store_walk_end(&walk);
	return result;
}

static int
note_owner(const struct store *store, MDB_txn *txn, uint32_t image, struct captured_extent *extent)
{
	struct image_record *record = malloc(sizeof(*record));
	MDB_val value;
	int err;

	if (!record)
		return -ENOMEM;
	err = store_get(store, txn, TABLE_IMAGES, image, &value);
	extent->is_roots = !err && image_decode(value.mv_data, value.mv_size, record) == 0 && record->has_roots_names;
	free(record);
	return err == -ENOENT ? 0 : err;
}

static int
compare_numbers(const void *a, const void *b)
{
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

int
profile_get_extent(struct profile *profile, uint32_t image, struct captured_extent *extent)
{
	MDB_val value;
	MDB_txn *txn;
	int err;

	memset(extent, 0, sizeof(*extent));
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = store_get(&profile->store, txn, TABLE_SYMBOLS, image, &value);
	extent->has_symbols = err == 0;
	if (!err || err == -ENOENT)
		err = note_owner(&profile->store, txn, image, extent);
	if (!err && profile->store.has[TABLE_TEXT])
		err = note_text(&profile->store, txn, image, extent);
	err = store_leave(&profile->store, txn, err);
	if (err && err != -ENOENT) {
		free(extent->blocks);
		memset(extent, 0, sizeof(*extent));
		return err;
	}
	if (extent->count)
		qsort(extent->blocks, extent->count, sizeof(*extent->blocks), compare_numbers);
	return 0;
}
