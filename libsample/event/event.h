/*
 * event.h - which events this machine can count, and what it counts instead of those that it cannot
 *
 * An event_spec says what the user wants. event_encode() turns its name into fields of perf_event_attr. event_resolve()
 * tries to open the event, gives up one request after the other until the kernel accepts it, and says in words what was
 * refused. A fallback is never silent: `name` is what is really counted, `requested` what the user asked for, `note`
 * why they differ. names.c has the names that mean the same everywhere, pmu.c those that a PMU has in sysfs, and
 * vendor.c those of a vendor's manual. event.c adds `rNNN`, and decides how an event is counted.
 * Thread rule: stateless; the opener given in the environment decides.
 */
#ifndef DCPI_EVENT_EVENT_H
#define DCPI_EVENT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_NAME_SIZE     128 /* with its NUL; `pmu/field=value,.../` forms are the longest */
#define EVENT_NOTE_SIZE     256
#define EVENT_UNIT_SIZE     16
#define EVENTS_MAX          32 /* events in one epoch */
#define EVENT_PRECISE_MAX   3
#define EVENT_TYPE_DCPIX    UINT32_MAX       /* encoding.type of what dcpix counts; perf does not know it */
#define EVENT_TYPE_EMULATED (UINT32_MAX - 1) /* of what dcpiemu samples: events of an emulated machine */
#define EVENT_TYPE_TRUTH    (UINT32_MAX - 2) /* of cycles whose reasons dcpiemu knows: no samples, only edges */

struct event_spec {
	char name[EVENT_NAME_SIZE]; /* as perf names it: cycles, LLC-load-misses, cpu-clock, r01c2, cpu/event=0xc0/ */
	uint64_t period;            /* events per sample; 0: use rate */
	uint64_t rate;   /* samples per second and CPU while the CPU is busy; 0: use period; both 0: choose */
	uint8_t precise; /* highest precise_ip to try, 0 to EVENT_PRECISE_MAX */
	bool user;       /* count user mode */
	bool kernel;     /* count kernel mode */
	bool idle;       /* count the idle task (matters to clocks only: halted cores count no cycles) */
};

struct event_encoding {
	uint32_t type; /* perf_event_attr.type */
	uint64_t config, config1, config2;
	char unit[EVENT_UNIT_SIZE]; /* of the count: "cycles", "ns", "events" */
};

/* An event as it is (or is not) counted; part of the epoch. */
struct event {
	char name[EVENT_NAME_SIZE];      /* what is counted */
	char requested[EVENT_NAME_SIZE]; /* what was asked for */
	char note[EVENT_NOTE_SIZE];      /* one sentence on a fallback or an absence, else empty */
	struct event_encoding encoding;
	uint64_t period;      /* events (or ns) per sample; 0: the kernel varies it to keep `rate` (EVENT_SUM_SUFFIX) */
	uint64_t rate;        /* samples per second of a busy CPU: as requested, or by the period; 0: not known */
	uint64_t wanted_rate; /* what `rate` is without the kernel's limit; 0: there was none. Not kept in the database
	                       */
	uint64_t cost_ns;     /* measured processor time of taking one sample; 0: not known */
	uint32_t period_step; /* the kernel takes only multiples of it as a period; 0: any. Not in the database */
	uint8_t precise;      /* precise_ip that was granted */
	bool available;       /* false: this machine can count neither it nor a substitute */
	bool chosen;          /* the user set neither period nor rate: they may change. Not kept in the database */
	bool user, kernel, idle;
};

/* Try to open `attr` on `cpu` for all processes. Returns a descriptor the caller owns, or a negative errno. */
typedef int event_open(void *context, struct perf_event_attr *attr, int cpu);

/* perf_event_open(2) itself, close-on-exec; `context` is not used. */
int event_open_system(void *context, struct perf_event_attr *attr, int cpu);

struct event_environment {
	event_open *open;
	void *open_context;
	const char *sysfs;     /* "/sys" */
	const char *procfs;    /* "/proc" */
	int cpu;               /* an online CPU on which events are tried */
	uint64_t default_rate; /* samples per second and CPU where the spec says nothing, or a period of something else
	                        */
};

/*
 * Encode the name of an event. 0; DCPI_ENOEVENT (negative) with a sentence in `why` (of `size` bytes) that says what is
 * wrong and, for a near miss, what was probably meant; -ENODEV when it is for a PMU that this machine does not have;
 * another negative errno when sysfs cannot be read. Modifiers behind the name are checked, but do not change the
 * encoding.
 */
int event_encode(const char *sysfs, const char *name, struct event_encoding *encoding, char *why, size_t size);

/*
 * Find out how `spec` can be counted here: with precise_ip from spec->precise downwards, with cpu-clock instead of
 * cycles if there is no PMU, and with flags of newer kernels dropped one by one. 0 with *event filled, also when the
 * event is not available: see event->available and event->note. -DCPI_ENOEVENT for a name that means nothing; -EINVAL
 * when the spec leaves nothing to count, or has neither period nor rate and there is no default; -EACCES or -EPERM when
 * the kernel refuses every event of all processes: `why` then names the sysctl or capability that decides, with its
 * present value and the value that is needed; -EMFILE, -ENFILE, -ENOMEM, -ENOSYS, or -ENODEV when environment->cpu is
 * offline. For each error `why` has a sentence. Modifiers behind the name (:u :k :p :pp :ppp :P :I) narrow the spec;
 * event->name ends with :u or :k when only that mode is counted.
 */
int event_resolve(const struct event_environment *environment, const struct event_spec *spec, struct event *event,
                  char *why, size_t size);

/*
 * The name of the event that an attribute counts, the inverse of event_encode(): "cycles", "L1-dcache-load-misses",
 * "r1c2", with :u or :k when only that mode is counted, and a p for each level of precision; "event-TYPE-CONFIG" when
 * naming it would need another machine's sysfs.
 */
void event_name_of(const struct perf_event_attr *attr, char name[EVENT_NAME_SIZE]);

/* The unit of the event called `name`, which may have a PMU and modifiers as in a recording; "events" if unknown. */
void event_unit_of(const char *name, char unit[EVENT_UNIT_SIZE]);

/* Whether the event is a timer, whose count is nanoseconds. */
bool event_is_clock(const struct event_encoding *encoding);

/* Whether the event counts cycles of a core of any kind. */
bool event_is_cycles(const struct event_encoding *encoding);

/* The period nearest to `period` that the kernel takes for the event. */
uint64_t event_period_near(const struct event *event, uint64_t period);

/*
 * `NAME.sum` is no event of its own. If samples of NAME stand for different numbers of events, it counts the events
 * beyond (samples of NAME) x (period of NAME); this period is 0 if the event has a rate. There is no sum if its name
 * would exceed EVENT_NAME_SIZE.
 */
#define EVENT_SUM_SUFFIX ".sum"
bool event_is_sum(const struct event *event);

/* Whether `sum` is the sum of the event called samples->name. */
bool event_is_sum_of(const struct event *sum, const struct event *samples);

/* Make the sum of `samples`. False: its name would be too long. */
bool event_sum_of(const struct event *samples, struct event *sum);

/*
 * `NAME.stacks` counts the samples of NAME whose call stacks are known, by stack (profile/stacks.h). Its period is that
 * of NAME; where that varies, it has a sum of its own.
 */
#define EVENT_STACKS_SUFFIX ".stacks"
bool event_is_stacks(const struct event *event);

/* Whether `stacks` has the stacks of the event called samples->name. */
bool event_is_stacks_of(const struct event *stacks, const struct event *samples);

/* Make the event of the stacks of `samples`. False: its name would be too long. */
bool event_stacks_of(const struct event *samples, struct event *stacks);

/*
 * Sample a clock, whose sum is `sum`, `rate` (at least 1) times a second on a CPU that is idle. The period on idle
 * CPUs, ns, is kept in sum->encoding.config; 0: idle CPUs are sampled as often as busy ones.
 */
void event_set_idle_rate(struct event *sum, uint64_t rate);

/*
 * Give `event` a fixed period that yields `rate` (at least 1) samples a second on a CPU that counts `count_rate` events
 * a second. The period is a prime (times event->period_step); for a clock, which needs no count_rate, it is 3.1 %
 * longer than exact. event->rate becomes the rate that this period yields.
 */
void event_set_rate(struct event *event, uint64_t rate, uint64_t count_rate);

/* kernel.perf_event_max_sample_rate below `procfs` ("/proc"); UINT64_MAX when it cannot be read. */
uint64_t event_rate_limit(const char *procfs);

/* kernel.perf_event_max_stack below `procfs`; 127, as Linux sets it, when it cannot be read. */
uint64_t event_stack_limit(const char *procfs);

/*
 * Limit the rate of an event whose period varies: the rate becomes the requested one, or `limit` if that is lower,
 * which event->note then says. True when the rate changed.
 */
bool event_limit_rate(struct event *event, uint64_t limit);

/*
 * event_resolve() for machines whose cores are of several kinds (big and little, performance and efficiency), each with
 * its own PMU: there, an event with a generic name becomes one event for each kind: `cpu_core/cycles/`,
 * `cpu_atom/cycles/`. Returns how many of the at most `max` events were filled, at least 1; or an error of
 * event_resolve(); -E2BIG when max is 0.
 */
int event_resolve_kinds(const struct event_environment *environment, const struct event_spec *spec,
                        struct event *events, size_t max, char *why, size_t size);

/* Whether both come from one request, for cores of different kinds. A CPU counts at most one of them. */
bool event_is_other_kind(const struct event *event, const struct event *other);

/*
 * The CPUs on which the event called `name` can be opened: those of its PMU. Their number with *cpus, which the caller
 * frees; 0 and NULL: all CPUs; or an error: -EINVAL when none of them is online.
 */
int event_cpus(const char *sysfs, const char *name, uint32_t **cpus);

/*
 * Which optional attributes this kernel knows: cgroups (5.7), kernel symbol records (5.1), lost counts when read (6.0).
 * event_features_probe() finds out once, by opening events with them.
 */
struct event_features {
	bool cgroup;
	bool ksymbol;
	bool read_lost;
};

/* 0, or the negative errno with which the kernel refuses even the simplest event. */
int event_features_probe(const struct event_environment *environment, struct event_features *features);

/*
 * The attribute that samples `event` in all processes, with times of CLOCK_MONOTONIC and the sample layout of
 * stream/record.h. It begins disabled; the caller sets when to wake the reader (wakeup_events, watermark).
 */
void event_sample_attr(const struct event *event, const struct event_features *features, struct perf_event_attr *attr);

/* The attribute of the event that counts nothing and carries mmap, comm, fork, exit, cgroup and ksymbol records. */
void event_sideband_attr(const struct event_features *features, struct perf_event_attr *attr);

#endif
