/*
 * code.h - translated blocks and the edges between them: what of going from one to another never changes
 *
 * What was before is known by its variant. Code that is mapped at several addresses has one set of variants, so that
 * edges from its copies to the same block are one, which says what the first of them does of lines. The first edge to a
 * block is part of it; the others are in a table. Of a loop of one block it is the one from itself to itself, behind
 * which it takes as long again.
 *
 * Thread rule: constant once they are made, but for what is atomic of an edge. edges_follow() by any thread: it
 * locks where it makes one. What it gave stays until edges_fini(). timing_add_code() as the emulator translates, one
 * thread at a time.
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

#define CODE_NO_LINE (UINT64_MAX - 1) /* in no table of the filter */

struct code;
struct edge;
struct timing;
struct load_stall;

/* An instruction with a memory callback: the callback's data. */
struct access {
	const struct code *code;
	uint16_t index;
	bool may_store; /* some of its group; these bytes are the first and the last that are written, */
	int8_t store_first, store_last; /* from the callback's address on */
};

/* What the predictor has to do with a block's end. */
enum code_ending {
	CODE_FALLS_OR_JUMPS,
	CODE_BRANCHES,
	CODE_CALLS,
	CODE_RETURNS,
	CODE_JUMPS_INDIRECT,
	CODE_CALLS_INDIRECT,
};

/* Which lines of a block are to be looked at behind another: the one that was used last need not be, nor its page. */
enum edge_fetch {
	EDGE_FETCHES_NOTHING,
	EDGE_FETCHES_LINE,         /* of the page that was used last */
	EDGE_FETCHES_LINE_OF_PAGE, /* and that page */
	EDGE_FETCHES_TWO,          /* and their page */
	EDGE_FETCHES_ANY,          /* all of it, one by one */
};

/* What is to be done of an edge. */
struct edge_kind {
	uint8_t ending; /* enum code_ending of the block before */
	uint8_t fetch;  /* enum edge_fetch */
};

/*
 * A block as it is entered behind another, or again behind itself: with the variant that it then is, and all that the
 * two say of caches and predictor. What each execution needs is on one line of the host's cache.
 */
struct edge {
	const struct variant *variant_id;      /* that `variant` is a copy of */
	const struct variant *from_variant_id; /* variant_id of the edge to the block before; atomically */
	union {
		struct edge *recent; /* of the code's first edge: the last of the others that was taken, or none;
		                        atomically */
		struct edge *next_in_bucket; /* of another edge: the next in its bucket of the table of edges */
	};
	uint64_t line_key;    /* of the line that is fetched, of two the last (hit_filter.h); of the usual size, its
	                         address */
	uint32_t number;      /* the code's */
	uint32_t site;        /* of the branch that was before it, for the predictor */
	uint16_t line_index;  /* in the filter's table */
	uint16_t first_index; /* of two lines, the first */
	uint16_t page_index;  /* of their page, in its table */
	struct edge_kind kind;
	bool taken;                /* the branch before it */
	uint32_t misprediction_at; /* where the record of one thread or another had that stall last, as of
	                              record_stall_at(); atomically */
	struct variant variant;
	struct code *code;
	uint64_t address;                 /* the code's */
	uint64_t page_key;                /* of the lines' page */
	struct edge *next;                /* from here, the last that was not known otherwise, or none; atomically */
	struct record_pair misprediction; /* who waits, and for whom: the end of the block before */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct edge, variant.issue_cycles) <= 64, "the hot part of it is one line");

/* A translated block, as its callback is told. */
struct code {
	struct edge edge; /* to it, the first that was made, of a loop the one from itself; until then of no code */
	const struct block *block;
	uint64_t address, page;
	uint64_t fall;       /* where a branch that is not taken goes, and a call returns to */
	uint64_t end;        /* of its last instruction, where that begins */
	uint64_t first_line; /* that it is on */
	uint64_t last_line;  /* the same or the next; CODE_NO_LINE: all of it is to be looked at each time */
	uint32_t number;
	uint32_t site;                  /* of its conditional branch, for the predictor */
	uint32_t first, last;           /* of the record's instructions */
	uint8_t ending;                 /* enum code_ending */
	bool is_loop;                   /* by itself: where it went before is itself, mostly */
	uint16_t second_line_from;      /* of two lines: the first instruction that has a byte in the second */
	struct load_stall *load_stalls; /* of the first access_end instructions */
	struct code *alias;             /* with this number, at another address */
	struct access accesses[];       /* that have callbacks */
};

extern struct edge edge_none; /* from nowhere, of no code; nobody writes to it */

/* Whether anything led there: of the first edge to code. */
static inline bool
edge_is_made(const struct edge *edge)
{
	return __atomic_load_n(&edge->from_variant_id, __ATOMIC_ACQUIRE) != NULL;
}

/* Whether it is the edge from the block that was entered by `before`. */
static inline bool
edge_is_from(const struct edge *edge, const struct edge *before)
{
	return __atomic_load_n(&edge->from_variant_id, __ATOMIC_ACQUIRE) == before->variant_id;
}

/* The last edge to it that was taken, of all but the first, or none. */
static inline struct edge *
edge_recent(const struct code *code)
{
	return __atomic_load_n(&code->edge.recent, __ATOMIC_ACQUIRE);
}

/* What callbacks of the block need, made once for each of its numbers. NULL: no memory. */
struct code *timing_add_code(struct timing *timing, const struct block *block);

/* ---- edges: found again, or made ---- */

#define EDGES_SIZE 65536 /* places; where edges share one, they are a list */

struct edges {
	pthread_mutex_t lock; /* of the arena, and of what is put into places */
	struct arena arena;
	struct edge **places; /* atomically */
};

/* 0 or -ENOMEM. */
int edges_init(struct edges *edges);
void edges_fini(struct edges *edges);

/* The edge of code that is behind no other: in order everything is ready, and nothing is known of caches. */
void edges_make_first(const struct timing *timing, struct code *code);

/*
 * The edge to `code` from the block that was entered by `before`: found again, or made. The edges to `code` tried first
 * are its first and its recent one, which this is from now on. Never NULL: without memory, the first that there was.
 */
struct edge *edges_follow(struct timing *timing, struct edge *before, struct code *code);

#endif
