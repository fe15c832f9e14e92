/*
 * capture_thread.h - the thread that runs dcpi-capture
 *
 * It has users, each with one kind of work: names of code that is made at run time (code_namer.h), names and text of
 * images (capturer.h), and unwind tables (unwind_tables.h). A user has one process at a time. The thread serves the
 * processes of all users with one poll(), so no user waits for another's process, which may take CAPTURE_CHILD_S. Work
 * that a user does on the thread itself is bounded: reading the kernel's text takes 40 ms, opening the file of a
 * process at most 4 s. When several users have work, the one that was added first begins first; each begins one process
 * before any begins its next. With nothing to do, the thread sleeps until the first deadline of its users, or until
 * capture_thread_notify().
 *
 * Thread rule: the lock also belongs to the users: it guards what they share with the thread, and the thread holds it
 * when it calls them. capture_thread_stop() and capture_thread_free() are the owner's; the others any thread's.
 */
#ifndef DCPI_COLLECTORD_CAPTURE_THREAD_H
#define DCPI_COLLECTORD_CAPTURE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#define CAPTURE_USERS_MAX 3

struct capture_child;
struct capture_thread;

/* A kind of work. Both functions may give the lock up meanwhile. */
struct capture_user {
	void *context; /* of its functions; borrowed until the thread is stopped */

	/*
	 * Start what is due at `now_ns` (CLOCK_MONOTONIC) as `child`, unlocked, and return true: capture_child_start(),
	 * or set has_ended when the thread has done the work itself. Or return false and when to ask again; UINT64_MAX:
	 * after capture_thread_notify().
	 */
	bool (*begin)(void *context, uint64_t now_ns, struct capture_child *child, uint64_t *due_ns);

	/* The child has ended, for -ECANCELED when the thread is to stop. */
	void (*end)(void *context, const struct capture_child *child);
};

/* Starts the thread, which runs `program` (borrowed). NULL and errno. */
struct capture_thread *capture_thread_new(const char *program);

/* At most CAPTURE_USERS_MAX. */
void capture_thread_add(struct capture_thread *thread, const struct capture_user *user);

/* Ends the thread and the processes that it has; its lock can still be used. */
void capture_thread_stop(struct capture_thread *thread);
void capture_thread_free(struct capture_thread *thread); /* stops it if it runs. NULL is allowed */

const char *capture_thread_program(const struct capture_thread *thread);
void capture_thread_lock(struct capture_thread *thread);
void capture_thread_unlock(struct capture_thread *thread);

/* With the lock held: have the thread ask its users again, and wake those that wait for a change. */
void capture_thread_notify(struct capture_thread *thread);

/* With the lock held: wait for a change, which the end of a process is, too, until `monotonic_ns` at most. 0 or
 * ETIMEDOUT. */
int capture_thread_wait_until(struct capture_thread *thread, uint64_t monotonic_ns);

#endif
