/*
 * merge.h - the records of many rings as one stream in time order
 *
 * Each CPU's ring is in time order, except when an interrupt arrives while a record is written. A sample of one CPU may
 * need the mapping that another CPU reported a moment before. So the merge delivers records in time order up to a
 * horizon, which its owner chooses a little in the past: by then, no CPU is still writing an older record. Later
 * records stay in their rings.
 * Thread rule: one reader.
 */
#ifndef DCPI_STREAM_MERGE_H
#define DCPI_STREAM_MERGE_H

#include "stream/ring.h"

struct merge;

struct merge *merge_new(void);        /* NULL and errno (ENOMEM) on failure */
void merge_free(struct merge *merge); /* does not free the rings; NULL is allowed */

/* Add the ring of `cpu`, whose records have `layout`. 0 or -ENOMEM. The merge does not own the ring. */
int merge_add(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu);

/*
 * merge_add() for a ring of samples and loss records only: samples must be in order with the records of other rings,
 * but not with each other. So the merge reads each such ring in long runs, which is cheaper.
 */
int merge_add_samples(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu);
void merge_remove(struct merge *merge, struct ring *ring);

/*
 * `record` is valid during the call. 0 to continue; anything else ends the drain, and the next drain begins with this
 * record.
 */
typedef int merge_sink(void *context, uint32_t cpu, const struct record *record);

/*
 * Hand every record with time <= `horizon` (ns) to `sink`, oldest first (but see merge_add_samples()), and give its
 * space back to the kernel. A record without a time is delivered with the one before it. 0, or the value with which
 * `sink` ended the drain.
 */
int merge_drain(struct merge *merge, uint64_t horizon, merge_sink *sink, void *context);

#endif
