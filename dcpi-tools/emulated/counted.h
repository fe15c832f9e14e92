/*
 * counted.h - the counts of one run, before they are in the database
 *
 * It has counts by event, image, context and offset, and edges between offsets. No count is dropped: memory is the
 * limit.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMULATED_COUNTED_H
#define DCPI_TOOLS_EMULATED_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/context_table.h"
#include "process/image_table.h"
#include "profile/edges.h"
#include "profile/profile.h"
#include "tally/tally.h"

struct counted {
	struct image_table *images;
	struct context_table *contexts;
	struct tally *tally;
	struct edge_list edges; /* of the session's images: edge_list_gather() */
	/* For each event of the epoch: */
	uint64_t totals[EVENTS_MAX];    /* including the anonymous ones */
	uint64_t anonymous[EVENTS_MAX]; /* in memory that maps no file */
};

int counted_init(struct counted *counted);  /* 0 or -ENOMEM */
void counted_fini(struct counted *counted); /* a zeroed one is allowed */

/* Add to an event of the epoch, by its number there. 0, -ENOMEM, -ENOSPC. */
int counted_add(struct counted *counted, const struct sample_key *key, uint64_t count);
void counted_add_anonymous(struct counted *counted, uint16_t event, uint64_t count);

struct counted_epoch {
	const char *label;
	uint64_t start_ns, end_ns;
	const char *cpu; /* NULL: this machine's */
	uint32_t cpu_count;
	const struct epoch *machine; /* host, kernel and processor of another machine; NULL: these, and this one's */
	const struct event *events;
	size_t event_count;
	const struct memory_rows *memory; /* NULL: none */
};

/* Describe an event whose counts each stand for one event. */
void counted_describe_event(struct event *event, const char *name, const char *unit, const char *note);

/*
 * Write it as an epoch of its own into the database in `directory`, also while a dcpid writes there. 0 with the epoch's
 * number, or an error of profile_open() and profile_flush().
 */
int counted_write(struct counted *counted, const char *directory, const struct counted_epoch *description,
                  uint32_t *epoch);

/* Check that the database in `directory` can be written; makes it if there is none. 0 or an error. */
int counted_can_write(const char *directory);

#endif
