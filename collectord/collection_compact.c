/* Compacting the database while collection goes on: see collection.h. */
#include "collectord/collection_internal.h"

#include <errno.h>

static int
compact(struct profile *profile, void *context)
{
	return profile_compact(profile, context);
}

int
collection_compact(struct collection *collection)
{
	int err = collection->is_compacting ? -EBUSY
	                                    : flusher_post(collection->flusher, compact, &collection->compaction);

	if (!err)
		collection->is_compacting = true;
	return err;
}

bool
collection_is_compacting(const struct collection *collection)
{
	return collection->is_compacting;
}

void
collection_break_compaction(struct collection *collection)
{
	profile_break_compaction(collection->profile);
}

bool
collection_compacted(struct collection *collection, struct compaction *compaction, int *err)
{
	if (!collection->is_compacting || !flusher_posted(collection->flusher, err))
		return false;
	collection->is_compacting = false;
	*compaction = collection->compaction;
	if (!collection_is_busy(collection)) /* else the next flush will say it */
		collection_update_stats(collection);
	return true;
}
