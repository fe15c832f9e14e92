#include "profile/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/profile_internal.h"
#include "profile/stacks.h"
#include "tally/tally.h"

void
counts_key_encode(const struct counts_key *key, uint8_t data[COUNTS_KEY_SIZE])
{
	put_be(data, key->slice, 4);
	put_be(data + 4, key->event, 2);
	put_be(data + 6, key->image, 4);
	put_be(data + 10, key->context, 4);
	put_be(data + 14, key->block, 4);
}

static uint32_t
get_be(const uint8_t *data, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size; i++)
		value = value << 8 | data[i];
	return value;
}

/* By hand and not by a byte_reader: a selection decodes every key of its slices. */
int
counts_key_decode(const void *data, size_t size, struct counts_key *key)
{
	const uint8_t *bytes = data;

	if (size != COUNTS_KEY_SIZE)
		return -DCPI_EDAMAGED;
	key->slice = get_be(bytes, 4);
	key->event = (uint16_t)get_be(bytes + 4, 2);
	key->image = get_be(bytes + 6, 4);
	key->context = get_be(bytes + 10, 4);
	key->block = get_be(bytes + 14, 4);
	return 0;
}

void
counts_encode(const struct counts_pair *pairs, size_t count, struct byte_writer *writer)
{
	uint16_t before = 0;

	write_u8(writer, FORMAT_1);
	for (size_t i = 0; i < count; i++) {
		write_varint(writer, (uint16_t)(pairs[i].offset - before));
		write_varint(writer, pairs[i].count);
		before = pairs[i].offset;
	}
}

int
counts_decode(const void *data, size_t size, struct counts_pair *pairs)
{
	struct byte_reader reader;
	uint64_t offset = 0;
	int count = 0;

	reader_init(&reader, data, size);
	read_format(&reader);
	while (!reader.failed && reader.at < reader.end) {
		uint64_t distance = read_varint_below(&reader, COUNTS_BLOCK_SIZE);
		uint64_t samples = read_small(&reader);

		offset += distance;
		if (offset >= COUNTS_BLOCK_SIZE || (distance == 0 && count > 0) || samples == 0)
			return -DCPI_EDAMAGED;
		pairs[count].offset = (uint16_t)offset;
		pairs[count].count = samples;
		count++;
	}
	return reader.failed || count == 0 ? -DCPI_EDAMAGED : count;
}

size_t
counts_merge(const struct counts_pair *a, size_t a_count, const struct counts_pair *b, size_t b_count,
             struct counts_pair *sum)
{
	size_t i = 0, j = 0, count = 0;

	while (i < a_count && j < b_count) {
		if (a[i].offset < b[j].offset) {
			sum[count++] = a[i++];
		} else if (a[i].offset > b[j].offset) {
			sum[count++] = b[j++];
		} else {
			sum[count] = a[i++];
			sum[count].count = add_saturating(sum[count].count, b[j++].count);
			count++;
		}
	}
	while (i < a_count)
		sum[count++] = a[i++];
	while (j < b_count)
		sum[count++] = b[j++];
	return count;
}

/* ---- in the store ---- */

struct block_writer {
	MDB_cursor *cursor;
	uint32_t slice;
	bool append; /* all keys so far are above the stored ones: no need to look for a stored block */
	struct byte_writer value;
	struct counts_pair fresh[COUNTS_BLOCK_SIZE];
	struct counts_pair stored[COUNTS_BLOCK_SIZE];
	struct counts_pair sum[COUNTS_BLOCK_SIZE];
	struct gc *gc;   /* of counts_take(): marks what was moved */
	uint64_t *taken; /* of counts_take(): samples of the removed blocks, by event */
};

/* Store the fresh pairs under `block`, added to those that are stored there. */
static int
put_block(struct block_writer *writer, const struct counts_key *block, size_t count)
{
	const struct counts_pair *pairs = writer->fresh;
	uint8_t data[COUNTS_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value;
	unsigned flags = writer->append ? MDB_APPEND : 0;
	int stored, err = -ENOENT;

	counts_key_encode(block, data);
	if (!writer->append)
		err = store_error(mdb_cursor_get(writer->cursor, &key, &value, MDB_SET));
	if (err && err != -ENOENT)
		return err;
	if (!err) {
		stored = counts_decode(value.mv_data, value.mv_size, writer->stored);
		if (stored < 0)
			return stored;
		count = counts_merge(writer->fresh, count, writer->stored, (size_t)stored, writer->sum);
		pairs = writer->sum;
		flags = MDB_CURRENT;
	}
	writer_reset(&writer->value);
	counts_encode(pairs, count, &writer->value);
	if (writer->value.failed)
		return -ENOMEM;
	value = (MDB_val){writer->value.size, writer->value.data};
	return store_error(mdb_cursor_put(writer->cursor, &key, &value, flags));
}

/* Entries of one event, image and context; they are neighbours in the batch and in the database. */
struct block_group {
	uint16_t event;
	uint32_t image; /* the database's numbers */
	uint32_t context;
	const struct tally_entry *entries;
	size_t count;
};

static bool
is_same_group(const struct tally_entry *a, const struct tally_entry *b)
{
	return a->event == b->event && a->image == b->image && a->context == b->context;
}

static int
group_compare(const void *left, const void *right)
{
	const struct block_group *a = left, *b = right;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->context > b->context) - (a->context < b->context);
}

/* Split the entries into groups, in the order of the database's keys. `groups` is the caller's to free. */
static int
make_groups(const struct profile *profile, const struct tally_entry *entries, size_t count, struct block_group **groups,
            size_t *group_count)
{
	size_t needed = 0, at = 0;

	for (size_t i = 0; i < count; i++)
		needed += i == 0 || !is_same_group(&entries[i - 1], &entries[i]);
	*groups = calloc(needed ? needed : 1, sizeof(**groups));
	if (!*groups)
		return -ENOMEM;
	for (*group_count = 0; *group_count < needed; ++*group_count) {
		struct block_group *group = &(*groups)[*group_count];
		const struct tally_entry *first = &entries[at];

		*group = (struct block_group){
			.event = first->event,
			.image = ids_map_get(&profile->images, first->image),
			.context = ids_map_get(&profile->contexts, first->context),
			.entries = first,
		};
		if (group->image == 0 || group->context == 0)
			return -EINVAL;
		for (at++; at < count && is_same_group(&entries[at], first); at++)
			if (entries[at].offset <= entries[at - 1].offset)
				return -EINVAL;
		group->count = (size_t)(&entries[at] - first);
	}
	qsort(*groups, needed, sizeof(**groups), group_compare);
	return 0;
}

/* Set writer->append: all stored keys are below those of the slice. */
static int
find_append(struct block_writer *writer)
{
	struct counts_key last;
	MDB_val key, value;
	int err;

	writer->append = true;
	err = store_error(mdb_cursor_get(writer->cursor, &key, &value, MDB_LAST));
	if (err)
		return err == -ENOENT ? 0 : err;
	err = counts_key_decode(key.mv_data, key.mv_size, &last);
	writer->append = !err && last.slice < writer->slice;
	return err;
}

static int
put_group(struct block_writer *writer, const struct block_group *group)
{
	struct counts_key key = {writer->slice, group->event, group->image, group->context, 0};
	size_t at = 0;
	int err = 0;

	while (!err && at < group->count && group->entries[at].offset <= COUNTS_OFFSET_MAX) {
		size_t count = 0;

		key.block = (uint32_t)(group->entries[at].offset >> COUNTS_BLOCK_SHIFT);
		while (at < group->count && group->entries[at].offset >> COUNTS_BLOCK_SHIFT == key.block) {
			writer->fresh[count].offset = group->entries[at].offset & (COUNTS_BLOCK_SIZE - 1);
			writer->fresh[count].count = group->entries[at].count;
			count += group->entries[at].count > 0;
			at++;
		}
		if (count > 0)
			err = put_block(writer, &key, count);
	}
	return err;
}

/* Entries of stacks: their offsets are the session's numbers of nodes. */
static int
put_stacks(struct block_writer *writer, const struct profile *profile, const struct block_group *group)
{
	struct tally_entry *entries = calloc(group->count, sizeof(*entries));
	struct block_group translated = *group;
	int64_t count;

	if (!entries)
		return -ENOMEM;
	memcpy(entries, group->entries, group->count * sizeof(*entries));
	count = stacks_translate(profile, entries, group->count);
	translated.entries = entries;
	translated.count = count < 0 ? 0 : (size_t)count;
	if (count >= 0)
		count = put_group(writer, &translated);
	free(entries);
	return (int)count;
}

int
counts_put(const struct profile *profile, MDB_txn *txn, uint32_t slice, const struct tally_entry *entries, size_t count)
{
	struct block_writer *writer = calloc(1, sizeof(*writer));
	struct block_group *groups = NULL;
	size_t group_count;
	int err;

	if (!writer)
		return -ENOMEM;
	writer->slice = slice;
	err = make_groups(profile, entries, count, &groups, &group_count);
	if (err)
		goto out;
	err = store_error(mdb_cursor_open(txn, profile->store.tables[TABLE_COUNTS], &writer->cursor));
	if (err)
		goto out;
	err = find_append(writer);
	for (size_t i = 0; !err && i < group_count; i++) {
		/* Two numbers of the session can be one image here, e.g. when their paths were found to be equal. */
		if (i > 0 && group_compare(&groups[i - 1], &groups[i]) == 0)
			writer->append = false;
		if (groups[i].image == profile->stacks_image)
			err = put_stacks(writer, profile, &groups[i]);
		else
			err = put_group(writer, &groups[i]);
	}
	mdb_cursor_close(writer->cursor);
out:
	free(groups);
	writer_fini(&writer->value);
	free(writer);
	return err;
}

int
counts_add(const struct store *store, MDB_txn *txn, const struct counts_key *key, const struct tally_entry *entries,
           size_t count)
{
	struct block_writer *writer = calloc(1, sizeof(*writer));
	const struct block_group group = {
		.event = key->event, .image = key->image, .context = key->context, .entries = entries, .count = count};
	int err;

	if (!writer)
		return -ENOMEM;
	writer->slice = key->slice;
	err = store_error(mdb_cursor_open(txn, store->tables[TABLE_COUNTS], &writer->cursor));
	if (!err) {
		err = put_group(writer, &group);
		mdb_cursor_close(writer->cursor);
	}
	writer_fini(&writer->value);
	free(writer);
	return err;
}

void
counts_mark_nodes(uint32_t block, const struct counts_pair *pairs, size_t count, struct gc_marks *nodes)
{
	for (size_t i = 0; i < count; i++)
		gc_mark(nodes, block << COUNTS_BLOCK_SHIFT | pairs[i].offset);
}

/*
 * Count the samples of a block that was removed, and add it to slice writer->slice, if that is not 0. A block that
 * cannot be decoded can be dropped, but not moved.
 */
static int
move_block(const struct store *store, MDB_txn *txn, const MDB_val *key, const MDB_val *value, void *context)
{
	struct block_writer *writer = context;
	struct counts_key block;
	int count = counts_key_decode(key->mv_data, key->mv_size, &block);

	(void)store;
	(void)txn;
	if (count == 0)
		count = counts_decode(value->mv_data, value->mv_size, writer->fresh);
	if (count >= 0 && block.event >= EVENTS_MAX)
		count = -DCPI_EDAMAGED;
	if (count < 0)
		return writer->slice ? count : 0;
	for (int i = 0; i < count; i++)
		writer->taken[block.event] = add_saturating(writer->taken[block.event], writer->fresh[i].count);
	if (!writer->slice)
		return 0;
	/* The new key may lie before the position that garbage collection has already marked up to. */
	gc_mark(&writer->gc->images, block.image);
	gc_mark(&writer->gc->contexts, block.context);
	if (block.image == writer->gc->stacks_image)
		counts_mark_nodes(block.block, writer->fresh, (size_t)count, &writer->gc->nodes);
	block.slice = writer->slice;
	return put_block(writer, &block, (size_t)count);
}

int64_t
counts_take(struct profile *profile, MDB_txn *txn, uint32_t from, uint32_t to, size_t max, uint64_t taken[EVENTS_MAX])
{
	struct block_writer *writer = calloc(1, sizeof(*writer));
	int64_t count = 0;

	memset(taken, 0, EVENTS_MAX * sizeof(*taken));
	if (!writer)
		return -ENOMEM;
	writer->slice = to;
	writer->gc = &profile->gc;
	writer->taken = taken;
	if (to)
		count = store_error(mdb_cursor_open(txn, profile->store.tables[TABLE_COUNTS], &writer->cursor));
	if (!count)
		count = store_take(&profile->store, txn, TABLE_COUNTS, from, max, move_block, writer);
	if (writer->cursor)
		mdb_cursor_close(writer->cursor);
	writer_fini(&writer->value);
	free(writer);
	return count;
}
