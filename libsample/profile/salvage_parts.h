/*
 * salvage_parts.h - the parts of profile_salvage() (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SALVAGE_PARTS_H
#define DCPI_PROFILE_SALVAGE_PARTS_H

#include "profile/edges.h"
#include "profile/epoch.h"
#include "profile/handle.h"
#include "profile/label_times.h"
#include "profile/lmdb_pages.h"
#include "profile/salvage.h"

/* Where something was found: less is better. */
enum salvage_source {
	SOURCE_NEWEST,
	SOURCE_BEFORE,
	SOURCE_PAGES,
};

/* The value of a table that is keyed by a number, as it was found. */
struct salvage_thing {
	uint32_t id;
	enum salvage_source source;
	uint64_t weight; /* among those of one source and id, the greatest is the latest */
	uint32_t number; /* images and contexts: in the new database; 0: not there yet */
	size_t size;
	uint8_t *value;
};

struct salvage_things {
	struct salvage_thing *things; /* ascending by id, each once, after salvage_things_settle() */
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

/* Does `value` decode as one of `table`, keyed by `id`? *weight as in struct salvage_thing. 0, -DCPI_EDAMAGED, -ENOMEM.
 */
int salvage_judge(enum table table, uint32_t id, const uint8_t *value, size_t size, uint64_t *weight);

/* Take down a copy of what decodes; -DCPI_EDAMAGED for what does not. */
int salvage_things_add(struct salvage_things *things, enum table table, enum salvage_source source,
                       const struct pages_entry *entry);
void salvage_things_settle(struct salvage_things *things);
struct salvage_thing *salvage_things_find(const struct salvage_things *things, uint32_t id);
void salvage_things_fini(struct salvage_things *things);

/*
 * Visit the entries of `table` in each source in turn, as long as what was read is not whole. `take` gives 0,
 * -DCPI_EDAMAGED for what cannot be used, or an error that ends it all.
 */
typedef int salvage_take(struct salvage *salvage, enum table table, enum salvage_source source,
                         const struct pages_entry *entry);
int salvage_visit(struct salvage *salvage, const enum table *tables, size_t count, salvage_take *take);

/* The roots of all tables. */
int salvage_find_tables(struct salvage *salvage);

/* A write to the new database is about to happen: begins a transaction, or another one. */
int salvage_step(struct salvage *salvage);

int salvage_take_counts(struct salvage *salvage, enum table table, enum salvage_source source,
                        const struct pages_entry *entry);
int salvage_take_symbols(struct salvage *salvage, const struct pages_entry *entry);
int salvage_take_text(struct salvage *salvage, const struct pages_entry *entry);
int salvage_take_edges(struct salvage *salvage, const struct pages_entry *entry);
int salvage_take_label_time(struct salvage *salvage, const struct pages_entry *entry);

/* Is it the time of a label? Without its text; 0 or -DCPI_EDAMAGED. */
int salvage_judge_label_time(const struct pages_entry *entry, struct label_times_key *key,
                             struct profile_label_time *time);

/* Is it a block of edges? Then its key, and the sum of its counts. 0, -DCPI_EDAMAGED, -ENOMEM. */
int salvage_judge_edges(const struct pages_entry *entry, struct edges_key *key, uint64_t *sum);

/* Write epochs, images and contexts; make salvage->slices. Then counts. Then the slices with what was counted. */
int salvage_put_things(struct salvage *salvage);
int salvage_put_slices(struct salvage *salvage);

struct salvage_slice *salvage_find_slice(const struct salvage *salvage, uint32_t id);

/* The new database's number of an image (context), which is made when it is lost; 0 or an error. */
int salvage_image(struct salvage *salvage, uint32_t id, uint32_t *number);
int salvage_context(struct salvage *salvage, uint32_t id, uint32_t *number);

#endif
