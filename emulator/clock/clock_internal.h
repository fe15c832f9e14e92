/*
 * clock_internal.h - the state of clock.h, which clock.c advances and syscall_answers.c shows to the guest
 *
 * Thread rule: a thread's state is its own, except for what is atomic or said to be under the lock; the rest is
 * constant or locks by itself.
 */
#ifndef DCPI_EMULATOR_CLOCK_INTERNAL_H
#define DCPI_EMULATOR_CLOCK_INTERNAL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "emulator/clock/clock.h"
#include "emulator/clock/delay.h"
#include "emulator/clock/futex_model.h"
#include "emulator/clock/guest_state.h"
#include "emulator/clock/guest_time.h"
#include "emulator/clock/quantum.h"
#include "emulator/clock/run_clock.h"
#include "emulator/clock/syscalls.h"
#include "emulator/qemu_functions.h"

/* A system call that has begun and not ended. */
struct clock_pending_call {
	struct clock_call call;
	enum syscall_kind kind;
	uint64_t began;         /* cycles */
	uint64_t sleeps;        /* host_thread_sleep_count() then */
	uint64_t host_began;    /* ns, of a sleep */
	uint64_t child_address; /* of the thread that it makes */
	bool waits_for_futex, wakes_futex;
	bool is_away;  /* other threads do not wait for this one */
	bool is_alone; /* the process has, and has had, no other thread */
	struct guest_deadline deadline;
	uint64_t pipe; /* that it reads from, or writes to; 0 */
};

struct clock_thread {
	struct clock_pending_call pending;
	struct record_counters *counters;
	struct record_counters none; /* where there are no counters */
	pthread_t host;              /* that made its last system call: finds the parent of a new thread */
	int host_thread;             /* tid of `host` */
	bool is_alive, has_host;
	unsigned core;
	uint64_t last;            /* its clock at the last clock_reached() */
	atomic_uint_fast64_t now; /* its clock when it was last known; other threads read it */
	atomic_uint_fast64_t began;
	atomic_uint_fast64_t blocked; /* cycles since it began */
	atomic_uint_fast64_t system;
	uint64_t child_address;  /* futex that the kernel clears and wakes at the thread's end; 0 */
	int64_t result_override; /* what its last call is to return; with has_result_override */
	bool has_result_override;
	struct guest_random random;
	uint64_t measured_cycles, measured_ns; /* execution, and CPU time of the host, at its last delay_measure() */
};

struct clock {
	struct setup setup;
	uint64_t start;
	uint64_t host_began; /* ns: when the process started */
	uint64_t step;       /* cycles between two calls of clock_reached() */
	struct syscalls *syscalls;
	struct guest_time time;
	struct guest_deadlines deadlines;
	struct guest_timers timers;
	struct guest_result result;
	struct run_clock *run_clock;
	struct delay *delay;
	struct quantum *quantum;
	struct futex_model *futexes;
	pid_t process;
	struct cpu_time before;                                 /* of this process when it executed this program */
	struct cpu_time children;                               /* of those that it has waited for; under the lock */
	cpu_set_t host_affinity;                                /* when the process started */
	unsigned child_argument;                                /* number of clone()'s argument for the child's futex */
	pthread_mutex_t lock;                                   /* of which threads are alive, and on which core */
	_Atomic(struct clock_thread *) cloning;                 /* the last to call clone() for a thread */
	atomic_uint highest;                                    /* thread so far, and one */
	atomic_uint_fast64_t ended_cycles, ended_system_cycles; /* of threads that have ended */
	struct clock_thread threads[CLOCK_VCPUS_MAX];
};

/* Cycles that a thread has had a core for until `now`; and CPU time of all threads, without children. */
uint64_t clock_thread_cpu_cycles(const struct clock_thread *thread, uint64_t now);
void clock_cpu_time(const struct clock *clock, struct cpu_time *cpu);

/*
 * The thread's call has returned `result`, at `now`: write the target's answer about time, processors and random
 * numbers over the kernel's.
 */
void clock_answer_call(struct clock *clock, unsigned vcpu, int64_t result, uint64_t now);

#endif
