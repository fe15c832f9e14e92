/*
 * timing.h - what the threads of an emulated program share
 *
 * Thread rule: constant once the plugin is installed, but for what locks by itself.
 */
#ifndef DCPI_EMULATOR_TIMING_TIMING_H
#define DCPI_EMULATOR_TIMING_TIMING_H

#include <limits.h>
#include <pthread.h>

#include "emulator/clock/clock.h"
#include "emulator/timing/code.h"
#include "emulator/timing/thread.h"

#define TIMING_LINE_SHIFT FILTER_LINE_SHIFT
#define TIMING_LINE       (1u << TIMING_LINE_SHIFT)
#define TIMING_PAGE_SHIFT 12

struct timing {
	const struct setup *setup;
	uint32_t parts; /* SETUP_... */
	struct recording *recording;
	struct blocks *blocks;
	struct memory_system *memory;
	struct clock *clock;
	uint8_t *threads;               /* RECORD_VCPUS_MAX places of 1 << THREAD_SHIFT */
	unsigned thread_count;          /* highest that there was, and one */
	pthread_mutex_t cores_lock;     /* which thread has which core: of threads that end, and of timing_publish() */
	struct target_core *idle_cores; /* the last that was given back first */
	unsigned load_cycles;           /* of a hit in level 1, as the schedules have it */
	int64_t level1_difference;      /* what the machine says more than the pipeline */
	unsigned misses_in_flight, write_buffer_entries;
	unsigned line_bytes, level_count; /* of the machine */
	bool is_in_order;
	bool is_common;         /* lines and pages of the usual sizes: callbacks are made for them */
	struct predictor sites; /* its kind says how a branch is known */
	struct arena arena;     /* of what is translated */
	struct code **codes;    /* by number */
	struct edges edges;
	struct code *nothing; /* that ran before the first block, or a system call */
};

static inline struct thread *
timing_thread(const struct timing *timing, unsigned vcpu)
{
	return (struct thread *)(timing->threads + ((uint64_t)vcpu << THREAD_SHIFT));
}

/* The file `setup` of `directory`, mapped; NULL and errno: none, or of another build (EPROTO). */
const struct setup *timing_map_setup(const char *directory);

/* 0 or -errno; `machine` is EM_X86_64, ... `callbacks` are the emulator's. `clock` and `recording` are the caller's. */
int timing_init(struct timing *timing, const struct setup *setup, uint16_t machine, enum block_callbacks callbacks,
                struct clock *clock, struct recording *recording);
void timing_fini(struct timing *timing);

/* The record has what happened until now in all threads, or nearly: they may go on. */
void timing_publish(struct timing *timing);

/* Around a fork, in the parent and in the child: no other thread is inside of what locks. */
void timing_before_fork(struct timing *timing);
void timing_after_fork(struct timing *timing);

/* In the child of a fork, whose only thread was `calling`: it records on its own from now on. 0, or -errno: nowhere. */
int timing_fork(struct timing *timing, struct thread *calling);

#endif
