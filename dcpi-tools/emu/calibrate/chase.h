/*
 * chase.h - loads that each need the one before: what a chase through memory takes
 *
 * Thread rule: one thread per chain.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_CHASE_H
#define DCPI_TOOLS_EMU_CALIBRATE_CHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHASE_LINE        64u
#define CHASE_ABREAST_MAX 32

struct chase {
	uint8_t *bytes;
	size_t size, count;               /* bytes, and links of it */
	void *at;                         /* the link to go on from */
	void *abreast[CHASE_ABREAST_MAX]; /* those of chase_walk_abreast_ns() */
};

/*
 * A single cycle in random order through one place of each `stride` bytes, CHASE_LINE or a page: `size` of them
 * altogether. With lines, in huge pages if the kernel has some; with pages, in small ones, at another line of each.
 * 0 or -ENOMEM.
 */
int chase_init(struct chase *chase, size_t size, size_t stride);
void chase_fini(struct chase *chase);

/* Whether most of it came to lie in huge pages. */
bool chase_is_huge(const struct chase *chase);

/* Time of so many loads. */
uint64_t chase_walk_ns(struct chase *chase, size_t loads);

/* Time of so many loads in each of `abreast` places of the chain at once. */
uint64_t chase_walk_abreast_ns(struct chase *chase, unsigned abreast, size_t loads);

/* Time of so many additions that each need the one before: cycles, on every CPU of today. */
uint64_t chase_additions_ns(size_t additions);

#endif
