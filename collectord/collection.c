#include "collectord/collection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "collectord/announce.h"
#include "collectord/collection_internal.h"
#include "collectord/healing.h"
#include "collectord/kernel_names.h"
#include "collectord/machine.h"
#include "collectord/retainer.h"

#define PATIENCE_NS   UINT64_C(10000000000) /* for the last flush of an epoch */
#define DAMAGE_ADVICE "what was sampled since the last flush is lost, and dcpid executes itself anew"

#define RAISE_OPEN_FILES "raise the limit of open files: ulimit -n, or LimitNOFILE= of the service"

/* What helps when the database cannot be opened; NULL: nothing that we would know. */
static const char *
advice_on(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "be root, or name a directory of your own with --db";
	case -EMFILE:
		return RAISE_OPEN_FILES;
	default:
		return NULL;
	}
}

int
collection_say(char *why, size_t size, const char *subject, const char *action, int err)
{
	snprintf(why, size, "%s: cannot %s: %s%s", subject, action, error_text(err),
	         err == -EMFILE ? " (" RAISE_OPEN_FILES ")" : "");
	return err;
}

int
collection_open_profile(struct collection *collection, char *why, size_t size)
{
	const struct profile_options options = {
		.write = true,
		.size_limit = collection->config.size_limit,
		.log = collection->log,
	};
	const char *directory = collection->config.database;
	int owner, err;

	guard_enter(&collection->guard);
	err = profile_open(directory, &options, &collection->profile);
	if (err == -DCPI_EDAMAGED) {
		err = healing_set_aside(directory, NULL, collection->log);
		if (!err)
			err = profile_open(directory, &options, &collection->profile);
	}
	guard_leave(&collection->guard);
	if (err == -EAGAIN) {
		snprintf(why, size, "%s: the database is damaged again; wait a minute before the next try", directory);
		return err;
	}
	if (err == -DCPI_ERUNNING) {
		owner = profile_owner(directory);
		if (owner > 0)
			snprintf(why, size, "%s: %s (process %d)", directory, error_text(err), owner);
		else
			snprintf(why, size, "%s: %s", directory, error_text(err));
		return err;
	}
	if (err && advice_on(err))
		snprintf(why, size, "%s: cannot open the profile database: %s (%s)", directory, error_text(err),
		         advice_on(err));
	else if (err)
		collection_say(why, size, directory, "open the profile database", err);
	return err;
}

void
collection_end_totals(struct collection *collection)
{
	lifetime_add(&collection->lifetime, &collection->epoch, collection->totals.events);
	collection->lifetime.epochs++;
	collection->past_sideband_lost += collection->totals.sideband_lost;
	collection->past_skipped += collection->totals.skipped;
	memset(&collection->totals, 0, sizeof(collection->totals));
	memset(&collection->overhead, 0, sizeof(collection->overhead));
}

/* The limit that rates were chosen from; 0 when the configuration gave them all. */
static uint32_t
overhead_limit(const struct collection *collection, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].available && events[i].chosen)
			return (uint32_t)collection->config.overhead_limit_ppm;
	return 0;
}

/*
 * Begin an epoch of the sampler's events; the old one, if any, has been written whole. `continues`: it is that one with
 * other rates.
 */
int
collection_start_epoch(struct collection *collection, const char *label, bool continues, char *why, size_t size)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	size_t count;
	const struct event *events = sampler_events(collection->sampler, &count);
	int err;

	if (!epoch)
		return collection_say(why, size, collection->config.database, "begin an epoch", -ENOMEM);
	machine_describe("/proc", epoch);
	snprintf(epoch->label, sizeof(epoch->label), "%s", label);
	epoch->cpu_count = (uint32_t)sampler_cpu_count(collection->sampler);
	epoch->overhead_limit_ppm = overhead_limit(collection, events, count);
	epoch->event_count = count;
	memcpy(epoch->events, events, count * sizeof(*events));
	epoch->start_ns = machine_clock_ns(CLOCK_REALTIME);
	epoch->end_ns = epoch->start_ns;
	epoch->continues = continues;
	err = lifetime_reserve(&collection->lifetime, epoch);
	if (!err)
		err = flusher_begin_epoch(collection->flusher, epoch);
	if (err && err != -EINPROGRESS) {
		free(epoch);
		return collection_say(why, size, collection->config.database, "begin an epoch", err);
	}
	collection_end_totals(collection);
	collection->is_late = err == -EINPROGRESS;
	collection->epoch = *epoch;
	collection->slice_id = 0;
	collection->slice_ends = false;
	collection->totals.event_count = epoch->event_count;
	free(epoch);
	if (!collection->is_late)
		announce_epoch(collection->log, collection->config.database, &collection->epoch);
	return 0;
}

void
collection_close_writer(struct collection *collection)
{
	collection_end_names(collection);
	flusher_free(collection->flusher);
	collection->flusher = NULL;
	code_namer_free(collection->namer);
	collection->namer = NULL;
	capturer_free(collection->capturer);
	collection->capturer = NULL;
	file_ids_free(collection->files);
	collection->files = NULL;
	tally_free(collection->spare);
	collection->spare = NULL;
	flush_job_fini(&collection->kept);
	profile_close(collection->profile);
	collection->profile = NULL;
}

void
collection_retain(struct collection *collection)
{
	struct retention_options options;

	retainer_options(collection->config.max_age_ns, collection->config.size_limit, &options);
	flusher_retain(collection->flusher, &options);
}

int
collection_start(struct collection *collection, const char *label, char *why, size_t size)
{
	int err;

	collection->spare = tally_new(collection->config.tally_limit);
	if (!collection->spare)
		return collection_say(why, size, "tally", "be made", -errno);
	collection->flusher = flusher_new(collection->profile, &collection->guard, collection->log);
	if (!collection->flusher)
		return collection_say(why, size, "flusher", "be started", -errno);
	collection->files = file_ids_new(collection->log);
	if (!collection->files)
		return collection_say(why, size, "build-ids", "be read", -errno);
	flusher_give_files(collection->flusher, collection->files);
	collection_begin_names(collection);
	flusher_give_symbols(collection->flusher, sampler_take_symbols(collection->sampler));
	collection_begin_capture(collection);
	collection_retain(collection);
	err = collection_start_epoch(collection, label, false, why, size);
	if (err)
		return err;
	announce_events(collection->log, &collection->epoch);
	announce_overhead(collection->log, &collection->epoch, collection->config.overhead_limit_ppm);
	collection_mark(collection);
	collection->start_cpu_ns = collection->cpu_time_ns - collection->opened_cpu_ns;
	collection->start_taken_ns = 0;
	collection_update_stats(collection);
	collection_look_aside(collection);
	err = sampler_enable(collection->sampler);
	return err ? collection_say(why, size, "perf events", "be enabled", err) : 0;
}

static void
init_guard(struct collection *collection)
{
	collection->guard = (struct guard){
		.subject = escape_text(collection->config.database, collection->shown, sizeof(collection->shown)),
		.claim = "the database is damaged",
		.advice = DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
		.begins_anew = true,
	};
}

/* The database is read here: damage of it begins dcpid anew, as when it is opened. */
static uint64_t
known_text_size(void *context, const struct image *image)
{
	struct collection *collection = context;
	uint64_t size;

	guard_enter(&collection->guard);
	size = kernel_names_text_size(collection->profile, image);
	guard_leave(&collection->guard);
	return size;
}

int
collection_open(const struct config *config, const struct log *log, struct collection **made, char *why, size_t size)
{
	struct collection *collection = calloc(1, sizeof(*collection));
	int err;

	*made = NULL;
	if (!collection)
		return collection_say(why, size, config->database, "collect", -ENOMEM);
	collection->config = *config;
	collection->log = log;
	collection->tables_limit = COLLECTION_TABLES_LIMIT;
	collection->opened_cpu_ns = machine_cpu_time_ns();
	init_guard(collection);
	collection->watch = machine_watch_new("/sys", "/proc"); /* first: what changes from here on is told */
	if (!collection->watch) {
		free(collection);
		return collection_say(why, size, config->database, "collect", -ENOMEM);
	}
	collection->notes = code_notes_new("/proc", log);
	if (!collection->notes) {
		err = -errno;
		machine_watch_free(collection->watch);
		free(collection);
		return collection_say(why, size, "code made at run time", "be looked for", err);
	}
	err = collection_open_profile(collection, why, size);
	if (!err) {
		const struct kernel_known known = {known_text_size, collection};

		err = sampler_open(config, &known, log, &collection->sampler, why, size);
	}
	if (err) {
		collection_close(collection);
		return err;
	}
	*made = collection;
	return 0;
}

void
collection_close(struct collection *collection)
{
	if (!collection)
		return;
	collection_close_writer(collection);
	sampler_close(collection->sampler);
	code_notes_free(collection->notes);
	lifetime_fini(&collection->lifetime);
	machine_watch_free(collection->watch);
	free(collection);
}

void
collection_stop(struct collection *collection)
{
	int err = sampler_disable(collection->sampler);

	if (err)
		log_write(collection->log, LOG_LEVEL_WARNING, "cannot stop counting: %s", error_text(err));
}

int
collection_finish_epoch(struct collection *collection, char *why, size_t size)
{
	int err;

	if (collection->is_compacting) {
		snprintf(why, size, "the database is being compacted; try again when that is done");
		return -EBUSY;
	}
	err = collection_commit(collection, PATIENCE_NS);
	if (err)
		snprintf(why, size, "the counts of the old epoch cannot be written: %s", error_text(err));
	return err;
}

int
collection_begin_epoch(struct collection *collection, const char *label, char *why, size_t size)
{
	int err = collection_finish_epoch(collection, why, size);

	if (err)
		return err;
	return collection_start_epoch(collection, label, false, why, size);
}

struct sampler *
collection_sampler(struct collection *collection)
{
	return collection->sampler;
}

struct flusher *
collection_flusher(struct collection *collection)
{
	return collection->flusher;
}
