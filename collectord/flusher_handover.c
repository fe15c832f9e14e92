/* What the event loop asks of the flusher's thread, and what it hears from it. */
#include "collectord/flusher_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectord/machine.h"

#define NEGLECT_NS UINT64_C(60000000000) /* a thread that leaves its work for so long is stuck */

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
collect_new(struct flusher *flusher, const struct image_table *images, const struct context_table *contexts)
{
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
	for (; flusher->image_count < image_count; flusher->image_count++)
		more_images[flusher->image_count] = image_table_get(images, flusher->image_count);
	for (; flusher->context_count < context_count; flusher->context_count++)
		more_contexts[flusher->context_count] = context_table_get(contexts, flusher->context_count);
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
	err = collect_new(flusher, job->images ? job->images : images, job->contexts ? job->contexts : contexts);
	if (!err) {
		work.images = job->images ? job->images : images;
		work.image_count = flusher->image_count;
		work.context_count = flusher->context_count;
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

static uint64_t
seconds_from_now(unsigned seconds)
{
	return machine_clock_ns(CLOCK_MONOTONIC) + seconds * UINT64_C(1000000000);
}

/* With the lock held: until the thread has begun with the call. 0, or -ETIMEDOUT: it will not. */
static int
hand_call_over(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context)
{
	const uint64_t deadline_ns = seconds_from_now(FLUSHER_CALL_S);
	int wait_err = 0;

	/* one that was abandoned may still be under way */
	while (flusher->is_called && wait_err != ETIMEDOUT)
		wait_err = flusher_wait_until(flusher, deadline_ns);
	if (flusher->is_called)
		return -ETIMEDOUT;
	flusher->call = call;
	flusher->call_context = context;
	pthread_cond_broadcast(&flusher->changed);
	while (flusher->call && wait_err != ETIMEDOUT)
		wait_err = flusher_wait_until(flusher, deadline_ns);
	if (!flusher->call)
		return 0;
	flusher->call = NULL;
	return -ETIMEDOUT;
}

int
flusher_call(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context)
{
	int result;

	pthread_mutex_lock(&flusher->lock);
	result = hand_call_over(flusher, call, context);
	while (!result && flusher->is_called) /* it works with what is ours */
		pthread_cond_wait(&flusher->changed, &flusher->lock);
	if (!result)
		result = flusher->call_result;
	pthread_mutex_unlock(&flusher->lock);
	return result;
}

int
flusher_call_impatiently(struct flusher *flusher, int (*call)(struct profile *profile, void *context),
                         void (*abandoned)(struct flusher *flusher, void *context, int result), void *context)
{
	uint64_t deadline_ns;
	int result, wait_err = 0;

	pthread_mutex_lock(&flusher->lock);
	result = hand_call_over(flusher, call, context);
	deadline_ns = seconds_from_now(FLUSHER_PATIENCE_S);
	while (!result && flusher->is_called && wait_err != ETIMEDOUT)
		wait_err = flusher_wait_until(flusher, deadline_ns);
	if (!result && flusher->is_called) {
		flusher->abandoned = abandoned;
		result = -EINPROGRESS;
	} else if (!result) {
		result = flusher->call_result;
	}
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
