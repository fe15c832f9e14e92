/*
 * code.h - translated blocks and the edges between them, with all that is constant when one follows another
 *
 * An edge is identified by the variant of the block before. Code that is mapped at several addresses has one set of
 * variants; so edges from its copies to one block are one edge, whose lines are those of the first copy. The first edge
 * to a block is part of the block; the others are in a table. In a loop of one block, the first edge is the one from
 * the block to itself, after which the block takes equally long again.
 *
 * Thread rule: constant once they are made, except the atomic fields of an edge. Any thread may call edges_follow(),
 * which locks when it makes an edge; edges stay until edges_fini(). timing_add_code() is called as the emulator
 * translates, by one thread at a time.
 */
#ifndef DCPI_EMULATOR_TIMING_CODE_H
#define DCPI_EMULATOR_TIMING_CODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/block/arena.h"
#include "emulator/block/block.h"
#include "emulator/id_hash.h"
#include "emulator/record/recording.h"

#define CODE_NO_LINE (UINT64_MAX - 1) /* a line in no table of the filter */

struct code;
struct edge;
struct timing;
struct load_stall;

/* An instruction with a memory callback: the callback's data. */
struct access {
	const struct code *code;
	uint16_t index;
	bool may_store; /* an access of its group may store: the first and the last byte that is written, */
	int8_t store_first, store_last; /* from the callback's address on */
};

/* How a block ends, for the predictor. */
enum code_ending {
	CODE_FALLS_OR_JUMPS,
	CODE_BRANCHES,
	CODE_CALLS,
	CODE_RETURNS,
	CODE_JUMPS_INDIRECT,
	CODE_CALLS_INDIRECT,
};

/* Which lines of a block must be fetched after another block: not the line, or the page, that was used last. */
enum edge_fetch {
	EDGE_FETCHES_NOTHING,
	EDGE_FETCHES_LINE,         /* of the page that was used last */
	EDGE_FETCHES_LINE_OF_PAGE, /* and that page */
	EDGE_FETCHES_TWO,          /* and their page */
	EDGE_FETCHES_ANY,          /* all lines, one by one */
};

/* What an edge makes necessary. */
struct edge_kind {
	uint8_t ending; /* enum code_ending of the block before */
	uint8_t fetch;  /* enum edge_fetch */
};

/*
 * A block as it is entered after another, or after itself: its variant then, and the constants for caches and
 * predictor. The fields that each execution needs are on one line of the host's cache.
 */
struct edge {
	const struct variant *variant_id;      /* the original of `variant` */
	const struct variant *from_variant_id; /* variant_id of the edge to the block before; atomically */
	union {
		struct edge *recent; /* of the code's first edge: the last of the others that was taken, or none;
		                        atomically */
		struct edge *next_in_bucket; /* of another edge: the next in its bucket of the table of edges */
	};
	uint64_t line_key;    /* of the fetched line, of two the last (hit_filter.h); for 64-byte lines, its address */
	uint32_t number;      /* the code's */
	uint32_t site;        /* of the branch before it, for the predictor */
	uint16_t line_index;  /* in the filter's table */
	uint16_t first_index; /* of two lines, the first */
	uint16_t page_index;  /* of their page, in its table */
	struct edge_kind kind;
	bool taken;                /* whether the branch before it was taken */
	uint32_t misprediction_at; /* offset of that stall in the record of the last thread that had it, for
	                              record_stall_at(); atomically */
	struct variant variant;
	struct code *code;
	uint64_t address;                 /* the code's */
	uint64_t page_key;                /* of the lines' page */
	struct edge *next;                /* the last edge from here that was not found otherwise, or none;
	                                     atomically */
	struct record_pair misprediction; /* stalled: the block's first instruction; culprit: the branch that ended
	                                     the block before */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct edge, variant.issue_cycles) <= 64, "the hot part of it is one line");

/* A translated block: the data of its callback. */
struct code {
	struct edge edge; /* the first edge to it that was made, in a loop the one from itself; until then of no code */
	const struct block *block;
	uint64_t address, page;
	uint64_t fall;       /* where an untaken branch goes, and where a call returns to */
	uint64_t end;        /* where its last instruction begins */
	uint64_t first_line; /* that it is on */
	uint64_t last_line;  /* first_line or the next; CODE_NO_LINE: all lines must be fetched each time */
	uint32_t number;
	uint32_t site;                  /* of its conditional branch, for the predictor */
	uint32_t first, last;           /* of the record's instructions */
	uint8_t ending;                 /* enum code_ending */
	bool is_loop;                   /* a loop of this block alone: it mostly follows itself */
	uint16_t second_line_from;      /* of two lines: the first instruction that has a byte in the second */
	struct load_stall *load_stalls; /* of the first access_end instructions */
	struct code *alias;             /* a block with this number at another address */
	struct access accesses[];       /* that have callbacks */
};

extern struct edge edge_none; /* from nowhere, to no code; never written */

/* Whether the first edge to a block has been made. */
static inline bool
edge_is_made(const struct edge *edge)
{
	return __atomic_load_n(&edge->from_variant_id, __ATOMIC_ACQUIRE) != NULL;
}

/* Whether `edge` is from the block that was entered by `before`. */
static inline bool
edge_is_from(const struct edge *edge, const struct edge *before)
{
	return __atomic_load_n(&edge->from_variant_id, __ATOMIC_ACQUIRE) == before->variant_id;
}

/* The last taken edge to the block except the first one, or none. */
static inline struct edge *
edge_recent(const struct code *code)
{
	return __atomic_load_n(&code->edge.recent, __ATOMIC_ACQUIRE);
}

/* Make the data for callbacks of the block, once for each of its numbers. NULL: no memory. */
struct code *timing_add_code(struct timing *timing, const struct block *block);

/* ---- the table of edges ---- */

#define EDGES_SIZE 65536 /* places; edges that share a place are a list */

struct edges {
	pthread_mutex_t lock; /* of the arena, and of putting edges into places */
	struct arena arena;
	struct edge **places; /* atomically */
};

/* 0 or -ENOMEM. */
int edges_init(struct edges *edges);
void edges_fini(struct edges *edges);

/* Make the edge of code that follows no other block: in order, everything is ready; nothing is known of caches. */
void edges_make_first(const struct timing *timing, struct code *code);

/*
 * Find or make the edge to `code` from the block that was entered by `before`. Tries the first edge to `code`, then its
 * recent one, which the result then becomes. Never NULL: without memory, it is the first edge.
 */
struct edge *edges_follow(struct timing *timing, struct edge *before, struct code *code);

#endif
