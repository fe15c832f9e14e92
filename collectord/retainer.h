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

/* What is kept for `max_age_ns` in a database of `size_limit` bytes; some of it stays free for the next flush. */
void retainer_options(uint64_t max_age_ns, uint64_t size_limit, struct retention_options *options);

/*
 * As profile_flush(), but a database that is full loses its oldest slices first - or the reader that does not go on,
 * for whom its pages cannot be used again; when the disk has no room for that, it stays full and loses nothing.
 */
int retainer_flush(struct profile *profile, const struct profile_batch *batch, const struct retention_options *options,
                   const struct log *log);

/* One step of profile_retain(). An error is logged when it is another than *error, which it replaces. */
void retainer_step(struct profile *profile, const struct retention_options *options, const struct log *log, int *error);

#endif
