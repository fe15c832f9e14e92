/*
 * guest_deadline.h - when a system call that waits ends by itself, or a timer runs out
 *
 * A time that the guest waits for is one of its own clocks, which the host's kernel does not know. It is written over
 * with the host's while the call is under way, and put back. Several threads may wait by the same words of memory.
 * Thread rule: any thread, each with its own deadline; guest_deadlines lock by themselves.
 */
#ifndef DCPI_EMULATOR_GUEST_DEADLINE_H
#define DCPI_EMULATOR_GUEST_DEADLINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "emulator/clock/clock.h"
#include "emulator/clock/guest_calls.h"
#include "emulator/clock/guest_time.h"

#define DEADLINE_EXTRA_NS 1000000000 /* that the host waits longer at most, as others are emulated */

struct guest_deadline {
	uint64_t cycles;  /* of the target; QUANTUM_NONE: never */
	uint64_t address; /* of the guest's struct timespec, or timeval; 0: it is no memory */
	uint64_t base;    /* that is added to it */
	int clock_id;     /* with is_absolute: whose time it is */
	bool is_absolute;
	bool is_written; /* over, with the host's; `original` is to be put back */
	struct timespec original;
	struct guest_deadline *next; /* of those that are */
};

struct guest_deadlines {
	pthread_mutex_t lock;
	struct guest_deadline *written;
};

void guest_deadlines_init(struct guest_deadlines *deadlines);

/*
 * The call is about to be made, at `now`. `stretch`: how many times as long the host shall wait for a futex, as others
 * are that much slower than the target; from 1 on.
 */
void guest_deadline_begin(struct guest_deadlines *deadlines, const struct guest_time *time, enum guest_call kind,
                          const struct clock_call *call, uint64_t now, double stretch, struct guest_deadline *deadline);

/* It has returned. */
void guest_deadline_end(struct guest_deadlines *deadlines, struct guest_deadline *deadline);

#endif
