/*
 * process_birth.h - when a process began, which together with its pid says which process it is, and whose child it is
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_PROCESS_BIRTH_H
#define DCPI_PROCESS_PROCESS_BIRTH_H

#include <stddef.h>
#include <stdint.h>

struct process_birth {
	uint64_t start_ticks; /* since the machine began, sleep included: USER_HZ, 100 a second */
	uint32_t parent;      /* that it has now: who outlives its parent gets another */
};

/* Read the text of /proc/PID/stat, `length` bytes. 0, or -EINVAL. */
int process_birth_parse(const char *text, size_t length, struct process_birth *birth);

/* Ask `procfs` ("/proc"). 0; -ENOENT or -ESRCH when there is no such process; another errno. */
int process_birth_read(const char *procfs, uint32_t pid, struct process_birth *birth);

/* `ticks` as nanoseconds of CLOCK_MONOTONIC, rounded down, if the machine has not slept since then; else earlier. */
int64_t process_birth_monotonic_ns(uint64_t ticks);
uint64_t process_birth_ticks(uint64_t monotonic_ns); /* the other way round */

#endif
