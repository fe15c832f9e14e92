/*
 * sampler_internal.h - what sampler.c (records into a tally) and sampler_cpus.c (counters and rings) share
 */
#ifndef DCPI_COLLECTORD_SAMPLER_INTERNAL_H
#define DCPI_COLLECTORD_SAMPLER_INTERNAL_H

#include "collectord/budget.h"
#include "collectord/dither.h"
#include "collectord/proc_reader.h"
#include "collectord/recent.h"
#include "collectord/sampler.h"
#include "collectord/stack_sampler.h"
#include "stream/merge.h"

#define SAMPLER_PROCFS "/proc"
#define SAMPLER_SYSFS  "/sys"

struct sampler_loss {
	uint64_t lost; /* since the last take */
	uint64_t throttled;
};

/* A counter's values when it was last read. */
struct sampler_reading {
	uint64_t enabled_ns, running_ns;
	uint64_t lost; /* PERF_FORMAT_LOST; 0 where the kernel does not count it */
};

struct sampler_counter {
	int fd; /* -1: not open on this CPU */
	uint64_t id;
	int error; /* why it could not be opened, the last time it was tried */
	struct sampler_loss loss;
	struct dither dither;            /* of a period that is chosen here */
	uint64_t sampled_count;          /* its value at the last sample, if the event has a rate */
	uint64_t enabled_ns, running_ns; /* since the last take */
	struct sampler_reading read;
};

/* Counts in the place of an event's own counter while the CPU is idle: sampler_cpus.c. */
struct idle_counter {
	struct sampler_counter counter; /* fd -1: the event is always sampled at its full rate */
	bool is_idle;                   /* this one counts, the event's own does not */
	uint64_t taken;                 /* its samples */
	uint64_t taken_before;          /* how many there were when the CPU became idle, those in the ring included */
	uint64_t since_ns, window_ns;   /* CLOCK_MONOTONIC: the window whose samples show whether the CPU is busy */
	uint64_t samples_before;        /* how many the event had then, those in the ring included */
	uint64_t drained;               /* samples of the event, of either counter, whatever became of them */
	uint64_t covered_ns;            /* record time up to which a sample of this counter stands for what ran */
};

/* A CPU that went offline keeps its element, and its losses until the next take. */
struct sampler_cpu {
	uint32_t number;
	bool open;            /* false: it is offline */
	int error;            /* why it could not be opened, the last time it was tried */
	bool incomplete;      /* an event that could not be opened here is to be tried again */
	struct ring *samples; /* NULL: no event could be opened here */
	int ring_fd;          /* the counter that owns `samples`; another may count in its place by now */
	struct ring *sideband;
	struct sampler_counter sideband_counter;
	struct ring *stacks; /* NULL: call stacks are not sampled here */
	struct sampler_counter stack_counter;
	struct stack_periods stack_periods; /* of stack_counter */
	struct sampler_counter counters[EVENTS_MAX];
	struct idle_counter idle[EVENTS_MAX];
	uint64_t skipped; /* samples whose event is not ours; damaged records are counted by the rings */
};

/* The CPUs that an event's PMU has. */
struct sampler_event_cpus {
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
#define KNOWN_FILE_SETS  512   /* 16 KiB: 2,048 files */
#define KNOWN_FILE_WAYS  4

struct sampler {
	const struct log *log;
	struct event_features features;
	struct budget budget;
	struct event events[EVENTS_MAX]; /* those that are sampled, then their sums */
	struct sampler_event_cpus event_cpus[EVENTS_MAX];
	size_t event_count;        /* without sums */
	size_t sum_count;          /* of events whose samples stand for varying numbers of events (EVENT_SUM_SUFFIX) */
	uint16_t sums[EVENTS_MAX]; /* where an event's sum is; 0: it has none */
	struct stack_sampler stack_sampler;
	uint16_t stack_event;                  /* behind the sums; 0: call stacks are not sampled */
	int stacks_error;                      /* of opening their event, that was logged last */
	struct slice_event totals[EVENTS_MAX]; /* since the last take */
	struct record_layout sample_layout;
	struct record_layout sideband_layout;
	size_t ring_pages, sideband_pages;
	uint64_t label_changes; /* sampler_label_changes() when that was found out */
	struct sampler_cpu *cpus;
	size_t cpu_count, cpu_capacity; /* elements */
	struct merge *merge;
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
	struct tally *tally;
	struct recent recent; /* empty between two drains */
	bool enabled;
	bool reads_counts;       /* records of samples have PERF_SAMPLE_READ */
	bool has_labels;         /* some process has a label */
	bool is_dropping;        /* samples that do not fit are dropped */
	bool records_lost;       /* records about processes, since /proc was read */
	bool records_overflowed; /* a ring had no room for them */
	struct proc_reader *reader;
	uint64_t scans;            /* of all processes, that have ended and were checked */
	bool rescans_for_overflow; /* /proc is being read again because a ring overflowed */
	uint64_t rescan_ns;        /* CLOCK_MONOTONIC, when it was begun to be read again; 0: not yet */
	struct held_sample *held;  /* in the order in which they were drained */
	size_t held_count, held_capacity;
	bool counts_held;                         /* count the held samples now, whatever has been read */
	struct labelled_processes labelled_again; /* that get their labels again when all processes have been read */
	uint64_t known_ns;                        /* CLOCK_MONOTONIC: up to then all records are applied */
	uint64_t retry_ns; /* CLOCK_MONOTONIC, when events that could not be opened were tried again */
	uint64_t known_files[KNOWN_FILE_SETS][KNOWN_FILE_WAYS]; /* that were mapped: each one's hash, in the set that it
	                                                           chooses, the latest first */
};

#define SAMPLER_ONLINE_CPUS "/sys/devices/system/cpu/online"

/* With sums, and the event of call stacks. */
static inline size_t
sampler_event_total(const struct sampler *sampler)
{
	return sampler->event_count + sampler->sum_count + (sampler->stack_event > 0);
}

/* ---- sampler.c ---- */

/* Records about processes are missing: /proc is to be read again. */
void sampler_records_lost(struct sampler *sampler);

/* Have /proc read again, if records were lost and it is time. */
void sampler_rescan(struct sampler *sampler);

/* The sample has no image for `cause`: keep it until /proc has been read. False: that would not give it one. */
bool sampler_hold_sample(struct sampler *sampler, size_t event, const struct record *record, uint64_t beyond,
                         unsigned cause);

/* Count the held samples that wait for nothing any more. 0, or -ENOSPC: there is no room for the rest. */
int sampler_count_held(struct sampler *sampler);

/* ---- sampler_cpus.c ---- */

void sampler_cpu_init(struct sampler_cpu *cpu, uint32_t number);

/* What is in the rings is lost; what was counted as lost is kept. */
void sampler_cpu_close(struct sampler *sampler, struct sampler_cpu *cpu);

/*
 * Begin to sample CPU `number`, counting at once when the sampler is enabled. 0, -ENODEV when the CPU is offline,
 * another negative errno. Events that cannot be opened there are logged, once, and left out.
 */
int sampler_add_cpu(struct sampler *sampler, uint32_t number);

/* Find out on which CPUs each event can be opened. 0 or -errno. */
int sampler_find_event_cpus(struct sampler *sampler);

/* Add what the kernel has counted since the last reading. False when there is nothing to read. */
bool sampler_counter_read(const struct sampler *sampler, struct sampler_counter *counter);

#endif
