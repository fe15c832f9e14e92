#include "profile/block_writer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "profile/counts.h"

/* Entries of one event, image and context: neighbours in the batch, and in the database once they are renumbered. */
struct group {
	uint16_t event;
	uint32_t image; /* the database's numbers */
	uint32_t context;
	const struct tally_entry *entries;
	size_t count;
};

struct block_writer {
	const struct store *store;
	MDB_cursor *cursor;
	uint32_t slice;
	bool append; /* every key so far lies behind all others: no need to look for an old block */
	struct byte_writer value;
	struct counts_pair fresh[COUNTS_BLOCK_SIZE];
	struct counts_pair stored[COUNTS_BLOCK_SIZE];
	struct counts_pair sum[COUNTS_BLOCK_SIZE];
};

static bool
is_same_group(const struct tally_entry *a, const struct tally_entry *b)
{
	return a->event == b->event && a->image == b->image && a->context == b->context;
}

static int
group_compare(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->context > b->context) - (a->context < b->context);
}

static int
group_init(struct group *group, const struct profile *profile, const struct tally_entry *entries, size_t left)
{
	group->event = entries->event;
	group->image = numbers_get(&profile->images, entries->image);
	group->context = numbers_get(&profile->contexts, entries->context);
	group->entries = entries;
	for (group->count = 1; group->count < left; group->count++) {
		const struct tally_entry *entry = &entries[group->count];

		if (!is_same_group(entry, entries))
			break;
		if (entry->offset <= entry[-1].offset)
			return -EINVAL;
	}
	return group->image == 0 || group->context == 0 ? -EINVAL : 0;
}

/* Split the entries into groups, in the order of the database's keys. `groups` is the caller's to free. */
static int
make_groups(const struct profile *profile, const struct tally_entry *entries, size_t count, struct group **groups,
            size_t *group_count)
{
	size_t needed = 0, at = 0;

	for (size_t i = 0; i < count; i++)
		needed += i == 0 || !is_same_group(&entries[i - 1], &entries[i]);
	*groups = calloc(needed ? needed : 1, sizeof(**groups));
	if (!*groups)
		return -ENOMEM;
	for (*group_count = 0; *group_count < needed; ++*group_count) {
		struct group *group = &(*groups)[*group_count];
		int err = group_init(group, profile, &entries[at], count - at);

		if (err)
			return err;
		at += group->count;
	}
	qsort(*groups, needed, sizeof(**groups), group_compare);
	return 0;
}

/* Is everything that is stored below the first key of `slice`? */
static int
can_append(struct block_writer *writer)
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

/* What is stored under `key`, added to the fresh pairs; the length of writer->sum, 0 when nothing is stored. */
static int
merge_stored(struct block_writer *writer, MDB_val *key, size_t fresh_count, size_t *count)
{
	MDB_val value;
	int stored, err;

	*count = 0;
	err = store_error(mdb_cursor_get(writer->cursor, key, &value, MDB_SET));
	if (err)
		return err == -ENOENT ? 0 : err;
	stored = counts_decode(value.mv_data, value.mv_size, writer->stored);
	if (stored < 0)
		return stored;
	*count = counts_merge(writer->fresh, fresh_count, writer->stored, (size_t)stored, writer->sum);
	return 0;
}

static int
put_block(struct block_writer *writer, const struct counts_key *block, size_t fresh_count)
{
	uint8_t data[COUNTS_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value;
	size_t merged = 0;
	int err = 0;

	counts_key_encode(block, data);
	if (!writer->append)
		err = merge_stored(writer, &key, fresh_count, &merged);
	if (err)
		return err;
	writer_reset(&writer->value);
	if (merged > 0)
		counts_encode(writer->sum, merged, &writer->value);
	else
		counts_encode(writer->fresh, fresh_count, &writer->value);
	if (writer->value.failed)
		return -ENOMEM;
	value = (MDB_val){writer->value.size, writer->value.data};
	return store_error(mdb_cursor_put(writer->cursor, &key, &value,
	                                  writer->append ? MDB_APPEND
	                                  : merged > 0   ? MDB_CURRENT
	                                                 : 0));
}

static int
put_group(struct block_writer *writer, const struct group *group)
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

static int
put_groups(struct block_writer *writer, MDB_txn *txn, const struct group *groups, size_t count)
{
	int err;

	err = store_error(mdb_cursor_open(txn, writer->store->tables[TABLE_COUNTS], &writer->cursor));
	if (err)
		return err;
	err = can_append(writer);
	for (size_t i = 0; !err && i < count; i++) {
		/* Two numbers of the session can be one image here, e.g. after its path was found to be the same. */
		if (i > 0 && group_compare(&groups[i - 1], &groups[i]) == 0)
			writer->append = false;
		err = put_group(writer, &groups[i]);
	}
	mdb_cursor_close(writer->cursor);
	return err;
}

int
blocks_put(const struct profile *profile, MDB_txn *txn, uint32_t slice, const struct tally_entry *entries, size_t count)
{
	struct block_writer *writer = calloc(1, sizeof(*writer));
	struct group *groups = NULL;
	size_t group_count;
	int err;

	if (!writer)
		return -ENOMEM;
	writer->store = &profile->store;
	writer->slice = slice;
	err = make_groups(profile, entries, count, &groups, &group_count);
	if (!err)
		err = put_groups(writer, txn, groups, group_count);
	free(groups);
	writer_fini(&writer->value);
	free(writer);
	return err;
}
