/* What changes on the machine meanwhile: see collection.h. */
#include "collectord/collection_internal.h"

#include <errno.h>

#include "base/error.h"

bool
collection_look(struct collection *collection)
{
	const unsigned changes = machine_watch_look(collection->watch);

	if (changes & MACHINE_CPUS)
		collection->cpus_changed = collection->cpus_changed || sampler_is_outdated(collection->sampler);
	if (sampler_retry_events(collection->sampler))
		collection->cpus_changed = true; /* there are more descriptors */
	return collection->cpus_changed;
}

int
collection_follow_cpus(struct collection *collection)
{
	int err = collection_drain_with(collection, sampler_drain_all);

	if (err == -ENOSPC)
		return err;
	collection->cpus_changed = false;
	err = sampler_follow_cpus(collection->sampler);
	if (err)
		log_write(collection->log, LOG_LEVEL_WARNING, "cannot tell which CPUs are online: %s", error_text(err));
	return err;
}
