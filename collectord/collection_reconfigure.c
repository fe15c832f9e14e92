/* Another configuration for a collection that runs: see collection.h. */
#include "collectord/collection_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectord/machine.h"

/* Members are compared one by one: what lies between them, and behind the end of a name, is not defined. */
static bool
events_differ(const struct config *a, const struct config *b)
{
	if (a->event_count != b->event_count)
		return true;
	for (size_t i = 0; i < a->event_count; i++) {
		const struct event_spec *x = &a->events[i], *y = &b->events[i];

		if (strcmp(x->name, y->name) != 0 || x->period != y->period || x->rate != y->rate ||
		    x->precise != y->precise || x->user != y->user || x->kernel != y->kernel || x->idle != y->idle)
			return true;
	}
	return false;
}

bool
collection_must_reopen(const struct collection *collection, const struct config *config)
{
	const struct config *now = &collection->config;

	return events_differ(now, config) || now->overhead_limit_ppm != config->overhead_limit_ppm ||
	       now->max_rate != config->max_rate || now->idle_rate != config->idle_rate ||
	       now->ring_pages != config->ring_pages || now->sideband_pages != config->sideband_pages ||
	       now->tally_limit != config->tally_limit || now->capture_limit != config->capture_limit;
}

/*
 * Images and contexts have numbers of the session, and the session is the sampler's: with a new sampler, the database
 * is opened anew as well.
 */
static int
reopen(struct collection *collection, struct sampler *sampler, const struct config *config, char *why, size_t size)
{
	char label[EPOCH_LABEL_SIZE];
	struct labelled_processes labelled = {0};
	int err;

	if (sampler_labelled(collection->sampler, &labelled) == 0) { /* else there is no memory to keep them in */
		(void)sampler_label_again(sampler, &labelled);
		labelled_processes_fini(&labelled);
	}
	snprintf(label, sizeof(label), "%s", collection->epoch.label);
	collection_close_writer(collection);
	sampler_close(collection->sampler);
	collection->sampler = sampler;
	collection->config = *config;
	collection->opened_cpu_ns = machine_cpu_time_ns();
	err = collection_open_profile(collection, why, size);
	if (!err)
		err = collection_start(collection, label, why, size);
	return err ? -ECANCELED : 0;
}

static int
set_size_limit(struct profile *profile, void *context)
{
	return profile_set_size_limit(profile, *(uint64_t *)context);
}

/* Before anything is to be written: it may be what lets a full database take it. */
static int
limit_size(struct collection *collection, uint64_t size_limit, char *why, size_t size)
{
	int err;

	if (collection->config.size_limit == size_limit)
		return 0;
	err = flusher_call(collection->flusher, set_size_limit, &size_limit);
	if (err)
		return collection_say(why, size, collection->config.database, "change its size limit", err);
	collection->config.size_limit = size_limit;
	collection_retain(collection);
	collection_update_stats(collection);
	collection_hurry(collection);
	return 0;
}

int
collection_reconfigure(struct collection *collection, const struct config *config, char *why, size_t size)
{
	struct sampler *sampler;
	int err;

	if (collection->is_compacting) {
		snprintf(why, size, "the database is being compacted; try again when that is done");
		return -EBUSY;
	}
	err = limit_size(collection, config->size_limit, why, size);
	if (err)
		return err;
	if (!collection_must_reopen(collection, config)) {
		collection->config = *config;
		collection_retain(collection);
		return 0;
	}
	err = sampler_open(config, NULL, collection->log, &sampler, why, size);
	if (err)
		return err;
	collection_stop(collection);
	err = collection_finish_epoch(collection, why, size);
	if (err) {
		sampler_close(sampler);
		return sampler_enable(collection->sampler) ? -ECANCELED : err;
	}
	return reopen(collection, sampler, config, why, size);
}
