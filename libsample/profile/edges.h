/*
 * edges.h - control transfers within an image, counted: from which instruction to which, how often
 *
 * An event may have edges beside its counts: exact ones of `executions` (dcpix), sampled ones of `bursts`. An edge goes
 * from the last instruction of a straight run of executed instructions to the instruction that was executed next, also
 * when that is the following one. Transfers to and from other images are not kept. A branch recorder gives two events
 * of one epoch: the edges of `branch-stacks` are taken branches; those of `branch-runs` go from the first instruction
 * that was executed between two taken branches to the second of these branches. In an emulated run, the counts of
 * `truth.REASON` are cycles that an instruction waited because of another (dcpi-tools/emu/stall_truth.h).
 * Thread rule: lists are one thread's; functions on a profile are its thread's.
 */
#ifndef DCPI_PROFILE_EDGES_H
#define DCPI_PROFILE_EDGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profile/profile.h"

struct MDB_txn;
struct store;

/* ---- edges in memory ---- */

/*
 * Edges that are equal in event, image, from and to can be merged; their counts are then added, up to UINT64_MAX.
 * A zeroed list is empty.
 */
struct edge_list {
	struct profile_edge *edges;
	size_t count, capacity;
	size_t merged; /* how many were left by the last merge */
};

/* Append. 0 or -ENOMEM. */
int edge_list_add(struct edge_list *list, const struct profile_edge *edge);

/* Append to a very long list: it is merged first when half of it came since the last merge. 0 or -ENOMEM. */
int edge_list_gather(struct edge_list *list, const struct profile_edge *edge);

void edge_list_merge(struct edge_list *list); /* sort, and merge equal edges */
void edge_list_clear(struct edge_list *list); /* keeps its memory */
void edge_list_fini(struct edge_list *list);

/* ---- reading ---- */

struct edge_set {
	uint32_t epoch; /* that they are from */
	size_t count;
	struct profile_edge *edges; /* by from and to; image is the database's number, event the epoch's */
};

/*
 * The edges of `image` (the database's number) in the newest epoch that has any of the event of this name. 0 with
 * edges that edge_set_fini() frees; -ENOENT when there are none; -DCPI_EDAMAGED, -ENOMEM.
 */
int edges_read(struct profile *profile, uint32_t image, const char *event, struct edge_set *set);

/* As edges_read(), of one epoch only. */
int edges_read_of(struct profile *profile, uint32_t image, const char *event, uint32_t epoch, struct edge_set *set);
void edge_set_fini(struct edge_set *set); /* a zeroed one is allowed */

/* ---- blocks of edges in the store (for profile/ and salvage/) ---- */

/*
 * Offsets are those of the image's file, as in counts.h. The key is big-endian: slice, event, image, block, so that the
 * edges that leave one 4 KiB block are together.
 */

#define EDGES_KEY_SIZE    14
#define EDGES_BLOCK_SHIFT 12

struct edges_key {
	uint32_t slice;
	uint16_t event;
	uint32_t image;
	uint32_t block; /* of `from` */
};

void edges_key_encode(const struct edges_key *key, uint8_t data[EDGES_KEY_SIZE]);
int edges_key_decode(const void *data, size_t size, struct edges_key *key); /* 0 or -DCPI_EDAMAGED */

/* `list`: of one block, merged. */
void edges_encode(const struct edge_list *list, const struct edges_key *key, struct byte_writer *writer);

/* Appended to the list; 0, -DCPI_EDAMAGED, -ENOMEM. */
int edges_decode(const void *data, size_t size, const struct edges_key *key, struct edge_list *list);

/* Add a batch's edges to `slice`. 0 or an error. */
int edges_put(const struct profile *profile, struct MDB_txn *txn, uint32_t slice, const struct profile_edge *edges,
              size_t count);

/* Take at most `max` blocks of edges from slice `from` and add them to `to`, or drop them when it is 0. How many. */
int64_t edges_take(const struct store *store, struct MDB_txn *txn, uint32_t from, uint32_t to, size_t max);

#endif
