/*
 * clock_state.h - what the parts of clock.h share
 *
 * Thread rule: a thread's state is its own but for what is said; the rest is constant or locks by itself.
 */
#ifndef DCPI_EMULATOR_CLOCK_STATE_H
#define DCPI_EMULATOR_CLOCK_STATE_H

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "emulator/clock/clock.h"
#include "emulator/clock/delay.h"
#include "emulator/clock/run_clock.h"
#include "emulator/clock/futex_model.h"
#include "emulator/clock/guest_calls.h"
#include "emulator/clock/guest_deadline.h"
#include "emulator/clock/guest_random.h"
#include "emulator/clock/guest_result.h"
#include "emulator/clock/guest_time.h"
#include "emulator/clock/guest_timers.h"
#include "emulator/clock/quantum.h"

#define RESULT_EINTR     (-4)
#define RESULT_EAGAIN    (-11)
#define RESULT_EINVAL    (-22)
#define RESULT_ETIMEDOUT (-110)
#define RESULT_RESTART   (-512) /* QEMU's: a signal came, the call is made again */

#define COPIED_BYTES_A_CYCLE 8 /* by a system call: a line of 64 bytes in 8 cycles */

/* A system call on its way. */
struct clock_progress {
	struct clock_call call;
	enum guest_call kind;
	uint64_t began;         /* cycles */
	uint64_t sleeps;        /* host_thread_sleep_count() then */
	uint64_t host_began;    /* ns, of a sleep */
	uint64_t child_address; /* of the thread that it makes */
	bool waits_for_futex, wakes_futex;
	bool is_away;  /* others do not wait for it */
	bool is_alone; /* there are none, and have never been */
	struct guest_deadline deadline;
	uint64_t pipe; /* that it reads from, or writes to; 0 */
};

struct clock_thread {
	struct clock_progress progress;
	struct record_counters *counters;
	struct record_counters none; /* where there are no counters */
	pthread_t host;              /* that made its last system call: who a new thread's parent is */
	bool is_alive, has_host;
	unsigned core;
	uint64_t last;            /* its clock when clock_reached() looked */
	atomic_uint_fast64_t now; /* as last told; others read it */
	atomic_uint_fast64_t began;
	atomic_uint_fast64_t blocked; /* since it began */
	atomic_uint_fast64_t system;
	uint64_t child_address; /* that the kernel clears and wakes at its end; 0 */
	int host_thread;        /* its number */
	int64_t pending_result; /* that its last call is to return; with has_pending_result */
	bool has_pending_result;
	struct guest_random random;
	uint64_t measured_cycles,
		measured_ns; /* its execution, and CPU time of the host, when delay_measure() was told */
};

struct clock {
	struct setup setup;
	uint64_t start;
	uint64_t host_began; /* ns: when it started */
	uint64_t step;       /* cycles between two calls of clock_reached() */
	struct guest_calls *calls;
	struct guest_time time;
	struct guest_deadlines deadlines;
	struct guest_timers timers;
	struct guest_result result;
	struct run_clock *run_clock;
	struct delay *delay;
	pid_t process;
	struct cpu_time before;   /* what this process had had when this program began in it */
	struct cpu_time children; /* what those had that it waited for; under the lock */
	cpu_set_t host_affinity;  /* as it was when this began */
	struct quantum *quantum;
	struct futex_model *futex_model;
	unsigned child_argument;                                /* of clone(): where the address of the child's is */
	pthread_mutex_t lock;                                   /* of who is alive, and on which core */
	_Atomic(struct clock_thread *) cloning;                 /* the last to begin a thread */
	atomic_uint highest;                                    /* thread, and one */
	atomic_uint_fast64_t ended_cycles, ended_system_cycles; /* of threads that are gone */
	struct clock_thread threads[CLOCK_VCPUS_MAX];
};

/* The calling thread is this one. */
void clock_bind_thread(struct clock *clock, unsigned vcpu);

/* The thread's clock is `now`: wait for those that are far behind. */
void clock_keep_near(struct clock *clock, unsigned vcpu, uint64_t now);

/* Cycles that all threads have had a core for, and of these those in system calls; without children. */
void clock_cpu_time(const struct clock *clock, struct cpu_time *busy);

/* Its call has returned `result`: when, at the earliest. */
uint64_t clock_time_of_return(struct clock *clock, unsigned vcpu, int64_t result);

/* It has set or ended a timer, perhaps; and when one ran out that ended it, TIMER_NONE. */
void clock_timer_ended(struct clock *clock, const struct clock_progress *progress, int64_t result);
uint64_t clock_time_of_timer(struct clock *clock, const struct clock_progress *progress, int64_t result);

static inline bool
clock_is_sleep(enum guest_call kind)
{
	return kind == CALL_NANOSLEEP || kind == CALL_CLOCK_NANOSLEEP;
}

#endif
