/*
 * machine.h - the machine that dcpid runs on: its clocks, limits and memory, and how it changes
 *
 * Thread rule: stateless, but for struct machine_watch; machine_raise_limits() and machine_tune_allocator() concern the
 * whole process.
 */
#ifndef DCPI_COLLECTORD_MACHINE_H
#define DCPI_COLLECTORD_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

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

uint64_t machine_usage_ns(const struct rusage *usage); /* processor time, of user and system */
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

/* ---- changes while dcpid runs: CPUs, clocks, sleep, the limit of samples; thread rule: one thread ---- */

/* Cheap enough to be polled before every drain: three small files and three clocks. */
struct machine_watch;

enum machine_change {
	MACHINE_CPUS = 1,       /* a CPU may have come or gone: compare the lists of CPUs */
	MACHINE_RESUMED = 2,    /* the machine slept */
	MACHINE_CLOCK_SET = 4,  /* CLOCK_REALTIME was set, by more than MACHINE_STEP_NS */
	MACHINE_RATE_LIMIT = 8, /* kernel.perf_event_max_sample_rate is another */
};

#define MACHINE_STEP_NS UINT64_C(1000000000)

/* `sysfs` and `procfs` ("/sys", "/proc") are borrowed for the call. NULL and errno (ENOMEM). */
struct machine_watch *machine_watch_new(const char *sysfs, const char *procfs);
void machine_watch_free(struct machine_watch *watch); /* NULL is allowed */

/* What has changed since the last call, or since the watch was made: MACHINE_... */
unsigned machine_watch_poll(struct machine_watch *watch);

/*
 * Readable when machine_watch_poll() is due: a device went online or offline, the clock was set, the machine slept. A
 * profiler that notices a CPU seconds after it came has missed which processes began on it. Negative where the kernel
 * does not report that: call it from time to time.
 */
int machine_watch_descriptor(const struct machine_watch *watch);

/* kernel.perf_event_max_sample_rate at the last machine_watch_poll(); 0: it cannot be read. */
uint64_t machine_watch_rate_limit(const struct machine_watch *watch);

#endif
