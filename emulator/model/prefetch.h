/*
 * prefetch.h - which lines a prefetcher asks for
 *
 * It sees each access that reaches its level, and names lines of the same page: behind one that missed or that was
 * prefetched (next line); ahead of three that follow each other closely (stream), up or down, by no more than its
 * distance each time; ahead of three of one instruction a constant distance apart (stride). Up to eight entries are
 * found by their page or instruction, more of them in sets of eight ways that replace the least recently used entry.
 * The caller fills the lines, or drops those that are to be inaccurate: prefetcher_next_is_accurate().
 *
 * Thread rule: of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_PREFETCH_H
#define DCPI_EMULATOR_MODEL_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define PREFETCH_LINES_MAX 32       /* that one access makes it ask for */
#define PREFETCH_RECENT    64       /* keys that are found without looking; a power of two */
#define PREFETCH_CREDIT    0.999999 /* for an accurate one; 1 but for what sums of fractions lose */

struct prefetch_entry; /* a stream, or an instruction */
struct prefetch_set;   /* eight of them */

/* Where it goes on. */
struct prefetch_course {
	uint64_t step;  /* from the one before, below 0 when it goes down; of a stream: a line up or down; 0: none */
	uint32_t ahead; /* how far from there on it was asked for already, in the direction of the step */
	uint32_t most;  /* lines that the next of a stream is away at most: fewer until it goes on as it began */
};

struct prefetcher {
	struct machine_prefetcher model;
	unsigned level, degree;          /* index of the level; lines that an access makes it ask for at most */
	unsigned line_shift, page_shift; /* of bytes */
	struct prefetch_course initial;  /* of an entry that has seen one access */
	uint32_t set_mask;
	uint64_t page_mask; /* of places: a stream's are lines, others' bytes */
	struct prefetch_set *sets;
	uint64_t present;                               /* lru_present() of a set */
	struct prefetch_entry *recent[PREFETCH_RECENT]; /* by key: the entry that may be its */
	double credit;                                  /* accuracy so far less accurate prefetches */
	uint64_t first, stride; /* of the lines to prefetch now, in lines (stream) or bytes; prefetcher_line() */
	unsigned unit_shift;    /* of `first`, for its line */
};

/* 0 or -ENOMEM. */
int prefetcher_init(struct prefetcher *prefetcher, const struct machine_prefetcher *model,
                    const struct machine *machine);
void prefetcher_fini(struct prefetcher *prefetcher);

/*
 * Train the prefetcher with an access to `address` as caches know it, a line's number << line_shift and where in it.
 * `instruction` 0: code is fetched; `missed`: its level did not have the line, or only because it was prefetched.
 * Returns how many lines it prefetches now: prefetcher_line().
 */
unsigned prefetcher_train(struct prefetcher *prefetcher, uint64_t address, uint64_t instruction, bool missed);

/* The number of line `i` of those, from 0 on. */
static inline uint64_t
prefetcher_line(const struct prefetcher *prefetcher, unsigned i)
{
	return (prefetcher->first + i * prefetcher->stride) >> prefetcher->unit_shift;
}

/* Whether the next prefetch is of use: a share of model.accuracy is, evenly. */
static inline bool
prefetcher_next_is_accurate(const struct prefetcher *prefetcher)
{
	return prefetcher->credit + prefetcher->model.accuracy >= PREFETCH_CREDIT;
}

static inline void
prefetcher_count(struct prefetcher *prefetcher, bool is_accurate)
{
	prefetcher->credit += prefetcher->model.accuracy - (is_accurate ? 1 : 0);
}

#endif
