/*
 * guest_timers.h - timers that the guest has set: when they expire in its own time
 *
 * The host runs them for the span that the guest asked for. A thread that waits when one expires there - in a call that
 * the timer's signal interrupts, or in a read of its descriptor - continues at the time when it expires in the guest's
 * time. A program that computes meanwhile gets its signal by the host's time.
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_TIMERS_H
#define DCPI_EMULATOR_GUEST_TIMERS_H

#include <pthread.h>
#include <stdint.h>

#include "emulator/clock/guest_time.h"

#define GUEST_TIMERS_MAX 64
#define TIMER_NONE       UINT64_MAX /* no timer has expired */

enum guest_timer_kind {
	TIMER_FREE,
	TIMER_INTERVAL,   /* of setitimer() and alarm(): one per process */
	TIMER_POSIX,      /* of timer_settime() */
	TIMER_DESCRIPTOR, /* of timerfd_settime() */
};

struct guest_timer {
	enum guest_timer_kind kind;
	int id;
	uint64_t expires; /* cycles */
	uint64_t interval_ns;
	uint64_t host_ns; /* when it expires on the host: CLOCK_MONOTONIC */
};

struct guest_timers {
	pthread_mutex_t lock;
	struct guest_timer timers[GUEST_TIMERS_MAX];
};

void guest_timers_init(struct guest_timers *timers);

/* A timer is set, or set again. When there is no room for it, it is not known. */
void guest_timers_set(struct guest_timers *timers, const struct guest_timer *timer);
void guest_timers_clear(struct guest_timers *timers, enum guest_timer_kind kind, int id);

/*
 * When a timer expired, in cycles; TIMER_NONE. After a signal: the first of the timers that send one and have expired
 * by `host_ns`; after a read of `fd`: the last time that its timer has. A timer with an interval continues.
 */
uint64_t guest_timers_signal(struct guest_timers *timers, const struct guest_time *time, uint64_t host_ns);
uint64_t guest_timers_read(struct guest_timers *timers, const struct guest_time *time, int fd, uint64_t host_ns);

#endif
