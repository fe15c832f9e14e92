#include "collectord/flusher_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "collectord/worker_thread.h"

#define RETRY_FIRST_S  1
#define RETRY_MAX_S    30
#define FILE_PAGES_MAX (UINT64_C(8) << 20) /* resident bytes of files, the program's 4 MiB included */

static bool
retry_is_due(const struct flusher *flusher)
{
	return flusher->failures == 0 || machine_clock_ns(CLOCK_MONOTONIC) >= flusher->retry_at_ns;
}

static void
ring_bell(struct flusher *flusher)
{
	uint64_t one = 1;

	/* an eventfd takes this unless it is at its limit, and then it is readable already */
	if (write(flusher->bell, &one, sizeof(one)) < 0)
		return;
}

static void
schedule_retry(struct flusher *flusher)
{
	unsigned delay_s = RETRY_FIRST_S;

	for (unsigned i = 0; i < flusher->failures && delay_s < RETRY_MAX_S; i++)
		delay_s = 2 * delay_s < RETRY_MAX_S ? 2 * delay_s : RETRY_MAX_S;
	flusher->failures++;
	flusher->retry_at_ns = machine_clock_ns(CLOCK_MONOTONIC) + delay_s * UINT64_C(1000000000);
}

void
flush_job_fini(struct flush_job *job)
{
	tally_free(job->tally);
	slice_fini(&job->slice);
	label_times_fini(&job->times);
	image_table_free(job->images);
	context_table_free(job->contexts);
	memset(job, 0, sizeof(*job));
}

/* The last job of the session was written: nothing may point into its tables any more. */
static void
end_session(struct flusher *flusher, struct flush_job *job)
{
	profile_reset_session(flusher->profile);
	unnamed_fini(&flusher->unnamed); /* they come again, as new ones */
	flusher_forget_files(flusher);
	flusher->images_written = flusher->contexts_written = 0;
	flusher->image_count = flusher->context_count = 0;
	if (flusher->capturer)
		capturer_forget(flusher->capturer, job->images);
	image_table_free(job->images);
	context_table_free(job->contexts);
	job->images = NULL;
	job->contexts = NULL;
	machine_give_memory_back();
}

static void
finish_work(struct flusher *flusher, struct work *work)
{
	flusher->images_written = work->image_count;
	flusher->contexts_written = work->context_count;
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

/* Leave the lock to the loop and go to the profile, behind the guard. */
static void
enter_profile(struct flusher *flusher)
{
	flusher->is_busy = true;
	pthread_mutex_unlock(&flusher->lock);
	if (flusher->guard)
		guard_enter(flusher->guard);
}

static void
leave_profile(struct flusher *flusher)
{
	if (flusher->guard)
		guard_leave(flusher->guard);
	pthread_mutex_lock(&flusher->lock);
	flusher->is_busy = false;
}

static void
read_stats(const struct flusher *flusher, struct profile_stats *stats)
{
	if (profile_stats(flusher->profile, stats))
		memset(stats, 0, sizeof(*stats));
}

/*
 * A large database, gone through by retention, would be resident in us page by page. It is the page cache's, and nobody
 * who looks at how much memory we have can tell.
 */
static void
forget_pages(const struct flusher *flusher)
{
	struct machine_memory memory;

	machine_memory(&memory);
	if (memory.resident_bytes - memory.own_bytes > FILE_PAGES_MAX)
		(void)profile_drop_pages(flusher->profile); /* then the next flush tries again */
}

/* Called with the lock held; gives it up while it writes. */
static void
write_work(struct flusher *flusher)
{
	struct work *work = &flusher->work;
	const struct retention_options retention = flusher->retention;
	const bool retains = flusher->retains;
	uint64_t start_ns = machine_clock_ns(CLOCK_MONOTONIC), duration_ns;
	const size_t entries = tally_size(work->job.tally);
	struct profile_stats stats = {0};
	int err;

	flusher->retainer.is_done &= !flusher->retains_anew;
	flusher->retains_anew = false;
	enter_profile(flusher);
	err = flusher_write(flusher, work, retains ? &retention : NULL);
	flusher->error = err;
	duration_ns = machine_clock_ns(CLOCK_MONOTONIC) - start_ns;
	/* Before the bell: whoever hears it may want the profile at once. */
	if (!err)
		read_stats(flusher, &stats);
	if (!err && retains &&
	    retainer_step(&flusher->retainer, flusher->profile, &retention, work->job.slice.id, stats.used_bytes,
	                  flusher->log)) {
		read_stats(flusher, &stats);
		flusher_heal(flusher, flusher->retainer.error);
	}
	forget_pages(flusher);
	leave_profile(flusher);

	flusher->result = (struct flush_result){
		.error = err,
		.done = !err,
		.duration_ns = duration_ns,
		.entries = entries,
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
	pthread_cond_broadcast(&flusher->changed);
}

static void
run_post(struct flusher *flusher)
{
	const struct post post = flusher->post;
	int result;

	enter_profile(flusher);
	result = post.call(flusher->profile, post.context);
	flusher_heal(flusher, result);
	machine_give_memory_back(); /* what LMDB had of it for the file that is closed now */
	leave_profile(flusher);
	flusher->post = (struct post){.result = result, .done = true};
	ring_bell(flusher);
}

static void
run_store(struct flusher *flusher)
{
	flusher->wants_store = false;
	enter_profile(flusher);
	code_namer_store(flusher->namer, flusher->profile);
	leave_profile(flusher);
}

int
flusher_wait_until(struct flusher *flusher, uint64_t monotonic_ns)
{
	const struct timespec at = {
		.tv_sec = (time_t)(monotonic_ns / 1000000000),
		.tv_nsec = (long)(monotonic_ns % 1000000000),
	};

	return pthread_cond_timedwait(&flusher->changed, &flusher->lock, &at);
}

static void *
run(void *context)
{
	struct flusher *flusher = context;

	pthread_mutex_lock(&flusher->lock);
	for (;;) {
		if (flusher->call)
			run_call(flusher);
		else if (flusher->wants_store && !flusher->stop)
			run_store(flusher);
		else if (flusher->has_work && (retry_is_due(flusher) || flusher->stop))
			write_work(flusher);
		else if (flusher->post.call && !flusher->stop)
			run_post(flusher);
		else if (!flusher->stop && flusher->has_work)
			flusher_wait_until(flusher, flusher->retry_at_ns);
		else if (!flusher->stop)
			pthread_cond_wait(&flusher->changed, &flusher->lock);
		if (flusher->stop && (!flusher->has_work || flusher->failures))
			break;
	}
	flusher->ended = true;
	pthread_mutex_unlock(&flusher->lock);
	return NULL;
}

struct flusher *
flusher_new(struct profile *profile, struct guard *guard, const struct log *log)
{
	struct flusher *flusher = calloc(1, sizeof(*flusher));
	int err;

	if (!flusher)
		return NULL;
	flusher->profile = profile;
	flusher->guard = guard;
	flusher->log = log;
	flusher->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (flusher->bell < 0) {
		free(flusher);
		return NULL;
	}
	pthread_mutex_init(&flusher->lock, NULL);
	worker_condition_init(&flusher->changed);
	err = worker_thread_start(&flusher->thread, run, flusher);
	if (err) {
		close(flusher->bell);
		free(flusher);
		errno = err;
		return NULL;
	}
	return flusher;
}

void
flusher_free(struct flusher *flusher)
{
	if (!flusher)
		return;
	pthread_mutex_lock(&flusher->lock);
	flusher->stop = true;
	pthread_cond_broadcast(&flusher->changed);
	pthread_mutex_unlock(&flusher->lock);
	pthread_join(flusher->thread, NULL);
	flush_job_fini(&flusher->work.job);
	free(flusher->images);
	free(flusher->contexts);
	free(flusher->unidentified);
	free(flusher->epoch);
	unnamed_fini(&flusher->unnamed);
	if (flusher->has_result && flusher->result.done)
		tally_free(flusher->result.job.tally);
	pthread_mutex_destroy(&flusher->lock);
	pthread_cond_destroy(&flusher->changed);
	close(flusher->bell);
	free(flusher);
}

uint64_t
flusher_start_cpu_ns(struct flusher *flusher)
{
	uint64_t start_cpu_ns;

	pthread_mutex_lock(&flusher->lock);
	start_cpu_ns = flusher->start_cpu_ns;
	pthread_mutex_unlock(&flusher->lock);
	return start_cpu_ns;
}

int
flusher_descriptor(const struct flusher *flusher)
{
	return flusher->bell;
}

void
flusher_give_symbols(struct flusher *flusher, struct kallsyms_copy *symbols)
{
	kallsyms_copy_free(flusher->unnamed.symbols);
	flusher->unnamed.symbols = symbols;
}

void
flusher_give_notes(struct flusher *flusher, struct code_notes *notes)
{
	flusher->notes = notes;
}

void
flusher_give_namer(struct flusher *flusher, struct code_namer *namer)
{
	flusher->namer = namer;
}

void
flusher_give_files(struct flusher *flusher, struct file_ids *files)
{
	flusher->files = files;
}

void
flusher_store_names(struct flusher *flusher)
{
	pthread_mutex_lock(&flusher->lock);
	flusher->wants_store = flusher->namer != NULL;
	pthread_cond_broadcast(&flusher->changed);
	pthread_mutex_unlock(&flusher->lock);
}

void
flusher_serve(struct flusher *flusher, struct capturer *capturer)
{
	flusher->capturer = capturer;
}

void
flusher_retain(struct flusher *flusher, const struct retention_options *options)
{
	pthread_mutex_lock(&flusher->lock);
	flusher->retention = *options;
	flusher->retains = flusher->retains_anew = true;
	pthread_mutex_unlock(&flusher->lock);
}
