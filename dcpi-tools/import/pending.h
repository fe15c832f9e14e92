/*
 * pending.h - imported samples that have not been written to the database yet
 *
 * It has samples of one recording by image, context, event and offset, and the totals of their slice. It grows to a
 * limit and is then written; the first pending_write() makes the epoch. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_PENDING_H
#define DCPI_TOOLS_IMPORT_PENDING_H

#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/import/build_ids.h"
#include "dcpi-tools/import/import_tables.h"
#include "process/attribution.h"
#include "process/stack_table.h"
#include "profile/edges.h"
#include "profile/profile.h"
#include "tally/tally.h"

struct import_pending {
	struct profile *profile;           /* borrowed */
	struct attribution *attribution;   /* borrowed: gets new tables after each writing */
	const struct build_ids *build_ids; /* borrowed */
	struct import_tables *tables;      /* borrowed: begins a new session after each writing */
	struct image_table *images;
	struct context_table *contexts;
	struct stack_table *stacks; /* of the session's images */
	struct tally *tally;
	struct edge_list edges; /* of the session's images */
	struct epoch epoch;     /* its id is 0 until it is in the database */
	struct slice slice;     /* what was counted since the last writing */
	uint64_t images_written;
};

/* 0 or -ENOMEM. Then the caller makes an attribution for the tables, and sets what is borrowed. */
int pending_init(struct import_pending *pending);
void pending_fini(struct import_pending *pending); /* a zeroed one is allowed */

/* Whether it has grown to its limit and should be written. */
bool pending_is_full(const struct import_pending *pending);

/*
 * Add a sample of a stack: `event` is that of stacks, and `period` is added to its sum, `sum_event`, unless it is 0.
 * 0, -ENOMEM, -ENOSPC.
 */
int pending_add_stack(struct import_pending *pending, uint16_t event, uint32_t context, uint32_t node,
                      uint16_t sum_event, uint64_t period);

/* 0, -ENOMEM. */
int pending_add_edge(struct import_pending *pending, uint16_t event, uint32_t image, uint64_t from, uint64_t to);

/* Write it; the caller must have set pending->epoch and the slice's times. 0 or an error of profile_flush(). */
int pending_write(struct import_pending *pending);

#endif
