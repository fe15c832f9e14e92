/*
 * flush_retention.h - a flush that makes room for itself, and steps of retention after it
 *
 * Thread rule: the flusher's thread.
 */
#ifndef DCPI_COLLECTORD_FLUSH_RETENTION_H
#define DCPI_COLLECTORD_FLUSH_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "profile/profile.h"
#include "profile/retention.h"

#define FLUSH_RETENTION_STEPS   8
#define FLUSH_RETENTION_REST_NS UINT64_C(60000000000)

/* State between two calls of flush_retention_step(); all zero at first. With other options, unset is_done. */
struct flush_retention {
	int error;          /* of the last step */
	bool is_done;       /* it found nothing left to do */
	uint64_t done_ns;   /* CLOCK_MONOTONIC, when */
	uint32_t slice;     /* the newest, then */
	bool is_limit_said; /* the log has that kept epochs take more than the limit */
};

/* Drop what is older than `max_age_ns`, in a database of `size_limit` bytes; some of it stays free for the next flush.
 */
void flush_retention_options(uint64_t max_age_ns, uint64_t size_limit, struct retention_options *options);

/*
 * As profile_flush(), but a full database loses its oldest slices first - or a reader that makes no progress, because
 * of which their pages cannot be reused. When the disk has no room for dropping, the database stays full and loses
 * nothing.
 */
int flush_retention_write(struct profile *profile, const struct profile_batch *batch,
                          const struct retention_options *options, const struct log *log);

/*
 * Steps of profile_retain() after a flush to slice `slice` that left `used_bytes` in use: one, and while there is more
 * to do, FLUSH_RETENTION_STEPS at most in about 100 ms. A large machine has more to merge than one step a flush would
 * move. Mostly there is nothing to do, but to find that out takes a look at all slices: so the next look is taken
 * FLUSH_RETENTION_REST_NS later, when a slice begins, or when more is in use than may be. An error is logged when it is
 * another than the last one. True when something was done: `used_bytes` is outdated.
 */
bool flush_retention_step(struct flush_retention *retention, struct profile *profile,
                          const struct retention_options *options, uint32_t slice, uint64_t used_bytes,
                          const struct log *log);

#endif
