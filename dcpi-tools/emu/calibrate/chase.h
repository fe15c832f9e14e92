/*
 * chase.h - pointer chasing: the time of loads of which each needs the one before
 *
 * Thread rule: one thread per chain.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_CHASE_H
#define DCPI_TOOLS_EMU_CALIBRATE_CHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHASE_LINE       64u
#define CHASE_CHAINS_MAX 32

struct chase {
	uint8_t *bytes;
	size_t size, count;             /* bytes, and links of it */
	void *at;                       /* the link to go on from */
	void *chains[CHASE_CHAINS_MAX]; /* the links of chase_walk_chains_ns() to go on from */
};

/*
 * Make a single cycle of pointers in random order through `size` bytes, with one link in each `stride` bytes
 * (CHASE_LINE or a page). With lines, its memory is huge pages if the kernel has some; with pages, small pages, and
 * links lie in different lines of their pages. 0 or -ENOMEM.
 */
int chase_init(struct chase *chase, size_t size, size_t stride);
void chase_fini(struct chase *chase);

/* Whether most of its memory is in huge pages. */
bool chase_is_huge(const struct chase *chase);

/* The time of so many loads, ns. */
uint64_t chase_walk_ns(struct chase *chase, size_t loads);

/* Time of so many loads in each of `chains` independent chains, which start at different links of the cycle. */
uint64_t chase_walk_chains_ns(struct chase *chase, unsigned chains, size_t loads);

/* The time, ns, of so many additions of which each needs the one before: one cycle each on every present CPU. */
uint64_t chase_additions_ns(size_t additions);

#endif
