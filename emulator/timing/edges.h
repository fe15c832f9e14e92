/*
 * edges.h - the edges between translated blocks (code.h): found again, or made
 *
 * Thread rule: edges_find() by any thread; it locks only to make one. What it gave stays until edges_fini().
 */
#ifndef DCPI_EMULATOR_TIMING_EDGES_H
#define DCPI_EMULATOR_TIMING_EDGES_H

#include <pthread.h>

#include "emulator/block/arena.h"
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

/*
 * The edge to `code` from the block that was entered by `before`; remembered in before->next. Never NULL: without
 * memory, the first that there was to it.
 */
struct edge *edges_find(struct timing *timing, struct edge *before, struct code *code);

#endif
