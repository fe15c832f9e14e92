#include "collectord/collection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "collectord/capture_child.h"
#include "collectord/collection_internal.h"
#include "collectord/damage_restart.h"
#include "collectord/flush_retention.h"
#include "collectord/machine.h"
#include "collectord/status.h"
#include "process/kernel_map.h"
#include "profile/kernel_names.h"

#define UNWIND_TABLES_LIMIT ((size_t)16 << 20)    /* bytes of memory */
#define STACKS_LIMIT        ((size_t)4 << 20)     /* bytes of a session's stacks */
#define SHARE_MAX           4                     /* of the database */
#define LAST_NS             UINT64_C(2000000000)  /* at the end, for images whose file may soon be gone */
#define LAST_READ_NS        UINT64_C(5000000000)  /* for names of code made at run time, at the end */
#define PACKAGES_WAIT_NS    UINT64_C(60000000000) /* from the start, for images of packages */
#define CLOCK_STEP_NS       UINT64_C(1000000000)  /* clocks that differ by more were set */
#define FLUSH_KEPT_NS       UINT64_C(10000000000) /* intervals below it are kept, whether there is anything new or not */
#define FLUSH_REST_NS       UINT64_C(60000000000) /* between two flushes while there is nothing new */
#define WAIT_STEP_NS        UINT64_C(100000000)   /* in which the smallest rings do not fill up */
#define PLAN_DELAY_NS       UINT64_C(5000000000)  /* changes come in swarms */
#define PLAN_INTERVAL_NS    UINT64_C(60000000000) /* measuring takes its time */
#define DAMAGE_ADVICE       "what was sampled since the last flush is lost, and dcpid executes itself anew"
#define RAISE_OPEN_FILES    "raise the limit of open files: ulimit -n, or LimitNOFILE= of the service"

int
collection_explain(char *why, size_t size, const char *subject, const char *action, int err)
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
		err = damage_restart_set_aside(directory, NULL, collection->log);
		if (!err)
			err = profile_open(directory, &options, &collection->profile);
	}
	guard_leave(&collection->guard);
	switch (err) {
	case 0:
		return 0;
	case -EAGAIN:
		snprintf(why, size, "%s: the database is damaged again; wait a minute before the next try", directory);
		return err;
	case -DCPI_ERUNNING:
		owner = profile_owner(directory);
		if (owner > 0)
			snprintf(why, size, "%s: %s (process %d)", directory, error_text(err), owner);
		else
			snprintf(why, size, "%s: %s", directory, error_text(err));
		return err;
	case -EACCES:
	case -EPERM:
	case -EROFS:
		snprintf(why, size,
		         "%s: cannot open the profile database: %s (be root, or name a directory of your own with "
		         "--db)",
		         directory, error_text(err));
		return err;
	default:
		return collection_explain(why, size, directory, "open the profile database", err);
	}
}

/* The guard makes dcpid execute itself anew when reading meets damage. */
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
	const struct kernel_known known = {known_text_size, collection};
	int err;

	*made = NULL;
	if (!collection)
		return collection_explain(why, size, config->database, "collect", -ENOMEM);
	collection->config = *config;
	collection->log = log;
	collection->tables_limit = COLLECTION_TABLES_LIMIT;
	collection->opened_cpu_ns = machine_cpu_time_ns();
	collection->guard = (struct guard){
		.subject = escape_text(config->database, collection->shown, sizeof(collection->shown)),
		.claim = "the database is damaged",
		.advice = DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
		.begins_anew = true,
	};
	collection->watch = machine_watch_new("/sys", "/proc"); /* first: it reports all changes from here on */
	if (!collection->watch) {
		err = collection_explain(why, size, config->database, "collect", -ENOMEM);
		goto failed;
	}
	collection->jit_files = jit_files_new("/proc", log);
	if (!collection->jit_files) {
		err = collection_explain(why, size, "code made at run time", "be looked for", -errno);
		goto failed;
	}
	err = collection_open_profile(collection, why, size);
	if (err)
		goto failed;
	err = sampler_open(config, &known, log, &collection->sampler, why, size);
	if (err)
		goto failed;
	*made = collection;
	return 0;

failed:
	collection_close(collection);
	return err;
}

/* ---- names: build-ids of files, and code that processes make at run time ---- */

/* The sampler finds processes that make code at run time, and jit_files finds those whose code has changed. */
static void
sync_jit(struct collection *collection)
{
	struct attribution *attribution = sampler_attribution(collection->sampler);
	struct jit_process maker;
	uint64_t generation;
	uint32_t pid;

	while (jit_files_take_renewal(collection->jit_files, &pid, &generation))
		attribution_reset_jit(attribution, pid, generation);
	while (attribution_take_jit_process(attribution, &maker))
		jit_files_add(collection->jit_files, &maker);
}

/* Have build-ids of sampled files read, and give files that were written to a new content. */
static void
sync_files(struct collection *collection)
{
	struct attribution *attribution = sampler_attribution(collection->sampler);
	struct sampled_file file;
	struct image changed;
	uint32_t content;

	if (!collection->files)
		return;
	while (file_ids_take_change(collection->files, &changed, &content))
		(void)attribution_change_file(attribution, &changed,
		                              content); /* without memory: counted as the old one */
	while (attribution_take_file(attribution, &file))
		file_ids_ask(collection->files, &file);
}

/* ---- names and text of images, and names of code made at run time: capturer.h and code_namer.h ---- */

/* Bytes of the database that names and text may take, in all; 0: there are none. */
static uint64_t
capture_limit(const struct config *config)
{
	const uint64_t most = config->size_limit / SHARE_MAX;

	return config->capture_limit < most ? config->capture_limit : most;
}

/* Names are only there after a flush: the flusher has been made by then. */
static void
store_names(void *context)
{
	const struct collection *collection = context;

	flusher_call_store(collection->flusher);
}

/* Have unwind tables made, if stacks are sampled. */
static void
begin_unwind_tables(struct collection *collection)
{
	const struct config *config = &collection->config;
	const struct unwind_tables_options options = {
		.thread = collection->capture_thread,
		.files = collection->files,
		.memory_limit = UNWIND_TABLES_LIMIT,
		.capture_limit = capture_limit(config),
		.overhead_limit_ppm = config->overhead_limit_ppm,
		.cpu_count = sampler_cpu_count(collection->sampler),
		.ready = store_names,
		.context = collection,
		.log = collection->log,
	};

	if (!sampler_stacks(collection->sampler) || !config->stacks.user)
		return;
	collection->unwind_tables = unwind_tables_new(&options);
	if (!collection->unwind_tables)
		log_write(collection->log, LOG_LEVEL_WARNING, "call stacks end at their first frame in a program: %s",
		          error_text(-errno));
	sampler_use_tables(collection->sampler, collection->unwind_tables);
}

/* Have names and text of images captured, and code that is made at run time named, if the configuration wants it and it
 * can be done: else log why not. */
static void
begin_capture(struct collection *collection)
{
	const struct config *config = &collection->config;
	struct code_namer_options code = {
		.files = collection->jit_files,
		.limit = capture_limit(config),
		.ready = store_names,
		.context = collection,
		.log = collection->log,
	};
	struct capturer_options images = {
		.limit = capture_limit(config),
		.overhead_limit_ppm = config->overhead_limit_ppm,
		.cpu_count = sampler_cpu_count(collection->sampler),
		.packages_wait_ns = PACKAGES_WAIT_NS,
		.files = collection->files,
		.log = collection->log,
	};
	int err;

	if (images.limit == 0 && !sampler_stacks(collection->sampler))
		return;
	err = capture_child_find(collection->capture_program);
	if (err)
		goto fail;
	collection->capture_thread = capture_thread_new(collection->capture_program);
	if (!collection->capture_thread) {
		err = -errno;
		goto fail;
	}
	begin_unwind_tables(collection);
	if (images.limit == 0)
		return;
	code.thread = images.thread = collection->capture_thread;
	collection->namer = code_namer_new(&code);
	if (!collection->namer)
		log_write(collection->log, LOG_LEVEL_WARNING, "code made at run time stays without names: %s",
		          error_text(-errno));
	collection->capturer = capturer_new(&images);
	if (collection->capturer)
		return;
	err = -errno;
fail:
	log_write(collection->log, LOG_LEVEL_WARNING, "%s: names and text of programs cannot be captured: %s",
	          collection->capture_program, error_text(err));
}

/* Give the capturer the images that have samples by now. */
static void
update_capture(struct collection *collection)
{
	if (collection->capturer)
		capturer_track_images(collection->capturer, sampler_images(collection->sampler),
		                      sampler_attribution(collection->sampler));
}

static int
store_last(struct profile *profile, void *context)
{
	code_namer_store(context, profile);
	return 0;
}

/* End the thread that captures, after it has read and stored the last names of code that was made at run time. */
static void
end_capture(struct collection *collection)
{
	struct code_namer *namer = collection->namer;

	if (namer)
		code_namer_drain(namer, LAST_READ_NS);
	if (collection->capture_thread)
		capture_thread_stop(collection->capture_thread);
	if (namer && code_namer_has_results(namer))
		(void)flusher_call(collection->flusher, store_last, namer);
}

/* Free what captures; after the flusher, which has hooks of it. */
static void
free_capture(struct collection *collection)
{
	capture_thread_free(collection->capture_thread);
	code_namer_free(collection->namer);
	capturer_free(collection->capturer);
	if (collection->sampler)
		sampler_use_tables(collection->sampler, NULL);
	unwind_tables_free(collection->unwind_tables);
	collection->unwind_tables = NULL;
	collection->namer = NULL;
	collection->capturer = NULL;
	collection->capture_thread = NULL;
}

/* ---- life ---- */

static int
read_stats(struct profile *profile, void *context)
{
	return profile_stats(profile, context);
}

void
collection_update_stats(struct collection *collection)
{
	struct profile_stats stats;

	if (flusher_call(collection->flusher, read_stats, &stats) == 0)
		collection->profile_stats = stats;
}

static void
find_quarantined(struct collection *collection)
{
	if (profile_find_quarantined(collection->config.database, &collection->aside) <= 0)
		memset(&collection->aside, 0, sizeof(collection->aside));
}

/* Processor time of dcpid and of what it started. */
static uint64_t
cpu_time_of_all(const struct collection *collection)
{
	uint64_t cpu_ns = machine_cpu_time_ns();

	if (collection->files)
		cpu_ns += file_ids_cpu_ns(collection->files);
	if (collection->jit_files)
		cpu_ns += jit_files_cpu_ns(collection->jit_files);
	if (collection->sampler)
		cpu_ns += proc_reader_cpu_ns(sampler_reader(collection->sampler));
	return cpu_ns;
}

/* If CLOCK_REALTIME cannot be read, add the monotonic time that passed: a slice of 1970 would be dropped for its age.
 */
static void
mark_job_end(struct collection *collection)
{
	const uint64_t time_ns = machine_clock_ns(CLOCK_REALTIME), now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const uint64_t cpu_time_ns = cpu_time_of_all(collection), before_ns = collection->taken_monotonic_ns;

	if (now_ns > before_ns)
		collection->taken_monotonic_ns = now_ns;
	collection->taken_ns = time_ns ? time_ns : collection->taken_ns + collection->taken_monotonic_ns - before_ns;
	if (cpu_time_ns > collection->cpu_time_ns)
		collection->cpu_time_ns = cpu_time_ns;
}

void
collection_retain(struct collection *collection)
{
	struct retention_options options;

	flush_retention_options(collection->config.max_age_ns, collection->config.size_limit, &options);
	flusher_set_retention(collection->flusher, &options);
}

static int
start_flusher(struct collection *collection)
{
	struct flush_hook hooks[FLUSHER_HOOKS_MAX];
	struct flusher_options options = {
		.profile = collection->profile,
		.guard = &collection->guard,
		.files = collection->files,
		.symbols = attribution_take_symbols(sampler_attribution(collection->sampler)),
		.hooks = hooks,
		.log = collection->log,
	};

	hooks[options.hook_count++] = jit_files_hook(collection->jit_files, collection->namer != NULL);
	if (collection->namer)
		hooks[options.hook_count++] = code_namer_hook(collection->namer);
	if (collection->capturer)
		hooks[options.hook_count++] = capturer_hook(collection->capturer);
	if (collection->unwind_tables)
		hooks[options.hook_count++] = unwind_tables_hook(collection->unwind_tables);
	collection->flusher = flusher_new(&options);
	return collection->flusher ? 0 : -errno;
}

int
collection_start(struct collection *collection, const char *label, char *why, size_t size)
{
	int err;

	collection->spare = tally_new(collection->config.tally_limit);
	if (!collection->spare)
		return collection_explain(why, size, "tally", "be made", -errno);
	collection->files = file_ids_new(collection->log);
	if (!collection->files)
		return collection_explain(why, size, "build-ids", "be read", -errno);
	begin_capture(collection);
	err = start_flusher(collection);
	if (err)
		return collection_explain(why, size, "flusher", "be started", err);
	collection_retain(collection);
	err = collection_start_epoch(collection, label, false, why, size);
	if (err)
		return err;
	collection_announce_events(collection->log, &collection->epoch);
	collection_announce_overhead(collection->log, &collection->epoch, collection->config.overhead_limit_ppm);
	mark_job_end(collection);
	collection->start_cpu_ns = collection->cpu_time_ns - collection->opened_cpu_ns;
	collection->start_taken_ns = 0;
	collection_update_stats(collection);
	find_quarantined(collection);
	err = sampler_enable(collection->sampler);
	return err ? collection_explain(why, size, "perf events", "be enabled", err) : 0;
}

void
collection_close_writer(struct collection *collection)
{
	end_capture(collection);
	flusher_free(collection->flusher);
	collection->flusher = NULL;
	free_capture(collection);
	file_ids_free(collection->files);
	collection->files = NULL;
	tally_free(collection->spare);
	collection->spare = NULL;
	flush_job_fini(&collection->kept);
	profile_close(collection->profile);
	collection->profile = NULL;
}

void
collection_close(struct collection *collection)
{
	if (!collection)
		return;
	collection_close_writer(collection);
	sampler_close(collection->sampler);
	jit_files_free(collection->jit_files);
	collection_past_fini(&collection->past_totals);
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

/* ---- jobs: what was counted since the last one ---- */

/* The part of `used_ns`, used since the last job, that was for the start: the kernel's names, captures in advance. */
static uint64_t
start_time_since(const struct collection *collection, uint64_t used_ns)
{
	uint64_t start_ns = collection->flusher ? flusher_start_cpu_ns(collection->flusher) : 0;

	if (collection->capturer)
		start_ns += capturer_start_cpu_ns(collection->capturer);
	if (collection->unwind_tables)
		start_ns += unwind_tables_start_cpu_ns(collection->unwind_tables);
	if (start_ns < collection->start_taken_ns) /* of a flusher and capturer before these */
		return 0;
	start_ns -= collection->start_taken_ns;
	return start_ns < used_ns ? start_ns : used_ns;
}

/*
 * Give the job's slice its times and its share of dcpid's cost, without that of the start, which is the epoch's. When
 * CLOCK_REALTIME leapt - it was set, or the machine slept - the job's counts belong to the time before the leap: the
 * slice ends there by the old time, and another begins.
 */
static void
date_slice(struct collection *collection, struct flush_job *job)
{
	struct slice *slice = &job->slice;
	const uint64_t taken_ns = collection->taken_ns;
	const uint64_t begin_ns = collection->taken_monotonic_ns;
	const uint64_t cpu_time_ns = collection->cpu_time_ns;
	uint64_t length_ns, used_ns, start_ns;
	int64_t step_ns;
	bool is_leap;

	mark_job_end(collection);
	length_ns = collection->taken_monotonic_ns - begin_ns;
	step_ns = (int64_t)(collection->taken_ns - taken_ns - length_ns);
	is_leap = step_ns > (int64_t)CLOCK_STEP_NS || step_ns < -(int64_t)CLOCK_STEP_NS;
	slice->start_ns = taken_ns;
	slice->end_ns = is_leap ? taken_ns + length_ns : collection->taken_ns;
	if (slice->end_ns < slice->start_ns)
		slice->end_ns = slice->start_ns;
	/* counts that were kept for long, because they could not be written, begin a slice of their own */
	if (length_ns >= collection->config.slice_ns)
		collection->slice_ends = true;
	used_ns = collection->cpu_time_ns - cpu_time_ns;
	start_ns = start_time_since(collection, used_ns);
	collection->start_taken_ns += start_ns;
	slice->daemon_cpu_ns = used_ns - start_ns;
	job->start_cpu_ns = collection->start_cpu_ns + start_ns;
	collection->start_cpu_ns = 0;
	collection->overhead.daemon_ns += slice->daemon_cpu_ns;
	collection->overhead.start_ns += job->start_cpu_ns;
	collection->overhead.cpu_ns += overhead_cpu_ns(collection->epoch.events, slice->events, slice->event_count,
	                                               length_ns, collection->epoch.cpu_count);
	for (size_t i = 0; i < slice->event_count; i++)
		overhead_add(&collection->overhead, collection->epoch.events, slice->events, slice->event_count, i);
	slice->epoch = collection->epoch.id;
	if (collection->slice_ends || collection->slice_id == 0) {
		collection->slice_id = 0;
		collection->slice_begin_ns = begin_ns;
	}
	slice->id = collection->slice_id;
	collection->slice_ends =
		is_leap || collection->taken_monotonic_ns - collection->slice_begin_ns >= collection->config.slice_ns;
}

static void
add_totals(struct collection *collection, const struct slice *slice)
{
	struct collection_totals *totals = &collection->totals;

	totals->event_count = slice->event_count;
	totals->sideband_lost += slice->sideband_lost;
	totals->skipped += slice->skipped;
	for (size_t i = 0; i < slice->event_count; i++) {
		const struct slice_event *more = &slice->events[i];

		slice_event_add(&totals->events[i], more);
		if (event_is_sum(&collection->epoch.events[i]))
			continue;
		collection->samples += more->samples;
		collection->lost += more->lost;
		collection->dropped += more->dropped;
		collection->kept_samples += more->samples;
		for (size_t cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			collection->unknown += more->unknown[cause];
	}
}

/*
 * A machine on which new programs appear all the time would make the tables of images and contexts grow for ever. What
 * is written under the old numbers stays; a new session costs the flusher a lookup in the database for each image that
 * is sampled again.
 */
static bool
session_is_long(const struct collection *collection)
{
	const struct sampler *sampler = collection->sampler;
	const struct stack_table *stacks = sampler_stacks(sampler);

	if (stacks && stack_table_bytes(stacks) > STACKS_LIMIT)
		return true;
	return image_table_bytes(sampler_images(sampler)) + context_table_bytes(sampler_contexts(sampler)) >
	       collection->tables_limit;
}

/* Move what was counted to `kept`; there must be a spare tally. */
static void
take_job(struct collection *collection)
{
	struct flush_job *job = &collection->kept;
	const bool is_long = session_is_long(collection);

	memset(job, 0, sizeof(*job));
	if (is_long)
		sampler_settle_stacks(collection->sampler);
	job->tally = sampler_take(collection->sampler, collection->spare, &job->slice);
	collection->spare = NULL;
	collection->kept_samples = 0;
	if (is_long && sampler_reset_ids(collection->sampler, &job->images, &job->contexts, &job->stacks) == 0)
		collection->sessions++;
	date_slice(collection, job);
	sampler_take_label_times(collection->sampler, job->slice.end_ns - collection->taken_monotonic_ns, &job->times);
	add_totals(collection, &job->slice);
}

static int
submit_kept(struct collection *collection)
{
	int err;

	sync_jit(collection);
	err = flusher_submit(collection->flusher, &collection->kept, sampler_images(collection->sampler),
	                     sampler_contexts(collection->sampler), sampler_stacks(collection->sampler));
	if (err)
		return err;
	memset(&collection->kept, 0, sizeof(collection->kept));
	collection->submitted++;
	collection->job_monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

bool
collection_is_busy(const struct collection *collection)
{
	return collection->submitted != collection->committed;
}

/* Log an error when it changes, not at each try: a full disk is full for long. */
static void
note_flush_error(struct collection *collection, int error)
{
	struct collection_view view;
	char reason[STATUS_SENTENCE_SIZE / 2];

	if (error == collection->flush_error)
		return;
	collection_view(collection, &view);
	if (error && !collection->flush_error) {
		collection->trouble_since_ns = machine_clock_ns(CLOCK_REALTIME);
		collection->trouble_dropped = view.dropped;
	}
	status_explain_error(collection->config.database, error, reason, sizeof(reason));
	if (error)
		log_write(collection->log, LOG_LEVEL_ERROR,
		          "%s: cannot write to the database: %s; counts are kept in memory and tried again",
		          collection->config.database, reason);
	else
		log_write(collection->log, LOG_LEVEL_NOTICE,
		          "%s: the database can be written to again; %" PRIu64 " samples were dropped meanwhile",
		          collection->config.database, view.trouble_dropped);
	if (!error)
		collection->trouble_since_ns = 0;
	collection->flush_error = error;
}

static void
subtract(struct slice_event *event, const struct slice_event *less)
{
	event->samples -= less->samples;
	event->lost -= less->lost;
	event->throttled -= less->throttled;
	event->dropped -= less->dropped;
	event->enabled_ns -= less->enabled_ns;
	event->running_ns -= less->running_ns;
	for (size_t cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		event->unknown[cause] -= less->unknown[cause];
}

/*
 * The database that holds the rest of the epoch was deleted or replaced, and this job began the epoch again in the one
 * at its place: its totals begin with this job.
 */
static void
restart_epoch(struct collection *collection, const struct slice *slice)
{
	struct collection_totals *totals = &collection->totals;
	struct collection_totals job = {
		.event_count = totals->event_count, .sideband_lost = slice->sideband_lost, .skipped = slice->skipped};

	memcpy(job.events, slice->events, sizeof(job.events));
	totals->sideband_lost -= job.sideband_lost;
	totals->skipped -= job.skipped;
	for (size_t i = 0; i < job.event_count; i++)
		subtract(&totals->events[i], &job.events[i]);
	collection_end_totals(collection);
	*totals = job;
	collection->epoch.id = slice->epoch;
	collection->epoch.start_ns = slice->start_ns;
	collection_announce_epoch(collection->log, collection->config.database, &collection->epoch);
}

bool
collection_take_result(struct collection *collection)
{
	struct flush_result result;

	if (!flusher_result(collection->flusher, &result))
		return false;
	collection->flush_tries++;
	collection->flush_duration_ns = result.duration_ns;
	note_flush_error(collection, result.error);
	if (!result.done)
		return true;
	collection->committed++;
	if (result.moved && collection->is_late) { /* the disk had not answered when the epoch was to begin */
		collection->is_late = false;
		collection->epoch.id = result.job.slice.epoch;
		collection_announce_epoch(collection->log, collection->config.database, &collection->epoch);
	} else if (result.moved) {
		restart_epoch(collection, &result.job.slice);
	}
	collection->spare = result.job.tally;
	collection->slice_id = result.job.slice.id;
	collection->slice_newest = result.job.slice.id;
	collection->flush_entries = result.entries;
	collection->unidentified = result.unidentified;
	collection->flush_time_ns = machine_clock_ns(CLOCK_REALTIME);
	if (result.stats.file_bytes) /* else keep those of the flush before */
		collection->profile_stats = result.stats;
	find_quarantined(collection);
	return true;
}

int
collection_flush(struct collection *collection)
{
	collection_take_result(collection);
	if (collection_is_busy(collection))
		return -EBUSY;
	if (!collection->kept.tally)
		take_job(collection);
	return submit_kept(collection);
}

/* When the slice begins that the next job is added to, CLOCK_MONOTONIC. */
static uint64_t
next_slice_begin_ns(const struct collection *collection)
{
	return collection->slice_ends || collection->slice_id == 0 ? collection->taken_monotonic_ns
	                                                           : collection->slice_begin_ns;
}

bool
collection_flush_is_due(const struct collection *collection)
{
	const struct config *config = &collection->config;
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	/* of two timers, the one that is nearer to the end of the rest, or of the slice, is taken */
	const uint64_t near_ns = now_ns + config->flush_interval_ns / 2;

	return config->flush_interval_ns < FLUSH_KEPT_NS || near_ns - collection->taken_monotonic_ns >= FLUSH_REST_NS ||
	       near_ns - next_slice_begin_ns(collection) >= config->slice_ns || collection->kept.tally ||
	       collection->flush_error || collection->budget_watch.over || collection->unidentified ||
	       (collection->capturer && capturer_expects_flush(collection->capturer)) ||
	       (collection->namer && code_namer_expects_flush(collection->namer));
}

/* ---- draining and committing ---- */

static void
note_stall(struct collection *collection, bool stalled)
{
	if (stalled && !collection->stalled)
		log_write(collection->log, LOG_LEVEL_WARNING,
		          "memory for counts is full and the database does not take them: samples that it has no "
		          "room for are dropped, and counted");
	collection->stalled = stalled;
}

/*
 * Drain with `drain`, handing full tallies over as long as the flusher takes them. 0, -ENOSPC: it does not; -errno.
 * After sampler_drain_all() has waited, the records that it was called for are old enough for sampler_drain().
 */
static int
drain_with(struct collection *collection, int (*drain)(struct sampler *sampler))
{
	int err = drain(collection->sampler);

	while (err == -ENOSPC && collection_flush(collection) == 0)
		err = sampler_drain(collection->sampler);
	sync_files(collection);
	note_stall(collection, err == -ENOSPC);
	return err;
}

int
collection_drain(struct collection *collection)
{
	struct tally *tally;
	int err;

	err = drain_with(collection, sampler_drain);
	if (err == -ENOSPC)
		err = sampler_drain_dropping(collection->sampler, collection->flush_error == 0);
	if (err && err != collection->drain_error)
		log_write(collection->log, LOG_LEVEL_ERROR, "cannot take samples from the kernel: %s", error_text(err));
	collection->drain_error = err;
	sync_jit(collection);
	update_capture(collection);
	tally = sampler_tally(collection->sampler);
	if (!err && (tally_size(tally) >= tally_limit(tally) / 4 * 3 || session_is_long(collection)))
		collection_flush(collection); /* while the flusher is busy, the tally has a quarter left */
	return err;
}

int
collection_request_commit(struct collection *collection, uint64_t *ticket)
{
	int err;

	err = drain_with(collection, sampler_drain_all);
	update_capture(collection);
	if (err)
		return err == -ENOSPC ? -EAGAIN : err;
	err = collection_flush(collection);
	if (err)
		return err == -EBUSY ? -EAGAIN : err;
	*ticket = collection->submitted;
	return 0;
}

int
collection_request_refresh(struct collection *collection, uint64_t *ticket)
{
	bool is_recent;

	*ticket = 0;
	collection_take_result(collection);
	if (collection->flush_error)
		return collection->flush_error;
	if (collection->is_compacting)
		return -EBUSY;
	is_recent = machine_clock_ns(CLOCK_MONOTONIC) - collection->taken_monotonic_ns <
	            collection->config.flush_interval_ns;
	if (collection_is_busy(collection)) {
		*ticket = collection->submitted;
		return is_recent ? 0 : -EBUSY;
	}
	return is_recent && !collection->kept.tally ? 0 : collection_request_commit(collection, ticket);
}

uint64_t
collection_committed(const struct collection *collection)
{
	return collection->committed;
}

void
collection_retry_now(struct collection *collection)
{
	collection_take_result(collection); /* a result from here on is of a new try */
	flusher_retry_now(collection->flusher);
}

/* Wait until all that was taken is written. 0; why a try failed; -ETIMEDOUT at `deadline_ns`. */
static int
wait_until_idle(struct collection *collection, uint64_t deadline_ns)
{
	int err = collection->kept.tally ? submit_kept(collection) : 0;

	if (err)
		return err;
	collection_retry_now(collection);
	while (collection_is_busy(collection)) {
		uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

		if (now_ns >= deadline_ns)
			return collection->flush_error ? collection->flush_error : -ETIMEDOUT;
		/* the kernel goes on sampling, and full rings lose records: wait in steps, and relieve the rings */
		flusher_wait(collection->flusher,
		             deadline_ns - now_ns < WAIT_STEP_NS ? deadline_ns - now_ns : WAIT_STEP_NS);
		(void)sampler_drain_dropping(collection->sampler, true);
		if (collection_take_result(collection) && collection->flush_error)
			return collection->flush_error;
	}
	return 0;
}

int
collection_commit(struct collection *collection, uint64_t patience_ns)
{
	const uint64_t deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + patience_ns;
	int (*drain)(struct sampler *) = sampler_drain_all;
	int err, wait_err;

	sampler_release_held(collection->sampler);
	do {
		err = drain_with(collection, drain);
		if (err && err != -ENOSPC)
			return err;
		drain = sampler_drain;
		/* a full tally may be with the flusher; the last one, with all the rest, goes after it */
		wait_err = wait_until_idle(collection, deadline_ns);
		if (wait_err)
			return wait_err;
	} while (err);
	do { /* a counter that could not be stopped fills rings, which are relieved while this waits */
		err = collection_flush(collection);
		if (!err)
			err = wait_until_idle(collection, deadline_ns);
	} while (!err && !sampler_is_enabled(collection->sampler) &&
	         tally_size(sampler_tally(collection->sampler)) > 0);
	return err;
}

void
collection_finish_capture(struct collection *collection)
{
	if (!collection->capturer)
		return;
	(void)drain_with(collection, sampler_drain_all);
	update_capture(collection);
	capturer_drain(collection->capturer, LAST_NS);
}

bool
collection_is_healthy(const struct collection *collection)
{
	return collection->drain_error == 0 && flusher_is_alive(collection->flusher);
}

/* ---- compacting ---- */

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
collection_abort_compaction(struct collection *collection)
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
	if (!collection_is_busy(collection)) /* else the next flush does it */
		collection_update_stats(collection);
	return true;
}

/* ---- changes of the machine ---- */

/* Have rates chosen again, after PLAN_DELAY_NS and not more often than every PLAN_INTERVAL_NS. */
static void
want_plan(struct collection *collection, const char *reason)
{
	uint64_t due_ns = machine_clock_ns(CLOCK_MONOTONIC) + PLAN_DELAY_NS;

	if (collection->plan_reason)
		return;
	if (collection->planned_ns && due_ns < collection->planned_ns + PLAN_INTERVAL_NS)
		due_ns = collection->planned_ns + PLAN_INTERVAL_NS;
	collection->plan_reason = reason;
	collection->plan_due_ns = due_ns;
}

static void
make_plan(struct collection *collection)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const char *reason = collection->plan_reason;
	char why[512];

	if (!reason || now_ns < collection->plan_due_ns || !collection_may_begin_epoch(collection))
		return;
	collection->plan_reason = NULL;
	collection->planned_ns = now_ns;
	if (collection_replan(collection, reason, why, sizeof(why)) == 0)
		return;
	log_write(collection->log, LOG_LEVEL_WARNING, "%s: %s", reason, why);
	want_plan(collection, reason); /* try again later */
}

/*
 * What lies in the rings was sampled before the leap, but for the last moments: the kernel reports a leap at once.
 * While the flusher is busy no job can be taken: then the next one ends the slice.
 */
static void
end_slice(struct collection *collection, unsigned changes)
{
	log_write(collection->log, LOG_LEVEL_NOTICE, "%s: a slice begins",
	          changes & MACHINE_CLOCK_SET ? "the clock was set" : "the machine slept");
	(void)drain_with(collection, sampler_drain_all);
	(void)collection_flush(collection);
}

/* How often the kernel throttled events whose rate was planned here: what it does to others, no plan can mend. */
static uint64_t
planned_throttled(const struct collection *collection)
{
	size_t count;
	const struct event *events = sampler_events(collection->sampler, &count);
	uint64_t throttled = 0;

	for (size_t i = 0; i < count && i < collection->totals.event_count; i++)
		if (events[i].chosen)
			throttled += collection->totals.events[i].throttled;
	return throttled;
}

bool
collection_poll_machine(struct collection *collection)
{
	const unsigned changes = machine_watch_poll(collection->watch);
	uint64_t throttled;

	if (changes & (MACHINE_CLOCK_SET | MACHINE_RESUMED))
		end_slice(collection, changes);
	if (changes & MACHINE_RESUMED)
		want_plan(collection, "the machine slept");
	if (changes & MACHINE_RATE_LIMIT) {
		log_write(collection->log, LOG_LEVEL_WARNING, "kernel.perf_event_max_sample_rate is now %" PRIu64,
		          machine_watch_rate_limit(collection->watch));
		want_plan(collection, "the kernel's limit of samples changed");
	}
	if (changes & MACHINE_CPUS)
		collection->cpus_changed = collection->cpus_changed || sampler_is_outdated(collection->sampler);
	if (sampler_retry_events(collection->sampler))
		collection->cpus_changed = true;
	throttled = planned_throttled(collection);
	if (throttled > collection->throttled)
		want_plan(collection, "the kernel throttled sampling");
	collection->throttled = throttled;
	make_plan(collection);
	return collection->cpus_changed;
}

int
collection_descriptor(const struct collection *collection)
{
	return machine_watch_descriptor(collection->watch);
}

int
collection_follow_cpus(struct collection *collection)
{
	const size_t count = sampler_cpu_count(collection->sampler);
	int err;

	(void)sampler_add_cpus(collection->sampler); /* an error shows in sampler_follow_cpus() */
	err = drain_with(collection, sampler_drain_all);
	if (err == -ENOSPC)
		return err;
	collection->cpus_changed = false;
	err = sampler_follow_cpus(collection->sampler);
	if (err)
		log_write(collection->log, LOG_LEVEL_WARNING, "cannot tell which CPUs are online: %s", error_text(err));
	else if (sampler_cpu_count(collection->sampler) != count)
		want_plan(collection, "the number of CPUs changed");
	return err;
}

/* ---- the view ---- */

/* What was counted and used since the last take; view->cpu_time_ns is filled in already. */
static void
view_add_overhead(const struct collection *collection, struct collection_view *view)
{
	const struct slice_event *counted = sampler_counted(collection->sampler);
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (view->cpu_time_ns > collection->cpu_time_ns) {
		const uint64_t used_ns = view->cpu_time_ns - collection->cpu_time_ns;
		const uint64_t start_ns = start_time_since(collection, used_ns);

		view->overhead.daemon_ns += used_ns - start_ns;
		view->overhead.start_ns += start_ns;
	}
	view->overhead.start_ns += collection->start_cpu_ns;
	view->overhead.cpu_ns += (now_ns - collection->taken_monotonic_ns) * view->cpu_count;
	for (size_t i = 0; i < collection->epoch.event_count; i++)
		overhead_add(&view->overhead, collection->epoch.events, counted, collection->epoch.event_count, i);
}

/* What is in the sampler, not yet taken, counts as well. */
static void
view_add_counted(const struct collection *collection, struct collection_view *view)
{
	const struct slice_event *counted = sampler_counted(collection->sampler);

	for (size_t i = 0; i < view->totals.event_count; i++) {
		struct slice_event *event = &view->totals.events[i];

		if (event_is_sum(&collection->epoch.events[i]))
			continue;
		event->samples += counted[i].samples;
		event->dropped += counted[i].dropped;
		view->samples += counted[i].samples;
		view->dropped += counted[i].dropped;
		view->kept += counted[i].samples;
		for (size_t cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
			event->unknown[cause] += counted[i].unknown[cause];
			view->unknown += counted[i].unknown[cause];
		}
	}
}

/* Ticks of timers that made no sample, as their CPU was idle. They cost as much as samples. */
static void
view_add_idle(const struct collection *collection, struct collection_view *view)
{
	const struct collection_totals *totals = &collection->totals;
	const uint64_t cpu_ns = collection->overhead.cpu_ns;

	view->idle_cpus = sampler_idle_cpu_count(collection->sampler);
	for (size_t i = 0; i < totals->event_count; i++)
		view->idle_ticks +=
			overhead_idle_ticks(collection->epoch.events, totals->events, totals->event_count, i);
	if (cpu_ns)
		view->idle_ticks_per_s = (double)view->idle_ticks * 1e9 * (double)view->cpu_count / (double)cpu_ns;
}

void
collection_view(const struct collection *collection, struct collection_view *view)
{
	struct tally *tally = sampler_tally(collection->sampler);

	*view = (struct collection_view){
		.config = &collection->config,
		.epoch = &collection->epoch,
		.totals = collection->totals,
		.samples = collection->samples,
		.unknown = collection->unknown,
		.lost = collection->lost,
		.overhead = collection->overhead,
		.past = &collection->past_totals,
		.sideband_lost = collection->past_sideband_lost + collection->totals.sideband_lost,
		.skipped = collection->past_skipped + collection->totals.skipped,
		.dropped = collection->dropped,
		.kept = collection_is_busy(collection) ? collection->kept_samples : 0,
		.cpu_count = sampler_cpu_count(collection->sampler),
		.slice = collection->slice_newest,
		.tally_size = tally_size(tally),
		.tally_limit = tally_limit(tally),
		.profile = collection->profile_stats,
		.flush_time_ns = collection->flush_time_ns,
		.flush_duration_ns = collection->flush_duration_ns,
		.flush_entries = collection->flush_entries,
		.flush_tries = collection->flush_tries,
		.flushes = collection->committed,
		.sessions = collection->sessions,
		.flush_error = collection->flush_error,
		.stalled = collection->stalled,
		.trouble_since_ns = collection->trouble_since_ns,
		.aside = collection->aside,
	};
	if (collection_is_busy(collection))
		view->flush_pending_ns = machine_clock_ns(CLOCK_MONOTONIC) - collection->job_monotonic_ns;
	sampler_cpu_list(collection->sampler, view->cpus, sizeof(view->cpus));
	view_add_idle(collection, view);
	view->captures = collection->capturer;
	view->unwinds = collection->unwind_tables;
	view->cpu_time_ns = cpu_time_of_all(collection);
	if (collection->files)
		file_ids_stats(collection->files, &view->files);
	if (collection->capturer)
		capturer_stats(collection->capturer, &view->capture);
	if (collection->unwind_tables)
		unwind_tables_stats(collection->unwind_tables, &view->unwind);
	view_add_counted(collection, view);
	view_add_overhead(collection, view);
	if (view->trouble_since_ns)
		view->trouble_dropped = view->dropped - collection->trouble_dropped;
	attribution_stats(sampler_attribution(collection->sampler), &view->attribution);
	proc_reader_stats(sampler_reader(collection->sampler), &view->reader);
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
