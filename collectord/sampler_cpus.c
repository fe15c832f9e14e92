/*
 * The CPUs of a sampler: counters and rings of each, CPUs that come and go, how often counters sample, idle CPUs
 *
 * A timer that stands in for cycles goes on while its CPU is idle. Each tick wakes the CPU, and yields no sample, as
 * idle time is not counted. So each such event has a second counter, of a long period, that counts in its place as long
 * as the CPU is idle; its first sample makes the ring readable, and the CPU is sampled at the full rate again.
 *
 * A sample of the long period T stands for the time from T / 2 before it to T / 2 behind it, as in any sampling at
 * fixed intervals: samples of the full rate from that half period behind it are left out. Were it to stand for the T
 * before it, each stretch of work would be taken for half a period longer than it is, as the end of a stretch is seen
 * at the full rate.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cpu_list.h"
#include "base/error.h"
#include "collectord/machine.h"
#include "collectord/sampler_internal.h"

#define RING_PAGES_MIN     4
#define SAMPLE_BYTES       40  /* without a cgroup */
#define WAKEUP_UNKNOWN     256 /* samples between wake-ups of an event whose frequency is unknown */
#define FULL_PERCENT       50  /* of a ring, which a second may fill without a wake-up */
#define ALIVE_TRIES        3
#define ALIVE_PAUSE_NS     1000000 /* longer than any kernel's clock takes for a few steps */
#define RETRY_INTERVAL_NS  UINT64_C(10000000000)
#define IDLE_SHARE         20                  /* a CPU is idle that has less than 1 / 20 of a busy one's samples */
#define IDLE_WINDOW_MIN_NS UINT64_C(250000000) /* window after a CPU had been idle */
#define IDLE_WINDOW_MAX_NS UINT64_C(500000000) /* window while a CPU is busy */
#define IDLE_SLACK_NS                                                                                                  \
	UINT64_C(500000000) /* a window may end so much later, so that one wake-up ends those of all CPUs */
#define IDLE_PERIODS 2      /* the long period is at least so many of the event's own */

/* The descriptors that each CPU has, as sampler_descriptor() counts them. */
enum { DESCRIPTOR_SIDEBAND, DESCRIPTOR_SAMPLES, DESCRIPTOR_STACKS, CPU_DESCRIPTORS };

/* ---- counters ---- */

/* Values in the order of PERF_FORMAT_...: as event_sample_attr() and event_sideband_attr() ask for them. */
enum { READ_VALUE, READ_ENABLED, READ_RUNNING, READ_ID, READ_LOST, READ_COUNT };

bool
sampler_counter_read(const struct sampler *sampler, struct sampler_counter *counter)
{
	const size_t size = (sampler->features.read_lost ? READ_COUNT : READ_LOST) * sizeof(uint64_t);
	uint64_t values[READ_COUNT] = {0};
	struct sampler_reading *last = &counter->read;

	if (counter->fd < 0 || read(counter->fd, values, sizeof(values)) != (ssize_t)size)
		return false;
	counter->enabled_ns += values[READ_ENABLED] - last->enabled_ns;
	counter->running_ns += values[READ_RUNNING] - last->running_ns;
	counter->loss.lost += values[READ_LOST] - last->lost;
	*last = (struct sampler_reading){
		.enabled_ns = values[READ_ENABLED],
		.running_ns = values[READ_RUNNING],
		.lost = values[READ_LOST],
	};
	return true;
}

/* Open `attr` on a CPU; the counter's id is how its records are recognised. */
static int
open_counter(struct perf_event_attr *attr, uint32_t cpu, struct sampler_counter *counter)
{
	int fd = event_open_system(NULL, attr, (int)cpu);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &counter->id)) {
		int err = -errno;

		close(fd);
		return err;
	}
	counter->fd = fd;
	counter->sampled_count = 0;
	return 0;
}

/* A counter that owns the ring is closed with the ring, in sampler_cpu_close(). */
static void
close_counter(const struct sampler_cpu *cpu, struct sampler_counter *counter)
{
	if (counter->fd >= 0 && counter->fd != cpu->ring_fd)
		close(counter->fd);
	counter->fd = -1;
	counter->id = 0;
	memset(&counter->read, 0, sizeof(counter->read));
}

static int
set_period(const struct sampler_counter *counter, uint64_t period)
{
	return ioctl(counter->fd, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

/* The period of an event's counter for idle CPUs, ns; 0: those are sampled as busy ones. */
static uint64_t
idle_period(const struct sampler *sampler, size_t event)
{
	const size_t sum = sampler->sums[event];
	const uint64_t period = sum ? sampler->events[sum].encoding.config : 0;

	return sampler->events[event].period && period >= sampler->events[event].period * IDLE_PERIODS ? period : 0;
}

/* What a sample takes in a ring. */
static size_t
sample_bytes(const struct sampler *sampler)
{
	size_t words = sampler->features.cgroup;

	if (sampler->reads_counts)
		words += sampler->features.read_lost ? READ_COUNT : READ_LOST;
	return SAMPLE_BYTES + words * sizeof(uint64_t);
}

/*
 * With how many bytes a ring of samples becomes readable: with half of what it holds, or as often as periods are to
 * change. Of a busy CPU that is once a second when it is sampled rarely while it is idle: then the first sample of work
 * makes the ring readable. It is twice a second for another, so that a program that runs for half a second is seen.
 */
static uint32_t
ring_watermark(const struct sampler *sampler)
{
	const uint64_t half = sampler->ring_pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	uint64_t samples = 0;

	for (size_t e = 0; e < sampler->event_count; e++)
		if (sampler->events[e].available)
			samples += !sampler->events[e].rate  ? WAKEUP_UNKNOWN
			           : idle_period(sampler, e) ? sampler->events[e].rate
			                                     : sampler->events[e].rate / 2;
	if (samples < DITHER_SAMPLES)
		samples = DITHER_SAMPLES;
	return (uint32_t)(samples < half / sample_bytes(sampler) ? samples * sample_bytes(sampler) : half);
}

/* Map a ring of `pages`, or of half, a quarter, ... where locked memory is limited. */
static struct ring *
map_ring(const struct sampler *sampler, uint32_t cpu, int fd, size_t pages)
{
	const size_t least = pages < RING_PAGES_MIN ? pages : RING_PAGES_MIN;

	for (size_t try = pages; try >= least; try /= 2) {
		struct ring *ring = ring_new(fd, try);

		if (ring && try < pages)
			log_write(sampler->log, LOG_LEVEL_WARNING,
			          "cpu %u: ring of %zu pages instead of %zu: locked memory is limited (CAP_IPC_LOCK, "
			          "kernel.perf_event_mlock_kb)",
			          cpu, try, pages);
		if (ring || (errno != EPERM && errno != ENOMEM))
			return ring;
	}
	return NULL;
}

/* Let the counter write into the CPU's ring of samples; the first makes it. */
static int
join_ring(struct sampler *sampler, struct sampler_cpu *cpu, struct sampler_counter *counter)
{
	int err;

	if (cpu->samples)
		return ioctl(counter->fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->ring_fd) ? -errno : 0;
	cpu->samples = map_ring(sampler, cpu->number, counter->fd, sampler->ring_pages);
	if (!cpu->samples)
		return -errno;
	cpu->ring_fd = counter->fd;
	err = merge_add_samples(sampler->merge, cpu->samples, &sampler->sample_layout, (uint32_t)(cpu - sampler->cpus));
	if (err) {
		ring_free(cpu->samples);
		cpu->samples = NULL;
		cpu->ring_fd = -1;
	}
	return err;
}

/*
 * Is the period of an event with a rate chosen here, not by the kernel? When a software event begins to happen often,
 * Linux makes its period too long, a thousandfold within some milliseconds, and goes on counting to it after it has
 * made later ones shorter (seen in 6.18): one sample stands for all of a burst.
 */
static bool
is_paced(const struct event *event)
{
	return !event->period && event->encoding.type == PERF_TYPE_SOFTWARE;
}

static void
sample_attr(const struct sampler *sampler, const struct event *event, struct perf_event_attr *attr)
{
	event_sample_attr(event, &sampler->features, attr);
	if (is_paced(event)) {
		attr->freq = 0;
		attr->sample_period = 1; /* until it is known how often it happens */
	}
	if (sampler->reads_counts) /* of all events: they share a ring, and records of a ring have one layout */
		attr->sample_type |= PERF_SAMPLE_READ;
	attr->watermark = 1;
	attr->wakeup_watermark = ring_watermark(sampler);
	attr->disabled = !sampler->enabled;
}

/* ---- idle CPUs ---- */

/* Samples of the event's own counter that wait in its ring. If there is one event, the bytes in the ring give the
 * number. */
static uint32_t
waiting_samples(const struct sampler *sampler, const struct sampler_cpu *cpu, const struct sampler_counter *counter)
{
	if (!cpu->samples)
		return 0;
	return (uint32_t)(sampler->event_count == 1 ? ring_used(cpu->samples) / sample_bytes(sampler)
	                                            : ring_count(cpu->samples, counter->id));
}

/* All samples of the long period that were ever taken, those that wait in the ring included. */
static uint64_t
idle_samples(const struct sampler_cpu *cpu, const struct idle_counter *idle)
{
	return idle->taken + ring_count(cpu->samples, idle->counter.id);
}

/* All of the event, of either counter. Those that wait may be seconds old: what came in a window is a difference. */
static uint64_t
event_samples(const struct sampler *sampler, const struct sampler_cpu *cpu, size_t event)
{
	return cpu->idle[event].drained + waiting_samples(sampler, cpu, &cpu->counters[event]);
}

static void
begin_window(struct idle_counter *idle, uint64_t samples, uint64_t now_ns, uint64_t length_ns)
{
	idle->since_ns = now_ns;
	idle->window_ns = length_ns < IDLE_WINDOW_MAX_NS ? length_ns : IDLE_WINDOW_MAX_NS;
	idle->samples_before = samples;
}

/* The event's own counter begins to count on a CPU: the first window begins. */
static void
begin_idle_window(const struct sampler *sampler, struct sampler_cpu *cpu, size_t event, uint64_t now_ns)
{
	begin_window(&cpu->idle[event], event_samples(sampler, cpu, event), now_ns, IDLE_WINDOW_MAX_NS);
}

/* Choose which of the two counters counts. If that cannot be enabled, the other goes on. */
static void
select_counter(struct sampler *sampler, struct sampler_cpu *cpu, size_t event, bool idle)
{
	struct sampler_counter *own = &cpu->counters[event], *rare = &cpu->idle[event].counter;
	const int starts = idle ? rare->fd : own->fd, ends = idle ? own->fd : rare->fd;

	if (sampler->enabled) {
		if (ioctl(starts, PERF_EVENT_IOC_ENABLE, 0))
			return;
		(void)ioctl(ends, PERF_EVENT_IOC_DISABLE, 0);
	}
	cpu->idle[event].is_idle = idle;
	if (cpu->stacks && event == sampler->stack_sampler.base &&
	    set_period(&cpu->stack_counter, stack_sampler_period(&sampler->stack_sampler, idle)) == 0)
		stack_periods_switch(&cpu->stack_periods, machine_clock_ns(CLOCK_MONOTONIC), idle);
}

static bool
may_be_idle(const struct sampler *sampler, size_t event)
{
	return !sampler->has_labels && idle_period(sampler, event) > 0;
}

/* A window that ends is followed by another in any case: else it would be over at once, again and again. */
static void
check_idle(struct sampler *sampler, struct sampler_cpu *cpu, size_t event, uint64_t now_ns)
{
	struct idle_counter *idle = &cpu->idle[event];
	const uint64_t elapsed_ns = now_ns - idle->since_ns;
	uint64_t samples, came;

	if (idle->is_idle) {
		if (!may_be_idle(sampler, event) || idle_samples(cpu, idle) > idle->taken_before) {
			select_counter(sampler, cpu, event, false);
			begin_window(idle, event_samples(sampler, cpu, event), now_ns, IDLE_WINDOW_MIN_NS);
		}
		return;
	}
	if (elapsed_ns < idle->window_ns)
		return;
	samples = event_samples(sampler, cpu, event);
	came = samples > idle->samples_before ? samples - idle->samples_before : 0;
	if (may_be_idle(sampler, event) && came * IDLE_SHARE < elapsed_ns / sampler->events[event].period) {
		idle->taken_before = idle_samples(cpu, idle);
		select_counter(sampler, cpu, event, true);
	}
	begin_window(idle, samples, now_ns, 2 * idle->window_ns);
}

void
sampler_watch_idle(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC), changes = sampler_label_changes(sampler);

	if (changes != sampler->label_changes) { /* a user who labels a run wants all of it: no CPU counts as idle */
		sampler->label_changes = changes;
		sampler->has_labels = process_labels_any(attribution_labels(sampler->attribution));
	}
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++)
			if (cpu->counters[e].fd >= 0 && cpu->idle[e].counter.fd >= 0)
				check_idle(sampler, cpu, e, now_ns);
	}
}

uint64_t
sampler_idle_due_ns(const struct sampler *sampler)
{
	uint64_t due_ns = UINT64_MAX;

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			const struct idle_counter *idle = &cpu->idle[e];
			const uint64_t slack_ns = idle->window_ns == IDLE_WINDOW_MAX_NS ? IDLE_SLACK_NS : 0;
			const uint64_t end_ns = idle->since_ns + idle->window_ns + slack_ns;

			if (idle->counter.fd >= 0 && !idle->is_idle && end_ns < due_ns)
				due_ns = end_ns;
		}
	}
	return due_ns;
}

size_t
sampler_idle_cpu_count(const struct sampler *sampler)
{
	size_t count = 0;

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];
		bool is_idle = false;

		for (size_t e = 0; e < sampler->event_count; e++)
			is_idle |= cpu->idle[e].counter.fd >= 0 && cpu->idle[e].is_idle;
		count += cpu->open && is_idle;
	}
	return count;
}

/* ---- one CPU ---- */

/* Open the counter for when the CPU is idle; without it the CPU is sampled at the full rate then, too. */
static void
open_idle_counter(struct sampler *sampler, struct sampler_cpu *cpu, size_t index)
{
	struct idle_counter *idle = &cpu->idle[index];
	struct perf_event_attr attr;

	idle->is_idle = false;
	idle->covered_ns = 0;
	begin_idle_window(sampler, cpu, index, machine_clock_ns(CLOCK_MONOTONIC));
	if (idle->counter.fd >= 0 || !idle_period(sampler, index))
		return;
	sample_attr(sampler, &sampler->events[index], &attr);
	attr.sample_period = idle_period(sampler, index);
	attr.watermark = 0;
	attr.wakeup_events = 1; /* a union with wakeup_watermark: the first sample makes the ring readable */
	attr.disabled = 1;
	if (open_counter(&attr, cpu->number, &idle->counter) == 0 && join_ring(sampler, cpu, &idle->counter))
		close_counter(cpu, &idle->counter);
}

static int
open_event(struct sampler *sampler, struct sampler_cpu *cpu, size_t index)
{
	struct sampler_counter *counter = &cpu->counters[index];
	struct perf_event_attr attr;
	int err;

	sample_attr(sampler, &sampler->events[index], &attr);
	counter->dither.grain = sampler->events[index].period_step;
	if (!attr.freq)
		attr.sample_period = dither_begin(&counter->dither, attr.sample_period, cpu->number,
		                                  machine_clock_ns(CLOCK_MONOTONIC));
	sampler->sample_layout.sample_type = attr.sample_type;
	sampler->sample_layout.sample_id_all = attr.sample_id_all;
	sampler->sample_layout.read_format = attr.read_format;
	err = open_counter(&attr, cpu->number, counter);
	if (err)
		return err;
	err = join_ring(sampler, cpu, counter);
	if (err)
		close_counter(cpu, counter);
	else
		open_idle_counter(sampler, cpu, index);
	return err;
}

/* If a list cannot be read (all CPUs of that kind are offline), the event is opened on no CPU. */
int
sampler_find_event_cpus(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->event_count; i++) {
		struct sampler_event_cpus *list = &sampler->event_cpus[i];

		free(list->cpus);
		list->count = event_cpus(SAMPLER_SYSFS, sampler->events[i].name, &list->cpus);
		if (list->count == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Try the events that are missing. How many could be opened. */
static int
cpu_open_events(struct sampler *sampler, struct sampler_cpu *cpu)
{
	int opened = 0;

	cpu->incomplete = false;
	for (size_t i = 0; i < sampler->event_count; i++) {
		const struct sampler_event_cpus *list = &sampler->event_cpus[i];
		struct sampler_counter *counter = &cpu->counters[i];
		int err;

		if (!sampler->events[i].available || counter->fd >= 0 ||
		    (list->count != 0 && !cpu_list_has(list->cpus, list->count, cpu->number)))
			continue;
		err = open_event(sampler, cpu, i);
		if (err && err != counter->error)
			log_write(sampler->log, LOG_LEVEL_WARNING, "%s: cannot be opened on cpu %u: %s",
			          sampler->events[i].name, cpu->number, error_text(err));
		else if (!err && counter->error)
			log_write(sampler->log, LOG_LEVEL_NOTICE, "%s: is counted on cpu %u again",
			          sampler->events[i].name, cpu->number);
		counter->error = err;
		cpu->incomplete |= err != 0;
		opened += err == 0;
	}
	return opened;
}

/* The event that call stacks are taken of on the CPU: on one of another kind it is not that of the configuration. */
static const struct event_encoding *
stack_encoding(const struct sampler *sampler, uint32_t cpu)
{
	const size_t base = sampler->stack_sampler.base;

	for (size_t i = 0; i < sampler->event_count; i++) {
		const struct event *event = &sampler->events[i];
		const struct sampler_event_cpus *list = &sampler->event_cpus[i];

		if (i != base && !event_is_cycles(&event->encoding))
			continue;
		if (event->available && (list->count == 0 || cpu_list_has(list->cpus, list->count, cpu)))
			return &event->encoding;
	}
	return &sampler->events[base].encoding;
}

/* Without call stacks the CPU is sampled nevertheless: where locked memory is limited, other rings have it first. */
static void
open_stacks(struct sampler *sampler, struct sampler_cpu *cpu)
{
	struct sampler_counter *counter = &cpu->stack_counter;
	struct perf_event_attr attr;
	const bool is_idle = cpu->idle[sampler->stack_sampler.base].is_idle;
	size_t ring_size;
	int err;

	if (!sampler->stack_event || counter->fd >= 0)
		return;
	ring_size = stack_sampler_attr(&sampler->stack_sampler, stack_encoding(sampler, cpu->number),
	                               &sampler->features, &attr);
	if (is_idle)
		attr.sample_period = stack_sampler_period(&sampler->stack_sampler, true);
	stack_periods_switch(&cpu->stack_periods, machine_clock_ns(CLOCK_MONOTONIC), is_idle);
	attr.disabled = !sampler->enabled;
	err = open_counter(&attr, cpu->number, counter);
	if (!err) {
		cpu->stacks = map_ring(sampler, cpu->number, counter->fd, ring_size / (size_t)sysconf(_SC_PAGESIZE));
		err = cpu->stacks ? merge_add_samples(sampler->merge, cpu->stacks, &sampler->stack_sampler.layout,
		                                      (uint32_t)(cpu - sampler->cpus))
		                  : -errno;
		if (err) {
			ring_free(cpu->stacks);
			cpu->stacks = NULL;
			close_counter(cpu, counter);
		}
	}
	if (err && err != counter->error && err != sampler->stacks_error) {
		log_write(sampler->log, LOG_LEVEL_WARNING,
		          "call stacks are not sampled on cpu %u, nor on others with this error: %s", cpu->number,
		          error_text(err));
		sampler->stacks_error = err;
	}
	counter->error = err;
}

void
sampler_cpu_init(struct sampler_cpu *cpu, uint32_t number)
{
	memset(cpu, 0, sizeof(*cpu));
	cpu->number = number;
	cpu->sideband_counter.fd = -1;
	cpu->stack_counter.fd = -1;
	cpu->ring_fd = -1;
	for (size_t i = 0; i < EVENTS_MAX; i++) {
		cpu->counters[i].fd = -1;
		cpu->idle[i].counter.fd = -1;
	}
}

/* Records of mappings and processes; counted from here on, so that the scan that follows overlaps and misses nothing.
 */
static int
open_sideband(struct sampler *sampler, struct sampler_cpu *cpu)
{
	struct perf_event_attr attr;
	int err;

	event_sideband_attr(&sampler->features, &attr);
	attr.watermark = 1;
	attr.wakeup_watermark = (uint32_t)(sampler->sideband_pages * (size_t)sysconf(_SC_PAGESIZE) / 4);
	sampler->sideband_layout.sample_type = attr.sample_type;
	sampler->sideband_layout.sample_id_all = attr.sample_id_all;
	sampler->sideband_layout.no_build_ids =
		true; /* dcpid never asks for them; another profiler's request marks our records, too */
	attr.disabled = 0;
	err = open_counter(&attr, cpu->number, &cpu->sideband_counter);
	if (err)
		return err;
	cpu->sideband = map_ring(sampler, cpu->number, cpu->sideband_counter.fd, sampler->sideband_pages);
	if (!cpu->sideband)
		return -errno;
	return merge_add(sampler->merge, cpu->sideband, &sampler->sideband_layout, (uint32_t)(cpu - sampler->cpus));
}

/* Read what counters and rings of the CPU still know of losses, to be moved at the next take. */
static void
read_losses(const struct sampler *sampler, struct sampler_cpu *cpu)
{
	sampler_counter_read(sampler, &cpu->sideband_counter);
	sampler_counter_read(sampler, &cpu->stack_counter);
	for (size_t i = 0; i < sampler->event_count; i++) {
		sampler_counter_read(sampler, &cpu->counters[i]);
		sampler_counter_read(sampler, &cpu->idle[i].counter);
	}
	cpu->skipped += cpu->samples ? ring_take_skipped(cpu->samples) : 0;
	cpu->skipped += cpu->sideband ? ring_take_skipped(cpu->sideband) : 0;
	cpu->skipped += cpu->stacks ? ring_take_skipped(cpu->stacks) : 0;
}

void
sampler_cpu_close(struct sampler *sampler, struct sampler_cpu *cpu)
{
	read_losses(sampler, cpu);
	merge_remove(sampler->merge, cpu->samples);
	merge_remove(sampler->merge, cpu->sideband);
	merge_remove(sampler->merge, cpu->stacks);
	ring_free(cpu->samples);
	ring_free(cpu->sideband);
	ring_free(cpu->stacks);
	cpu->samples = NULL;
	cpu->sideband = NULL;
	cpu->stacks = NULL;
	close_counter(cpu, &cpu->sideband_counter);
	close_counter(cpu, &cpu->stack_counter);
	for (size_t i = 0; i < EVENTS_MAX; i++) {
		close_counter(cpu, &cpu->counters[i]);
		close_counter(cpu, &cpu->idle[i].counter);
	}
	if (cpu->ring_fd >= 0)
		close(cpu->ring_fd);
	cpu->ring_fd = -1;
	cpu->open = false;
}

/*
 * Open rings and events on a CPU of sampler->cpus, counting at once when the sampler is enabled. 0, -ENODEV when the
 * CPU is offline, another negative errno; it is closed then. Events that cannot be opened here are logged, once, and
 * left out.
 */
static int
cpu_open(struct sampler *sampler, struct sampler_cpu *cpu)
{
	int err = open_sideband(sampler, cpu);

	if (err) {
		sampler_cpu_close(sampler, cpu);
		return err;
	}
	cpu->open = true;
	cpu_open_events(sampler, cpu);
	if (sampler->enabled) /* else sampler_enable() does */
		open_stacks(sampler, cpu);
	return 0;
}

/* ---- CPUs that come and go ---- */

static struct sampler_cpu *
find_cpu(const struct sampler *sampler, uint32_t number)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (sampler->cpus[i].number == number)
			return &sampler->cpus[i];
	return NULL;
}

int
sampler_add_cpu(struct sampler *sampler, uint32_t number)
{
	struct sampler_cpu *cpu = find_cpu(sampler, number), *cpus;
	int err;

	if (!cpu) { /* the array may move, but elements keep their index, by which the merge knows them */
		cpus = array_grow(sampler->cpus, &sampler->cpu_capacity, sampler->cpu_count + 1, sizeof(*cpus));
		if (!cpus)
			return -ENOMEM;
		sampler->cpus = cpus;
		cpu = &sampler->cpus[sampler->cpu_count++];
		sampler_cpu_init(cpu, number);
	}
	err = cpu_open(sampler, cpu);
	if (err && err != cpu->error)
		log_write(sampler->log, LOG_LEVEL_WARNING, "cpu %u: is not sampled: %s", number, error_text(err));
	cpu->error = err;
	return err;
}

/*
 * Do the events of this CPU still count? When a CPU goes, the kernel takes them off it for good, also when it comes
 * back at once, or with the machine out of its sleep: then the time for which they were enabled stands still.
 */
static bool
is_alive(const struct sampler *sampler, struct sampler_cpu *cpu)
{
	const struct timespec pause = {.tv_nsec = ALIVE_PAUSE_NS};
	struct sampler_counter *counter = &cpu->sideband_counter;
	uint64_t before_ns;

	if (!sampler_counter_read(sampler, counter))
		return false;
	before_ns = counter->read.enabled_ns;
	for (int i = 0; i < ALIVE_TRIES; i++) {
		if (sampler_counter_read(sampler, counter) && counter->read.enabled_ns != before_ns)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool
has_gone(const struct sampler *sampler, struct sampler_cpu *cpu, const uint32_t *online, int count)
{
	return cpu->open && (!cpu_list_has(online, count, cpu->number) || !is_alive(sampler, cpu));
}

bool
sampler_is_outdated(const struct sampler *sampler)
{
	uint32_t *online;
	int count = cpu_list_read(SAMPLER_ONLINE_CPUS, &online);
	bool outdated = false;

	for (size_t i = 0; count > 0 && !outdated && i < sampler->cpu_count; i++)
		outdated = has_gone(sampler, &sampler->cpus[i], online, count);
	for (int i = 0; !outdated && i < count; i++) {
		const struct sampler_cpu *cpu = find_cpu(sampler, online[i]);

		outdated = !cpu || !cpu->open;
	}
	free(online);
	return outdated;
}

/* The kernel recorded nothing of processes on a CPU before its events were open: read /proc for those. */
static void
add_new_cpus(struct sampler *sampler, const uint32_t *online, int count)
{
	for (int i = 0; i < count; i++) {
		const struct sampler_cpu *cpu = find_cpu(sampler, online[i]);

		if ((cpu && cpu->open) || sampler_add_cpu(sampler, online[i]))
			continue;
		sampler_records_lost(sampler);
		sampler->rescan_ns = 0; /* at the next drain */
		log_write(sampler->log, LOG_LEVEL_NOTICE, "cpu %u came online: it is sampled from here on", online[i]);
	}
}

int
sampler_add_cpus(struct sampler *sampler)
{
	uint32_t *online;
	int count = cpu_list_read(SAMPLER_ONLINE_CPUS, &online);

	if (count < 0)
		return count;
	add_new_cpus(sampler, online, count);
	free(online);
	return 0;
}

int
sampler_follow_cpus(struct sampler *sampler)
{
	uint32_t *online;
	int count = cpu_list_read(SAMPLER_ONLINE_CPUS, &online), err;

	if (count < 0)
		return count;
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		if (!has_gone(sampler, cpu, online, count))
			continue;
		sampler_cpu_close(sampler, cpu);
		log_write(sampler->log, LOG_LEVEL_NOTICE, "cpu %u went offline: what it had recorded is counted",
		          cpu->number);
	}
	err = sampler_find_event_cpus(sampler); /* a PMU's list of CPUs may have changed with them */
	if (!err)
		add_new_cpus(sampler, online, count);
	free(online);
	return err;
}

bool
sampler_retry_events(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	bool is_time = false;

	if (now_ns - sampler->retry_ns < RETRY_INTERVAL_NS)
		return false;
	sampler->retry_ns = now_ns;
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		if (cpu->open && cpu->incomplete)
			is_time |= cpu_open_events(sampler, cpu) > 0;
		else if (!cpu->open && cpu->error && cpu->error != -ENODEV)
			is_time = true;
	}
	return is_time;
}

void
sampler_cpu_list(const struct sampler *sampler, char *text, size_t size)
{
	uint32_t *numbers = calloc(sampler->cpu_count, sizeof(*numbers));
	size_t count = 0;

	text[0] = '\0';
	if (!numbers)
		return;
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (sampler->cpus[i].open)
			numbers[count++] = sampler->cpus[i].number;
	qsort(numbers, count, sizeof(*numbers), array_compare_u32);
	cpu_list_format(numbers, count, text, size);
	free(numbers);
}

size_t
sampler_cpu_count(const struct sampler *sampler)
{
	size_t count = 0;

	for (size_t i = 0; i < sampler->cpu_count; i++)
		count += sampler->cpus[i].open;
	return count;
}

size_t
sampler_descriptor_count(const struct sampler *sampler)
{
	return CPU_DESCRIPTORS * sampler->cpu_count;
}

int
sampler_descriptor(const struct sampler *sampler, size_t index)
{
	const struct sampler_cpu *cpu = &sampler->cpus[index / CPU_DESCRIPTORS];

	switch (index % CPU_DESCRIPTORS) {
	case DESCRIPTOR_SAMPLES:
		return cpu->ring_fd;
	case DESCRIPTOR_STACKS:
		return cpu->stack_counter.fd;
	default:
		return cpu->sideband_counter.fd;
	}
}

/* ---- counting, and how often ---- */

/*
 * Enable or disable the counter of each event that counts: on an idle CPU that is the one for idle CPUs. One that
 * fails keeps no other from it. 0, or the -errno of the last that failed.
 */
static int
control_counters(struct sampler *sampler, unsigned long request)
{
	int err = 0;

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			const int fd = cpu->idle[e].is_idle ? cpu->idle[e].counter.fd : cpu->counters[e].fd;

			if (fd >= 0 && ioctl(fd, request, 0))
				err = -errno;
		}
		if (cpu->stack_counter.fd >= 0 && ioctl(cpu->stack_counter.fd, request, 0))
			err = -errno;
	}
	return err;
}

int
sampler_enable(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (sampler->cpus[i].open)
			open_stacks(sampler, &sampler->cpus[i]);
	sampler->enabled = true;
	return control_counters(sampler, PERF_EVENT_IOC_ENABLE);
}

int
sampler_disable(struct sampler *sampler)
{
	sampler->enabled = false;
	return control_counters(sampler, PERF_EVENT_IOC_DISABLE);
}

bool
sampler_is_enabled(const struct sampler *sampler)
{
	return sampler->enabled;
}

/*
 * Open `event` with `period` (its rate when that varies) in the place of the counter `index`, into the same ring. What
 * is in the ring of the old one has been drained. 0, or -errno: the old one goes on.
 */
static int
replace_counter(struct sampler *sampler, struct sampler_cpu *cpu, size_t index, const struct event *event,
                uint64_t period)
{
	struct sampler_counter *old = &cpu->counters[index], counter = *old;
	struct perf_event_attr attr;
	int err;

	sample_attr(sampler, event, &attr);
	attr.sample_period = period; /* a union with sample_freq */
	attr.disabled |= cpu->idle[index].is_idle;
	err = open_counter(&attr, cpu->number, &counter);
	if (err)
		return err;
	if (ioctl(counter.fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->ring_fd)) {
		err = -errno;
		close(counter.fd);
		return err;
	}
	/* the old counter owns the ring as long as that is mapped, whether it counts or not */
	(void)ioctl(old->fd, PERF_EVENT_IOC_DISABLE, 0);
	sampler_counter_read(sampler, old);
	counter.loss = old->loss;
	counter.enabled_ns = old->enabled_ns;
	counter.running_ns = old->running_ns;
	memset(&counter.read, 0, sizeof(counter.read));
	close_counter(cpu, old);
	*old = counter;
	return 0;
}

/*
 * Sample with the period of `event`, or with its rate: the kernel chooses the period of a hardware event then. If it
 * cannot change a period, a new counter takes the old one's place, so that a plan's rates hold there, too.
 */
static int
begin_period(struct sampler *sampler, struct sampler_cpu *cpu, size_t index, const struct event *event, uint64_t now_ns)
{
	struct sampler_counter *counter = &cpu->counters[index];
	uint64_t period = event->rate;

	if (is_paced(event))
		return 0; /* by the new rate, when it is due */
	if (event->period)
		period = dither_begin(&counter->dither, event->period, cpu->number, now_ns);
	begin_idle_window(sampler, cpu, index, now_ns);
	return set_period(counter, period) ? replace_counter(sampler, cpu, index, event, period) : 0;
}

static int
set_periods(struct sampler *sampler, const struct event *events)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			int err = cpu->counters[e].fd < 0 ? 0 : begin_period(sampler, cpu, e, &events[e], now_ns);

			if (err)
				return err;
		}
	}
	return 0;
}

int
sampler_set_periods(struct sampler *sampler, const struct event *events)
{
	int err = set_periods(sampler, events);

	if (err)
		(void)set_periods(sampler, sampler->events); /* the kernel accepted these before */
	else
		memcpy(sampler->events, events, sampler->event_count * sizeof(*events));
	return err;
}

static void
dither_counter(const struct sampler *sampler, const struct sampler_cpu *cpu, struct sampler_counter *counter,
               uint64_t now_ns)
{
	int32_t waiting;

	if (now_ns - counter->dither.since_ns < DITHER_INTERVAL_NS)
		return;
	waiting = (int32_t)waiting_samples(sampler, cpu, counter);
	counter->dither.samples += waiting;
	if (dither_is_due(&counter->dither, now_ns)) {
		const uint64_t period = dither_next(&counter->dither, cpu->number);

		if (set_period(counter, period))
			dither_keep(&counter->dither, now_ns);
		else
			dither_change(&counter->dither, period, now_ns);
	}
	counter->dither.samples -= waiting; /* they count when they are drained */
}

/*
 * After a period was set, Linux first counts a software event to the one before (perf_swevent_set_period() in 6.18),
 * unless it is enabled anew.
 */
static void
restart_counter(const struct sampler *sampler, const struct sampler_counter *counter)
{
	if (!sampler->enabled)
		return;
	(void)ioctl(counter->fd, PERF_EVENT_IOC_DISABLE, 0);
	(void)ioctl(counter->fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* Let the counter of an event with a rate keep to it: once in a while, and at once when a burst begins. */
static void
pace_counter(const struct sampler *sampler, const struct sampler_cpu *cpu, struct sampler_counter *counter,
             uint64_t rate, uint64_t now_ns)
{
	const int32_t waiting = (int32_t)waiting_samples(sampler, cpu, counter);

	counter->dither.samples += waiting;
	if (dither_pace_is_due(&counter->dither, rate, now_ns)) {
		const uint64_t period = dither_pace(&counter->dither, rate, cpu->number, now_ns);

		if (period == counter->dither.period || set_period(counter, period)) {
			dither_keep(&counter->dither, now_ns);
		} else {
			dither_change(&counter->dither, period, now_ns);
			restart_counter(sampler, counter);
		}
	}
	counter->dither.samples -= waiting; /* they count when they are drained */
}

void
sampler_dither(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			if (cpu->counters[e].fd < 0)
				continue;
			if (sampler->events[e].period)
				dither_counter(sampler, cpu, &cpu->counters[e], now_ns);
			else if (is_paced(&sampler->events[e]))
				pace_counter(sampler, cpu, &cpu->counters[e], sampler->events[e].rate, now_ns);
		}
	}
}

bool
sampler_is_paced(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++)
			if (cpu->counters[e].fd >= 0 && is_paced(&sampler->events[e]) &&
			    cpu->counters[e].dither.period > 1)
				return true;
	}
	return false;
}

bool
sampler_needs_wakeup(const struct sampler *sampler, size_t index)
{
	const struct sampler_cpu *cpu = &sampler->cpus[index / CPU_DESCRIPTORS];
	uint64_t samples = 0;
	bool is_polled = false;

	if (index % CPU_DESCRIPTORS != DESCRIPTOR_SAMPLES || !cpu->samples)
		return true;
	for (size_t e = 0; e < sampler->event_count; e++) {
		if (cpu->counters[e].fd < 0)
			continue;
		if (!sampler->events[e].rate || !event_is_clock(&sampler->events[e].encoding))
			return true; /* how often it happens is not known for certain */
		samples += sampler->events[e].rate;
		is_polled |= cpu->idle[e].counter.fd >= 0 && !cpu->idle[e].is_idle;
	}
	return !is_polled || samples * sample_bytes(sampler) > ring_size(cpu->samples) / 100 * FULL_PERCENT;
}
