/*
 * merge.h - the records of many rings as one stream in time order
 *
 * Each CPU's ring is in time order (but for an interrupt that hits while a record is written); a sample taken on one
 * CPU may need the mapping that another CPU reported a moment before. The merge gives records by time up to a horizon
 * that its owner chooses a little in the past, so that a record still being written elsewhere is not overtaken; later
 * ones stay in their rings.
 * Thread rule: one reader.
 */
#ifndef DCPI_STREAM_MERGE_H
#define DCPI_STREAM_MERGE_H

#include "stream/ring.h"

struct merge;

struct merge *merge_new(void);        /* NULL and errno (ENOMEM) on failure */
void merge_free(struct merge *merge); /* does not free the rings; NULL is allowed */

/* Take part: `ring`, whose records have `layout`, on `cpu`. 0 or -ENOMEM. The merge does not own the ring. */
int merge_add(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu);

/*
 * merge_add() for a ring of samples and loss records only: samples need an order with the records of other rings but
 * none among themselves. So each such ring is read in long runs, which is cheaper.
 */
int merge_add_samples(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu);
void merge_remove(struct merge *merge, struct ring *ring);

/*
 * `record` is valid during the call. 0 to go on; anything else ends the drain, and this record is the first of the
 * next.
 */
typedef int merge_sink(void *context, uint32_t cpu, const struct record *record);

/*
 * Hand every record with time <= `horizon` (ns) to `sink`, oldest first (but see merge_add_samples()), and give its
 * space back to the kernel. A record without a time goes with the one before it. 0, or what `sink` ended it with.
 */
int merge_drain(struct merge *merge, uint64_t horizon, merge_sink *sink, void *context);

#endif
