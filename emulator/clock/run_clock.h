/*
 * run_clock.h - the times that the processes of a run share
 *
 * All processes map one file in the run's directory. It has the time that each process has reached, how many bytes were
 * written to which pipe and when, and how the run's time relates to the host's. A program starts at the time of its
 * exec call, a child at its parent's time; a parent that waited for a child continues at the child's last time. A
 * reader of a pipe continues at the time when its data was written.
 *
 * Thread rule: any thread of any process. If another process destroys the contents, times are wrong, but nothing else.
 */
#ifndef DCPI_EMULATOR_RUN_CLOCK_H
#define DCPI_EMULATOR_RUN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/machine.h"

#define RUN_CLOCK_NAME      "times" /* of the file */
#define RUN_CLOCK_PROCESSES 4096
#define RUN_CLOCK_PIPES     512
#define RUN_CLOCK_UNKNOWN   UINT64_MAX

struct run_clock;

/*
 * The clock of the run in `directory`; if the file cannot be made there, of this process and its forks only. NULL and
 * errno ENOMEM: no memory.
 */
struct run_clock *run_clock_new(const char *directory);
void run_clock_free(struct run_clock *run_clock);

/* Set the time of a process to `cycles`; it never goes back. And get that time; RUN_CLOCK_UNKNOWN: none. */
void run_clock_set_time(struct run_clock *run_clock, pid_t process, uint64_t cycles);
uint64_t run_clock_time(const struct run_clock *run_clock, pid_t process);

/* A child begins; an earlier process may have had its number. */
void run_clock_begin(struct run_clock *run_clock, pid_t process, pid_t parent, uint64_t cycles);

/* CPU time of a process's threads, and of the children that it has waited for. */
struct cpu_time {
	uint64_t all;    /* cycles on a core, system calls included */
	uint64_t system; /* cycles in system calls */
};

void run_clock_set_cpu_time(struct run_clock *run_clock, pid_t process, const struct cpu_time *cpu);
void run_clock_cpu_time(const struct run_clock *run_clock, pid_t process, struct cpu_time *cpu);

/*
 * The cores that a process, or another thread than its first, is pinned to, one bit each; children of the process
 * inherit them. False: it is not pinned.
 */
#define RUN_CLOCK_AFFINITY_SIZE (MACHINE_CORES_MAX / 8)
void run_clock_set_affinity(struct run_clock *run_clock, pid_t process, const uint8_t mask[RUN_CLOCK_AFFINITY_SIZE]);
bool run_clock_affinity(const struct run_clock *run_clock, pid_t process, uint8_t mask[RUN_CLOCK_AFFINITY_SIZE]);
void run_clock_unpin(struct run_clock *run_clock, pid_t process);

/* The number of a descriptor's pipe, for the functions below; 0: it is no pipe. */
uint64_t run_clock_pipe(int fd);

/* A write begins at `cycles`; a write of `bytes` ended at `cycles`. */
void run_clock_pipe_write_begin(struct run_clock *run_clock, uint64_t pipe, uint64_t cycles);
void run_clock_pipe_write_end(struct run_clock *run_clock, uint64_t pipe, uint64_t cycles, uint64_t bytes);

/* `bytes` were read at `cycles`: returns when the last of them was written; 0: not known. */
uint64_t run_clock_pipe_read(struct run_clock *run_clock, uint64_t pipe, uint64_t cycles, uint64_t bytes);

/* When a read last made room in the pipe. */
uint64_t run_clock_pipe_room(struct run_clock *run_clock, uint64_t pipe);

/*
 * The host's time for a time t of the target is `origin_ns` + `dilation` * t. The first process that knows both sets
 * them, the others use these; a process that falls behind moves the origin for all. False: not known yet.
 */
bool run_clock_pace(const struct run_clock *run_clock, double *dilation, int64_t *origin_ns);
void run_clock_set_pace(struct run_clock *run_clock, double dilation, int64_t origin_ns);
void run_clock_shift_origin(struct run_clock *run_clock, int64_t ns);

#endif
