/* Rates that change while dcpid runs: see collection.h. */
#include "collectord/collection_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectord/announce.h"

/* Commit what was counted with the old periods, and count with those of `events` in a new epoch. */
static int
change_periods(struct collection *collection, const struct event *events, char *why, size_t size)
{
	int err, enable_err;

	collection_stop(collection);
	err = collection_finish_epoch(collection, why, size);
	if (!err) {
		err = sampler_set_periods(collection->sampler, events);
		if (err)
			snprintf(why, size, "the sampling period cannot be changed: %s", error_text(err));
	}
	if (!err)
		err = collection_start_epoch(collection, collection->epoch.label, why, size);
	enable_err = sampler_enable(collection->sampler);
	if (enable_err && !err) {
		err = enable_err;
		snprintf(why, size, "perf events cannot be enabled again: %s", error_text(err));
	}
	return err;
}

int
collection_change_plan(struct collection *collection, bool measure, uint64_t daemon_ppm, const char *reason, char *why,
                       size_t size)
{
	struct event *events = calloc(EVENTS_MAX, sizeof(*events));
	int err = 0;

	if (!events) {
		snprintf(why, size, "rates cannot be chosen: %s", error_text(-ENOMEM));
		return -ENOMEM;
	}
	if (sampler_plan(collection->sampler, measure, daemon_ppm, events)) {
		log_write(collection->log, LOG_LEVEL_NOTICE, "%s: sampling rates change, an epoch begins", reason);
		err = change_periods(collection, events, why, size);
		if (!err)
			announce_events(collection->log, &collection->epoch);
	}
	free(events);
	return err;
}

int
collection_replan(struct collection *collection, const char *reason, char *why, size_t size)
{
	return collection_change_plan(collection, true, 0, reason, why, size);
}
