/*
 * prefetch.h - the lines that a hardware prefetcher fetches
 *
 * It sees each access that reaches its level, and returns lines in the page of the access. Next line: the line behind
 * one that missed or was prefetched. Stream: lines ahead of three accesses that follow each other closely, up or down,
 * each at most its distance from the one before. Stride: lines ahead of three accesses of one instruction that are a
 * constant distance apart. Up to eight entries are found by page or instruction; more are in sets of eight ways with
 * LRU replacement. The caller fills the lines, or drops those that are modelled as inaccurate:
 * prefetcher_next_is_accurate().
 *
 * Thread rule: of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_PREFETCH_H
#define DCPI_EMULATOR_MODEL_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define PREFETCH_LINES_MAX 32       /* lines that one access prefetches */
#define PREFETCH_RECENT    64       /* keys that are found without a search; a power of two */
#define PREFETCH_CREDIT    0.999999 /* for an accurate prefetch; below 1 by the rounding errors of sums */

struct prefetch_entry; /* a stream, or an instruction */
struct prefetch_set;   /* eight of them */

/* How an entry continues. */
struct prefetch_course {
	uint64_t step;  /* from the one before, below 0 when it goes down; of a stream: a line up or down; 0: none */
	uint32_t ahead; /* how far lines were already prefetched, in the direction of the step */
	uint32_t most;  /* lines to the next access of a stream at most: fewer until its direction is confirmed */
};

struct prefetcher {
	struct machine_prefetcher model;
	unsigned level, degree;          /* index of the level; lines that one access prefetches at most */
	unsigned line_shift, page_shift; /* of bytes */
	struct prefetch_course initial;  /* of an entry after its first access */
	uint32_t set_mask;
	uint64_t page_mask; /* of positions: lines of a stream, else bytes */
	struct prefetch_set *sets;
	uint64_t present;                               /* lru_present() of a set */
	struct prefetch_entry *recent[PREFETCH_RECENT]; /* by key: an entry that may have it */
	double credit;                                  /* sum of accuracy, minus accurate prefetches */
	uint64_t first, stride; /* of the lines to prefetch now, in lines (stream) or bytes; prefetcher_line() */
	unsigned unit_shift;    /* first >> unit_shift is its line */
};

/* 0 or -ENOMEM. */
int prefetcher_init(struct prefetcher *prefetcher, const struct machine_prefetcher *model,
                    const struct machine *machine);
void prefetcher_fini(struct prefetcher *prefetcher);

/*
 * Train the prefetcher with an access to `address`, in the caches' numbering: (line number << line_shift) + offset in
 * the line. `instruction` 0: a fetch of code; `missed`: the level did not have the line, or had it only by a prefetch.
 * Returns how many lines it prefetches now: prefetcher_line().
 */
unsigned prefetcher_train(struct prefetcher *prefetcher, uint64_t address, uint64_t instruction, bool missed);

/* The number of line `i`, from 0 on, of those to prefetch now. */
static inline uint64_t
prefetcher_line(const struct prefetcher *prefetcher, unsigned i)
{
	return (prefetcher->first + i * prefetcher->stride) >> prefetcher->unit_shift;
}

/* Whether the next prefetch is accurate: a share of model.accuracy is, evenly spaced. */
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
