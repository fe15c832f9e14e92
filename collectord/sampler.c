#include "collectord/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"
#include "collectord/sampler_internal.h"

#define DRAIN_REST_NS UINT64_C(250000000) /* between two drains for what began */
#define DUE_PERCENT   35                  /* of a ring; one that calls at 5,200 samples/s has 40 to 48 */

/* Index of the event whose counter on this CPU has `id`, or event_count. There are few, so a search beats a table. */
static size_t
find_event(const struct sampler *sampler, const struct sampler_cpu *cpu, uint64_t id)
{
	for (size_t i = 0; i < sampler->event_count; i++)
		if (cpu->counters[i].id == id && cpu->counters[i].fd >= 0)
			return i;
	return sampler->event_count;
}

static bool
is_shared(const struct event *event)
{
	return event->encoding.type == PERF_TYPE_SOFTWARE && !event_is_clock(&event->encoding);
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

/* A sample of the long period: how much more it stands for than one of the event's own. */
static uint64_t
take_idle_sample(const struct sampler *sampler, struct sampler_cpu *cpu, size_t event, const struct record *record)
{
	const uint64_t period = sampler->events[sampler->sums[event]].encoding.config;

	cpu->idle[event].taken++;
	cpu->idle[event].covered_ns = record->time + period / 2;
	return period > sampler->events[event].period ? period - sampler->events[event].period : 0;
}

/*
 * Since Linux 6.3 a software event that several profilers sample, and that is due for more than one of them at once,
 * gives all their samples the first one's id. In our ring it can only be ours: where we count one such event, it is it.
 */
static size_t
find_shared_event(const struct sampler *sampler, const struct sampler_cpu *cpu)
{
	size_t found = sampler->event_count;

	for (size_t i = 0; i < sampler->event_count; i++) {
		if (cpu->counters[i].fd < 0 || !is_shared(&sampler->events[i]))
			continue;
		if (found != sampler->event_count)
			return sampler->event_count;
		found = i;
	}
	return found;
}

/* The events that a sample stands for beyond the period of its epoch. */
static uint64_t
events_beyond(const struct event *event, const struct record *record)
{
	return record->sample.period > event->period ? record->sample.period - event->period : 0;
}

#define IS_HELD 1 /* it is counted later */

/* One that did not come a moment ago, or stands for `beyond` more events. Not inlined: most are neither. */
__attribute__((noinline)) static int
look_sample_up(struct sampler *sampler, size_t event, struct recent_slot *slot, const struct record *record,
               uint64_t beyond)
{
	struct sample_key key;
	int cause = attribution_sample(sampler->attribution, record, &key);
	int err;

	if (cause) {
		if (sampler_hold(sampler, event, record, beyond, (unsigned)cause - 1))
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

/* Whatever becomes of it, its CPU works, and the period that it was taken with is over. */
static void
count_drained(struct sampler_cpu *cpu, size_t event)
{
	cpu->counters[event].dither.samples++;
	cpu->idle[event].drained++;
}

static int
take_sample(struct sampler *sampler, struct sampler_cpu *cpu, const struct record *record)
{
	size_t event = find_event(sampler, cpu, record->id);
	struct recent_slot *slot;
	uint64_t beyond = 0;

	if (event == sampler->event_count) {
		event = find_idle_event(sampler, cpu, record->id);
		if (event < sampler->event_count)
			beyond = take_idle_sample(sampler, cpu, event, record);
		else
			event = find_shared_event(sampler, cpu);
	} else if (record->time < cpu->idle[event].covered_ns) {
		count_drained(cpu, event);
		return 0;
	}
	if (event == sampler->event_count) {
		cpu->skipped++;
		return 0;
	}
	if (sampler->reads_period && sampler->sums[event] && !beyond)
		beyond = events_beyond(&sampler->events[event], record);
	slot = recent_slot(&sampler->recent, record, (uint16_t)event);
	if (!beyond && recent_is(&sampler->recent, slot, record, (uint16_t)event)) {
		slot->count++;
	} else {
		int err = look_sample_up(sampler, event, slot, record, beyond);

		if (err == IS_HELD) {
			count_drained(cpu, event);
			return 0;
		}
		if (err && sampler->relieving) {
			count_drained(cpu, event);
			sampler->totals[event].dropped++;
			return 0;
		}
		if (err)
			return err;
	}
	sampler->totals[event].samples++;
	if (beyond)
		sampler->totals[sampler->sums[event]].samples += beyond;
	count_drained(cpu, event);
	return 0;
}

/* The losses of whatever counter has `id`: a ring's lost records are said by the event that next finds room. */
static struct sampler_loss *
find_loss(struct sampler *sampler, struct sampler_cpu *cpu, uint64_t id)
{
	size_t event = find_event(sampler, cpu, id);

	if (event == sampler->event_count)
		event = find_idle_event(sampler, cpu, id);
	return event < sampler->event_count ? &cpu->counters[event].loss : &cpu->sideband_counter.loss;
}

void
sampler_miss_records(struct sampler *sampler)
{
	sampler->records_lost = true;
	attribution_records_lost(sampler->attribution);
}

static void
note_overflow(struct sampler *sampler)
{
	sampler->records_overflowed = true;
	sampler_miss_records(sampler);
}

static void
take_lost(struct sampler *sampler, struct sampler_cpu *cpu, const struct record *record)
{
	struct sampler_loss *loss = find_loss(sampler, cpu, record->id);

	if (loss == &cpu->sideband_counter.loss)
		note_overflow(sampler);
	/* where the kernel counts losses itself, those are read instead: they include what no record told yet */
	if (!sampler->features.read_lost)
		loss->lost += record->lost.count;
}

static int
take_record(void *context, uint32_t index, const struct record *record)
{
	struct sampler *sampler = context;
	struct sampler_cpu *cpu = &sampler->cpus[index];

	switch (record->type) {
	case RECORD_SAMPLE:
		return take_sample(sampler, cpu, record);
	case RECORD_LOST:
		take_lost(sampler, cpu, record);
		return 0;
	case RECORD_THROTTLE:
		find_loss(sampler, cpu, record->id)->throttled++;
		return 0;
	case RECORD_UNTHROTTLE:
	case RECORD_OTHER:
		return 0;
	case RECORD_KSYMBOL:
	case RECORD_CGROUP:
		recent_settle(&sampler->recent, sampler->tally); /* they concern every process */
		break;
	default:
		recent_change(&sampler->recent, record->pid);
		break;
	}
	/* out of memory for a mapping: its samples will be counted as unknown */
	(void)attribution_apply(sampler->attribution, record);
	return 0;
}

static bool
is_fuller(const struct ring *ring, unsigned percent)
{
	return ring && ring_used(ring) > ring_size(ring) / 100 * percent;
}

/*
 * The record that tells of losses comes when there is room again: by then, samples from meanwhile have been looked up.
 * The counter knows at once.
 */
static void
look_for_losses(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];
		const uint64_t lost = cpu->sideband_counter.read.lost;

		if (!is_fuller(cpu->sideband, 75))
			continue;
		sampler_counter_read(sampler, &cpu->sideband_counter);
		if (cpu->sideband_counter.read.lost != lost)
			note_overflow(sampler);
	}
}

static int
drain_until(struct sampler *sampler, uint64_t horizon)
{
	int err;

	sampler_take_found(sampler); /* first: what is younger than a process's reading is applied to it */
	look_for_losses(sampler);
	err = sampler_merge_until(sampler, horizon, take_record);
	recent_settle(&sampler->recent, sampler->tally);
	if (!err) {
		attribution_expire(sampler->attribution, horizon);
		sampler_rescan(sampler);
		err = sampler_book_held(sampler);
	}
	return err == -ENOMEM ? -ENOSPC : err;
}

int
sampler_drain(struct sampler *sampler)
{
	return drain_until(sampler, machine_clock_ns(CLOCK_MONOTONIC) - SAMPLER_LAG_NS);
}

/* Some ring holds more than `percent` of what it can. */
static bool
is_any_fuller(const struct sampler *sampler, unsigned percent)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (is_fuller(sampler->cpus[i].samples, percent) || is_fuller(sampler->cpus[i].sideband, percent))
			return true;
	return false;
}

bool
sampler_is_pressed(const struct sampler *sampler)
{
	return proc_reader_is_busy(sampler->reader) || is_any_fuller(sampler, 20);
}

bool
sampler_tells_of_processes(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (is_fuller(sampler->cpus[i].sideband, 0))
			return true;
	return false;
}

/* What began is drained for all CPUs at once. */
bool
sampler_is_due(const struct sampler *sampler, uint64_t since_ns)
{
	for (size_t i = 0; i < sampler->cpu_count; i++)
		if (is_fuller(sampler->cpus[i].samples, DUE_PERCENT))
			return true;
	return sampler_tells_of_processes(sampler) && (since_ns >= DRAIN_REST_NS || sampler_is_pressed(sampler));
}

int
sampler_relieve(struct sampler *sampler, bool patient)
{
	int err;

	if (patient && !is_any_fuller(sampler, 50))
		return 0;
	sampler->relieving = true;
	err = sampler_drain(sampler);
	sampler->relieving = false;
	return err;
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

/* On an idle CPU the event's other counter is the one that counts. */
static int
control_counters(struct sampler *sampler, unsigned long request)
{
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			const int fd = cpu->idle[e].is_idle ? cpu->idle[e].counter.fd : cpu->counters[e].fd;

			if (fd >= 0 && ioctl(fd, request, 0))
				return -errno;
		}
	}
	return 0;
}

int
sampler_enable(struct sampler *sampler)
{
	sampler->enabled = true;
	return control_counters(sampler, PERF_EVENT_IOC_ENABLE);
}

int
sampler_disable(struct sampler *sampler)
{
	sampler->enabled = false;
	return control_counters(sampler, PERF_EVENT_IOC_DISABLE);
}

const struct event *
sampler_events(const struct sampler *sampler, size_t *count)
{
	*count = sampler->event_count + sampler->sum_count;
	return sampler->events;
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
	return 2 * sampler->cpu_count;
}

int
sampler_descriptor(const struct sampler *sampler, size_t index)
{
	const struct sampler_cpu *cpu = &sampler->cpus[index / 2];

	if (index % 2 == 0)
		return cpu->sideband_counter.fd;
	return cpu->ring_fd;
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

const struct attribution *
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

void
sampler_attribution_stats(const struct sampler *sampler, struct attribution_stats *stats)
{
	attribution_stats(sampler->attribution, stats);
}

bool
sampler_take_code_maker(struct sampler *sampler, struct jit_process *maker)
{
	return attribution_take_jit_process(sampler->attribution, maker);
}

void
sampler_renew_code(struct sampler *sampler, uint32_t pid, uint64_t generation)
{
	attribution_reset_jit(sampler->attribution, pid, generation);
}

bool
sampler_take_file(struct sampler *sampler, struct sampled_file *file)
{
	return attribution_take_file(sampler->attribution, file);
}

/* Without memory its samples go on to be the old content's. */
void
sampler_change_file(struct sampler *sampler, const struct image *image, uint32_t content)
{
	(void)attribution_change_file(sampler->attribution, image, content);
}

struct kallsyms_copy *
sampler_take_symbols(struct sampler *sampler)
{
	return attribution_take_symbols(sampler->attribution);
}
