/*
 * sampler_internal.h - what the sampler's files share
 */
#ifndef DCPI_COLLECTORD_SAMPLER_INTERNAL_H
#define DCPI_COLLECTORD_SAMPLER_INTERNAL_H

#include "collectord/budget.h"
#include "collectord/dither.h"
#include "collectord/proc_reader.h"
#include "collectord/recent.h"
#include "collectord/sampler.h"
#include "stream/merge.h"

#define SAMPLER_PROCFS "/proc"
#define SAMPLER_SYSFS  "/sys"

struct sampler_loss {
	uint64_t lost; /* since the last take */
	uint64_t throttled;
};

/* What the kernel said of a counter when it was last read. */
struct sampler_reading {
	uint64_t enabled_ns, running_ns;
	uint64_t lost; /* PERF_FORMAT_LOST; 0 where the kernel does not count it */
};

struct sampler_counter {
	int fd; /* -1: not open on this CPU */
	uint64_t id;
	int error; /* why it could not be opened, the last time it was tried */
	struct sampler_loss loss;
	struct dither dither;            /* of a fixed period */
	uint64_t enabled_ns, running_ns; /* since the last take */
	struct sampler_reading read;
};

/* Counts in the place of an event's own counter while the CPU is idle: sampler_idle.c. */
struct idle_counter {
	struct sampler_counter counter; /* fd -1: the event is always sampled at its full rate */
	bool is_idle;                   /* this one counts, the event's own does not */
	uint64_t taken;                 /* its samples */
	uint64_t taken_before;          /* how many there were when the CPU became idle, those in the ring included */
	uint64_t since_ns, window_ns;   /* CLOCK_MONOTONIC; the samples from when on tell whether the CPU is busy */
	uint64_t samples_before;        /* how many the event had then, those in the ring included */
	uint64_t drained;               /* samples of the event, of either counter, whatever became of them */
	uint64_t covered_ns;            /* record time up to which a sample of this counter stands for what ran */
};

/* One that went keeps its place, and what it lost until the next take. */
struct sampler_cpu {
	uint32_t number;
	bool open;            /* false: it is offline */
	int error;            /* why it could not be opened, the last time it was tried */
	bool incomplete;      /* an event that could not be opened here is to be tried again */
	struct ring *samples; /* NULL: no event could be opened here */
	int ring_fd;          /* the counter whose ring it is; it may count no more, and another stand in its place */
	struct ring *sideband;
	struct sampler_counter sideband_counter;
	struct sampler_counter counters[EVENTS_MAX];
	struct idle_counter idle[EVENTS_MAX];
	uint64_t skipped; /* samples whose event is not ours; damaged records are counted by the rings */
};

/* The CPUs that an event's PMU has. */
struct sampler_places {
	uint32_t *cpus; /* NULL: all */
	int count;
};

/* A sample that waits for what is being read of /proc. */
struct held_sample {
	struct record record;
	uint64_t beyond;
	size_t event;
};

#define HELD_SAMPLES_MAX 16384 /* 2 MiB */

struct sampler {
	const struct log *log;
	struct event_features features;
	struct budget budget;
	struct event events[EVENTS_MAX]; /* those that are sampled, then their sums */
	struct sampler_places places[EVENTS_MAX];
	size_t event_count;        /* without sums */
	size_t sum_count;          /* of events whose samples say for how many events they stand (EVENT_SUM_SUFFIX) */
	uint16_t sums[EVENTS_MAX]; /* where an event's sum is; 0: it has none */
	struct slice_event totals[EVENTS_MAX]; /* since the last take */
	struct record_layout sample_layout;
	struct record_layout sideband_layout;
	size_t ring_pages, sideband_pages;
	uint64_t label_changes; /* sampler_label_changes() when that was found out */
	struct sampler_cpu *cpus;
	size_t cpu_count, cpu_capacity; /* places */
	struct merge *merge;
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
	struct tally *tally;
	struct recent recent; /* empty between two drains */
	bool enabled;
	bool reads_period;       /* records of samples have PERF_SAMPLE_PERIOD */
	bool has_labels;         /* some process has a label */
	bool relieving;          /* give up samples that do not fit */
	bool records_lost;       /* records about processes, since /proc was read */
	bool records_overflowed; /* a ring had no room for them */
	struct proc_reader *reader;
	uint64_t scans;            /* of all processes, whose end has been seen to */
	bool rescans_for_overflow; /* /proc is being read again because a ring overflowed */
	uint64_t rescan_ns;        /* CLOCK_MONOTONIC, when it was begun to be read again; 0: not yet */
	struct held_sample *held;  /* in the order of coming */
	size_t held_count, held_capacity;
	bool books_held;                 /* those that are held now wait no longer */
	struct labelled_processes again; /* that get their labels again when all processes have been read */
	uint64_t known_ns;               /* CLOCK_MONOTONIC: up to then all records are applied */
	uint64_t retry_ns;               /* CLOCK_MONOTONIC, when events that could not be opened were tried again */
};

/* ---- sampler_labels.c ---- */

/* merge_drain(), and labels begin each at its moment. */
int sampler_merge_until(struct sampler *sampler, uint64_t horizon, merge_sink *sink);

/* ---- sampler_period.c ---- */

/* With so many bytes a ring of samples calls: with half of what it holds, or as often as periods are to change. */
uint32_t sampler_watermark(const struct sampler *sampler);

/* Records about processes are missing: /proc is to be read again. */
void sampler_miss_records(struct sampler *sampler);

/* Samples of the event's own counter that wait in its ring. */
uint32_t sampler_waiting_samples(const struct sampler *sampler, const struct sampler_cpu *cpu,
                                 const struct sampler_counter *counter);

/* ---- sampler_idle.c ---- */

/* The period of an event's counter for idle CPUs, ns; 0: those are sampled as busy ones. */
uint64_t sampler_idle_period(const struct sampler *sampler, size_t event);

/* The event's own counter begins to count on a CPU: a while passes before it is asked whether the CPU is idle. */
void sampler_begin_idle_window(const struct sampler *sampler, struct sampler_cpu *cpu, size_t event, uint64_t now_ns);

/* ---- sampler_scan.c ---- */

/* Read what is there already, and wait for it for a moment. 0 or an error with a sentence. */
int sampler_scan(struct sampler *sampler, char *why, size_t size);

/* Take what was found, and see to what follows from it. */
void sampler_take_found(struct sampler *sampler);

/* Have /proc read again, if records were lost and it is time. */
void sampler_rescan(struct sampler *sampler);

/* The sample has no image for `cause`: keep it until /proc has been read. False: that would tell nothing. */
bool sampler_hold(struct sampler *sampler, size_t event, const struct record *record, uint64_t beyond, unsigned cause);

/* Count those that wait for nothing any more. 0, or -ENOSPC: there is no room for the rest. */
int sampler_book_held(struct sampler *sampler);

#define SAMPLER_ONLINE_CPUS "/sys/devices/system/cpu/online"

/* ---- sampler_cpu.c ---- */

void sampler_cpu_init(struct sampler_cpu *cpu, uint32_t number);

/*
 * Open rings and events on a CPU of sampler->cpus, counting at once when the sampler is enabled. 0, -ENODEV when the
 * CPU is offline, another negative errno; it is closed then. Events that cannot be opened here are logged, once, and
 * left out.
 */
int sampler_cpu_open(struct sampler *sampler, struct sampler_cpu *cpu);

/* Find out on which CPUs each event can be opened. 0 or -errno. */
int sampler_find_places(struct sampler *sampler);

/*
 * Open `event` with `period` (its rate when that varies) in the place of the counter `index`, into the same ring. What
 * is in the ring of the old one has been drained. 0, or -errno: the old one goes on.
 */
int sampler_counter_replace(struct sampler *sampler, struct sampler_cpu *cpu, size_t index, const struct event *event,
                            uint64_t period);

/* Try the events that are missing. How many could be opened. */
int sampler_cpu_open_events(struct sampler *sampler, struct sampler_cpu *cpu);

/* What is in the rings is lost; what was counted as lost is kept. */
void sampler_cpu_close(struct sampler *sampler, struct sampler_cpu *cpu);

/* Add what the kernel has counted since the last reading. False when there is nothing to read. */
bool sampler_counter_read(const struct sampler *sampler, struct sampler_counter *counter);

/* ---- sampler_follow.c ---- */

/* Begin to sample CPU `number`. As sampler_cpu_open(), or -ENOMEM. */
int sampler_add_cpu(struct sampler *sampler, uint32_t number);

#endif
