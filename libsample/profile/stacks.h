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
 * `stacks` has the nodes of a frame under keys of image, offset and block of callers (big-endian): 256 numbers are a
 * block. A value is pairs (varint distance to the number before, varint distance from the caller's number to the
 * node's), ascending. So the pages to which a flush adds nodes are those of the code that was sampled, and a new node
 * costs no more where recursion has made a million of one frame: a caller has one node of a frame, a value 256 at most.
 * Image 0, offset 0 and block 0 have the highest number in place of nodes.
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

#define STACKS_PATH        "[stacks]" /* of the image of kind IMAGE_STACKS */
#define STACKS_KEY_SIZE    16
#define STACKS_BLOCK_SHIFT 8

struct stacks_key {
	uint64_t offset;
	uint32_t image;
	uint32_t block; /* of callers: their numbers >> STACKS_BLOCK_SHIFT */
};

void stacks_key_encode(const struct stacks_key *key, uint8_t data[STACKS_KEY_SIZE]);
int stacks_key_decode(const void *data, size_t size, struct stacks_key *key); /* 0 or -DCPI_EDAMAGED */

/* The nodes at one key: calls `visit` for each. 0; -DCPI_EDAMAGED; what `visit` returned, if not 0. */
typedef int stacks_visit(void *context, uint32_t number, uint32_t caller);
int stacks_decode(const struct stacks_key *key, const void *data, size_t size, stacks_visit *visit, void *context);

/* The number of the image of kind IMAGE_STACKS; 0: there is none. 0 or an error. */
int stacks_image(const struct store *store, struct MDB_txn *txn, uint32_t *number);

/* The highest number that was given; 0: none. 0 or an error. */
int stacks_highest(const struct store *store, struct MDB_txn *txn, uint32_t *highest);
int stacks_set_highest(const struct store *store, struct MDB_txn *txn, uint32_t highest);

/* Store a node under a number that is above those at its key. 0; -DCPI_EDAMAGED when it is not; an error. */
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
 * Remove nodes that are not marked, from the first key that is not below *next on; at most `max` keys are looked at.
 * 1 with the place to continue; 0 when all are done; or an error.
 */
int stacks_sweep(const struct store *store, struct MDB_txn *txn, const struct gc_marks *marks, size_t max,
                 struct stacks_key *next);

#endif
