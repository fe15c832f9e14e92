/*
 * machine.h - the machine that dcpid runs on: its description, clocks, limits and memory
 *
 * Thread rule: stateless; machine_raise_limits() and machine_tune_allocator() concern the whole process.
 */
#ifndef DCPI_COLLECTORD_MACHINE_H
#define DCPI_COLLECTORD_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/epoch.h"

/* Fill host, kernel and cpu of `epoch` from uname(2) and files below `procfs` ("/proc"). Never fails: "" is unknown. */
void machine_describe(const char *procfs, struct epoch *epoch);

/*
 * The model of the first processor in the text of /proc/cpuinfo; "" when it has none. code/pipeline_match.c reads it:
 * "AMD EPYC (AuthenticAMD family 25 model 17)", "ARM implementer 0x41, part 0xd0c". An x86 with AMX has it,
 * "... (GenuineIntel family 6 model 167 with amx_tile)": hypervisors give the numbers of an older model, but the
 * instructions identify it.
 */
void machine_cpu_model(const char *cpuinfo, char *model, size_t size);

/* Does dcpid see only the processes of a container's pid namespace? */
bool machine_is_pid_namespace(const char *procfs);

/* Raise the limits on open files and locked memory as far as this process may. */
void machine_raise_limits(void);

/*
 * Have the allocator return free memory to the kernel: to be called before there are threads. By default it keeps a
 * heap per thread, and puts large arrays into them once some have been freed.
 */
void machine_tune_allocator(void);

/*
 * Return free pages inside of the heap to the kernel. To be called after much was freed that had been allocated over a
 * long time: blocks that stay lie between, and the allocator by itself returns only what lies behind the last of them.
 */
void machine_trim_heap(void);

uint64_t
machine_cpu_time_ns(void); /* processor time this process, and those that it started and waited for, have used */
uint64_t machine_busy_ns(const char *procfs); /* of all CPUs, not idle, since boot; 0: not known */
uint64_t machine_clock_ns(int clock_id);      /* clock_gettime(2); 0 when that fails */

/* What this process has in memory; zeros when that is unknown. */
struct machine_memory {
	uint64_t resident_bytes;
	uint64_t own_bytes; /* of it, what is in no file: heap, stacks */
};
void machine_memory(struct machine_memory *memory);

#endif
