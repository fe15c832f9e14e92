/*
 * memory_path.h - what memory can move, and how much longer an access takes while it moves much
 *
 * A path is what lines go through: a memory controller, or the link from one node to another. Time is cut into windows,
 * and in each window a path moves so many lines and no more: a line that finds its window full is moved in the next one
 * that has room. That holds whatever the order in which threads come, whose clocks differ by the quantum: windows are
 * remembered for several of it, and what is older finds room.
 *
 * Below that limit latency grows with load, as the machine's curve says. Load is the sum of what each core asks for,
 * each by its own clock and averaged, so that an order of threads plays no part in it either. A core that was not
 * published of for longer than clocks can differ asks for nothing.
 *
 * Thread rule: a path is for any thread, without a lock; its user is one thread's.
 */
#ifndef DCPI_EMULATOR_MODEL_MEMORY_PATH_H
#define DCPI_EMULATOR_MODEL_MEMORY_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define MEMORY_PATH_LOADS          256
#define MEMORY_PATH_LINES_BITS     20
#define MEMORY_PATH_PUBLISH_CYCLES 4096

/* What a core last said that it asks for. */
struct memory_path_report {
	uint64_t published; /* by its clock; 0: never */
	double rate;        /* lines a cycle */
};

/* Cycles that an access takes longer than without load: by load, from 0 to MEMORY_PATH_LOADS for the limit. */
struct load_curve {
	uint32_t least_cycles; /* the latency without load */
	double lines_per_cycle;
	uint32_t more_cycles[MEMORY_PATH_LOADS + 1];
};

struct memory_path {
	uint64_t *windows; /* number of a window << MEMORY_PATH_LINES_BITS | lines in it, at number & window_mask */
	uint64_t window_mask;
	uint64_t window_lines_q16; /* lines that a window has room for, times 2^16; 0: no limit */
	uint64_t reach;            /* windows that a line waits at most; 0: no limit */
	uint8_t window_shift;      /* of cycles */
	bool is_shared;            /* by threads; may be set while no thread is in a call */
	struct memory_path_report *reports;
	unsigned core_count;
	uint64_t stale_cycles; /* for a core that is not published of */
};

/* A core's part of a path. */
struct memory_path_user {
	struct memory_path *path;
	unsigned core;
	uint32_t load_cycles;            /* more_cycles[] of the load as it was last seen */
	uint64_t first_full, first_free; /* windows first_full to first_free - 1 are full */
	uint64_t lines;                  /* that it asked for */
	uint64_t next_publish;           /* time of the next memory_path_publish() */
	uint64_t published_lines;
	double average; /* lines a cycle */
};

void load_curve_init(struct load_curve *curve, const struct machine *machine);

/* 0 or -ENOMEM. `lines_per_cycle` 0: no limit. `quantum_cycles`: what clocks differ by; 0: by anything. */
int memory_path_init(struct memory_path *path, double lines_per_cycle, unsigned core_count, uint64_t quantum_cycles);
void memory_path_fini(struct memory_path *path);

void memory_path_user_init(struct memory_path_user *user, struct memory_path *path, unsigned core);

/* The core's clock is at `now` again, perhaps before what it was: its rate is published after the usual time. */
void memory_path_user_continue(struct memory_path_user *user, uint64_t now);

/*
 * Move a line at `now`, or in the first window with room; returns the cycles until then. The load curve's latency
 * already contains the average queueing: callers take the longer of the two, not both.
 */
uint64_t memory_path_transfer(struct memory_path_user *user, uint64_t now);

/* Publish this core's rate up to `now`, and update user->load_cycles from the rates of all cores. */
void memory_path_publish(struct memory_path_user *user, uint64_t now, const struct load_curve *curve);

/* A line more was asked for at `now`; user->load_cycles follows the load. */
static inline void
memory_path_count(struct memory_path_user *user, uint64_t now, const struct load_curve *curve)
{
	user->lines++;
	if (__builtin_expect(now >= user->next_publish, 0))
		memory_path_publish(user, now, curve);
}

#endif
