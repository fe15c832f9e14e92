/*
 * guest.h - the guest program, as far as both plugins follow it
 *
 * How the emulator was started, from which files the guest's code is, and what the guest executes, forks and clones.
 * Thread rule: guest_take_block() one thread at a time; guest_call_...() any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_H
#define DCPI_EMULATOR_GUEST_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "emulator/exec_follow.h"
#include "emulator/mapped_code.h"
#include "emulator/program.h"
#include "emulator/qemu_functions.h"
#include "emulator/translation.h"

struct guest {
	struct plugin_args started;
	struct exec_follow follow;
	struct forked_cpus forked;
	struct mapped_code *code;
	atomic_uint_fast64_t base; /* host address less guest address */
	/*
	 * One thread begins at a time. With interface 1, QEMU announces a new virtual CPU in its parent's clone(); with
	 * interface 2, on the new thread, when clone() may have returned. So the parent holds `clone_lock` from before
	 * its clone() until `thread_began` is posted: then the parent is known, and does not run meanwhile.
	 */
	pthread_mutex_t clone_lock;
	sem_t thread_began;
	uint32_t ignored_signals;
	bool is_x86;
};

/*
 * To be called while a plugin is installed, with the `target` and the options that it gets; `self` is any function of
 * the plugin. 0; -ENOSYS: an unknown target; -errno.
 */
int guest_init(struct guest *guest, const char *target, int argc, char **argv, const void *self);

/* Set the callbacks for files with code, and for programs that leave the emulator. 0 or -ENOMEM. */
int guest_tell(struct guest *guest, mapped_code_visit *add_image, void (*not_followed)(void *context), void *context);

void guest_fini(struct guest *guest); /* also without guest_tell() */

/* A block is being translated: set its image and offset; image 0: no file has this code. */
void guest_take_block(struct guest *guest, struct translation *translation);

static inline uint64_t
guest_base(const struct guest *guest)
{
	return atomic_load_explicit(&guest->base, memory_order_relaxed);
}

/* Before and after a system call. The first does not return when an execve() is followed (exec_follow.h). */
void guest_call_began(struct guest *guest, int64_t number, const uint64_t arguments[5]);
void guest_call_ended(struct guest *guest, unsigned vcpu, int64_t number, int64_t result);

/* Whether this system call begins a thread. */
bool guest_call_makes_thread(const struct guest *guest, int64_t number, uint64_t flags);

/* Whether this system call is to make the process another user's, of whom it then has the rights: *user. */
bool guest_call_sets_user(const struct guest *guest, int64_t number, const uint64_t arguments[3], uid_t *user);

/* The plugin has done all that a new thread needs: its parent's clone() may return. Any thread. */
void guest_thread_began(struct guest *guest);

void guest_forked(struct guest *guest); /* in the child of a fork */

/*
 * Signals that were ignored when the program was executed must stay ignored in programs that it executes. The emulator
 * shows its guest such a signal (of nohup, or a shell's `trap ""`) as ignored, but has a handler for it, so execve()
 * would reset it to its default.
 *
 * guest_read_ignored_signals() returns the signals (bit n: signal n + 1) that are ignored now, before the emulator
 * installs its handlers. guest_ignore_signals() ignores them again, and clears `*signals`, so that later calls do
 * nothing. Its first call must come before the guest's first instruction: later changes by the guest go through the
 * emulator to the kernel.
 */
uint32_t guest_read_ignored_signals(void);
void guest_ignore_signals(uint32_t *signals);

#endif
