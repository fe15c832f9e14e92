/*
 * contention.h - lines that several cores want at once
 *
 * Threads are up to a quantum apart, and on the host one may do a whole quantum before the next does its own. A line
 * that on the target goes to another core after each access then goes there once in a quantum. So lines that are
 * handed over again and again are *contended*: accesses to them are counted, not taken in the order in which they come.
 * By its own clock, without what it waits for the line, a core publishes how often it reads and writes it. From the
 * rates of the others follows how many of them came between two accesses of this core: if any, the line was taken away
 * and has to be fetched again, as often as that is less than one in the mean. And a line is handed over to one core at
 * a time: transfers are lines on a path (memory_path.h) that takes one every so many cycles. None of this depends on
 * the order in which threads run.
 *
 * A contended line is in no hit filter, so that all accesses come here. When nobody else has accessed it for a while,
 * it is none any more.
 *
 * Thread rule: any thread. A core's part of a line is its own thread's; if several threads take turns on a core, they
 * may be in a call at once, and count less than both.
 */
#ifndef DCPI_EMULATOR_MODEL_CONTENTION_H
#define DCPI_EMULATOR_MODEL_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

struct contention;
struct contended_line;

/* A core that accesses a line. */
struct contender {
	unsigned core, node;
	uint64_t asked, now; /* when the core executes the access, and when that begins */
	bool writes;
};

/* Transfers within a node, and between nodes, in cycles; `core_count` in `node_count` nodes. NULL: no memory. */
struct contention *contention_new(unsigned core_count, unsigned node_count, uint32_t transfer_cycles,
                                  uint32_t far_transfer_cycles, uint64_t quantum_cycles);
void contention_free(struct contention *contention);

/* The line, if it is contended; else NULL. */
struct contended_line *contention_find(struct contention *contention, uint64_t line);

/*
 * The line was handed over to a core at `now`. Whether it is contended from now on: the caller then removes it from the
 * caches of others.
 */
bool contention_handed_over(struct contention *contention, uint64_t line, uint64_t now);

/* What waiting for the line takes; *is_far: another node had it. 0: nobody took it away. */
uint32_t contention_access(struct contention *contention, struct contended_line *line,
                           const struct contender *contender, bool *is_far);

#endif
