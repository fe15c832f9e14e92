#include "collectord/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cpu_list.h"
#include "base/error.h"
#include "collectord/machine.h"
#include "collectord/sampler_internal.h"

#define PROVISIONAL_RATE   100                 /* of events whose rate is chosen, until it is */
#define START_WAIT_NS      UINT64_C(250000000) /* long enough to read all processes of most machines */
#define TAKE_NS            UINT64_C(5000000)   /* what a drain may spend on processes that were read */
#define RELEASE_WAIT_NS    UINT64_C(200000000)
#define RESCAN_INTERVAL_NS UINT64_C(10000000000)
#define RESCAN_SHARE       50                  /* reading /proc takes at most one part in so many of the time */
#define DRAIN_REST_NS      UINT64_C(250000000) /* between two drains for processes that began */
#define DUE_PERCENT        35                  /* of a ring; at its watermark, at 5,200 samples/s, it has 40 to 48 */

/* ---- open and close ---- */

static const char *
advice_on(int err)
{
	return err == -EMFILE ? " (raise the limit of open files: ulimit -n, or LimitNOFILE= of the service)" : "";
}

/*
 * Add an event for the sum of what samples stand for, where that varies: the event has a rate, and each sample has
 * the value of its counter, or an idle CPU is sampled with a longer period.
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
			sampler->reads_counts |= !slows_down;
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

/* Call stacks are an event behind all others, when there is room for it. */
static void
add_stacks(struct sampler *sampler)
{
	const size_t place = sampler->event_count + sampler->sum_count;

	if (!stack_sampler_is_on(&sampler->stack_sampler))
		return;
	if (place == EVENTS_MAX) {
		log_write(sampler->log, LOG_LEVEL_WARNING, "there is no room for call stacks beside %d events",
		          EVENTS_MAX);
		stack_sampler_fini(&sampler->stack_sampler);
		return;
	}
	sampler->events[place] = sampler->stack_sampler.event;
	sampler->stack_event = (uint16_t)place;
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
	err = sampler_find_event_cpus(sampler);
	if (err)
		return err;
	if (any) {
		err = stack_sampler_init(&sampler->stack_sampler, config, sampler->events, sampler->event_count,
		                         &environment, sampler->log);
		if (err)
			return err;
		budget_init(&sampler->budget, config);
		budget_measure(&sampler->budget, &sampler->features, sampler->events, sampler->event_count,
		               sampler->log);
		if (stack_sampler_is_on(&sampler->stack_sampler)) {
			const struct budget_event *base = &sampler->budget.events[sampler->stack_sampler.base];

			stack_sampler_plan(&sampler->stack_sampler, base->cost_ns, base->count_rate,
			                   config->overhead_limit_ppm, sampler->log);
			sampler->budget.stacks_rate = sampler->stack_sampler.event.rate;
			sampler->budget.stacks_cost_ns = sampler->stack_sampler.event.cost_ns;
		}
		budget_plan(&sampler->budget, dither_rate_limit(event_rate_limit(SAMPLER_PROCFS)), sampler->events);
		add_sums(sampler, config);
		add_stacks(sampler);
		return 0;
	}
	snprintf(why, size, "none of the configured events can be counted on this machine");
	return -ENOENT;
}

bool
sampler_plan(struct sampler *sampler, const struct budget_observation *seen, struct event *events)
{
	const uint64_t limit = event_rate_limit(SAMPLER_PROCFS);
	struct budget *budget = &sampler->budget;
	bool changed = false;

	memcpy(events, sampler->events, sampler->event_count * sizeof(*events));
	if (seen)
		budget_learn(budget, events, seen);
	else
		budget_measure(budget, &sampler->features, events, sampler->event_count, sampler->log);
	for (size_t i = 0; i < sampler->event_count; i++)
		changed |= event_limit_rate(&events[i], limit);
	return budget_plan(budget, dither_rate_limit(limit), events) || changed;
}

/* Open all CPUs of the list; one that has gone offline in the meantime is left out, other errors end it. */
static int
open_cpus(struct sampler *sampler, const uint32_t *numbers, size_t count, char *why, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		/* measuring may have made the kernel lower its limit of rates, above which no event opens */
		const uint64_t limit = event_rate_limit(SAMPLER_PROCFS);
		int err;

		for (size_t e = 0; e < sampler->event_count; e++)
			event_limit_rate(&sampler->events[e], limit);
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

/* ---- processes that ran before their records were read: read from /proc by a child (proc_reader.h) ---- */

/*
 * A process that began, or loaded a library, in a record that was lost would stay unknown, or be taken for its parent,
 * as long as it lives: /proc is read again. Processes that are sampled and unknown are read at once
 * (sampler_hold_sample). Nothing shows which others are taken for what they are not, so all are read, but not all the
 * time: each reading makes the machine busier, and a machine that loses records because it is too busy would lose more.
 */
void
sampler_rescan(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	struct attribution_stats stats;
	uint64_t interval_ns = RESCAN_INTERVAL_NS;
	int err;

	if (!sampler->records_lost || proc_reader_is_busy(sampler->reader))
		return;
	attribution_stats(sampler->attribution, &stats);
	if (interval_ns < RESCAN_SHARE * stats.scan_ns)
		interval_ns = RESCAN_SHARE * stats.scan_ns;
	if (sampler->rescan_ns && now_ns - sampler->rescan_ns < interval_ns)
		return;
	sampler->rescan_ns = now_ns;
	sampler->rescans_for_overflow = sampler->records_overflowed;
	sampler->records_lost = sampler->records_overflowed = false;
	err = proc_reader_ask_all(sampler->reader, true);
	if (err)
		log_write(sampler->log, LOG_LEVEL_WARNING, "/proc cannot be read again: %s", error_text(err));
}

static void
finish_scan(struct sampler *sampler, const struct proc_reader_stats *stats)
{
	sampler->scans = stats->scans;
	if (stats->refused && stats->scans == 1)
		attribution_log_refused(sampler->attribution, stats->refused, sampler->log);
	if (sampler->rescans_for_overflow)
		log_write(
			sampler->log, LOG_LEVEL_WARNING,
			"records about processes were lost, their buffer was full (sideband_ring_kib); /proc was read "
			"again: %s",
			stats->error ? error_text(stats->error) : "done");
	else if (stats->error)
		log_write(sampler->log, LOG_LEVEL_WARNING, "/proc cannot be read: %s", error_text(stats->error));
	sampler->rescans_for_overflow = false;
	if (sampler->labelled_again.count > 0)
		(void)process_labels_restore(attribution_labels(sampler->attribution), &sampler->labelled_again,
		                             machine_clock_ns(CLOCK_MONOTONIC));
	labelled_processes_fini(&sampler->labelled_again);
}

static void
check_scan(struct sampler *sampler)
{
	struct proc_reader_stats stats;

	proc_reader_stats(sampler->reader, &stats);
	if (stats.scans != sampler->scans)
		finish_scan(sampler, &stats);
}

/* Read what runs already, and wait for it for a moment. 0 or an error with a sentence. */
static int
scan(struct sampler *sampler, char *why, size_t size)
{
	struct proc_reader_stats stats = {0};
	int err;

	err = attribution_begin(sampler->attribution);
	if (!err)
		err = proc_reader_ask_all(sampler->reader, false);
	if (!err) {
		/* no sample comes before counters are enabled, and on most machines none has to wait then */
		proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + START_WAIT_NS);
		proc_reader_stats(sampler->reader, &stats);
		check_scan(sampler);
		err = stats.error;
	}
	if (err)
		snprintf(why, size, "/proc: cannot read which processes run: %s%s", error_text(err), advice_on(err));
	return err;
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
	err = scan(sampler, why, size);
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
		free(sampler->event_cpus[i].cpus);
	proc_reader_free(sampler->reader);
	labelled_processes_fini(&sampler->labelled_again);
	free(sampler->held);
	merge_free(sampler->merge);
	tally_free(sampler->tally);
	stack_sampler_fini(&sampler->stack_sampler);
	attribution_free(sampler->attribution);
	context_table_free(sampler->contexts);
	image_table_free(sampler->images);
	free(sampler);
}

/* ---- samples that wait for what is being read of /proc ---- */

bool
sampler_hold_sample(struct sampler *sampler, size_t event, const struct record *record, uint64_t beyond, unsigned cause)
{
	struct held_sample *held;

	if (cause == UNKNOWN_RECORDS && !proc_reader_is_scanning(sampler->reader))
		(void)proc_reader_ask(sampler->reader, record->pid);
	if (!attribution_awaits(sampler->attribution, record, cause) || sampler->held_count == HELD_SAMPLES_MAX)
		return false;
	held = array_grow(sampler->held, &sampler->held_capacity, sampler->held_count + 1, sizeof(*held));
	if (!held)
		return false;
	sampler->held = held;
	held[sampler->held_count] = (struct held_sample){.record = *record, .beyond = beyond, .event = event};
	held[sampler->held_count++].record.sample.branches = NULL; /* they lie in the ring, which goes on */
	return true;
}

static int
count_held(struct sampler *sampler, const struct held_sample *held)
{
	struct slice_event *total = &sampler->totals[held->event];
	const uint16_t sum = sampler->sums[held->event];
	struct sample_key key;
	int cause = attribution_sample_late(sampler->attribution, &held->record, &key);
	int err = 0;

	key.event = (uint16_t)held->event;
	if (cause) {
		total->unknown[cause - 1]++;
		if (sum)
			sampler->totals[sum].unknown[cause - 1] += held->beyond;
	} else if (held->beyond) {
		err = tally_add_with_sum(sampler->tally, &key, 1, sum, held->beyond);
	} else {
		err = tally_add(sampler->tally, &key, 1);
	}
	if (err && sampler->is_dropping) {
		total->dropped++;
		return 0;
	}
	if (err)
		return err;
	total->samples++;
	if (held->beyond)
		sampler->totals[sum].samples += held->beyond;
	return 0;
}

/* Count a stack of which stack_sampler_attribute() returned `err`, *key and the cause. */
static int
count_stack(struct sampler *sampler, int err, int cause, struct sample_key *key, uint64_t weight)
{
	struct slice_event *total = &sampler->totals[sampler->stack_event];

	key->event = sampler->stack_event;
	if (!err && cause)
		total->unknown[cause - 1] += weight;
	else if (!err)
		err = tally_add(sampler->tally, key, weight);
	if (err && sampler->is_dropping) {
		total->dropped += weight;
		return 0;
	}
	if (err)
		return err;
	total->samples += weight;
	return 0;
}

/* Those whose tables have come, or will not. 0, or -ENOSPC: there is no room for the rest. */
static int
count_held_stacks(struct sampler *sampler)
{
	struct held_stacks *held = &sampler->stack_sampler.held;
	int err = 0;

	for (size_t i = 0; i < held->count && !err; i++) {
		struct held_stack *stack = held->stacks[i];
		struct sample_key key;
		int cause;
		int result = stack_sampler_attribute_held(&sampler->stack_sampler, sampler->attribution,
		                                          sampler->images, stack, &key, &cause);

		if (result == STACK_IS_HELD)
			continue;
		err = count_stack(sampler, result, cause, &key, stack->weight);
		if (err)
			break;
		held_stack_free(held, stack);
		held->stacks[i] = NULL;
	}
	held_stacks_pack(held);
	return err;
}

static int
count_held_samples(struct sampler *sampler)
{
	size_t counted = 0;
	int err = 0;

	if (sampler->held_count == 0 || (proc_reader_is_busy(sampler->reader) && !sampler->counts_held))
		return 0;
	while (counted < sampler->held_count && !err) {
		err = count_held(sampler, &sampler->held[counted]);
		counted += !err;
	}
	sampler->held_count -= counted;
	memmove(sampler->held, sampler->held + counted, sampler->held_count * sizeof(*sampler->held));
	if (sampler->held_count > 0)
		return err;
	free(sampler->held);
	sampler->held = NULL;
	sampler->held_capacity = 0;
	sampler->counts_held = false;
	return 0;
}

int
sampler_count_held(struct sampler *sampler)
{
	int err = count_held_samples(sampler);

	return err ? err : count_held_stacks(sampler);
}

void
sampler_release_held(struct sampler *sampler)
{
	held_stacks_release(&sampler->stack_sampler.held);
	sampler->stack_sampler.holds_none = true;
	if (sampler->held_count == 0 && sampler->labelled_again.count == 0)
		return;
	proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + RELEASE_WAIT_NS);
	check_scan(sampler);
	sampler->counts_held = sampler->held_count > 0;
}

/* ---- records ---- */

/* Index of the event whose counter on this CPU has `id`, or event_count. There are few, so a search beats a table. */
static size_t
find_event(const struct sampler *sampler, const struct sampler_cpu *cpu, uint64_t id)
{
	for (size_t i = 0; i < sampler->event_count; i++)
		if (cpu->counters[i].id == id && cpu->counters[i].fd >= 0)
			return i;
	return sampler->event_count;
}

/* The event whose counter for idle CPUs has `id`, or event_count. */
static size_t
find_idle_event(const struct sampler *sampler, const struct sampler_cpu *cpu, uint64_t id)
{
	for (size_t i = 0; i < sampler->event_count; i++)
		if (cpu->idle[i].counter.id == id && cpu->idle[i].counter.fd >= 0)
			return i;
	return sampler->event_count;
}

/*
 * Since Linux 6.3 a software event that several profilers sample, and that is due for more than one of them at once,
 * gives all their samples the first one's id. A sample in our ring is ours: if this CPU counts one such event, it is
 * that one's.
 */
static size_t
find_shared_event(const struct sampler *sampler, const struct sampler_cpu *cpu)
{
	size_t found = sampler->event_count;

	for (size_t i = 0; i < sampler->event_count; i++) {
		const struct event_encoding *encoding = &sampler->events[i].encoding;

		if (cpu->counters[i].fd < 0 || encoding->type != PERF_TYPE_SOFTWARE || event_is_clock(encoding))
			continue;
		if (found != sampler->event_count)
			return sampler->event_count;
		found = i;
	}
	return found;
}

/* A sample of the long period: how much more it stands for than one of the event's own. */
static uint64_t
take_idle_sample(const struct sampler *sampler, struct sampler_cpu *cpu, size_t event, const struct record *record)
{
	const uint64_t period = sampler->events[sampler->sums[event]].encoding.config;

	cpu->idle[event].taken++;
	cpu->idle[event].covered_ns = record->time + period / 2;
	return period > sampler->events[event].period ? period - sampler->events[event].period : 0;
}

/* What a sample of an event with a rate stands for: what was counted since the sample before. */
static uint64_t
counted_since(const struct sampler_counter *counter, uint64_t count)
{
	return count > counter->sampled_count ? count - counter->sampled_count : 0;
}

#define IS_HELD 1 /* the sample is counted later */

/* Attribute a sample that `recent` does not hold, or that stands for `beyond` more events. Not inlined: it is rare. */
__attribute__((noinline)) static int
attribute_sample(struct sampler *sampler, size_t event, struct recent_slot *slot, const struct record *record,
                 uint64_t beyond)
{
	struct sample_key key;
	int cause = attribution_sample(sampler->attribution, record, &key);
	int err;

	if (cause) {
		if (sampler_hold_sample(sampler, event, record, beyond, (unsigned)cause - 1))
			return IS_HELD;
		sampler->totals[event].unknown[cause - 1]++;
		if (sampler->sums[event])
			sampler->totals[sampler->sums[event]].unknown[cause - 1] += beyond;
		return 0;
	}
	key.event = (uint16_t)event;
	if (beyond)
		return tally_add_with_sum(sampler->tally, &key, 1, sampler->sums[event], beyond);
	err = tally_add(sampler->tally, &key, 1);
	if (!err)
		recent_put(&sampler->recent, slot, record, &key, sampler->tally);
	return err;
}

/*
 * The sample is done with: counted, held or dropped. Also a dropped one shows that its CPU works, and belongs to a
 * stretch of one period (dither.h). One for which the tally has no room is taken again later: it is not done with.
 */
static void
count_drained(struct sampler_cpu *cpu, size_t event, const struct record *record)
{
	struct sampler_counter *counter = &cpu->counters[event];

	counter->dither.samples++;
	cpu->idle[event].drained++;
	if (record->sample.count > counter->sampled_count)
		counter->sampled_count = record->sample.count;
}

/* A sample of a call stack. One whose process is not known yet does not wait: there are few. */
__attribute__((noinline)) static int
take_stack(struct sampler *sampler, const struct sampler_cpu *cpu, const struct record *record)
{
	const uint64_t weight = stack_sampler_weight(&sampler->stack_sampler, &cpu->stack_periods, record->time);
	struct sample_key key;
	int cause;
	int result = stack_sampler_attribute(&sampler->stack_sampler, sampler->attribution, sampler->images, record,
	                                     weight, &key, &cause);

	return result == STACK_IS_HELD ? 0 : count_stack(sampler, result, cause, &key, weight);
}

static int
take_sample(struct sampler *sampler, struct sampler_cpu *cpu, const struct record *record)
{
	size_t event = find_event(sampler, cpu, record->id);
	struct recent_slot *slot;
	uint64_t beyond = 0;

	if (event == sampler->event_count) {
		if (cpu->stacks && record->id == cpu->stack_counter.id)
			return take_stack(sampler, cpu, record);
		event = find_idle_event(sampler, cpu, record->id);
		if (event < sampler->event_count)
			beyond = take_idle_sample(sampler, cpu, event, record);
		else
			event = find_shared_event(sampler, cpu);
	} else if (record->time < cpu->idle[event].covered_ns) {
		count_drained(cpu, event, record);
		return 0;
	}
	if (event == sampler->event_count) {
		cpu->skipped++;
		return 0;
	}
	if (!sampler->events[event].period && sampler->sums[event])
		beyond = counted_since(&cpu->counters[event], record->sample.count);
	slot = recent_slot(&sampler->recent, record, (uint16_t)event);
	if (!beyond && recent_matches(&sampler->recent, slot, record, (uint16_t)event)) {
		slot->count++;
	} else {
		int err = attribute_sample(sampler, event, slot, record, beyond);

		if (err == IS_HELD) {
			count_drained(cpu, event, record);
			return 0;
		}
		if (err && sampler->is_dropping) {
			count_drained(cpu, event, record);
			sampler->totals[event].dropped++;
			return 0;
		}
		if (err)
			return err;
	}
	sampler->totals[event].samples++;
	if (beyond)
		sampler->totals[sampler->sums[event]].samples += beyond;
	count_drained(cpu, event, record);
	return 0;
}

/* The losses of the counter that has `id`: the event that next finds room in a ring reports its lost records. */
static struct sampler_loss *
find_loss(struct sampler *sampler, struct sampler_cpu *cpu, uint64_t id)
{
	size_t event = find_event(sampler, cpu, id);

	if (event == sampler->event_count && cpu->stacks && id == cpu->stack_counter.id)
		return &cpu->stack_counter.loss;
	if (event == sampler->event_count)
		event = find_idle_event(sampler, cpu, id);
	return event < sampler->event_count ? &cpu->counters[event].loss : &cpu->sideband_counter.loss;
}

void
sampler_records_lost(struct sampler *sampler)
{
	sampler->records_lost = true;
	attribution_records_lost(sampler->attribution);
}

static void
take_lost(struct sampler *sampler, struct sampler_cpu *cpu, const struct record *record)
{
	struct sampler_loss *loss = find_loss(sampler, cpu, record->id);

	if (loss == &cpu->sideband_counter.loss) {
		sampler->records_overflowed = true;
		sampler_records_lost(sampler);
	}
	/* where the kernel counts losses itself, those are read instead: they include what no record reports yet */
	if (!sampler->features.read_lost)
		loss->lost += record->lost.count;
}

static int
take_record(void *context, uint32_t index, const struct record *record)
{
	struct sampler *sampler = context;
	struct sampler_cpu *cpu = &sampler->cpus[index];

	if (record->type == RECORD_SAMPLE) /* nearly all are */
		return take_sample(sampler, cpu, record);
	switch (record->type) {
	case RECORD_LOST:
		take_lost(sampler, cpu, record);
		return 0;
	case RECORD_THROTTLE:
		find_loss(sampler, cpu, record->id)->throttled++;
		return 0;
	case RECORD_UNTHROTTLE:
	case RECORD_OTHER:
	case RECORD_AUX:
	case RECORD_RUNNING:
	case RECORD_AUX_DATA:
		return 0;
	case RECORD_KSYMBOL:
	case RECORD_CGROUP:
		recent_flush(&sampler->recent, sampler->tally); /* they concern every process */
		break;
	default:
		recent_invalidate(&sampler->recent, record->pid);
		break;
	}
	/* without memory for a mapping, its samples will be counted as unknown */
	(void)attribution_apply(sampler->attribution, record);
	return 0;
}

/* ---- draining ---- */

/* Does the ring hold more than `percent` of what it can? */
static bool
is_fuller(const struct ring *ring, unsigned percent)
{
	return ring && ring_used(ring) > ring_size(ring) / 100 * percent;
}

static bool
is_any_fuller(const struct sampler *sampler, unsigned percent)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (is_fuller(sampler->cpus[i].samples, percent) || is_fuller(sampler->cpus[i].sideband, percent) ||
		    is_fuller(sampler->cpus[i].stacks, percent))
			return true;
	return false;
}

/* Take records up to `horizon`, and begin each label at its moment. */
static int
merge_until(struct sampler *sampler, uint64_t horizon)
{
	uint64_t time_ns;
	int err;

	/* a sample ring is read in long runs: none of them may go past a moment at which a label begins */
	while ((time_ns = process_labels_next_ns(attribution_labels(sampler->attribution))) <= horizon) {
		err = merge_drain(sampler->merge, time_ns, take_record, sampler);
		if (err)
			return err;
		recent_flush(&sampler->recent, sampler->tally);
		process_labels_begin(attribution_labels(sampler->attribution), time_ns);
	}
	err = merge_drain(sampler->merge, horizon, take_record, sampler);
	if (!err)
		sampler->known_ns = horizon;
	return err;
}

static int
drain_until(struct sampler *sampler, uint64_t horizon)
{
	int err;

	/* first: records that are younger than the reading of a process are then applied to what was read */
	proc_reader_take(sampler->reader, TAKE_NS);
	check_scan(sampler);
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];
		const uint64_t lost = cpu->sideband_counter.read.lost;

		if (!is_fuller(cpu->sideband, 75))
			continue;
		/* the record that reports losses comes after samples from meanwhile; the counter knows at once */
		sampler_counter_read(sampler, &cpu->sideband_counter);
		if (cpu->sideband_counter.read.lost != lost) {
			sampler->records_overflowed = true;
			sampler_records_lost(sampler);
		}
	}
	if (sampler->stack_sampler.tables)
		unwind_tables_sync(sampler->stack_sampler.tables, sampler->images, sampler->attribution);
	err = merge_until(sampler, horizon);
	recent_flush(&sampler->recent, sampler->tally);
	if (!err) {
		attribution_expire(sampler->attribution, horizon);
		sampler_rescan(sampler);
		err = sampler_count_held(sampler);
	}
	return err == -ENOMEM ? -ENOSPC : err;
}

int
sampler_drain(struct sampler *sampler)
{
	return drain_until(sampler, machine_clock_ns(CLOCK_MONOTONIC) - SAMPLER_LAG_NS);
}

int
sampler_drain_all(struct sampler *sampler)
{
	uint64_t now = machine_clock_ns(CLOCK_MONOTONIC);
	struct timespec lag = {.tv_nsec = (long)SAMPLER_LAG_NS};

	while (nanosleep(&lag, &lag) && errno == EINTR)
		;
	return drain_until(sampler, now);
}

int
sampler_drain_dropping(struct sampler *sampler, bool patient)
{
	int err;

	if (patient && !is_any_fuller(sampler, 50))
		return 0;
	sampler->is_dropping = true;
	err = sampler_drain(sampler);
	sampler->is_dropping = false;
	return err;
}

bool
sampler_is_filling(const struct sampler *sampler)
{
	return proc_reader_is_busy(sampler->reader) || is_any_fuller(sampler, 20);
}

bool
sampler_has_process_records(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (is_fuller(sampler->cpus[i].sideband, 0))
			return true;
	return false;
}

/* Never 0. The multiplier is that of Fibonacci hashing: 2^64 divided by the golden ratio. */
static uint64_t
file_hash(const struct ring_file *file)
{
	const uint64_t multiplier = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = file->inode * multiplier;

	hash = ((hash ^ (hash >> 32)) + file->device) * multiplier;
	hash = ((hash ^ (hash >> 32)) + file->inode_generation) * multiplier;
	return hash | 1;
}

/* Remember the file. Was it remembered? If there is no room, the one is forgotten that was added first. */
static bool
is_file_known(struct sampler *sampler, const struct ring_file *file)
{
	const uint64_t hash = file_hash(file);
	uint64_t *known = sampler->known_files[(hash >> 32) % KNOWN_FILE_SETS];

	for (size_t i = 0; i < KNOWN_FILE_WAYS; i++)
		if (known[i] == hash)
			return true;
	memmove(known + 1, known, (KNOWN_FILE_WAYS - 1) * sizeof(*known));
	known[0] = hash;
	return false;
}

bool
sampler_has_new_file(struct sampler *sampler)
{
	struct ring_file file;
	bool any = false;

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct ring *ring = sampler->cpus[i].sideband;

		while (ring && ring_next_file(ring, &file))
			any |= file.inode && !is_file_known(sampler, &file);
	}
	return any;
}

bool
sampler_drain_is_due(const struct sampler *sampler, uint64_t since_ns)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (is_fuller(sampler->cpus[i].samples, DUE_PERCENT) || is_fuller(sampler->cpus[i].stacks, DUE_PERCENT))
			return true;
	return sampler_has_process_records(sampler) && (since_ns >= DRAIN_REST_NS || sampler_is_filling(sampler));
}

/* ---- taking what was counted ---- */

static void
move_loss(struct slice *slice, struct sampler_counter *counter, uint32_t cpu, uint16_t event, uint64_t skipped)
{
	struct sampler_loss *loss = &counter->loss;

	if (slice->cpus && (loss->lost || loss->throttled || skipped))
		slice->cpus[slice->cpu_count++] = (struct slice_cpu){
			.cpu = cpu,
			.event = event,
			.lost = loss->lost,
			.throttled = loss->throttled,
			.skipped = skipped,
		};
	if (event == SLICE_SIDEBAND) {
		slice->sideband_lost += loss->lost;
	} else {
		slice->events[event].enabled_ns += counter->enabled_ns;
		slice->events[event].running_ns += counter->running_ns;
		slice->events[event].lost += loss->lost;
		slice->events[event].throttled += loss->throttled;
	}
	slice->skipped += skipped;
	loss->lost = 0;
	loss->throttled = 0;
	counter->enabled_ns = 0;
	counter->running_ns = 0;
}

/* Add the counter for idle CPUs to the event's own; the event's sum has for how long it counted (overhead.h). */
static void
add_idle_counter(const struct sampler *sampler, struct sampler_cpu *cpu, size_t event, struct slice *slice)
{
	struct sampler_counter *own = &cpu->counters[event], *rare = &cpu->idle[event].counter;
	struct slice_event *sum = &slice->events[sampler->sums[event]];

	sampler_counter_read(sampler, rare);
	if (rare->enabled_ns) {
		sum->enabled_ns += rare->enabled_ns;
		sum->running_ns += rare->running_ns;
	}
	own->enabled_ns += rare->enabled_ns;
	own->running_ns += rare->running_ns;
	own->loss.lost += rare->loss.lost;
	rare->enabled_ns = 0;
	rare->running_ns = 0;
	rare->loss.lost = 0;
}

static void
move_cpu_losses(struct sampler *sampler, struct sampler_cpu *cpu, struct slice *slice)
{
	uint64_t skipped = cpu->skipped + (cpu->samples ? ring_take_skipped(cpu->samples) : 0);

	cpu->skipped = 0;
	for (size_t e = 0; e < sampler->event_count; e++) {
		sampler_counter_read(sampler, &cpu->counters[e]);
		add_idle_counter(sampler, cpu, e, slice);
		move_loss(slice, &cpu->counters[e], cpu->number, (uint16_t)e, skipped);
		skipped = 0;
	}
	if (sampler->stack_event) {
		sampler_counter_read(sampler, &cpu->stack_counter);
		move_loss(slice, &cpu->stack_counter, cpu->number, sampler->stack_event,
		          cpu->stacks ? ring_take_skipped(cpu->stacks) : 0);
	}
	sampler_counter_read(sampler, &cpu->sideband_counter);
	move_loss(slice, &cpu->sideband_counter, cpu->number, SLICE_SIDEBAND,
	          cpu->sideband ? ring_take_skipped(cpu->sideband) : 0);
}

struct tally *
sampler_take(struct sampler *sampler, struct tally *empty, struct slice *slice)
{
	struct tally *filled = sampler->tally;

	sampler->tally = empty;
	sampler->stack_sampler.holds_none = false;
	slice->event_count = sampler_event_total(sampler);
	memcpy(slice->events, sampler->totals, sizeof(sampler->totals));
	memset(sampler->totals, 0, sizeof(sampler->totals));
	slice->sideband_lost = 0;
	slice->skipped = 0;
	slice->cpu_count = 0;
	slice->cpus = calloc(sampler->cpu_count * (sampler->event_count + 2), sizeof(*slice->cpus));
	for (size_t i = 0; i < sampler->cpu_count; i++)
		move_cpu_losses(sampler, &sampler->cpus[i], slice);
	return filled;
}

void
sampler_settle_stacks(struct sampler *sampler)
{
	const bool is_dropping = sampler->is_dropping;

	held_stacks_release(&sampler->stack_sampler.held);
	sampler->is_dropping = true; /* what has no room in the tables that are given up */
	(void)count_held_stacks(sampler);
	sampler->is_dropping = is_dropping;
}

int
sampler_reset_ids(struct sampler *sampler, struct image_table **images, struct context_table **contexts,
                  struct stack_table **stacks)
{
	struct image_table *new_images = image_table_new();
	struct context_table *new_contexts = context_table_new();

	*stacks = NULL;
	if (!new_images || !new_contexts ||
	    (sampler->stack_event && stack_sampler_reset(&sampler->stack_sampler, stacks))) {
		image_table_free(new_images);
		context_table_free(new_contexts);
		return -ENOMEM;
	}
	*images = sampler->images;
	*contexts = sampler->contexts;
	sampler->images = new_images;
	sampler->contexts = new_contexts;
	attribution_reset_ids(sampler->attribution, new_images, new_contexts);
	return 0;
}

/* ---- labels of process trees ---- */

int
sampler_label(struct sampler *sampler, uint32_t pid, const char *label, enum label_start start, uint64_t time_ns)
{
	return process_labels_add(attribution_labels(sampler->attribution), pid, label, start, time_ns);
}

uint64_t
sampler_label_changes(const struct sampler *sampler)
{
	return process_labels_changes(attribution_labels(sampler->attribution));
}

int
sampler_labelled(const struct sampler *sampler, struct labelled_processes *labelled)
{
	return process_labels_save(attribution_labels(sampler->attribution), sampler->known_ns, labelled);
}

/* Until all processes have been read, it is not known which of them run. */
int
sampler_label_again(struct sampler *sampler, const struct labelled_processes *labelled)
{
	struct labelled_process *list;

	if (proc_reader_is_scanning(sampler->reader) && labelled->count > 0) {
		list = reallocarray(NULL, labelled->count, sizeof(*list));
		if (!list)
			return -ENOMEM;
		memcpy(list, labelled->list, labelled->count * sizeof(*list));
		labelled_processes_fini(&sampler->labelled_again);
		sampler->labelled_again = *labelled;
		sampler->labelled_again.list = list;
		sampler->labelled_again.capacity = labelled->count;
		return 0;
	}
	return process_labels_restore(attribution_labels(sampler->attribution), labelled,
	                              machine_clock_ns(CLOCK_MONOTONIC));
}

struct label_dating {
	struct label_times *times;
	uint64_t offset_ns; /* from record time, which is CLOCK_MONOTONIC, to ns since 1970 */
};

static int
add_time(void *context, const struct label_time *time)
{
	const struct label_dating *dating = context;
	const struct profile_label_time dated = {
		.label = time->text,
		.begin_ns = time->begin_ns + dating->offset_ns,
		.end_ns = time->end_ns + dating->offset_ns,
		.elapsed_ns = time->elapsed_ns,
	};

	return label_times_add(dating->times, &dated);
}

void
sampler_take_label_times(struct sampler *sampler, uint64_t realtime_offset_ns, struct label_times *times)
{
	struct label_dating dating = {times, realtime_offset_ns};

	/* times for which there is no memory come with the next take */
	(void)process_labels_take_times(attribution_labels(sampler->attribution), sampler->known_ns, add_time, &dating);
}

/* ---- access ---- */

const struct event *
sampler_events(const struct sampler *sampler, size_t *count)
{
	*count = sampler_event_total(sampler);
	return sampler->events;
}

const struct slice_event *
sampler_counted(const struct sampler *sampler)
{
	return sampler->totals;
}

struct tally *
sampler_tally(const struct sampler *sampler)
{
	return sampler->tally;
}

struct attribution *
sampler_attribution(const struct sampler *sampler)
{
	return sampler->attribution;
}

const struct image_table *
sampler_images(const struct sampler *sampler)
{
	return sampler->images;
}

const struct context_table *
sampler_contexts(const struct sampler *sampler)
{
	return sampler->contexts;
}

const struct stack_table *
sampler_stacks(const struct sampler *sampler)
{
	return sampler->stack_sampler.stacks;
}

bool
sampler_expects_tables(const struct sampler *sampler)
{
	return sampler->stack_sampler.held.count > 0 ||
	       (sampler->stack_sampler.tables && unwind_tables_expect(sampler->stack_sampler.tables));
}

void
sampler_use_tables(struct sampler *sampler, struct unwind_tables *tables)
{
	sampler->stack_sampler.tables = tables;
}

const struct proc_reader *
sampler_reader(const struct sampler *sampler)
{
	return sampler->reader;
}
