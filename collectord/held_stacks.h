/*
 * held_stacks.h - samples of call stacks that wait for an unwind table
 *
 * Where a stack needs a table that is being made, or looked up, the sample is kept with its registers, its copy of the
 * stack and its process's map, and unwound when the table is there: so the first stacks of a program that was built a
 * moment ago are whole, too, also when it has ended by then. They take at most HELD_STACKS_BYTES_MAX, with
 * the maps, each of which may have become a copy of its own; a sample waits for HELD_STACKS_NS at most.
 * Thread rule: the event loop's. All are counted before the attribution is freed, or its numbers change.
 */
#ifndef DCPI_COLLECTORD_HELD_STACKS_H
#define DCPI_COLLECTORD_HELD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/unwind_tables.h"
#include "process/attribution.h"
#include "stream/record.h"

#define HELD_STACKS_BYTES_MAX ((size_t)4 << 20)
#define HELD_STACKS_NS        UNWIND_TABLES_AWAIT_NS

struct held_stack {
	struct record record; /* what it points to is its own */
	struct attribution_moment moment;
	uint64_t weight;    /* how many samples it stands for */
	uint64_t until_ns;  /* CLOCK_MONOTONIC; 0: it waits no longer */
	uint32_t waits_for; /* the image, by its number in the session, whose table is missing */
	uint32_t node;      /* of the session: the stack up to there */
	uint32_t frames;    /* of it */
	size_t bytes;
	uint8_t data[];
};

/* A zeroed one is empty. */
struct held_stacks {
	struct held_stack **stacks; /* in the order in which they came */
	size_t count, capacity;
	size_t bytes;
};

/*
 * Keep a copy of a sample, whose moment->space is the list's from now on; what is not of the sample is the caller's to
 * fill in. NULL: there is no room, and the space is the caller's.
 */
struct held_stack *held_stacks_add(struct held_stacks *held, const struct record *record,
                                   const struct attribution_moment *moment, uint64_t now_ns);

/* They wait no longer: the next look at each is its last. */
void held_stacks_release(struct held_stacks *held);

/* Remove those that are NULL from `stacks`: held_stack_free() was called for each. */
void held_stacks_pack(struct held_stacks *held);

void held_stack_free(struct held_stacks *held, struct held_stack *stack);
void held_stacks_fini(struct held_stacks *held);

#endif
