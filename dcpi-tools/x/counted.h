/*
 * counted.h - what dcpix counted, on its way into the database
 *
 * Counts by image, context and offset, and the edges between them. Nothing of it is lost when there are many: memory is
 * the limit.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_X_COUNTED_H
#define DCPI_TOOLS_X_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/context_table.h"
#include "process/image_table.h"
#include "profile/profile.h"
#include "tally/tally.h"

struct counted {
	struct image_table *images;
	struct context_table *contexts;
	struct tally *tally;
	struct profile_edge *edges; /* of the session's images */
	size_t edge_count, edge_capacity;
	size_t edge_settled; /* of those, sorted and each once */
	uint64_t total;      /* of the event, all that follows included */
	uint64_t anonymous;  /* in memory that is no file's */
};

int counted_init(struct counted *counted);  /* 0 or -ENOMEM */
void counted_fini(struct counted *counted); /* a zeroed one is allowed */

/* 0, -ENOMEM, -ENOSPC. */
int counted_add(struct counted *counted, uint32_t image, uint32_t context, uint64_t offset, uint64_t count);
int counted_add_edge(struct counted *counted, uint32_t image, uint64_t from, uint64_t to, uint64_t count);

/* Sort the edges, each once. */
void counted_settle(struct counted *counted);

struct counted_event {
	const char *name; /* "executions" */
	const char *unit;
	const char *note;
	const char *label; /* of the epoch; NULL: "dcpix" */
	uint64_t start_ns, end_ns;
};

/*
 * Write it as an epoch of its own into the database in `directory`, also while a dcpid writes there. 0 with the epoch's
 * number, or an error of profile_open() and profile_flush().
 */
int counted_write(struct counted *counted, const char *directory, const struct counted_event *event, uint32_t *epoch);

/* Can it be written there? Makes the database where there is none. 0 or an error. */
int counted_can_write(const char *directory);

#endif
