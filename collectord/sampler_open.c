#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/cpu_list.h"
#include "collectord/dither.h"
#include "collectord/sampler_internal.h"

#define RING_PAGES_MIN   4
#define PROVISIONAL_RATE 100 /* of events whose rate is chosen, until it is */
#define ONLINE_CPUS      "/sys/devices/system/cpu/online"

static void
choose_rates(struct sampler *sampler, const struct config *config)
{
	struct budget *budget = &sampler->budget;

	budget_init(budget, config);
	budget_measure(budget, &sampler->features, sampler->events, sampler->event_count, sampler->log);
	budget_plan(budget, event_rate_limit(SAMPLER_PROCFS), sampler->events);
}

static int
resolve_events(struct sampler *sampler, const struct config *config, int cpu, char *why, size_t size)
{
	const struct event_environment environment = {
		.open = event_open_system,
		.sysfs = "/sys",
		.procfs = SAMPLER_PROCFS,
		.cpu = cpu,
		.default_rate = PROVISIONAL_RATE,
	};
	bool any = false;
	int err;

	err = event_features_probe(&environment, &sampler->features);
	if (err && err != -EACCES && err != -EPERM) {
		snprintf(why, size, "cannot open perf events: %s", error_text(err));
		return err;
	}
	for (size_t i = 0; i < config->event_count; i++) {
		err = event_resolve(&environment, &config->events[i], &sampler->events[i], why, size);
		if (err)
			return err;
		sampler->event_count++;
		any |= sampler->events[i].available;
	}
	if (any) {
		choose_rates(sampler, config);
		return 0;
	}
	snprintf(why, size, "none of the configured events can be counted on this machine");
	return -ENOENT;
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

/*
 * The events of one CPU share one ring, that of the first that opens. Those that do not open on this CPU alone are
 * logged and left out here; -ENODEV when none does.
 */
static int
open_cpu_samples(struct sampler *sampler, struct sampler_cpu *cpu, const struct config *config)
{
	int owner = -1;

	for (size_t i = 0; i < sampler->event_count; i++) {
		struct sampler_counter *counter = &cpu->counters[i];
		struct perf_event_attr attr;
		int err;

		if (!sampler->events[i].available)
			continue;
		event_sample_attr(&sampler->events[i], &sampler->features, &attr);
		if (!attr.freq)
			attr.sample_period = dither_period(attr.sample_period, cpu->number, 0);
		attr.watermark = 1;
		attr.wakeup_watermark = (uint32_t)(config->ring_pages * (size_t)sysconf(_SC_PAGESIZE) / 4);
		sampler->sample_layout.sample_type = attr.sample_type;
		sampler->sample_layout.sample_id_all = attr.sample_id_all;
		err = open_counter(&attr, cpu->number, counter);
		if (!err && owner < 0) {
			cpu->samples = map_ring(sampler, cpu->number, counter->fd, config->ring_pages);
			err = cpu->samples ? 0 : -errno;
			owner = counter->fd;
		} else if (!err && ioctl(counter->fd, PERF_EVENT_IOC_SET_OUTPUT, owner)) {
			err = -errno;
		}
		if (owner >= 0 && !cpu->samples)
			return err;
		if (err && counter->fd >= 0) {
			close(counter->fd);
			counter->fd = -1;
		}
		if (err)
			log_write(sampler->log, LOG_LEVEL_WARNING, "%s: cannot be opened on cpu %u: %s",
			          sampler->events[i].name, cpu->number, error_text(err));
	}
	return owner < 0 ? -ENODEV : 0;
}

/* Records of mappings and processes; counted from here on, so that the scan that follows overlaps and misses nothing.
 */
static int
open_cpu_sideband(struct sampler *sampler, struct sampler_cpu *cpu, const struct config *config)
{
	struct perf_event_attr attr;
	int err;

	event_sideband_attr(&sampler->features, &attr);
	attr.watermark = 1;
	attr.wakeup_watermark = (uint32_t)(config->sideband_pages * (size_t)sysconf(_SC_PAGESIZE) / 4);
	sampler->sideband_layout.sample_type = attr.sample_type;
	sampler->sideband_layout.sample_id_all = attr.sample_id_all;
	err = open_counter(&attr, cpu->number, &cpu->sideband_counter);
	if (err)
		return err;
	cpu->sideband = map_ring(sampler, cpu->number, cpu->sideband_counter.fd, config->sideband_pages);
	if (!cpu->sideband)
		return -errno;
	return ioctl(cpu->sideband_counter.fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

static void
close_cpu(struct sampler_cpu *cpu)
{
	ring_free(cpu->samples);
	ring_free(cpu->sideband);
	if (cpu->sideband_counter.fd >= 0)
		close(cpu->sideband_counter.fd);
	for (size_t i = 0; i < EVENTS_MAX; i++)
		if (cpu->counters[i].fd >= 0)
			close(cpu->counters[i].fd);
}

static int
open_cpu(struct sampler *sampler, struct sampler_cpu *cpu, uint32_t index, const struct config *config)
{
	int err = open_cpu_sideband(sampler, cpu, config);

	if (!err)
		err = open_cpu_samples(sampler, cpu, config);
	if (!err)
		err = merge_add(sampler->merge, cpu->sideband, &sampler->sideband_layout, index);
	if (!err)
		err = merge_add(sampler->merge, cpu->samples, &sampler->sample_layout, index);
	return err;
}

/* All CPUs of the list; one that has gone offline in the meantime is left out, other errors end it. */
static int
open_cpus(struct sampler *sampler, const uint32_t *numbers, size_t count, const struct config *config, char *why,
          size_t size)
{
	sampler->cpus = calloc(count, sizeof(*sampler->cpus));
	if (!sampler->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[sampler->cpu_count];
		int err;

		cpu->number = numbers[i];
		cpu->sideband_counter.fd = -1;
		for (size_t e = 0; e < EVENTS_MAX; e++)
			cpu->counters[e].fd = -1;
		err = open_cpu(sampler, cpu, (uint32_t)sampler->cpu_count, config);
		sampler->cpu_count++;
		if (err == -ENODEV) {
			log_write(sampler->log, LOG_LEVEL_WARNING, "cpu %u: is not sampled: %s", numbers[i],
			          error_text(err));
			merge_remove(sampler->merge, cpu->sideband);
			close_cpu(cpu);
			memset(cpu, 0, sizeof(*cpu));
			sampler->cpu_count--;
		} else if (err) {
			snprintf(why, size, "cpu %u: cannot open events: %s%s", numbers[i], error_text(err),
			         err == -EMFILE ? " (raise the limit of open files: ulimit -n)" : "");
			return err;
		}
	}
	return sampler->cpu_count ? 0 : -ENODEV;
}

static int
make_tables(struct sampler *sampler, const struct config *config)
{
	const struct attribution_options options = {
		.procfs = "/proc",
		.sysfs = "/sys",
		.cgroupfs = "/sys/fs/cgroup",
		.log = sampler->log,
	};

	sampler->merge = merge_new();
	sampler->images = image_table_new();
	sampler->contexts = context_table_new();
	sampler->tally = tally_new(config->tally_limit);
	if (!sampler->merge || !sampler->images || !sampler->contexts || !sampler->tally)
		return -ENOMEM;
	sampler->attribution = attribution_new(&options, sampler->images, sampler->contexts);
	return sampler->attribution ? 0 : -ENOMEM;
}

int
sampler_open(const struct config *config, const struct log *log, struct sampler **result, char *why, size_t size)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	uint32_t *numbers = NULL;
	int count, err;

	if (!sampler)
		return -ENOMEM;
	sampler->log = log;
	snprintf(why, size, "out of memory");
	err = make_tables(sampler, config);
	if (err)
		goto failed;
	count = cpu_list_read(ONLINE_CPUS, &numbers);
	if (count < 0) {
		err = count;
		snprintf(why, size, "%s: cannot tell which CPUs are online: %s", ONLINE_CPUS, error_text(err));
		goto failed;
	}
	err = resolve_events(sampler, config, (int)numbers[0], why, size);
	if (err)
		goto failed;
	err = open_cpus(sampler, numbers, (size_t)count, config, why, size);
	if (err)
		goto failed;
	err = attribution_scan(sampler->attribution);
	if (err) {
		snprintf(why, size, "/proc: cannot read which processes run: %s", error_text(err));
		goto failed;
	}
	free(numbers);
	*result = sampler;
	return 0;

failed:
	free(numbers);
	sampler_close(sampler);
	return err;
}

void
sampler_close(struct sampler *sampler)
{
	if (!sampler)
		return;
	merge_free(sampler->merge);
	for (size_t i = 0; i < sampler->cpu_count; i++)
		close_cpu(&sampler->cpus[i]);
	free(sampler->cpus);
	tally_free(sampler->tally);
	attribution_free(sampler->attribution);
	context_table_free(sampler->contexts);
	image_table_free(sampler->images);
	free(sampler);
}
