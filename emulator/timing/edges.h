/*
 * edges.h - the edges between translated blocks (code.h): found again, or made
 *
 * What was before is known by its variant. Code that is mapped at several addresses has one set of variants, so that
 * edges from its copies to the same block are one, which says what the first of them does of lines. The first edge to a
 * block is part of it; the others are in a table. Of a loop of one block it is the one from itself to itself, behind
 * which it takes as long again.
 *
 * Thread rule: edges_find() by any thread; only edges_make() locks. What it gave stays until edges_fini().
 */
#ifndef DCPI_EMULATOR_TIMING_EDGES_H
#define DCPI_EMULATOR_TIMING_EDGES_H

#include <pthread.h>

#include "emulator/block/arena.h"
#include "emulator/id_hash.h"
#include "emulator/timing/code.h"

#define EDGES_SIZE 65536 /* places; where edges share one, they are a list */

struct timing;

struct edges {
	pthread_mutex_t lock; /* of the arena, and of what is put into places */
	struct arena arena;
	struct edge **places; /* atomically */
};

/* 0 or -ENOMEM. */
int edges_init(struct edges *edges);
void edges_fini(struct edges *edges);

/* Around a fork, in the parent and in the child: so that no other thread is inside. */
void edges_before_fork(struct edges *edges);
void edges_after_fork(struct edges *edges);

/* The edge of code that is behind no other: in order everything is ready, and nothing is known of caches. */
void edges_make_first(const struct timing *timing, struct code *code);

/* The edge to `code` from the block that was entered by `before`, that was not found. Never NULL: without memory, the
 * first that there was to it. */
struct edge *edges_make(struct timing *timing, const struct edge *before, struct code *code);

/* Where it is in the table, in a list. */
static inline struct edge **
edges_place(const struct edges *edges, const struct edge *before, const struct code *code)
{
	const uint64_t from = id_hash_mix((uint64_t)before->number << 32 | before->variant.state);

	return &edges->places[((uint32_t)from + code->edge.number * UINT32_C(0x9e3779b1)) /
	                      (UINT32_MAX / EDGES_SIZE + 1)];
}

/* The edge to `code` that is not the first, wherever it is; NULL: nobody went there. */
static inline struct edge *
edges_find(const struct edges *edges, const struct edge *before, const struct code *code)
{
	struct edge *edge = __atomic_load_n(edges_place(edges, before, code), __ATOMIC_ACQUIRE);

	while (edge && (!edge_is_from(edge, before) || edge->code != code))
		edge = edge->next_in_bucket;
	return edge;
}

/*
 * The edge to `code` that that is neither the first nor the other one, when it is the one that was needed last there;
 * else NULL. What is called from many places has more edges to it than one can know, and each of them is the only one
 * from where it comes.
 */
static inline struct edge *
edges_next(const struct edge *before, const struct code *code)
{
	struct edge *edge = __atomic_load_n(&before->next, __ATOMIC_ACQUIRE);

	return edge->code == code ? edge : NULL;
}

/* It is at hand from now on where it leads to. */
static inline void
edges_set_recent(struct edge *edge)
{
	struct edge *first = &edge->code->edge;

	if (edge != first)
		__atomic_store_n(&first->recent, edge, __ATOMIC_RELEASE);
}

/* The same, and where it comes from. */
static inline void
edges_remember(struct edge *before, struct edge *edge)
{
	edges_set_recent(edge);
	if (edge != &edge->code->edge)
		__atomic_store_n(&before->next, edge, __ATOMIC_RELEASE);
}

#endif
