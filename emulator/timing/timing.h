/*
 * timing.h - the state that the threads of an emulated program share
 *
 * Thread rule: constant once the plugin is installed, except the members that lock by themselves.
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
	unsigned thread_count;          /* highest number that there was, plus 1 */
	pthread_mutex_t cores_lock;     /* which thread has which core: of threads that end, and of timing_publish() */
	struct target_core *idle_cores; /* the last that was given back comes first */
	unsigned load_cycles;           /* of a hit in level 1, in the schedules */
	int64_t level1_difference;      /* the machine's latency minus the pipeline's */
	unsigned misses_in_flight, write_buffer_entries;
	unsigned line_bytes, level_count; /* of the machine */
	bool is_in_order;
	bool is_common;         /* lines and pages have the sizes for which callbacks are made */
	struct predictor sites; /* its kind determines the site of a branch */
	struct arena arena;     /* of translated code */
	struct code **codes;    /* by number */
	struct edges edges;
	struct code *nothing; /* stands for the code before the first block, and for a system call */
};

static inline struct thread *
timing_thread(const struct timing *timing, unsigned vcpu)
{
	return (struct thread *)(timing->threads + ((uint64_t)vcpu << THREAD_SHIFT));
}

/* Map the file `setup` of `directory`; NULL and errno: there is none, or it is of another build (EPROTO). */
const struct setup *timing_map_setup(const char *directory);

/* 0 or -errno; `machine` is EM_X86_64, ... `callbacks` are the emulator's. The caller owns `clock` and `recording`. */
int timing_init(struct timing *timing, const struct setup *setup, uint16_t machine, enum block_callbacks callbacks,
                struct clock *clock, struct recording *recording);
void timing_fini(struct timing *timing);

/* Bring the records of all threads nearly up to date: the threads may run meanwhile. */
void timing_publish(struct timing *timing);

/* To be called around a fork, in the parent and in the child: no other thread then holds a lock of this state. */
void timing_before_fork(struct timing *timing);
void timing_after_fork(struct timing *timing);

/*
 * In the child of a fork, whose only thread was `calling`: from now on it records into its own file. 0, or -errno: it
 * records nothing.
 */
int timing_fork(struct timing *timing, struct thread *calling);

#endif
