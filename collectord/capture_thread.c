#include "collectord/capture_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "collectord/capture_child.h"
#include "collectord/machine.h"
#include "collectord/worker.h"

_Static_assert(CAPTURE_USERS_MAX <= CAPTURE_CHILDREN_MAX, "each user has a process");

struct capture_thread {
	const char *program;

	struct worker_thread worker; /* its lock: everything below */
	struct capture_user users[CAPTURE_USERS_MAX];
	size_t user_count;
	bool is_notified; /* since users were last asked */

	/* the thread's */
	struct capture_child children[CAPTURE_USERS_MAX]; /* by user; one that has ended is free */
};

/* ---- the thread; with the lock held ---- */

static bool
has_children(const struct capture_thread *thread)
{
	for (size_t i = 0; i < CAPTURE_USERS_MAX; i++)
		if (!thread->children[i].has_ended)
			return true;
	return false;
}

static void
end_work(struct capture_thread *thread, size_t number)
{
	const struct capture_user *user = &thread->users[number];

	user->end(user->context, &thread->children[number]);
	worker_notify(&thread->worker);
}

/* Let each user begin that has no process; returns when to ask again. */
static uint64_t
begin_work(struct capture_thread *thread)
{
	uint64_t next_ns = UINT64_MAX;

	thread->is_notified = false;
	for (size_t i = 0; i < CAPTURE_USERS_MAX && !thread->worker.stop; i++) {
		const struct capture_user *user = &thread->users[i];
		struct capture_child *child = &thread->children[i];
		uint64_t due_ns = UINT64_MAX;

		if (!user->begin || !child->has_ended) /* there is no such user, or it has a process */
			continue;
		if (user->begin(user->context, machine_clock_ns(CLOCK_MONOTONIC), child, &due_ns)) {
			if (!child->has_ended)
				continue;
			end_work(thread, i);
			due_ns = 0;
		}
		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	return thread->is_notified ? 0 : next_ns;
}

/* Until `due_ns` at most, when a user has more to begin. Gives the lock up. */
static void
serve_children(struct capture_thread *thread, uint64_t due_ns)
{
	struct capture_child *children[CAPTURE_USERS_MAX];
	size_t numbers[CAPTURE_USERS_MAX], count = 0;

	for (size_t i = 0; i < CAPTURE_USERS_MAX; i++)
		if (!thread->children[i].has_ended) {
			numbers[count] = i;
			children[count++] = &thread->children[i];
		}
	worker_unlock(&thread->worker);
	capture_children_serve(children, count, thread->worker.stop_bell, due_ns);
	worker_lock(&thread->worker);
	for (size_t i = 0; i < count; i++)
		if (children[i]->has_ended)
			end_work(thread, numbers[i]);
}

static void *
run(void *context)
{
	struct capture_thread *thread = context;

	worker_lock(&thread->worker);
	while (!thread->worker.stop || has_children(thread)) {
		const uint64_t due_ns = begin_work(thread);

		if (has_children(thread))
			serve_children(thread, due_ns);
		else if (due_ns > 0 && !thread->worker.stop)
			(void)worker_wait_until(&thread->worker, due_ns);
	}
	worker_unlock(&thread->worker);
	return NULL;
}

/* ---- its life ---- */

struct capture_thread *
capture_thread_new(const char *program)
{
	struct capture_thread *thread = calloc(1, sizeof(*thread));
	int err;

	if (!thread)
		return NULL;
	thread->program = program;
	for (size_t i = 0; i < CAPTURE_USERS_MAX; i++)
		thread->children[i].has_ended = true;
	err = worker_start(&thread->worker, run, thread);
	if (!err)
		return thread;
	free(thread);
	errno = -err;
	return NULL;
}

void
capture_thread_add(struct capture_thread *thread, const struct capture_user *user)
{
	worker_lock(&thread->worker);
	thread->users[thread->user_count++] = *user;
	capture_thread_notify(thread);
	worker_unlock(&thread->worker);
}

void
capture_thread_stop(struct capture_thread *thread)
{
	worker_stop(&thread->worker);
}

void
capture_thread_free(struct capture_thread *thread)
{
	if (!thread)
		return;
	worker_stop(&thread->worker);
	worker_fini(&thread->worker);
	free(thread);
}

/* ---- its users ---- */

const char *
capture_thread_program(const struct capture_thread *thread)
{
	return thread->program;
}

void
capture_thread_lock(struct capture_thread *thread)
{
	worker_lock(&thread->worker);
}

void
capture_thread_unlock(struct capture_thread *thread)
{
	worker_unlock(&thread->worker);
}

void
capture_thread_notify(struct capture_thread *thread)
{
	thread->is_notified = true;
	worker_notify(&thread->worker);
}

int
capture_thread_wait_until(struct capture_thread *thread, uint64_t monotonic_ns)
{
	return worker_wait_until(&thread->worker, monotonic_ns);
}
