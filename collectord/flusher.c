#include "collectord/flusher.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "collectord/damage_restart.h"
#include "collectord/file_ids.h"
#include "collectord/flush_retention.h"
#include "collectord/machine.h"
#include "collectord/worker.h"
#include "process/image_table.h"
#include "profile/captured.h"
#include "profile/kernel_names.h"

#define RETRY_FIRST_S  1
#define RETRY_MAX_S    30
#define NEGLECT_NS     (60 * SECOND_NS)    /* a thread that does not begin with a job for so long is stuck */
#define FILES_WAIT_NS  (SECOND_NS / 10)    /* for build-ids of files that are being read */
#define FILE_PAGES_MAX (UINT64_C(8) << 20) /* resident bytes of files, the program's 4 MiB included */

/* A job with what the thread needs of it; filled by flusher_submit(), emptied when the job has been written. */
struct flusher_work {
	struct flush_job job;
	const struct tally_entry *entries; /* the tally's, sorted; NULL before the first try */
	size_t entry_count;
	uint32_t image_count, context_count, node_count; /* of the session, when the job was handed over */
	const struct image_table *images;                /* its table */
};

/* A call by flusher_post(). */
struct flusher_posted_call {
	int (*call)(struct profile *profile, void *context); /* NULL: none */
	void *context;
	int result;
	bool done; /* and flusher_posted() has not returned it yet */
};

struct flusher {
	struct profile *profile;
	struct guard *guard;
	const struct log *log;
	struct file_ids *files; /* NULL: none */
	struct flush_hook hooks[FLUSHER_HOOKS_MAX];
	size_t hook_count;
	int bell;

	/* the thread's */
	struct pending_kernel_names kernel_names;
	uint32_t *unidentified; /* images of files that were written before their build-id was known */
	size_t unidentified_count, unidentified_capacity;
	struct epoch *epoch; /* of the jobs, to begin it again in another database; NULL: none yet */
	bool epoch_missing;  /* it is not in the database yet */
	bool epoch_pending;  /* it was begun after flusher_begin_epoch() returned: its number is not known to the owner
	                      */
	bool has_moved;      /* the next result has its number */
	bool is_set_aside;   /* a damaged database was moved aside, and the log has that */
	int error;           /* of the last try */
	struct flush_retention retention;

	/* the loop's while no job is under way, the thread's otherwise */
	const struct image **images; /* all that the session has ever handed over */
	const struct context **contexts;
	struct stack_node *nodes; /* copies: those of a table move when it grows */
	uint32_t image_count, context_count, node_count;
	uint32_t images_written, contexts_written, nodes_written; /* those that the database has */

	struct worker_thread worker; /* its lock: everything below */
	bool ended;                  /* the thread has */
	bool wants_store;            /* flusher_call_store() was called */
	uint64_t start_cpu_ns;       /* see flusher_start_cpu_ns() */
	bool is_busy;                /* the thread is in the profile */
	bool has_work;
	bool has_result;
	struct flusher_work work; /* the thread's while has_work, the loop's otherwise */
	struct flush_result result;
	unsigned failures;
	uint64_t retry_at_ns; /* CLOCK_MONOTONIC; of a new job, when it was handed over */
	int (*call)(struct profile *profile, void *context);
	void *call_context;
	int call_result;
	bool is_called;                                                        /* the call is under way */
	void (*abandoned)(struct flusher *flusher, void *context, int result); /* its caller does not wait any more */
	struct flusher_posted_call posted;
	bool retains, has_new_retention; /* other options than before */
	struct retention_options retention_options;
};

/* ---- which database, which epoch; the thread's, in the profile ---- */

/* What the flusher knows of images ends with the session, or with the database. */
static void
forget_images(struct flusher *flusher)
{
	flusher->images_written = flusher->contexts_written = flusher->nodes_written = 0;
	flusher->unidentified_count = 0;
	kernel_names_free_pending(&flusher->kernel_names);
}

/* Have the database open that lies at its place. Another one has nothing of what the old one had. */
static int
find_database(struct flusher *flusher)
{
	/* after these errors another try on the open files can succeed; after others they are opened anew */
	const int err = flusher->error;
	const bool is_short = err == -DCPI_EFULL || err == -ENOSPC || err == -EDQUOT || err == -EFBIG || err == -ENOMEM;
	const int result = profile_recover(flusher->profile, err && !is_short);

	if (result <= 0)
		return result;
	if (!flusher->is_set_aside)
		log_write(flusher->log, LOG_LEVEL_ERROR,
		          "the database was deleted, moved away or replaced: what is sampled from now on, and what was "
		          "since the last flush, goes to the one that is in its place now");
	flusher->is_set_aside = false;
	forget_images(flusher);
	for (size_t i = 0; i < flusher->hook_count; i++)
		if (flusher->hooks[i].begin_database)
			flusher->hooks[i].begin_database(flusher->hooks[i].context);
	flusher->epoch_missing = true;
	return 0;
}

/* When `err` says that the database is damaged, move it aside, so that the next write makes another. True if so. */
static bool
move_damaged_aside(struct flusher *flusher, int err)
{
	if (err != -DCPI_EDAMAGED ||
	    damage_restart_set_aside(profile_path(flusher->profile), flusher->profile, flusher->log))
		return false;
	flusher->is_set_aside = true;
	return true;
}

/* Have the job's epoch in the database: in one that has not got it, it begins at the time of the job. */
static int
ensure_epoch(struct flusher *flusher, struct slice *slice)
{
	int err;

	if (!flusher->epoch_missing && !flusher->epoch_pending)
		return 0;
	if (flusher->epoch_missing) {
		if (!flusher->epoch || flusher->epoch->event_count == 0)
			return -ENOENT;
		flusher->epoch->start_ns = slice->start_ns;
		flusher->epoch->end_ns = slice->start_ns;
		err = profile_begin_epoch(flusher->profile, flusher->epoch);
		if (err)
			return err;
	}
	slice->epoch = flusher->epoch->id;
	slice->id = 0;
	flusher->epoch_missing = false;
	flusher->epoch_pending = false;
	flusher->has_moved = true;
	return 0;
}

/* ---- images as they are written ---- */

/* Images of a batch: files with their build-id, if it is known. */
struct identified_images {
	const struct image **images; /* all that the batch has */
	struct image *copies;
	enum file_state *states;
};

static void
identified_images_fini(struct identified_images *identified)
{
	free(identified->images);
	free(identified->copies);
	free(identified->states);
}

/* 0 or -ENOMEM. */
static int
identify_images(struct flusher *flusher, const struct image *const *images, uint32_t count,
                struct identified_images *identified)
{
	identified->images = calloc(count + 1, sizeof(*identified->images));
	identified->copies = calloc(count + 1, sizeof(*identified->copies));
	identified->states = calloc(count + 1, sizeof(*identified->states));
	if (!identified->images || !identified->copies || !identified->states) {
		identified_images_fini(identified);
		return -ENOMEM;
	}
	if (flusher->files && count > 0)
		file_ids_wait(flusher->files, FILES_WAIT_NS);
	for (uint32_t i = 0; i < count; i++) {
		struct image *copy = &identified->copies[i];

		identified->states[i] = FILE_HAS_NONE;
		identified->images[i] = images[i];
		if (!flusher->files)
			continue;
		*copy = *images[i];
		identified->states[i] = file_ids_complete(flusher->files, copy);
		/* a memory file without a program in it is written as memory */
		if (identified->states[i] != FILE_KNOWN && image_is_memory_file(copy)) {
			image_make_memory(copy);
			identified->states[i] = FILE_HAS_NONE;
		}
		identified->images[i] = copy;
	}
	return 0;
}

/* Images numbered from `first` were written: note those whose build-id may become known. Without memory they get none.
 */
static void
note_unidentified(struct flusher *flusher, const struct identified_images *identified, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *grown;

		if (identified->states[i] == FILE_KNOWN || identified->states[i] == FILE_HAS_NONE)
			continue;
		grown = array_grow(flusher->unidentified, &flusher->unidentified_capacity,
		                   flusher->unidentified_count + 1, sizeof(*grown));
		if (!grown)
			return;
		flusher->unidentified = grown;
		grown[flusher->unidentified_count++] = first + i;
	}
}

/* Give images that were written without build-id theirs, if it is known by now. */
static void
identify_late(struct flusher *flusher)
{
	size_t kept = 0;

	for (size_t i = 0; i < flusher->unidentified_count; i++) {
		const uint32_t number = flusher->unidentified[i];
		struct image image = *flusher->images[number];
		const enum file_state state = file_ids_complete(flusher->files, &image);

		if (state == FILE_HAS_NONE ||
		    (state == FILE_KNOWN && profile_identify_image(flusher->profile, number, &image) == 0))
			continue;
		flusher->unidentified[kept++] = number;
	}
	flusher->unidentified_count = kept;
}

/* Names of a kernel are stored once: with the symbols that were read at the start, the cost is charged to the start. */
static void
store_kernel_names(struct flusher *flusher, uint32_t first_image, uint32_t count)
{
	const bool at_start = flusher->kernel_names.symbols;
	const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	kernel_names_store_pending(&flusher->kernel_names, flusher->profile, flusher->images + first_image, first_image,
	                           count, flusher->log);
	if (!at_start)
		return;
	worker_lock(&flusher->worker);
	flusher->start_cpu_ns += machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	worker_unlock(&flusher->worker);
}

/* ---- writing a job ---- */

/* Events from this index on are sums of those before it, or call stacks: their counts are no samples of an image. */
static size_t
first_sum(const struct epoch *epoch)
{
	size_t index = 0;

	while (epoch && index < epoch->event_count && !event_is_stacks(&epoch->events[index]) &&
	       epoch_weighed_event(epoch, index) == epoch->event_count)
		index++;
	return epoch ? index : EVENTS_MAX;
}

static int
write_batch(struct flusher *flusher, struct flusher_work *work, const struct retention_options *retention)
{
	const uint32_t first_image = flusher->images_written, first_context = flusher->contexts_written;
	struct identified_images identified = {0};
	const struct flush flush = {
		.images = flusher->images,
		.first_image = first_image,
		.image_end = work->image_count,
		.table = work->images,
		.entries = work->entries,
		.entry_count = work->entry_count,
		.first_sum = first_sum(flusher->epoch),
	};
	struct profile_batch batch = {
		.entries = work->entries,
		.entry_count = work->entry_count,
		.first_image = first_image,
		.image_count = work->image_count - first_image,
		.first_context = first_context,
		.context_count = work->context_count - first_context,
		.contexts = flusher->contexts + first_context,
		.first_node = flusher->nodes_written + 1,
		.node_count = work->node_count - flusher->nodes_written,
		.nodes = flusher->nodes ? flusher->nodes + flusher->nodes_written : NULL,
		.slice = &work->job.slice,
		.start_cpu_ns = work->job.start_cpu_ns,
		.times = work->job.times.list,
		.time_count = work->job.times.count,
	};
	int err;

	for (size_t i = 0; i < flusher->hook_count; i++)
		if (flusher->hooks[i].before)
			flusher->hooks[i].before(flusher->hooks[i].context, &flush);
	err = identify_images(flusher, flusher->images + first_image, batch.image_count, &identified);
	if (err)
		return err;
	batch.images = identified.images;
	if (retention)
		err = flush_retention_write(flusher->profile, &batch, retention, flusher->log);
	else
		err = profile_flush(flusher->profile, &batch);
	if (!err && flusher->files) {
		identify_late(flusher);
		note_unidentified(flusher, &identified, first_image, batch.image_count);
	}
	identified_images_fini(&identified);
	if (err)
		return err;
	store_kernel_names(flusher, first_image, batch.image_count);
	for (size_t i = 0; i < flusher->hook_count; i++) {
		const struct flush_hook *hook = &flusher->hooks[i];

		if (hook->after)
			hook->after(hook->context, flusher->profile, &flush);
		if (hook->store)
			hook->store(hook->context, flusher->profile);
	}
	return 0;
}

/* One try. Old slices are dropped by `retention` (NULL: none are). */
static int
try_to_write(struct flusher *flusher, struct flusher_work *work, const struct retention_options *retention)
{
	int err = find_database(flusher);

	if (!err)
		err = ensure_epoch(flusher, &work->job.slice);
	return err ? err : write_batch(flusher, work, retention);
}

/* ---- the thread; with the lock held ---- */

static void
ring_bell(struct flusher *flusher)
{
	const uint64_t one = 1;

	(void)!write(flusher->bell, &one, sizeof(one)); /* at its limit, an eventfd is readable already */
}

/* Give the lock up, for the profile, which the guard protects. */
static void
enter_profile(struct flusher *flusher)
{
	flusher->is_busy = true;
	worker_unlock(&flusher->worker);
	if (flusher->guard)
		guard_enter(flusher->guard);
}

static void
leave_profile(struct flusher *flusher)
{
	if (flusher->guard)
		guard_leave(flusher->guard);
	worker_lock(&flusher->worker);
	flusher->is_busy = false;
}

static void
schedule_retry(struct flusher *flusher)
{
	unsigned delay_s = RETRY_FIRST_S;

	for (unsigned i = 0; i < flusher->failures && delay_s < RETRY_MAX_S; i++)
		delay_s = 2 * delay_s < RETRY_MAX_S ? 2 * delay_s : RETRY_MAX_S;
	flusher->failures++;
	flusher->retry_at_ns = machine_clock_ns(CLOCK_MONOTONIC) + delay_s * SECOND_NS;
}

void
flush_job_fini(struct flush_job *job)
{
	tally_free(job->tally);
	slice_fini(&job->slice);
	label_times_fini(&job->times);
	image_table_free(job->images);
	context_table_free(job->contexts);
	stack_table_free(job->stacks);
	memset(job, 0, sizeof(*job));
}

/* The last job of the session was written: nothing may point into its tables any more. */
static void
end_session(struct flusher *flusher, struct flush_job *job)
{
	profile_reset_session(flusher->profile);
	forget_images(flusher); /* they come again, as new ones */
	flusher->image_count = flusher->context_count = flusher->node_count = 0;
	free(flusher->nodes);
	flusher->nodes = NULL;
	for (size_t i = 0; i < flusher->hook_count; i++)
		if (flusher->hooks[i].end_session)
			flusher->hooks[i].end_session(flusher->hooks[i].context, job->images);
	image_table_free(job->images);
	context_table_free(job->contexts);
	stack_table_free(job->stacks);
	job->images = NULL;
	job->contexts = NULL;
	job->stacks = NULL;
	machine_trim_heap();
}

static void
finish_work(struct flusher *flusher, struct flusher_work *work)
{
	flusher->images_written = work->image_count;
	flusher->contexts_written = work->context_count;
	flusher->nodes_written = work->node_count;
	if (work->job.images)
		end_session(flusher, &work->job);
	flusher->failures = 0;
	slice_fini(&work->job.slice);
	label_times_fini(&work->job.times);
	tally_clear(work->job.tally);
	flusher->result.job = work->job;
	memset(work, 0, sizeof(*work));
	flusher->has_work = false;
}

static void
read_stats(const struct flusher *flusher, struct profile_stats *stats)
{
	if (profile_stats(flusher->profile, stats))
		memset(stats, 0, sizeof(*stats));
}

/*
 * A large database that retention has read would stay resident in dcpid, page by page. These pages are the page
 * cache's, but tools that show memory count them as dcpid's.
 */
static void
drop_file_pages(const struct flusher *flusher)
{
	struct machine_memory memory;

	machine_memory(&memory);
	if (memory.resident_bytes - memory.own_bytes > FILE_PAGES_MAX)
		(void)profile_drop_pages(flusher->profile); /* if it fails, the next flush tries again */
}

/* Gives the lock up while it writes. */
static void
write_work(struct flusher *flusher)
{
	struct flusher_work *work = &flusher->work;
	const struct retention_options options = flusher->retention_options;
	const struct retention_options *retention = flusher->retains ? &options : NULL;
	uint64_t start_ns = machine_clock_ns(CLOCK_MONOTONIC), duration_ns;
	const size_t entries = tally_size(work->job.tally);
	struct profile_stats stats = {0};
	int err;

	flusher->retention.is_done &= !flusher->has_new_retention;
	flusher->has_new_retention = false;
	enter_profile(flusher);
	if (!work->entries)
		work->entries = tally_sort(work->job.tally, &work->entry_count);
	err = try_to_write(flusher, work, retention);
	if (move_damaged_aside(flusher, err))
		err = try_to_write(flusher, work, retention);
	flusher->error = err;
	duration_ns = machine_clock_ns(CLOCK_MONOTONIC) - start_ns;
	/* Before the bell: the event loop may call into the profile as soon as it rings. */
	if (!err)
		read_stats(flusher, &stats);
	if (!err && retention &&
	    flush_retention_step(&flusher->retention, flusher->profile, retention, work->job.slice.id, stats.used_bytes,
	                         flusher->log)) {
		read_stats(flusher, &stats);
		move_damaged_aside(flusher, flusher->retention.error);
	}
	drop_file_pages(flusher);
	leave_profile(flusher);

	flusher->result = (struct flush_result){
		.error = err,
		.done = !err,
		.duration_ns = duration_ns,
		.entries = entries,
		.unidentified = flusher->unidentified_count,
		.moved = !err && flusher->has_moved,
		.stats = stats,
	};
	if (err)
		schedule_retry(flusher);
	else
		finish_work(flusher, work);
	flusher->has_moved &= err != 0;
	flusher->result.failures = flusher->failures;
	flusher->has_result = true;
	ring_bell(flusher);
}

static void
run_call(struct flusher *flusher)
{
	int (*call)(struct profile *, void *) = flusher->call;
	void *context = flusher->call_context;
	int result;

	flusher->call = NULL;
	flusher->is_called = true;
	enter_profile(flusher);
	result = call(flusher->profile, context);
	leave_profile(flusher);
	if (flusher->abandoned)
		flusher->abandoned(flusher, context, result);
	flusher->abandoned = NULL;
	flusher->call_result = result;
	flusher->is_called = false;
	worker_notify(&flusher->worker);
}

static void
run_posted(struct flusher *flusher)
{
	const struct flusher_posted_call posted = flusher->posted;
	int result;

	enter_profile(flusher);
	result = posted.call(flusher->profile, posted.context);
	move_damaged_aside(flusher, result);
	machine_trim_heap(); /* LMDB's, for a file that is closed now */
	leave_profile(flusher);
	flusher->posted = (struct flusher_posted_call){.result = result, .done = true};
	ring_bell(flusher);
}

static void
run_store(struct flusher *flusher)
{
	flusher->wants_store = false;
	enter_profile(flusher);
	for (size_t i = 0; i < flusher->hook_count; i++)
		if (flusher->hooks[i].store)
			flusher->hooks[i].store(flusher->hooks[i].context, flusher->profile);
	leave_profile(flusher);
}

static void *
run(void *context)
{
	struct flusher *flusher = context;
	const bool *stop = &flusher->worker.stop;

	worker_lock(&flusher->worker);
	while (!*stop || (flusher->has_work && !flusher->failures)) {
		if (flusher->call)
			run_call(flusher);
		else if (flusher->wants_store && !*stop)
			run_store(flusher);
		else if (flusher->has_work &&
		         (*stop || flusher->failures == 0 || machine_clock_ns(CLOCK_MONOTONIC) >= flusher->retry_at_ns))
			write_work(flusher);
		else if (flusher->posted.call && !*stop)
			run_posted(flusher);
		else if (!*stop && flusher->has_work)
			(void)worker_wait_until(&flusher->worker, flusher->retry_at_ns);
		else if (!*stop)
			worker_wait(&flusher->worker);
	}
	flusher->ended = true;
	worker_unlock(&flusher->worker);
	return NULL;
}

/* ---- its life ---- */

struct flusher *
flusher_new(const struct flusher_options *options)
{
	struct flusher *flusher = calloc(1, sizeof(*flusher));
	int err;

	if (!flusher) {
		kallsyms_copy_free(options->symbols);
		return NULL;
	}
	flusher->profile = options->profile;
	flusher->guard = options->guard;
	flusher->log = options->log;
	flusher->files = options->files;
	flusher->kernel_names.symbols = options->symbols;
	while (flusher->hook_count < options->hook_count && flusher->hook_count < FLUSHER_HOOKS_MAX) {
		flusher->hooks[flusher->hook_count] = options->hooks[flusher->hook_count];
		flusher->hook_count++;
	}
	flusher->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = flusher->bell < 0 ? -errno : worker_start(&flusher->worker, run, flusher);
	if (!err)
		return flusher;
	if (flusher->bell >= 0)
		close(flusher->bell);
	kernel_names_free_pending(&flusher->kernel_names);
	free(flusher);
	errno = -err;
	return NULL;
}

void
flusher_free(struct flusher *flusher)
{
	if (!flusher)
		return;
	worker_stop(&flusher->worker);
	flush_job_fini(&flusher->work.job);
	free(flusher->images);
	free(flusher->contexts);
	free(flusher->nodes);
	free(flusher->unidentified);
	free(flusher->epoch);
	kernel_names_free_pending(&flusher->kernel_names);
	if (flusher->has_result && flusher->result.done)
		tally_free(flusher->result.job.tally);
	worker_fini(&flusher->worker);
	close(flusher->bell);
	free(flusher);
}

void
flusher_set_retention(struct flusher *flusher, const struct retention_options *options)
{
	worker_lock(&flusher->worker);
	flusher->retention_options = *options;
	flusher->retains = flusher->has_new_retention = true;
	worker_unlock(&flusher->worker);
}

/* ---- what the event loop asks ---- */

uint64_t
flusher_start_cpu_ns(struct flusher *flusher)
{
	uint64_t start_cpu_ns;

	worker_lock(&flusher->worker);
	start_cpu_ns = flusher->start_cpu_ns;
	worker_unlock(&flusher->worker);
	return start_cpu_ns;
}

int
flusher_descriptor(const struct flusher *flusher)
{
	return flusher->bell;
}

bool
flusher_is_alive(struct flusher *flusher)
{
	bool is_alive;

	worker_lock(&flusher->worker);
	is_alive = !flusher->ended;
	if (is_alive && flusher->has_work && !flusher->is_busy)
		is_alive = machine_clock_ns(CLOCK_MONOTONIC) < flusher->retry_at_ns + NEGLECT_NS;
	worker_unlock(&flusher->worker);
	return is_alive;
}

void
flusher_call_store(struct flusher *flusher)
{
	worker_lock(&flusher->worker);
	flusher->wants_store = true;
	worker_notify(&flusher->worker);
	worker_unlock(&flusher->worker);
}

/* ---- jobs ---- */

/* Point to what the tables gained since the last job; entries of the tables stay where they are for the session. */
static int
collect_new(struct flusher *flusher, const struct image_table *images, const struct context_table *contexts,
            const struct stack_table *stacks)
{
	const uint32_t node_count = stacks ? stack_table_count(stacks) : 0;
	const uint32_t image_count = image_table_count(images), context_count = context_table_count(contexts);
	const struct image **more_images = reallocarray(flusher->images, image_count + 1, sizeof(*more_images));
	const struct context **more_contexts;

	if (!more_images)
		return -ENOMEM;
	flusher->images = more_images;
	more_contexts = reallocarray(flusher->contexts, context_count + 1, sizeof(*more_contexts));
	if (!more_contexts)
		return -ENOMEM;
	flusher->contexts = more_contexts;
	if (node_count > flusher->node_count) {
		struct stack_node *more_nodes = reallocarray(flusher->nodes, node_count, sizeof(*more_nodes));

		if (!more_nodes)
			return -ENOMEM;
		flusher->nodes = more_nodes;
		memcpy(more_nodes + flusher->node_count, stack_table_nodes(stacks, flusher->node_count + 1),
		       (node_count - flusher->node_count) * sizeof(*more_nodes));
		flusher->node_count = node_count;
	}
	for (; flusher->image_count < image_count; flusher->image_count++)
		more_images[flusher->image_count] = image_table_get(images, flusher->image_count);
	for (; flusher->context_count < context_count; flusher->context_count++)
		more_contexts[flusher->context_count] = context_table_get(contexts, flusher->context_count);
	return 0;
}

int
flusher_submit(struct flusher *flusher, const struct flush_job *job, const struct image_table *images,
               const struct context_table *contexts, const struct stack_table *stacks)
{
	int err = -EBUSY;

	if (job->images)
		images = job->images;
	if (job->contexts)
		contexts = job->contexts;
	if (job->stacks)
		stacks = job->stacks;
	worker_lock(&flusher->worker);
	if (!flusher->has_work && !(flusher->has_result && flusher->result.done))
		err = collect_new(flusher, images, contexts, stacks);
	if (!err) {
		flusher->work = (struct flusher_work){
			.job = *job,
			.image_count = flusher->image_count,
			.context_count = flusher->context_count,
			.node_count = flusher->node_count,
			.images = images,
		};
		flusher->has_work = true;
		flusher->retry_at_ns = machine_clock_ns(CLOCK_MONOTONIC);
		worker_notify(&flusher->worker);
	}
	worker_unlock(&flusher->worker);
	return err;
}

void
flusher_retry_now(struct flusher *flusher)
{
	worker_lock(&flusher->worker);
	flusher->retry_at_ns = machine_clock_ns(CLOCK_MONOTONIC);
	worker_notify(&flusher->worker);
	worker_unlock(&flusher->worker);
}

bool
flusher_result(struct flusher *flusher, struct flush_result *result)
{
	uint64_t rings;
	bool has_result;

	worker_lock(&flusher->worker);
	(void)!read(flusher->bell, &rings, sizeof(rings)); /* it may not have rung */
	has_result = flusher->has_result;
	if (has_result)
		*result = flusher->result;
	flusher->has_result = false;
	worker_unlock(&flusher->worker);
	return has_result;
}

int
flusher_wait(struct flusher *flusher, uint64_t timeout_ns)
{
	const uint64_t deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	struct pollfd bell = {.fd = flusher->bell, .events = POLLIN};
	uint64_t now_ns;

	while ((now_ns = machine_clock_ns(CLOCK_MONOTONIC)) < deadline_ns) {
		int ready = poll(&bell, 1, (int)((deadline_ns - now_ns + 999999) / 1000000));

		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
	return -ETIMEDOUT;
}

/* ---- calls ---- */

/* With the lock held: wait until the thread has begun with the call. 0, or -ETIMEDOUT: it will not. */
static int
hand_call_over(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context)
{
	const uint64_t deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + FLUSHER_CALL_S * SECOND_NS;
	int wait_err = 0;

	/* one that was abandoned may still be under way */
	while (flusher->is_called && wait_err != ETIMEDOUT)
		wait_err = worker_wait_until(&flusher->worker, deadline_ns);
	if (flusher->is_called)
		return -ETIMEDOUT;
	flusher->call = call;
	flusher->call_context = context;
	worker_notify(&flusher->worker);
	while (flusher->call && wait_err != ETIMEDOUT)
		wait_err = worker_wait_until(&flusher->worker, deadline_ns);
	if (!flusher->call)
		return 0;
	flusher->call = NULL;
	return -ETIMEDOUT;
}

/*
 * Run the call and wait for its end, as it uses its caller's memory. With `abandoned`, -EINPROGRESS when the call takes
 * longer than FLUSHER_PATIENCE_S: `abandoned` is then called when it has ended, on the flusher's thread with the lock
 * held, and owns the context.
 */
static int
call_and_wait(struct flusher *flusher, int (*call)(struct profile *profile, void *context),
              void (*abandoned)(struct flusher *flusher, void *context, int result), void *context)
{
	uint64_t deadline_ns = UINT64_MAX;
	int result, wait_err = 0;

	worker_lock(&flusher->worker);
	result = hand_call_over(flusher, call, context);
	if (abandoned)
		deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + FLUSHER_PATIENCE_S * SECOND_NS;
	while (!result && flusher->is_called && wait_err != ETIMEDOUT)
		wait_err = worker_wait_until(&flusher->worker, deadline_ns);
	if (!result && flusher->is_called) {
		flusher->abandoned = abandoned;
		result = -EINPROGRESS;
	} else if (!result) {
		result = flusher->call_result;
	}
	worker_unlock(&flusher->worker);
	return result;
}

int
flusher_call(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context)
{
	return call_and_wait(flusher, call, NULL, context);
}

int
flusher_post(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context)
{
	int err = 0;

	worker_lock(&flusher->worker);
	if (flusher->posted.call || flusher->posted.done)
		err = -EBUSY;
	else
		flusher->posted = (struct flusher_posted_call){.call = call, .context = context};
	worker_notify(&flusher->worker);
	worker_unlock(&flusher->worker);
	return err;
}

bool
flusher_posted(struct flusher *flusher, int *result)
{
	bool done;

	worker_lock(&flusher->worker);
	done = flusher->posted.done;
	if (done)
		*result = flusher->posted.result;
	flusher->posted.done = false;
	worker_unlock(&flusher->worker);
	return done;
}

/* ---- epochs ---- */

struct flusher_new_epoch {
	struct flusher *flusher;
	struct epoch epoch;
};

static int
try_to_begin(struct flusher *flusher, struct epoch *epoch)
{
	int err = find_database(flusher);

	return err ? err : profile_begin_epoch(flusher->profile, epoch);
}

/* A call of the flusher's thread. */
static int
begin_epoch(struct profile *profile, void *context)
{
	struct flusher_new_epoch *begun = context;
	struct flusher *flusher = begun->flusher;
	int err;

	(void)profile;
	err = try_to_begin(flusher, &begun->epoch);
	if (move_damaged_aside(flusher, err))
		err = try_to_begin(flusher, &begun->epoch);
	if (err)
		return err;
	*flusher->epoch = begun->epoch;
	flusher->epoch_missing = false;
	flusher->epoch_pending = false;
	return 0;
}

/* begin_epoch() has ended after its caller: jobs of this epoch come, whether it could be begun or not. */
static void
begin_epoch_late(struct flusher *flusher, void *context, int result)
{
	struct flusher_new_epoch *begun = context;

	*flusher->epoch = begun->epoch;
	flusher->epoch_missing = result != 0;
	flusher->epoch_pending = result == 0;
	free(begun);
}

int
flusher_begin_epoch(struct flusher *flusher, struct epoch *epoch)
{
	struct flusher_new_epoch *begun = malloc(sizeof(*begun));
	int err;

	if (!flusher->epoch) /* for the flusher's whole life, so that begin_epoch_late() cannot fail */
		flusher->epoch = calloc(1, sizeof(*flusher->epoch));
	if (!begun || !flusher->epoch) {
		free(begun);
		return -ENOMEM;
	}
	*begun = (struct flusher_new_epoch){.flusher = flusher, .epoch = *epoch};
	err = call_and_wait(flusher, begin_epoch, begin_epoch_late, begun);
	if (err == -EINPROGRESS)
		return err;
	*epoch = begun->epoch;
	free(begun);
	return err;
}
