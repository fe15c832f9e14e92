/* What a sample of each event costs: see budget.h. */
#include "collectord/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"
#include "collectord/sample_cost.h"

#define SECOND_NS        UINT64_C(1000000000)
#define MEASURING_NS     UINT64_C(300000000)           /* and no more, that the daemon may begin */
#define CYCLE_RATE       UINT64_C(4000000000)          /* of a CPU that does not say */
#define SOFTWARE_RATE    UINT64_C(1000000)             /* page faults and the like, in a second, are fewer */
#define CYCLES_A_MISS    32                            /* misses, mispredictions and the like are not more frequent */
#define EXTENDED_TYPE(c) ((c) & ~UINT64_C(0xffffffff)) /* which of several PMUs, in a hardware event's config */

/* Events whose samples are taken in the same way, so that one can speak for the others. */
enum kind {
	KIND_CLOCK,
	KIND_SOFTWARE,
	KIND_HARDWARE,
	KIND_OTHER,
};

struct measured {
	struct event probe; /* the event that was measured */
	int err;
	struct sample_cost cost;
};

struct measuring {
	const struct event_features *features;
	const struct log *log;
	uint64_t deadline_ns;
	size_t count;
	struct measured done[EVENTS_MAX];
};

static enum kind
kind_of(const struct event *event)
{
	if (event_is_clock(&event->encoding))
		return KIND_CLOCK;
	switch (event->encoding.type) {
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_TRACEPOINT:
		return KIND_SOFTWARE;
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return KIND_HARDWARE;
	default:
		return KIND_OTHER;
	}
}

static bool
is_cycles(const struct event_encoding *encoding)
{
	return encoding->type == PERF_TYPE_HARDWARE && (uint32_t)encoding->config == PERF_COUNT_HW_CPU_CYCLES;
}

/* Take the cycles of the PMU that `event` names, if it does: they can be counted on its CPUs. */
static void
name_cycles(const struct event *event, struct event *probe)
{
	const char *slash = strchr(event->name, '/');

	if (slash && EXTENDED_TYPE(event->encoding.config))
		snprintf(probe->name, sizeof(probe->name), "%.*s/cycles/", (int)(slash - event->name), event->name);
	else
		snprintf(probe->name, sizeof(probe->name), "cycles");
}

/* The event of the same kind that can be made to happen. */
static struct event
probe_of(const struct event *event)
{
	struct event probe = *event;

	probe.user = probe.kernel = true;
	switch (kind_of(event)) {
	case KIND_SOFTWARE:
		probe.encoding.type = PERF_TYPE_SOFTWARE;
		probe.encoding.config = PERF_COUNT_SW_PAGE_FAULTS;
		snprintf(probe.name, sizeof(probe.name), "page-faults");
		break;
	case KIND_HARDWARE:
		probe.encoding.config =
			EXTENDED_TYPE(event->encoding.type == PERF_TYPE_RAW ? 0 : event->encoding.config) |
			PERF_COUNT_HW_CPU_CYCLES;
		probe.encoding.type = PERF_TYPE_HARDWARE;
		probe.encoding.config1 = probe.encoding.config2 = 0;
		name_cycles(event, &probe);
		break;
	default:
		break;
	}
	return probe;
}

static bool
is_same_probe(const struct event *a, const struct event *b)
{
	return a->encoding.type == b->encoding.type && a->encoding.config == b->encoding.config &&
	       a->encoding.config1 == b->encoding.config1 && a->encoding.config2 == b->encoding.config2 &&
	       a->precise == b->precise;
}

static const struct measured *
measure_once(struct measuring *measuring, const struct event *probe)
{
	struct measured *measured;

	for (size_t i = 0; i < measuring->count; i++)
		if (is_same_probe(&measuring->done[i].probe, probe))
			return &measuring->done[i];
	measured = &measuring->done[measuring->count++];
	measured->probe = *probe;
	measured->err = -ETIME;
	if (machine_clock_ns(CLOCK_MONOTONIC) < measuring->deadline_ns)
		measured->err = sample_cost_measure(probe, measuring->features, &measured->cost);
	return measured;
}

static uint64_t
count_rate_of(const struct event *event, uint64_t cycle_rate)
{
	switch (kind_of(event)) {
	case KIND_CLOCK:
		return SECOND_NS;
	case KIND_SOFTWARE:
		return SOFTWARE_RATE;
	default:
		break;
	}
	if (is_cycles(&event->encoding))
		return cycle_rate;
	if (event->encoding.type == PERF_TYPE_HARDWARE && event->encoding.config == PERF_COUNT_HW_INSTRUCTIONS)
		return 2 * cycle_rate;
	return cycle_rate / CYCLES_A_MISS;
}

static void
measure_event(struct measuring *measuring, struct event *event, struct budget_event *planned)
{
	const struct event probe = probe_of(event);
	const struct measured *measured = measure_once(measuring, &probe);
	const bool is_counter = kind_of(event) == KIND_HARDWARE || kind_of(event) == KIND_OTHER;
	uint64_t cycle_rate = CYCLE_RATE;

	if (measured->err && event->cost_ns) {
		log_write(measuring->log, LOG_LEVEL_NOTICE,
		          "%s: what a sample costs cannot be measured now (%s); it is taken to be what it was",
		          event->name, error_text(measured->err));
		return;
	}
	*planned = (struct budget_event){0};
	if (!measured->err && is_cycles(&probe.encoding) && measured->cost.count_rate)
		cycle_rate = measured->cost.count_rate;
	planned->count_rate = count_rate_of(event, cycle_rate);
	planned->is_sure = kind_of(event) == KIND_CLOCK || is_cycles(&event->encoding);
	if (measured->err) {
		event->cost_ns = 0;
		planned->cost_ns = is_counter ? BUDGET_COUNTER_COST_NS : BUDGET_CLOCK_COST_NS;
		log_write(measuring->log, LOG_LEVEL_NOTICE,
		          "%s: what a sample costs cannot be measured (%s); %" PRIu64 " us are assumed", event->name,
		          error_text(measured->err), planned->cost_ns / 1000);
		return;
	}
	planned->cost_ns = measured->cost.cost_ns ? measured->cost.cost_ns : 1;
	event->cost_ns = planned->cost_ns;
	if (is_same_probe(&probe, event))
		log_write(measuring->log, LOG_LEVEL_DEBUG, "%s: a sample costs %" PRIu64 " ns (%u measured)",
		          event->name, event->cost_ns, measured->cost.samples);
	else
		log_write(measuring->log, LOG_LEVEL_DEBUG,
		          "%s: a sample is taken to cost what one of %s does: %" PRIu64 " ns (%u measured)",
		          event->name, probe.name, event->cost_ns, measured->cost.samples);
}

void
budget_measure(struct budget *budget, const struct event_features *features, struct event *events, size_t count,
               const struct log *log)
{
	struct measuring measuring = {
		.features = features,
		.log = log,
		.deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + MEASURING_NS,
	};

	budget->count = count;
	for (size_t i = 0; i < count; i++) {
		if (events[i].available)
			measure_event(&measuring, &events[i], &budget->events[i]);
		else
			budget->events[i] = (struct budget_event){0};
	}
}
