/*
 * memory_path.h - the bandwidth of memory, and the latency of an access under load
 *
 * Lines are moved through a path: a memory controller, or the link from one node to another. Time is cut into windows,
 * and in each window a path moves a fixed number of lines at most: a line whose window is full is moved in the next
 * window with room. This holds in whatever order threads come, whose clocks differ by up to a quantum: windows are
 * remembered for several quanta, and older windows always have room.
 *
 * Below that limit, latency grows with load by the machine's curve. Load is the sum of the rates of all cores, each
 * averaged by its core's own clock, so it does not depend on the order of threads, either. The rate of a core that has
 * published nothing for longer than clocks can differ counts as 0.
 *
 * Thread rule: any thread may use a path, without a lock; a memory_path_user belongs to one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_MEMORY_PATH_H
#define DCPI_EMULATOR_MODEL_MEMORY_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define MEMORY_PATH_LOADS          256
#define MEMORY_PATH_LINES_BITS     20
#define MEMORY_PATH_PUBLISH_CYCLES 4096

/* The rate that a core published last. */
struct memory_path_report {
	uint64_t published; /* by its clock; 0: never */
	double rate;        /* lines a cycle */
};

/* By load, from 0 to MEMORY_PATH_LOADS (the limit): how many cycles an access takes longer than without load. */
struct load_curve {
	uint32_t least_cycles; /* the latency without load */
	double lines_per_cycle;
	uint32_t more_cycles[MEMORY_PATH_LOADS + 1];
};

struct memory_path {
	uint64_t *windows; /* number of a window << MEMORY_PATH_LINES_BITS | lines in it, at number & window_mask */
	uint64_t window_mask;
	uint64_t window_lines_q16; /* lines that a window has room for, times 2^16; 0: no limit */
	uint64_t reach;            /* how many windows a line waits at most; 0: no limit */
	uint8_t window_shift;      /* cycle >> window_shift is the window */
	bool is_shared;            /* by several threads; may be set while no thread is in a call */
	struct memory_path_report *reports;
	unsigned core_count;
	uint64_t stale_cycles; /* after so long without a report, a core's rate is 0 */
};

/* A core's part of a path. */
struct memory_path_user {
	struct memory_path *path;
	unsigned core;
	uint32_t load_cycles;            /* more_cycles[] of the last known load */
	uint64_t first_full, first_free; /* windows first_full to first_free - 1 are full */
	uint64_t lines;                  /* that the core requested */
	uint64_t next_publish;           /* time of the next memory_path_publish() */
	uint64_t published_lines;
	double average; /* lines a cycle */
};

void load_curve_init(struct load_curve *curve, const struct machine *machine);

/* 0 or -ENOMEM. `lines_per_cycle` 0: no limit. `quantum_cycles`: by how much clocks may differ; 0: no bound. */
int memory_path_init(struct memory_path *path, double lines_per_cycle, unsigned core_count, uint64_t quantum_cycles);
void memory_path_fini(struct memory_path *path);

void memory_path_user_init(struct memory_path_user *user, struct memory_path *path, unsigned core);

/*
 * The core's clock is set to `now`, which may be earlier than before: its rate is published after the standard
 * interval.
 */
void memory_path_user_continue(struct memory_path_user *user, uint64_t now);

/*
 * Move a line at `now`, or in the first window with room; returns the cycles until then. The load curve's latency
 * already contains the average queueing: callers take the longer of the two, not both.
 */
uint64_t memory_path_transfer(struct memory_path_user *user, uint64_t now);

/* Publish this core's rate up to `now`, and update user->load_cycles from the rates of all cores. */
void memory_path_publish(struct memory_path_user *user, uint64_t now, const struct load_curve *curve);

/* Count a line that is requested at `now`; keeps user->load_cycles up to date. */
static inline void
memory_path_count(struct memory_path_user *user, uint64_t now, const struct load_curve *curve)
{
	user->lines++;
	if (__builtin_expect(now >= user->next_publish, 0))
		memory_path_publish(user, now, curve);
}

#endif
