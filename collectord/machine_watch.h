/*
 * machine_watch.h - changes of the machine while dcpid runs: CPUs, clocks, sleep, the limit of samples
 *
 * Cheap enough to be polled before every drain: three small files and three clocks.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_MACHINE_WATCH_H
#define DCPI_COLLECTORD_MACHINE_WATCH_H

#include <stdint.h>

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
