/*
 * readers.h - who keeps a writer from using pages again (private to profile/)
 *
 * LMDB cannot take back what a reader sees. One that was killed has its slot cleared; one that lives but does not go on
 * (it was stopped in the middle of its transaction) is named in the log, for the file grows until it does.
 * Thread rule: as the store.
 */
#ifndef DCPI_PROFILE_READERS_H
#define DCPI_PROFILE_READERS_H

#include "profile/store.h"

#define READER_LAG_MAX 6 /* writes; a minute by default. A report takes some milliseconds */

/* Before each write. */
void readers_look_after(struct store *store);

/* The one that has not gone on for READER_LAG_MAX writes; NULL: there is none. */
const struct slow_reader *readers_slow(const struct store *store);

/* The slowest that did not see the last write; NULL: there is none. Most will have gone on at the next look. */
const struct slow_reader *readers_lagging(const struct store *store);

#endif
