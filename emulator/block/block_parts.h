/*
 * block_parts.h - what the files that make blocks share (private to this folder)
 *
 * Thread rule: under the lock of `struct blocks`.
 */
#ifndef DCPI_EMULATOR_BLOCK_BLOCK_PARTS_H
#define DCPI_EMULATOR_BLOCK_BLOCK_PARTS_H

#include <pthread.h>

#include "code/decoder.h"
#include "code/schedule.h"
#include "emulator/block/arena.h"
#include "emulator/block/block.h"
#include "emulator/id_hash.h"

/* What a block leaves to the next, in order: struct schedule_times, cut off at 255 cycles. */
struct carried {
	uint8_t ready[REGISTER_COUNT];
	uint8_t busy[PIPELINE_UNITS_MAX];
};

/* The states that were met, numbered; 0: everything is ready. */
struct carried_states {
	struct carried *states;
	size_t count, capacity;
	struct id_hash index;
};

/* Variants of a block but the first, by the state that it is entered in; open addressing, 0 is nobody. */
struct block_entry {
	uint32_t state;
	bool is_near;            /* the variant was made for another state */
	struct variant *variant; /* atomically, after the others */
};

struct entries {
	unsigned size, count; /* size: a power of two */
	struct block_entry entries[];
};

/* A block and what only the makers of variants need. */
struct block_node {
	struct block block;
	struct block_node *same; /* with this number: at another address, or of other bytes */
	uint64_t hash;           /* of its bytes */
	const uint8_t *bytes;    /* NULL: it has no other variant than the first */
	unsigned variant_count;
	struct variant *first;   /* of state 0 */
	struct entries *entries; /* atomically; replaced when it is full; NULL: none */
};

/* What a value is made of: loads of the block (bit i: load i) and general registers as they were before it (bit n). */
struct block_origin {
	uint64_t loads, live;
};

struct blocks {
	struct pipeline pipeline;
	enum architecture architecture;
	enum block_callbacks callbacks;
	struct decoder *decoder;
	pthread_mutex_t lock;
	struct encoded_instruction encoded[BLOCK_INSTRUCTIONS_MAX]; /* of the block that is made, or has another variant
	                                                               made, */
	struct instruction decoded[BLOCK_INSTRUCTIONS_MAX];         /* and decoded */
	struct block_origin origins[REGISTER_COUNT];                /* as before a block, but while one is traced */
	struct arena arena;
	struct block_node **nodes; /* by number, `node_count` */
	size_t node_count;
	size_t variant_count;
	struct carried_states states;
};

/* The node's instructions, which have these sizes. 0 or -ENOMEM. */
int block_decode(struct blocks *blocks, struct block_node *node, const uint8_t *bytes, const uint8_t *sizes);

/* As blocks->encoded and blocks->decoded, once more. */
void block_decode_again(struct blocks *blocks, const struct block_node *node);

/* What registers are made of before a block. */
void block_trace_begin(struct block_origin origins[REGISTER_COUNT]);

/* What the node's instructions make of registers: uses, addresses, what goes in and out. 0 or -ENOMEM. */
int block_trace(struct blocks *blocks, struct block_node *node);

/* Accesses that go to one base. */
void block_group(const struct blocks *blocks, struct block_node *node);

/* Its first variant. 0 or -ENOMEM. */
int block_variant_first(struct blocks *blocks, struct block_node *node);

/* Variants by state, which is a number of carried_states in order, and else whether the block was the one before. */
struct variant *block_variant_known(const struct block_node *node, uint32_t state); /* NULL: not yet; no lock */
struct variant *block_variant_add(struct blocks *blocks, struct block_node *node, uint32_t state); /* NULL: no memory */

/*
 * In order: whether the block takes as long, and leaves the same, behind what left this as behind what left nothing. It
 * is told at a glance, of nearly all states of which it is true.
 */
bool block_is_undelayed(const struct block_node *node, const struct carried *carried);

/* The number of a state, the same for the same; 0 or -ENOMEM. */
int carried_number(struct carried_states *states, const struct carried *carried, uint32_t *number);
void carried_states_fini(struct carried_states *states);

void carried_of(const struct schedule_times *times, struct carried *carried);
void carried_into(const struct carried *carried, struct schedule_times *times);

/* How far they are apart: the sum of the differences. */
unsigned carried_distance(const struct carried *one, const struct carried *other);

#endif
