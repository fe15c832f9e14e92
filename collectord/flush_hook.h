/*
 * flush_hook.h - what takes part in each flush, besides the database
 *
 * The flusher gets its hooks when it is made, and calls them in that order. Functions that a hook does not need are
 * NULL.
 * Thread rule: all functions are called on the flusher's thread. They may use the profile, except for end_session(),
 * but not call the flusher.
 */
#ifndef DCPI_COLLECTORD_FLUSH_HOOK_H
#define DCPI_COLLECTORD_FLUSH_HOOK_H

#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"
#include "profile/profile.h"
#include "tally/tally.h"

struct flush {
	const struct image **images;       /* of the session, by number */
	uint32_t first_image, image_end;   /* numbers of the images that are new with this flush */
	const struct image_table *table;   /* the session's */
	const struct tally_entry *entries; /* sorted */
	size_t entry_count;
	size_t first_sum; /* events from this index on are sums of those before it: their counts are no samples */
};

struct flush_hook {
	void *context; /* of its functions; borrowed until the flusher is freed */

	/* Before each try to write: new images may be replaced in `flush->images`. */
	void (*before)(void *context, const struct flush *flush);

	/* After the flush was written; before store(). */
	void (*after)(void *context, struct profile *profile, const struct flush *flush);

	/* After each flush, and between flushes when flusher_call_store() was called. */
	void (*store)(void *context, struct profile *profile);

	/* The database is another, and has nothing of what the one before had. */
	void (*begin_database)(void *context);

	/* The images of a session are about to be freed. With the flusher's lock held and outside of the guard: not for
	 * the profile. */
	void (*end_session)(void *context, const struct image_table *images);
};

#endif
