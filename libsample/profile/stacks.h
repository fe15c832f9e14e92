/*
 * stacks.h - call stacks in the database: each chain of callers is stored once, samples refer to its end
 *
 * A node is a frame and its callers: the node of the caller, the image and the offset. Two stacks with equal outer
 * frames have those nodes in common. Nodes are numbered from 1; a node's caller has a lower number than the node, and
 * 0 is the caller of the outermost frame. The offset of a caller lies within the call instruction: the return address
 * less 1. That of the innermost frame, and of a frame that a signal interrupted, is the address itself.
 * If a stack could not be unwound to its end, its outermost node has no image (STACK_NO_IMAGE), and the offset is the
 * cause (enum stack_end).
 *
 * How often a stack was sampled is in `counts`, so slices, weights, retention and merging hold for stacks, too: the
 * event is NAME.stacks, the image is the one of kind IMAGE_STACKS, and the offset is the number of the innermost node.
 *
 * `stacks` has the nodes in the order of image, offset, caller and number, in runs of at most STACKS_RUN_MAX of one
 * image. The key of a run is its first node (big-endian). The value has three varints for each other node: how far its
 * offset is above that of the node before; its caller, or with the same offset how far that is above the caller before;
 * and how far its number is above its caller's. So the pages to which a flush adds nodes are those of the code that was
 * sampled, a node takes six to ten bytes, and a new one costs the same where recursion has made a million of one frame,
 * or one caller has a million of callees. Only a salvaged database has two nodes that differ by number alone.
 * Under the key that is 0 all through is a varint, the highest number that was ever given; no other key has image 0.
 * Thread rule: functions on a profile are its thread's; the others are stateless.
 */
#ifndef DCPI_PROFILE_STACKS_H
#define DCPI_PROFILE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "process/stack_table.h"

struct MDB_txn;
struct gc_marks;
struct ids_map;
struct profile;
struct store;
struct tally_entry;

/* ---- reading ---- */

/*
 * All nodes of a database, ascending by number; none has more than STACK_DEPTH_MAX - 1 callers. Index 0 is no node, and
 * the caller of the outermost frames; `caller` is an index here, and lower than that of the node.
 */
struct stack_nodes {
	struct stack_node *nodes; /* images are the database's numbers */
	uint32_t *numbers;
	uint32_t count; /* with index 0 */
};

/* 0 with *nodes, which stack_nodes_fini() frees; -DCPI_EDAMAGED, -ENOMEM, an error. */
int stacks_read(struct profile *profile, struct stack_nodes *nodes);
void stack_nodes_fini(struct stack_nodes *nodes);

/* The index of node `number`; 0: there is none. */
uint32_t stack_nodes_find(const struct stack_nodes *nodes, uint64_t number);

/* ---- for profile/ and salvage/: in the store ---- */

#define STACKS_PATH     "[stacks]" /* of the image of kind IMAGE_STACKS */
#define STACKS_KEY_SIZE 20
#define STACKS_RUN_MAX  64 /* nodes: however long the varints, LMDB needs no pages of their own */

/* The first node of a run. */
struct stacks_key {
	uint64_t offset;
	uint32_t image;  /* 0: of the highest number; so are the others */
	uint32_t caller; /* lower than number */
	uint32_t number;
};

void stacks_key_encode(const struct stacks_key *key, uint8_t data[STACKS_KEY_SIZE]);
int stacks_key_decode(const void *data, size_t size, struct stacks_key *key); /* 0 or -DCPI_EDAMAGED */

/* The highest number, of the value at the key that is 0 all through. 0 or -DCPI_EDAMAGED. */
int stacks_highest_decode(const void *data, size_t size, uint32_t *highest);

/* The nodes at any other key, ascending: calls `visit` for each. 0; -DCPI_EDAMAGED; what `visit` returned, if not 0. */
typedef int stacks_visit(void *context, uint32_t number, const struct stack_node *node);
int stacks_decode(const struct stacks_key *key, const void *data, size_t size, stacks_visit *visit, void *context);

/* The number of the image of kind IMAGE_STACKS; 0: there is none. 0 or an error. */
int stacks_image(const struct store *store, struct MDB_txn *txn, uint32_t *number);

/* The highest number that was given; 0: none. 0 or an error. */
int stacks_highest(const struct store *store, struct MDB_txn *txn, uint32_t *highest);
int stacks_set_highest(const struct store *store, struct MDB_txn *txn, uint32_t highest);

/* Store a node under a new number, which is above its caller's. 0; -DCPI_EDAMAGED for another number; an error. */
int stacks_append(const struct store *store, struct MDB_txn *txn, uint32_t number, const struct stack_node *node);

/* As stacks_read(), in a transaction. */
int stacks_read_all(const struct store *store, struct MDB_txn *txn, struct stack_nodes *nodes);

/* The number of a node, in the database's numbers; it is stored when it is new. 0 or an error. */
int stacks_intern(const struct store *store, struct MDB_txn *txn, const struct stack_node *node, uint32_t *number);

/* Intern a session's nodes, and append their numbers to the session's map. 0; -EINVAL for an unknown caller or image.
 */
int stacks_add(struct profile *profile, struct MDB_txn *txn, const struct stack_node *nodes, uint32_t count);

/* Sort entries of one event and context by offset, and add up those whose offsets are equal. How many are left. */
size_t stacks_sort(struct tally_entry *entries, size_t count);

/*
 * Replace the session's numbers in the offsets of `entries`, all of one event and context, by the database's, and sort
 * them: two images of the session may be one in the database, and so may their nodes. How many are left, or -EINVAL.
 */
int64_t stacks_translate(const struct profile *profile, struct tally_entry *entries, size_t count);

/*
 * Mark the callers of all marked nodes, and the images of these and of all nodes from nodes->end on. Takes four bytes
 * for each number below that. 0 or an error.
 */
int stacks_mark(const struct store *store, struct MDB_txn *txn, struct gc_marks *nodes, struct gc_marks *images);

/*
 * Remove nodes that are not marked, from the first key that is not below *next on; at most `max` runs are looked at.
 * 1 with the place to continue; 0 when all are done; or an error.
 */
int stacks_sweep(const struct store *store, struct MDB_txn *txn, const struct gc_marks *marks, size_t max,
                 struct stacks_key *next);

#endif
