/*
 * guest_time.h - the guest's time: what its clocks show, when its waits time out, when its timers expire
 *
 * Clocks: conversion between cycles of the target and the times that the guest reads. Cycle 0 is a fixed date, so that
 * runs are reproducible; with seed 0 it is the host's present time.
 *
 * Deadlines: the guest waits for a time of its own clocks, which the host's kernel does not know. During the call, this
 * time is overwritten with the host's; afterwards the original is restored. Several threads may use one struct timespec
 * in memory.
 *
 * Timers: the host runs them for the span that the guest requested. If a thread waits when a timer expires on the host
 * - in a call that the timer's signal interrupts, or in a read of its descriptor - it continues at the time when the
 * timer expires in the guest's time. A program that computes meanwhile gets its signal by the host's time.
 *
 * Thread rule: any thread, each with its own deadline; clocks are constant after guest_time_init(), deadlines and
 * timers lock by themselves.
 */
#ifndef DCPI_EMULATOR_GUEST_TIME_H
#define DCPI_EMULATOR_GUEST_TIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "emulator/clock/clock.h"
#include "emulator/clock/syscalls.h"

#define GUEST_TIME_REAL_S      INT64_C(1893456000) /* 2030-01-01: later than the time of any file */
#define GUEST_TIME_MONOTONIC_S 1000                /* since the machine was started */
#define GUEST_TIME_COARSE_NS   4000000             /* of the clocks that tick: 250 Hz */

struct guest_time {
	uint64_t clock_khz;
	int64_t real_ns, monotonic_ns; /* at cycle 0 */
};

void guest_time_init(struct guest_time *time, double clock_mhz, uint64_t seed);

uint64_t guest_time_ns(const struct guest_time *time, uint64_t cycles);
uint64_t guest_time_cycles(const struct guest_time *time, uint64_t ns);

/* What clock `id` (CLOCK_...) shows at `cycles`; false: it does not show virtual time. */
bool guest_time_read(const struct guest_time *time, int id, uint64_t cycles, struct timespec *shown);

/* When clock `id` shows `shown`, in cycles; 0 for times before cycle 0. False: it does not show virtual time. */
bool guest_time_when(const struct guest_time *time, int id, const struct timespec *shown, uint64_t *cycles);

/* ---- deadlines of calls that wait, or set a timer ---- */

#define DEADLINE_EXTRA_NS                                                                                              \
	1000000000 /* how much longer the host waits at most, because the emulator slows down the other threads */

struct guest_deadline {
	uint64_t cycles;  /* of the target; QUANTUM_NONE: never */
	uint64_t address; /* of the guest's struct timespec, or timeval; 0: the time is an argument, or there is none */
	uint64_t base;    /* added to `address` */
	int clock_id;     /* with is_absolute: the clock that shows the time */
	bool is_absolute;
	bool is_written; /* the host's time is in its place; `original` is to be restored */
	struct timespec original;
	struct guest_deadline *next; /* in the list of deadlines with is_written */
};

struct guest_deadlines {
	pthread_mutex_t lock;
	struct guest_deadline *written;
};

void guest_deadlines_init(struct guest_deadlines *deadlines);

/*
 * Before the call, at `now`. `stretch`: by which factor, at least 1, the host waits longer for a futex, because other
 * threads are slower by it than on the target.
 */
void guest_deadline_begin(struct guest_deadlines *deadlines, const struct guest_time *time, enum syscall_kind kind,
                          const struct clock_call *call, uint64_t now, double stretch, struct guest_deadline *deadline);

/* The system call that waited for the deadline has returned. */
void guest_deadline_end(struct guest_deadlines *deadlines, struct guest_deadline *deadline);

/* ---- timers ---- */

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

/* A timer is set, or set again. Without room in the table it is ignored. */
void guest_timers_set(struct guest_timers *timers, const struct guest_timer *timer);
void guest_timers_clear(struct guest_timers *timers, enum guest_timer_kind kind, int id);

/*
 * When a timer expired, in cycles; TIMER_NONE. After a signal: of the timers that send signals, the first that has
 * expired by `host_ns`. After a read of `fd`: the last time that its timer has expired. A timer with an interval
 * continues.
 */
uint64_t guest_timers_signal(struct guest_timers *timers, const struct guest_time *time, uint64_t host_ns);
uint64_t guest_timers_read(struct guest_timers *timers, const struct guest_time *time, int fd, uint64_t host_ns);

#endif
