/*
 * machine.h - the machine that dcpid runs on: its clocks, limits and memory
 *
 * Thread rule: stateless; machine_raise_limits() and machine_tune_allocator() concern the whole process.
 */
#ifndef DCPI_COLLECTORD_MACHINE_H
#define DCPI_COLLECTORD_MACHINE_H

#include <stddef.h>
#include <stdint.h>

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
