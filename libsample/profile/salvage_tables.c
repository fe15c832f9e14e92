/* Which pages and entries belong to which table: see salvage_parts.h. */
#include "profile/salvage_parts.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "profile/counts.h"
#include "profile/records.h"
#include "profile/symbol_blob.h"

struct pass {
	struct salvage *salvage;
	const enum table *tables;
	size_t table_count;
	enum salvage_source source;
	enum table table; /* of the walk under way */
	salvage_take *take;
	uint64_t damaged;
	uint64_t taken;
};

static int
visit_main(void *context, const struct pages_leaf *leaf)
{
	struct pass *pass = context;
	struct pages_entry entry;

	for (size_t i = 0; i < pages_leaf_count(leaf); i++) {
		int err = pages_leaf_entry(leaf, i, &entry);

		if (err == -ENOMEM)
			return err;
		for (enum table table = 0; !err && table < TABLE_COUNT; table++) {
			const char *name = table_name(table);

			if (entry.key_size != strlen(name) || memcmp(entry.key, name, entry.key_size) != 0)
				continue;
			if (pages_entry_tree(&entry, &pass->salvage->trees[pass->source][table]) == 0)
				pass->salvage->has_tree[pass->source][table] = true;
		}
	}
	return 0;
}

int
salvage_find_tables(struct salvage *salvage)
{
	struct pass pass = {.salvage = salvage};
	int err = 0;

	for (size_t i = 0; i < salvage->meta_count && !err; i++) {
		pass.source = (enum salvage_source)i;
		pages_begin(salvage->pages);
		err = pages_walk(salvage->pages, &salvage->metas[i].main, visit_main, &pass, &pass.damaged);
		if (i == SOURCE_NEWEST)
			salvage->result->damaged_pages = pass.damaged;
	}
	if (salvage->meta_count < 2)
		salvage->result->damaged_pages += 2 - salvage->meta_count;
	return err;
}

/* Give every entry of `leaf` to the table; those that are of no use count as damage. */
static int
take_leaf(struct pass *pass, enum table table, const struct pages_leaf *leaf)
{
	struct pages_entry entry;
	bool damaged = false;
	int err;

	for (size_t i = 0; i < pages_leaf_count(leaf); i++) {
		err = pages_leaf_entry(leaf, i, &entry);
		if (!err)
			err = pass->take(pass->salvage, table, pass->source, &entry);
		if (err && err != -DCPI_EDAMAGED)
			return err;
		damaged |= err != 0;
		pass->taken += !err;
	}
	pass->damaged += damaged;
	return 0;
}

static int
visit_leaf(void *context, const struct pages_leaf *leaf)
{
	struct pass *pass = context;

	return take_leaf(pass, pass->table, leaf);
}

static int
walk_tables(struct pass *pass)
{
	struct salvage *salvage = pass->salvage;
	int err = 0;

	pages_begin(salvage->pages);
	for (size_t i = 0; i < pass->table_count && !err; i++) {
		const enum table table = pass->tables[i];

		if (salvage->is_whole[table] || !salvage->has_tree[pass->source][table])
			continue;
		pass->table = table;
		pass->damaged = pass->taken = 0;
		err = pages_walk(salvage->pages, &salvage->trees[pass->source][table], visit_leaf, pass,
		                 &pass->damaged);
		if (pass->source != SOURCE_NEWEST)
			continue;
		salvage->result->damaged_pages += pass->damaged;
		salvage->is_whole[table] = pass->damaged == 0 && pass->taken == salvage->trees[0][table].entries;
	}
	return err;
}

/* Could it be an entry of this table? 0, -DCPI_EDAMAGED, -ENOMEM. */
static int
judge_fitting(const struct pages_entry *entry, enum table table)
{
	const MDB_val name = {entry->key_size, (void *)entry->key};
	struct profile_label_time time;
	struct label_times_key label;
	struct edges_key key;
	uint32_t id = 0;
	uint64_t weight;

	if (entry->is_tree)
		return -DCPI_EDAMAGED;
	if (table == TABLE_EDGES)
		return salvage_judge_edges(entry, &key, &weight);
	if (table == TABLE_LABEL_TIMES)
		return salvage_judge_label_time(entry, &label, &time);
	if (table == TABLE_COUNTS ? entry->key_size != COUNTS_KEY_SIZE : store_key_number(&name, &id))
		return -DCPI_EDAMAGED;
	return salvage_judge(table, id, entry->value, entry->size, &weight);
}

/* How many of the entries could be of this table? */
static int
count_fitting(const struct pages_leaf *leaf, enum table table, size_t *fitting)
{
	struct pages_entry entry;

	*fitting = 0;
	for (size_t i = 0; i < pages_leaf_count(leaf); i++) {
		int err = pages_leaf_entry(leaf, i, &entry);

		if (!err)
			err = judge_fitting(&entry, table);
		if (err == -ENOMEM)
			return err;
		*fitting += !err;
	}
	return 0;
}

/* A page does not say whose it is; its entries do. */
static int
visit_any_leaf(void *context, const struct pages_leaf *leaf)
{
	struct pass *pass = context;
	enum table best = TABLE_COUNT;
	size_t most = 0, fitting;
	int err;

	for (enum table table = TABLE_EPOCHS; table < TABLE_COUNT; table++) {
		if (table == TABLE_IMAGE_IDS || table == TABLE_CONTEXT_IDS || table == TABLE_SYMBOLS ||
		    table == TABLE_TEXT)
			continue;
		err = count_fitting(leaf, table, &fitting);
		if (err)
			return err;
		if (fitting > most) {
			most = fitting;
			best = table;
		}
	}
	for (size_t i = 0; i < pass->table_count; i++)
		if (pass->tables[i] == best && !pass->salvage->is_whole[best])
			return take_leaf(pass, best, leaf);
	return 0;
}

int
salvage_visit(struct salvage *salvage, const enum table *tables, size_t count, salvage_take *take)
{
	struct pass pass = {.salvage = salvage, .tables = tables, .table_count = count, .take = take};
	bool whole = true;
	int err = 0;

	for (size_t i = 0; i < salvage->meta_count && !err; i++) {
		pass.source = (enum salvage_source)i;
		err = walk_tables(&pass);
	}
	for (size_t i = 0; i < count; i++)
		whole &= salvage->is_whole[tables[i]];
	if (err || whole)
		return err;
	salvage->result->scanned = true;
	pass.source = SOURCE_PAGES;
	pages_begin(salvage->pages);
	return pages_scan(salvage->pages, visit_any_leaf, &pass);
}
