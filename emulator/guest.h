/*
 * guest.h - the program in the emulator, as far as both plugins follow it
 *
 * How the emulator was started, which files the guest's code is from, what the guest executes and forks.
 * Thread rule: guest_take_block() one thread at a time; the calls by any.
 */
#ifndef DCPI_EMULATOR_GUEST_H
#define DCPI_EMULATOR_GUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulator/follow.h"
#include "emulator/forked_cpus.h"
#include "emulator/places.h"
#include "emulator/started.h"
#include "emulator/thread_birth.h"
#include "emulator/translation.h"

struct guest {
	struct started started;
	struct follow follow;
	struct forked_cpus forked;
	struct places *places;
	struct birth birth;        /* of the thread that is about to begin */
	atomic_uint_fast64_t base; /* what is added to its addresses */
	uint32_t ignored_signals;
	bool is_x86;
};

/*
 * While a plugin is installed: `target` and options as it gets them, `self` some function of it. 0; -ENOSYS: a target
 * that is not known; -errno.
 */
int guest_init(struct guest *guest, const char *target, int argc, char **argv, const void *self);

/* Who is told of files with code, and of programs that leave the emulator, with `context`. 0 or -ENOMEM. */
int guest_tell(struct guest *guest, places_visit *add_image, void (*not_followed)(void *context), void *context);

void guest_fini(struct guest *guest); /* also one that was not told anything */

/* A block is being translated: it gets its image and offset; image 0: it is no file's. */
void guest_take_block(struct guest *guest, struct translation *translation);

static inline uint64_t
guest_base(const struct guest *guest)
{
	return atomic_load_explicit(&guest->base, memory_order_relaxed);
}

/* Before a system call, and after it. What is executed is followed (follow.h): then the first does not return. */
void guest_call_began(struct guest *guest, int64_t number, const uint64_t arguments[5]);
void guest_call_ended(struct guest *guest, unsigned vcpu, int64_t number, int64_t result);

/* Whether this system call is one that begins a thread. */
bool guest_call_makes_thread(const struct guest *guest, int64_t number, uint64_t flags);

/* A thread began; all that is to be done for it is. In the child of a fork. */
void guest_thread_began(struct guest *guest);
void guest_forked(struct guest *guest);

#endif
