/* The events and rings of one CPU. */
#include "collectord/sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu_list.h"
#include "base/error.h"
#include "collectord/machine.h"

#define RING_PAGES_MIN 4

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
	return 0;
}

void
sampler_cpu_init(struct sampler_cpu *cpu, uint32_t number)
{
	memset(cpu, 0, sizeof(*cpu));
	cpu->number = number;
	cpu->sideband_counter.fd = -1;
	cpu->ring_fd = -1;
	for (size_t i = 0; i < EVENTS_MAX; i++) {
		cpu->counters[i].fd = -1;
		cpu->idle[i].counter.fd = -1;
	}
}

/* The one that owns the ring is closed with it. */
static void
close_counter(const struct sampler_cpu *cpu, struct sampler_counter *counter)
{
	if (counter->fd >= 0 && counter->fd != cpu->ring_fd)
		close(counter->fd);
	counter->fd = -1;
	counter->id = 0;
	memset(&counter->read, 0, sizeof(counter->read));
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

static void
sample_attr(const struct sampler *sampler, const struct event *event, struct perf_event_attr *attr)
{
	event_sample_attr(event, &sampler->features, attr);
	if (sampler->reads_period) /* of all events: they share a ring, and records of a ring have one layout */
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	attr->watermark = 1;
	attr->wakeup_watermark = sampler_watermark(sampler);
	attr->disabled = !sampler->enabled;
}

/* Without a counter for when the CPU is idle, it is sampled at the full rate then, too. */
static void
open_idle_counter(struct sampler *sampler, struct sampler_cpu *cpu, size_t index)
{
	struct idle_counter *idle = &cpu->idle[index];
	struct perf_event_attr attr;

	idle->is_idle = false;
	idle->covered_ns = 0;
	sampler_begin_idle_window(sampler, cpu, index, machine_clock_ns(CLOCK_MONOTONIC));
	if (idle->counter.fd >= 0 || !sampler_idle_period(sampler, index))
		return;
	sample_attr(sampler, &sampler->events[index], &attr);
	attr.sample_period = sampler_idle_period(sampler, index);
	attr.watermark = 0;
	attr.wakeup_events = 1; /* of one memory with wakeup_watermark: its first sample calls */
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

int
sampler_counter_replace(struct sampler *sampler, struct sampler_cpu *cpu, size_t index, const struct event *event,
                        uint64_t period)
{
	struct sampler_counter *old = &cpu->counters[index], counter = *old;
	struct perf_event_attr attr;
	int err;

	sample_attr(sampler, event, &attr);
	attr.sample_period = period; /* of one memory with sample_freq */
	attr.disabled |= cpu->idle[index].is_idle;
	err = open_counter(&attr, cpu->number, &counter);
	if (err)
		return err;
	if (ioctl(counter.fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->ring_fd)) {
		err = -errno;
		close(counter.fd);
		return err;
	}
	/* The ring is the old one's as long as it is mapped, whether it counts or not. */
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

/* A list that cannot be read (all CPUs of that kind are offline) leaves the event nowhere to be. */
int
sampler_find_places(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->event_count; i++) {
		struct sampler_places *places = &sampler->places[i];

		free(places->cpus);
		places->count = event_cpus(SAMPLER_SYSFS, sampler->events[i].name, &places->cpus);
		if (places->count == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

static bool
belongs_here(const struct sampler *sampler, size_t event, uint32_t cpu)
{
	const struct sampler_places *places = &sampler->places[event];

	return places->count == 0 || cpu_list_has(places->cpus, places->count, cpu);
}

int
sampler_cpu_open_events(struct sampler *sampler, struct sampler_cpu *cpu)
{
	int opened = 0;

	cpu->incomplete = false;
	for (size_t i = 0; i < sampler->event_count; i++) {
		struct sampler_counter *counter = &cpu->counters[i];
		int err;

		if (!sampler->events[i].available || counter->fd >= 0 || !belongs_here(sampler, i, cpu->number))
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
		true; /* we never ask, but others may: their mark is on our records, too */
	attr.disabled = 0;
	err = open_counter(&attr, cpu->number, &cpu->sideband_counter);
	if (err)
		return err;
	cpu->sideband = map_ring(sampler, cpu->number, cpu->sideband_counter.fd, sampler->sideband_pages);
	if (!cpu->sideband)
		return -errno;
	return merge_add(sampler->merge, cpu->sideband, &sampler->sideband_layout, (uint32_t)(cpu - sampler->cpus));
}

/* What the counters and rings still say goes with the CPU's losses, to be moved at the next take. */
static void
keep_losses(const struct sampler *sampler, struct sampler_cpu *cpu)
{
	sampler_counter_read(sampler, &cpu->sideband_counter);
	for (size_t i = 0; i < sampler->event_count; i++) {
		sampler_counter_read(sampler, &cpu->counters[i]);
		sampler_counter_read(sampler, &cpu->idle[i].counter);
	}
	cpu->skipped += cpu->samples ? ring_take_skipped(cpu->samples) : 0;
	cpu->skipped += cpu->sideband ? ring_take_skipped(cpu->sideband) : 0;
}

void
sampler_cpu_close(struct sampler *sampler, struct sampler_cpu *cpu)
{
	keep_losses(sampler, cpu);
	merge_remove(sampler->merge, cpu->samples);
	merge_remove(sampler->merge, cpu->sideband);
	ring_free(cpu->samples);
	ring_free(cpu->sideband);
	cpu->samples = NULL;
	cpu->sideband = NULL;
	close_counter(cpu, &cpu->sideband_counter);
	for (size_t i = 0; i < EVENTS_MAX; i++) {
		close_counter(cpu, &cpu->counters[i]);
		close_counter(cpu, &cpu->idle[i].counter);
	}
	if (cpu->ring_fd >= 0)
		close(cpu->ring_fd);
	cpu->ring_fd = -1;
	cpu->open = false;
}

int
sampler_cpu_open(struct sampler *sampler, struct sampler_cpu *cpu)
{
	int err = open_sideband(sampler, cpu);

	if (err) {
		sampler_cpu_close(sampler, cpu);
		return err;
	}
	cpu->open = true;
	sampler_cpu_open_events(sampler, cpu);
	return 0;
}
