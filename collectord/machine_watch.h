/*
 * machine_watch.h - tells when the machine under dcpid is no longer the one it was
 *
 * Cheap enough to be asked before every drain: two small files of sysfs and three clocks.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_MACHINE_WATCH_H
#define DCPI_COLLECTORD_MACHINE_WATCH_H

#include <stdint.h>

struct machine_watch;

enum machine_change {
	MACHINE_CPUS = 1,       /* a CPU may have come or gone: look closer */
	MACHINE_RESUMED = 2,    /* the machine slept */
	MACHINE_CLOCK_SET = 4,  /* CLOCK_REALTIME was set, by more than MACHINE_STEP_NS */
	MACHINE_RATE_LIMIT = 8, /* kernel.perf_event_max_sample_rate is another */
};

#define MACHINE_STEP_NS UINT64_C(1000000000)

/* `sysfs` and `procfs` ("/sys", "/proc") are borrowed for the call. NULL and errno (ENOMEM). */
struct machine_watch *machine_watch_new(const char *sysfs, const char *procfs);
void machine_watch_free(struct machine_watch *watch); /* NULL is allowed */

/* What has changed since the last call, or since the watch was made: MACHINE_... */
unsigned machine_watch_look(struct machine_watch *watch);

/* Readable when there is reason to look; negative where the kernel does not tell: look from time to time. */
int machine_watch_descriptor(const struct machine_watch *watch);

/* kernel.perf_event_max_sample_rate when it was last looked at; 0: it cannot be read. */
uint64_t machine_watch_rate_limit(const struct machine_watch *watch);

#endif
