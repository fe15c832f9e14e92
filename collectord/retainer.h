/*
 * retainer.h - flushes that make room for themselves, and a step of retention after each
 *
 * Thread rule: the flusher's thread.
 */
#ifndef DCPI_COLLECTORD_RETAINER_H
#define DCPI_COLLECTORD_RETAINER_H

#include <stdint.h>

#include "base/log.h"
#include "profile/profile.h"
#include "profile/retention.h"

#define RETAINER_STEPS 8

/* What is kept for `max_age_ns` in a database of `size_limit` bytes; some of it stays free for the next flush. */
void retainer_options(uint64_t max_age_ns, uint64_t size_limit, struct retention_options *options);

/*
 * As profile_flush(), but a database that is full loses its oldest slices first - or the reader that does not go on,
 * for whom its pages cannot be used again; when the disk has no room for that, it stays full and loses nothing.
 */
int retainer_flush(struct profile *profile, const struct profile_batch *batch, const struct retention_options *options,
                   const struct log *log);

/*
 * Steps of profile_retain() after a flush: one, and while there is more to do, RETAINER_STEPS at most in about 100 ms.
 * A large machine has more to merge than one step in 10 s would move. An error is logged when it is another than
 * *error, which it replaces.
 */
void retainer_step(struct profile *profile, const struct retention_options *options, const struct log *log, int *error);

#endif
