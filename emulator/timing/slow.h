/*
 * slow.h - what callbacks do when it is not the usual
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_SLOW_H
#define DCPI_EMULATOR_TIMING_SLOW_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

/* Inlined, they would make the usual way save registers. */
#define SLOW __attribute__((noinline))

/* hot_go() of what is modelled. */
typedef void hot_step(struct thread *thread, struct edge *edge);

/*
 * A block begins, and the rest of what that takes, as something of it is not usual; `parts` as of hot_go(). In turn:
 * its edge is not at hand, `go` goes on by it; where the block before went was not predicted; its last line, its two
 * lines, or all of its lines are fetched, whatever the caches are.
 */
SLOW void slow_edge(struct thread *thread, struct code *code, hot_step *go);
SLOW void slow_ending(struct thread *thread, struct edge *edge, uint32_t parts);
SLOW void slow_fetch_line(struct thread *thread, struct edge *edge, uint32_t parts);
SLOW void slow_fetch_two(struct thread *thread, struct edge *edge, uint32_t parts);
SLOW void slow_fetch_all(struct thread *thread, struct edge *edge, uint32_t parts);

/* The clock has reached the limit, with the block that begins. */
SLOW void slow_limit(struct thread *thread);

/* An instruction's own access to `size` bytes, some of which is no plain hit perhaps. */
void slow_access(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store);

/* How the thread's accesses go on, whose hierarchy is there. */
void slow_choose_ways(struct thread *thread);

#endif
