#include "collectord/flusher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/kernel_names.h"
#include "collectord/machine.h"
#include "collectord/retainer.h"

#define RETRY_FIRST_S 1
#define RETRY_MAX_S   30
#define NEGLECT_NS    UINT64_C(60000000000) /* a thread that leaves its work for so long is stuck */

/* What the flusher's thread works on; filled by flusher_submit(), emptied when the job has been written. */
struct work {
	struct flush_job job;
	const struct tally_entry *entries; /* the tally's, sorted; NULL before the first try */
	size_t entry_count;
	uint32_t first_image, image_count;
	uint32_t first_context, context_count;
	const struct image **images;
	const struct context **contexts;
};

/* A call that nobody waits for. */
struct post {
	int (*call)(struct profile *profile, void *context); /* NULL: none */
	void *context;
	int result;
	bool done; /* and not yet taken notice of */
};

struct flusher {
	struct profile *profile;
	struct guard *guard;
	const struct log *log;
	pthread_t thread;
	int bell;
	struct kernel_names_image *unnamed; /* the thread's: images whose names could not be stored so far */
	size_t unnamed_count;

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t changed;
	bool stop;
	bool ended;   /* the thread has */
	bool is_busy; /* the thread is in the profile */
	bool has_work;
	bool has_result;
	struct work work; /* the thread's while has_work, the loop's otherwise */
	struct flush_result result;
	uint32_t images_written, contexts_written;
	unsigned failures;
	uint64_t retry_at_ns; /* CLOCK_MONOTONIC; of a new job, when it was handed over */
	int (*call)(struct profile *profile, void *context);
	void *call_context;
	int call_result;
	bool is_called; /* the call is under way */
	struct post post;
	bool retains;
	struct retention_options retention;
	int retention_error; /* the thread's */
};

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

static bool
wants_names(const struct flusher *flusher, const struct image *image, uint32_t number)
{
	return (image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE) &&
	       !profile_has_symbols(flusher->profile, number);
}

/* Was there only no room for the names, for now? */
static bool
may_be_named_later(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -DCPI_EFULL || err == -EIO || err == -ENOMEM ||
	       err == -EMFILE || err == -ENFILE;
}

/* Add the new images to those that are still without names. */
static int
collect_unnamed(struct flusher *flusher, const struct work *work)
{
	struct kernel_names_image *unnamed =
		reallocarray(flusher->unnamed, flusher->unnamed_count + work->image_count + 1, sizeof(*unnamed));

	if (!unnamed)
		return -ENOMEM;
	flusher->unnamed = unnamed;
	for (uint32_t i = 0; i < work->image_count; i++)
		if (wants_names(flusher, work->images[i], work->first_image + i))
			unnamed[flusher->unnamed_count++] =
				(struct kernel_names_image){work->first_image + i, work->images[i], 0};
	return 0;
}

/* Functions of the kernel and its modules are named when the image first comes to the database, or as soon as can be.
 */
static void
name_kernel_images(struct flusher *flusher, const struct work *work)
{
	const size_t known = flusher->unnamed_count;
	size_t left = 0;

	if (collect_unnamed(flusher, work) || flusher->unnamed_count == 0)
		return;
	kernel_names_store(flusher->profile, "/proc", flusher->unnamed, flusher->unnamed_count);
	for (size_t i = 0; i < flusher->unnamed_count; i++) {
		const struct kernel_names_image image = flusher->unnamed[i];

		if (image.err && i >= known)
			log_write(flusher->log, LOG_LEVEL_WARNING, "%s: its functions stay without names%s: %s",
			          image.image->path, may_be_named_later(image.err) ? " for now" : "",
			          error_text(image.err));
		if (may_be_named_later(image.err))
			flusher->unnamed[left++] = image;
	}
	flusher->unnamed_count = left;
}

void
flush_job_fini(struct flush_job *job)
{
	tally_free(job->tally);
	slice_fini(&job->slice);
	image_table_free(job->images);
	context_table_free(job->contexts);
	memset(job, 0, sizeof(*job));
}

/* The last job of the session was written: nothing may point into its tables any more. */
static void
end_session(struct flusher *flusher, struct flush_job *job)
{
	profile_renew_session(flusher->profile);
	flusher->unnamed_count = 0; /* they come again, as new ones */
	image_table_free(job->images);
	context_table_free(job->contexts);
	job->images = NULL;
	job->contexts = NULL;
}

static void
finish_work(struct flusher *flusher, struct work *work)
{
	flusher->images_written += work->image_count;
	flusher->contexts_written += work->context_count;
	if (work->job.images) {
		end_session(flusher, &work->job);
		flusher->images_written = 0;
		flusher->contexts_written = 0;
	}
	flusher->failures = 0;
	free(work->images);
	free(work->contexts);
	slice_fini(&work->job.slice);
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

/* Called with the lock held; gives it up while it writes. */
static void
write_work(struct flusher *flusher)
{
	struct work *work = &flusher->work;
	const struct retention_options retention = flusher->retention;
	const bool retains = flusher->retains;
	uint64_t start_ns = machine_clock_ns(CLOCK_MONOTONIC), duration_ns;
	struct profile_batch batch = {
		.first_image = work->first_image,
		.image_count = work->image_count,
		.images = work->images,
		.first_context = work->first_context,
		.context_count = work->context_count,
		.contexts = work->contexts,
		.slice = &work->job.slice,
	};
	struct profile_stats stats = {0};
	int err;

	enter_profile(flusher);
	if (!work->entries)
		work->entries = tally_sort(work->job.tally, &work->entry_count);
	batch.entries = work->entries;
	batch.entry_count = work->entry_count;
	if (retains)
		err = retainer_flush(flusher->profile, &batch, &retention, flusher->log);
	else
		err = profile_flush(flusher->profile, &batch);
	if (!err)
		name_kernel_images(flusher, work);
	duration_ns = machine_clock_ns(CLOCK_MONOTONIC) - start_ns;
	/* Before the bell: whoever hears it may want the profile at once. */
	if (!err && retains)
		retainer_step(flusher->profile, &retention, flusher->log, &flusher->retention_error);
	if (!err && profile_stats(flusher->profile, &stats))
		memset(&stats, 0, sizeof(stats));
	leave_profile(flusher);

	flusher->result = (struct flush_result){
		.error = err,
		.done = !err,
		.duration_ns = duration_ns,
		.entries = batch.entry_count,
		.stats = stats,
	};
	if (err)
		schedule_retry(flusher);
	else
		finish_work(flusher, work);
	flusher->result.failures = flusher->failures;
	flusher->has_result = true;
	ring_bell(flusher);
}

static void
run_call(struct flusher *flusher)
{
	int (*call)(struct profile *, void *) = flusher->call;
	int result;

	flusher->call = NULL;
	flusher->is_called = true;
	enter_profile(flusher);
	result = call(flusher->profile, flusher->call_context);
	leave_profile(flusher);
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
	leave_profile(flusher);
	flusher->post = (struct post){.result = result, .done = true};
	ring_bell(flusher);
}

/* For a change, until then at most. 0 or ETIMEDOUT. */
static int
wait_until(struct flusher *flusher, uint64_t monotonic_ns)
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
		else if (flusher->has_work && (retry_is_due(flusher) || flusher->stop))
			write_work(flusher);
		else if (flusher->post.call && !flusher->stop)
			run_post(flusher);
		else if (!flusher->stop && flusher->has_work)
			wait_until(flusher, flusher->retry_at_ns);
		else if (!flusher->stop)
			pthread_cond_wait(&flusher->changed, &flusher->lock);
		if (flusher->stop && (!flusher->has_work || flusher->failures))
			break;
	}
	flusher->ended = true;
	pthread_mutex_unlock(&flusher->lock);
	return NULL;
}

static int
start_thread(struct flusher *flusher)
{
	sigset_t others, before;
	int err;

	/* signals are the event loop's, but for those that the guard is for */
	sigfillset(&others);
	sigdelset(&others, SIGSEGV);
	sigdelset(&others, SIGBUS);
	sigdelset(&others, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	err = pthread_create(&flusher->thread, NULL, run, flusher);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct flusher *
flusher_new(struct profile *profile, struct guard *guard, const struct log *log)
{
	struct flusher *flusher = calloc(1, sizeof(*flusher));
	pthread_condattr_t monotonic;
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
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&flusher->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	err = start_thread(flusher);
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
	free(flusher->work.images);
	free(flusher->work.contexts);
	free(flusher->unnamed);
	if (flusher->has_result && flusher->result.done)
		tally_free(flusher->result.job.tally);
	pthread_mutex_destroy(&flusher->lock);
	pthread_cond_destroy(&flusher->changed);
	close(flusher->bell);
	free(flusher);
}

int
flusher_descriptor(const struct flusher *flusher)
{
	return flusher->bell;
}

void
flusher_retain(struct flusher *flusher, const struct retention_options *options)
{
	pthread_mutex_lock(&flusher->lock);
	flusher->retention = *options;
	flusher->retains = true;
	pthread_mutex_unlock(&flusher->lock);
}

bool
flusher_busy(struct flusher *flusher)
{
	bool busy;

	pthread_mutex_lock(&flusher->lock);
	busy = flusher->has_work;
	pthread_mutex_unlock(&flusher->lock);
	return busy;
}

bool
flusher_is_alive(struct flusher *flusher)
{
	bool is_alive;

	pthread_mutex_lock(&flusher->lock);
	is_alive = !flusher->ended;
	if (is_alive && flusher->has_work && !flusher->is_busy)
		is_alive = machine_clock_ns(CLOCK_MONOTONIC) < flusher->retry_at_ns + NEGLECT_NS;
	pthread_mutex_unlock(&flusher->lock);
	return is_alive;
}

/* Point to what the tables gained since the last job; entries of the tables stay where they are for the session. */
static int
collect_new(struct work *work, const struct image_table *images, const struct context_table *contexts)
{
	work->image_count = image_table_count(images) - work->first_image;
	work->context_count = context_table_count(contexts) - work->first_context;
	work->images = calloc(work->image_count + 1, sizeof(*work->images));
	work->contexts = calloc(work->context_count + 1, sizeof(*work->contexts));
	if (!work->images || !work->contexts) {
		free(work->images);
		free(work->contexts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < work->image_count; i++)
		work->images[i] = image_table_get(images, work->first_image + i);
	for (uint32_t i = 0; i < work->context_count; i++)
		work->contexts[i] = context_table_get(contexts, work->first_context + i);
	return 0;
}

int
flusher_submit(struct flusher *flusher, const struct flush_job *job, const struct image_table *images,
               const struct context_table *contexts)
{
	struct work work = {.job = *job};
	int err;

	pthread_mutex_lock(&flusher->lock);
	if (flusher->has_work || (flusher->has_result && flusher->result.done)) {
		pthread_mutex_unlock(&flusher->lock);
		return -EBUSY;
	}
	work.first_image = flusher->images_written;
	work.first_context = flusher->contexts_written;
	err = collect_new(&work, job->images ? job->images : images, job->contexts ? job->contexts : contexts);
	if (!err) {
		flusher->work = work;
		flusher->has_work = true;
		flusher->retry_at_ns = machine_clock_ns(CLOCK_MONOTONIC);
		pthread_cond_broadcast(&flusher->changed);
	}
	pthread_mutex_unlock(&flusher->lock);
	return err;
}

void
flusher_hurry(struct flusher *flusher)
{
	pthread_mutex_lock(&flusher->lock);
	flusher->retry_at_ns = machine_clock_ns(CLOCK_MONOTONIC);
	pthread_cond_broadcast(&flusher->changed);
	pthread_mutex_unlock(&flusher->lock);
}

bool
flusher_result(struct flusher *flusher, struct flush_result *result)
{
	uint64_t rings;
	bool has_result;

	pthread_mutex_lock(&flusher->lock);
	if (read(flusher->bell, &rings, sizeof(rings)) < 0)
		rings = 0;
	has_result = flusher->has_result;
	if (has_result)
		*result = flusher->result;
	flusher->has_result = false;
	pthread_mutex_unlock(&flusher->lock);
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

int
flusher_call(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context)
{
	const uint64_t deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + FLUSHER_CALL_S * UINT64_C(1000000000);
	int result, wait_err = 0;

	pthread_mutex_lock(&flusher->lock);
	flusher->call = call;
	flusher->call_context = context;
	pthread_cond_broadcast(&flusher->changed);
	while (flusher->call && wait_err != ETIMEDOUT)
		wait_err = wait_until(flusher, deadline_ns);
	while (flusher->is_called) /* it works with what is ours */
		pthread_cond_wait(&flusher->changed, &flusher->lock);
	result = flusher->call ? -ETIMEDOUT : flusher->call_result;
	flusher->call = NULL;
	pthread_mutex_unlock(&flusher->lock);
	return result;
}

int
flusher_post(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context)
{
	int err = 0;

	pthread_mutex_lock(&flusher->lock);
	if (flusher->post.call || flusher->post.done)
		err = -EBUSY;
	else
		flusher->post = (struct post){.call = call, .context = context};
	pthread_cond_broadcast(&flusher->changed);
	pthread_mutex_unlock(&flusher->lock);
	return err;
}

bool
flusher_posted(struct flusher *flusher, int *result)
{
	bool done;

	pthread_mutex_lock(&flusher->lock);
	done = flusher->post.done;
	if (done)
		*result = flusher->post.result;
	flusher->post.done = false;
	pthread_mutex_unlock(&flusher->lock);
	return done;
}
