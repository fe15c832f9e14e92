/*
 * guest_timers.h - timers that the guest has set: when they run out in its own time
 *
 * They run on the host, for the span that was asked for. Who waits when one has run out there - in a call that its
 * signal interrupts, in a read of its descriptor - goes on when it would have there. A program that computes meanwhile
 * has its signal by the host's time.
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_TIMERS_H
#define DCPI_EMULATOR_GUEST_TIMERS_H

#include <pthread.h>
#include <stdint.h>

#include "emulator/clock/guest_time.h"

#define GUEST_TIMERS_MAX 64
#define TIMER_NONE       UINT64_MAX /* none has run out */

enum guest_timer_kind {
	TIMER_FREE,
	TIMER_INTERVAL,   /* of setitimer(), alarm(): one a process */
	TIMER_POSIX,      /* of timer_settime() */
	TIMER_DESCRIPTOR, /* of timerfd_settime() */
};

struct guest_timer {
	enum guest_timer_kind kind;
	int id;
	uint64_t expires; /* cycles */
	uint64_t interval_ns;
	uint64_t host_ns; /* when it does on the host: CLOCK_MONOTONIC */
};

struct guest_timers {
	pthread_mutex_t lock;
	struct guest_timer timers[GUEST_TIMERS_MAX];
};

void guest_timers_init(struct guest_timers *timers);

/* A timer is set; it was before, perhaps. Without room it is not known. */
void guest_timers_set(struct guest_timers *timers, const struct guest_timer *timer);
void guest_timers_clear(struct guest_timers *timers, enum guest_timer_kind kind, int id);

/*
 * A signal has come: the first of the timers that send one which has run out by `host_ns`; and the timer of a
 * descriptor. When: cycles; TIMER_NONE. One with an interval runs on.
 */
uint64_t guest_timers_signal(struct guest_timers *timers, const struct guest_time *time, uint64_t host_ns);
uint64_t guest_timers_read(struct guest_timers *timers, const struct guest_time *time, int fd, uint64_t host_ns);

#endif
