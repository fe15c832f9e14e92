/*
 * retainer.h - flushes that make room for themselves, and a step of retention after each
 *
 * Thread rule: the flusher's thread.
 */
#ifndef DCPI_COLLECTORD_RETAINER_H
#define DCPI_COLLECTORD_RETAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "profile/profile.h"
#include "profile/retention.h"

#define RETAINER_STEPS   8
#define RETAINER_REST_NS UINT64_C(60000000000)

/* What is known from one step to the next; all zero at first. With other options, is_done is to be unset. */
struct retainer {
	int error;        /* of the last step */
	bool is_done;     /* it found nothing left to do */
	uint64_t done_ns; /* CLOCK_MONOTONIC, when */
	uint32_t slice;   /* the newest, then */
	bool is_told;     /* that what is kept takes more than the limit */
};

/* What is kept for `max_age_ns` in a database of `size_limit` bytes; some of it stays free for the next flush. */
void retainer_options(uint64_t max_age_ns, uint64_t size_limit, struct retention_options *options);

/*
 * As profile_flush(), but a database that is full loses its oldest slices first - or the reader that does not go on,
 * for whom its pages cannot be used again; when the disk has no room for that, it stays full and loses nothing.
 */
int retainer_flush(struct profile *profile, const struct profile_batch *batch, const struct retention_options *options,
                   const struct log *log);

/*
 * Steps of profile_retain() after a flush to slice `slice` that left `used_bytes` in use: one, and while there is more
 * to do, RETAINER_STEPS at most in about 100 ms. A large machine has more to merge than one step in 10 s would move.
 * Most times there is nothing, and to find that out takes a look at all slices: so once there is nothing, the next look
 * is taken RETAINER_REST_NS later, when a slice begins, or when more is in use than may be. An error is logged when it
 * is another than the last one. True when something was done: `used_bytes` is no longer right.
 */
bool retainer_step(struct retainer *retainer, struct profile *profile, const struct retention_options *options,
                   uint32_t slice, uint64_t used_bytes, const struct log *log);

#endif
