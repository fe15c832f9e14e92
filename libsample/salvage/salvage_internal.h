/*
 * salvage_internal.h - a salvage under way: salvage.c reads, salvage_write.c writes
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_SALVAGE_SALVAGE_INTERNAL_H
#define DCPI_SALVAGE_SALVAGE_INTERNAL_H

#include "profile/edges.h"
#include "profile/epoch.h"
#include "profile/label_times.h"
#include "profile/lmdb_pages.h"
#include "profile/profile_internal.h"
#include "salvage/salvage.h"

/* Where something was found, the best first. */
enum salvage_source {
	SOURCE_NEWEST, /* the trees of the newest transaction */
	SOURCE_BEFORE, /* those of the transaction before */
	SOURCE_PAGES,  /* any page */
};

/* The value of a table that is keyed by a number, as it was found. */
struct salvage_thing {
	uint32_t id; /* first, for array_make_gap_u32() */
	enum salvage_source source;
	uint64_t weight; /* among those of one source and id, the greatest is the latest */
	uint32_t number; /* images and contexts: in the new database; 0: not there yet */
	size_t size;
	uint8_t *value;
};

struct salvage_things {
	struct salvage_thing *things; /* ascending by id, each once, after salvage_things_choose() */
	size_t count, capacity;
	size_t lost_count; /* among them, only known by what refers to them */
};

struct salvage_slice {
	struct slice slice;
	bool is_newest; /* its totals hold for the counts */
	uint64_t counted[EVENTS_MAX];
};

struct salvage {
	struct pages *pages;
	struct pages_meta metas[2];
	size_t meta_count;
	struct pages_tree trees[2][TABLE_COUNT]; /* by meta page, the newest first */
	bool has_tree[2][TABLE_COUNT];
	bool is_whole[TABLE_COUNT];                /* all of the newest transaction's was read */
	struct salvage_things things[TABLE_COUNT]; /* epochs, slices, images, contexts */
	struct salvage_slice *slices;              /* ascending by id */
	size_t slice_count;
	struct profile *profile; /* the new one */
	MDB_txn *txn;
	size_t puts; /* in this transaction */
	struct salvage_result *result;
};

/* Sort; of things with one id, keep the one of the best source and the greatest weight. */
void salvage_things_choose(struct salvage_things *things);
struct salvage_thing *salvage_things_find(const struct salvage_things *things, uint32_t id);

/* Before a write to the new database: begins a transaction, or commits a full one and begins another. */
int salvage_step(struct salvage *salvage);

int salvage_counts(struct salvage *salvage, enum store_table table, enum salvage_source source,
                   const struct pages_entry *entry);
int salvage_symbols(struct salvage *salvage, const struct pages_entry *entry);
int salvage_text(struct salvage *salvage, const struct pages_entry *entry);
int salvage_edges(struct salvage *salvage, const struct pages_entry *entry);
int salvage_label_time(struct salvage *salvage, const struct pages_entry *entry);

/* Is it the time of a label? Without its text; 0 or -DCPI_EDAMAGED. */
int salvage_validate_label_time(const struct pages_entry *entry, struct label_times_key *key,
                                struct profile_label_time *time);

/* Is it a block of edges? Then its key, and the sum of its counts. 0, -DCPI_EDAMAGED, -ENOMEM. */
int salvage_validate_edges(const struct pages_entry *entry, struct edges_key *key, uint64_t *sum);

/* Write epochs, images and contexts; make salvage->slices. Then counts. Then the slices with what was counted. */
int salvage_put_things(struct salvage *salvage);
int salvage_put_slices(struct salvage *salvage);

#endif
