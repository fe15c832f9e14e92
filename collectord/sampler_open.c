#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/cpu_list.h"
#include "collectord/sampler_internal.h"

#define PROVISIONAL_RATE 100 /* of events whose rate is chosen, until it is */

static const char *
advice_on(int err)
{
	return err == -EMFILE ? " (raise the limit of open files: ulimit -n, or LimitNOFILE= of the service)" : "";
}

static void
choose_rates(struct sampler *sampler, const struct config *config)
{
	struct budget *budget = &sampler->budget;

	budget_init(budget, config);
	budget_measure(budget, &sampler->features, sampler->events, sampler->event_count, sampler->log);
	budget_plan(budget, dither_rate_limit(event_rate_limit(SAMPLER_PROCFS)), sampler->events);
}

/*
 * Where the kernel chooses the period, a sample says for how many events it stands; and samples of a clock stand for
 * more of them while their CPU is idle.
 */
static void
add_sums(struct sampler *sampler, const struct config *config)
{
	for (size_t i = 0; i < sampler->event_count; i++) {
		const size_t place = sampler->event_count + sampler->sum_count;
		const struct event *event = &sampler->events[i];
		const bool slows_down =
			event->period && event_is_clock(&event->encoding) && !event->idle && config->idle_rate > 0;

		if (!event->available || (event->period && !slows_down))
			continue;
		if (place < EVENTS_MAX && event_sum_of(event, &sampler->events[place])) {
			if (slows_down)
				event_set_idle_rate(&sampler->events[place], config->idle_rate);
			sampler->reads_period |= !slows_down;
			sampler->sums[i] = (uint16_t)place;
			sampler->sum_count++;
			continue;
		}
		if (slows_down)
			continue;
		log_write(sampler->log, LOG_LEVEL_WARNING,
		          "%s: there is no room for what its samples stand for; they count as samples",
		          sampler->events[i].name);
	}
}

static int
resolve_events(struct sampler *sampler, const struct config *config, int cpu, char *why, size_t size)
{
	const struct event_environment environment = {
		.open = event_open_system,
		.sysfs = SAMPLER_SYSFS,
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
		int count =
			event_resolve_kinds(&environment, &config->events[i], &sampler->events[sampler->event_count],
		                            EVENTS_MAX - sampler->event_count, why, size);

		if (count < 0)
			return count;
		while (count-- > 0)
			any |= sampler->events[sampler->event_count++].available;
	}
	err = sampler_find_places(sampler);
	if (err)
		return err;
	if (any) {
		choose_rates(sampler, config);
		add_sums(sampler, config);
		return 0;
	}
	snprintf(why, size, "none of the configured events can be counted on this machine");
	return -ENOENT;
}

/* What measuring the costs took may have made the kernel lower its limit: above it no event would open at all. */
static void
limit_rates(struct sampler *sampler)
{
	const uint64_t limit = event_rate_limit(SAMPLER_PROCFS);

	for (size_t i = 0; i < sampler->event_count; i++)
		event_limit_rate(&sampler->events[i], limit);
}

/* All CPUs of the list; one that has gone offline in the meantime is left out, other errors end it. */
static int
open_cpus(struct sampler *sampler, const uint32_t *numbers, size_t count, char *why, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		int err;

		limit_rates(sampler);
		err = sampler_add_cpu(sampler, numbers[i]);
		if (err && err != -ENODEV) {
			snprintf(why, size, "cpu %u: cannot open events: %s%s", numbers[i], error_text(err),
			         advice_on(err));
			return err;
		}
	}
	return sampler_cpu_count(sampler) ? 0 : -ENODEV;
}

static int
make_tables(struct sampler *sampler, const struct config *config, const struct kernel_known *known)
{
	const struct attribution_options options = {
		.procfs = "/proc",
		.sysfs = "/sys",
		.cgroupfs = "/sys/fs/cgroup",
		.kernel = known,
		.log = sampler->log,
		.tracks_jit = true,
	};

	sampler->merge = merge_new();
	sampler->images = image_table_new();
	sampler->contexts = context_table_new();
	sampler->tally = tally_new(config->tally_limit);
	if (!sampler->merge || !sampler->images || !sampler->contexts || !sampler->tally)
		return -ENOMEM;
	sampler->attribution = attribution_new(&options, sampler->images, sampler->contexts);
	if (!sampler->attribution)
		return -ENOMEM;
	sampler->reader = proc_reader_new(options.procfs, options.cgroupfs, sampler->attribution, sampler->log);
	return sampler->reader ? 0 : -errno;
}

int
sampler_open(const struct config *config, const struct kernel_known *known, const struct log *log,
             struct sampler **result, char *why, size_t size)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	uint32_t *numbers = NULL;
	int count, err;

	snprintf(why, size, "out of memory");
	if (!sampler)
		return -ENOMEM;
	sampler->log = log;
	sampler->ring_pages = config->ring_pages;
	sampler->sideband_pages = config->sideband_pages;
	err = make_tables(sampler, config, known);
	if (err)
		goto failed;
	count = cpu_list_read(SAMPLER_ONLINE_CPUS, &numbers);
	if (count < 0) {
		err = count;
		snprintf(why, size, "%s: cannot tell which CPUs are online: %s%s", SAMPLER_ONLINE_CPUS, error_text(err),
		         advice_on(err));
		goto failed;
	}
	err = resolve_events(sampler, config, (int)numbers[0], why, size);
	if (err)
		goto failed;
	err = open_cpus(sampler, numbers, (size_t)count, why, size);
	if (err)
		goto failed;
	err = sampler_scan(sampler, why, size);
	if (err)
		goto failed;
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
	for (size_t i = 0; i < sampler->cpu_count; i++)
		sampler_cpu_close(sampler, &sampler->cpus[i]);
	free(sampler->cpus);
	for (size_t i = 0; i < EVENTS_MAX; i++)
		free(sampler->places[i].cpus);
	proc_reader_free(sampler->reader);
	labelled_processes_fini(&sampler->again);
	free(sampler->held);
	merge_free(sampler->merge);
	tally_free(sampler->tally);
	attribution_free(sampler->attribution);
	context_table_free(sampler->contexts);
	image_table_free(sampler->images);
	free(sampler);
}
