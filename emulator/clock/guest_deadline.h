/*
 * guest_deadline.h - when a system call that waits times out, or a timer that it sets expires
 *
 * A time that the guest waits for is one of its own clocks, which the host's kernel does not know. While the call is
 * under way the host's time is written over it, and afterwards the original is restored. Several threads may wait by
 * one struct timespec in memory.
 *
 * Thread rule: any thread, each with its own deadline; guest_deadlines lock by themselves.
 */
#ifndef DCPI_EMULATOR_GUEST_DEADLINE_H
#define DCPI_EMULATOR_GUEST_DEADLINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "emulator/clock/clock.h"
#include "emulator/clock/guest_time.h"
#include "emulator/clock/syscalls.h"

#define DEADLINE_EXTRA_NS                                                                                              \
	1000000000 /* that the host waits longer at most, as other threads are slowed down by the emulator */

struct guest_deadline {
	uint64_t cycles;  /* of the target; QUANTUM_NONE: never */
	uint64_t address; /* of the guest's struct timespec, or timeval; 0: the time is an argument, or there is none */
	uint64_t base;    /* that is added to it */
	int clock_id;     /* with is_absolute: the clock that shows the time */
	bool is_absolute;
	bool is_written; /* the host's time is in its place; `original` is to be restored */
	struct timespec original;
	struct guest_deadline *next; /* in the list of those that are written */
};

struct guest_deadlines {
	pthread_mutex_t lock;
	struct guest_deadline *written;
};

void guest_deadlines_init(struct guest_deadlines *deadlines);

/*
 * The call is about to be made, at `now`. `stretch`: how many times as long the host shall wait for a futex, because
 * other threads are that much slower than on the target; at least 1.
 */
void guest_deadline_begin(struct guest_deadlines *deadlines, const struct guest_time *time, enum syscall_kind kind,
                          const struct clock_call *call, uint64_t now, double stretch, struct guest_deadline *deadline);

/* It has returned. */
void guest_deadline_end(struct guest_deadlines *deadlines, struct guest_deadline *deadline);

#endif
