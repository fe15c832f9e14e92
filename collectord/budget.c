#include "collectord/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "collectord/machine.h"
#include "collectord/sample_cost.h"
#include "profile/overhead.h"

#define CHANGE_PERCENT     10
#define BUDGET_LEAST_SHARE 4 /* of the limit, one in so many is for samples, whatever the daemon itself uses */
#define LEARNING_STEP      4 /* a guess that is so many times too high is corrected, by so much at once */
#define COUNT_RATE_MAX     UINT64_C(1000000000000)
#define IDLE_SHARE         5                    /* of a machine that was busy for less than 1 / 5 nothing is learned */
#define MEASURING_NS       UINT64_C(300000000)  /* in all, so that the daemon can begin */
#define CYCLE_RATE         UINT64_C(4000000000) /* assumed where it cannot be measured */
#define SOFTWARE_RATE      UINT64_C(1000000)    /* page faults and the like, in a second, are fewer */
#define CYCLES_A_MISS      32                   /* misses, mispredictions and the like are not more frequent */
#define EXTENDED_TYPE(c)   ((c) & ~UINT64_C(0xffffffff)) /* which of several PMUs, in a hardware event's config */

void
budget_init(struct budget *budget, const struct config *config)
{
	*budget = (struct budget){
		.limit_ppm = config->overhead_limit_ppm,
		.max_rate = config->max_rate,
	};
}

/* ---- measuring ---- */

/* Events of one kind share the kernel's way to take a sample, so the cost of one holds for the others. */
enum probe_kind {
	KIND_CLOCK,
	KIND_SOFTWARE,
	KIND_HARDWARE,
	KIND_OTHER,
};

struct measured_cost {
	struct event probe; /* the event that was measured */
	int err;
	struct sample_cost cost;
};

struct cost_measuring {
	const struct event_features *features;
	const struct log *log;
	uint64_t deadline_ns;
	size_t count;
	struct measured_cost done[EVENTS_MAX];
};

static enum probe_kind
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

/* The event of the kind of `event` that a loop can make happen (sample_cost.h). */
static struct event
probe_of(const struct event *event)
{
	struct event probe = *event;
	const char *slash;

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
		snprintf(probe.name, sizeof(probe.name), "cycles");
		slash = strchr(event->name, '/');
		if (slash &&
		    EXTENDED_TYPE(event->encoding.config)) /* cycles of this PMU: they are counted on its CPUs */
			snprintf(probe.name, sizeof(probe.name), "%.*s/cycles/", (int)(slash - event->name),
			         event->name);
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

static const struct measured_cost *
measure_once(struct cost_measuring *measuring, const struct event *probe)
{
	struct measured_cost *measured;

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
	if (event_is_cycles(&event->encoding))
		return cycle_rate;
	if (event->encoding.type == PERF_TYPE_HARDWARE && event->encoding.config == PERF_COUNT_HW_INSTRUCTIONS)
		return 2 * cycle_rate;
	return cycle_rate / CYCLES_A_MISS;
}

static void
measure_event(struct cost_measuring *measuring, struct event *event, struct budget_event *planned)
{
	const struct event probe = probe_of(event);
	const struct measured_cost *measured = measure_once(measuring, &probe);
	const bool is_counter = kind_of(event) == KIND_HARDWARE || kind_of(event) == KIND_OTHER;
	uint64_t cycle_rate = CYCLE_RATE;

	if (measured->err && event->cost_ns) {
		log_write(measuring->log, LOG_LEVEL_NOTICE,
		          "%s: what a sample costs cannot be measured now (%s); it is taken to be what it was",
		          event->name, error_text(measured->err));
		return;
	}
	*planned = (struct budget_event){0};
	if (!measured->err && event_is_cycles(&probe.encoding) && measured->cost.count_rate)
		cycle_rate = measured->cost.count_rate;
	planned->count_rate = count_rate_of(event, cycle_rate);
	planned->is_exact = kind_of(event) == KIND_CLOCK || event_is_cycles(&event->encoding);
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
	struct cost_measuring measuring = {
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

/* ---- learning ---- */

/* The share of the machine that dcpid may use by what is reckoned for each sample. */
static uint64_t
reserved_ppm(const struct budget *budget, const struct event *events)
{
	uint64_t reserved_ns = 0;

	for (size_t i = 0; i < budget->count; i++) {
		uint64_t other = 0; /* rate of this event on another kind of core: a CPU takes samples of one of them */

		for (size_t j = 0; j < i; j++)
			if (events[j].available && event_is_other_kind(&events[i], &events[j]))
				other = events[j].rate > other ? events[j].rate : other;
		if (events[i].available && events[i].rate > other)
			reserved_ns += (events[i].rate - other) * overhead_daemon_sample_ns(budget->events[i].cost_ns);
	}
	return (reserved_ns + budget->stacks_rate * OVERHEAD_STACK_NS) / 1000;
}

/* How often an event happens in a second of a busy CPU, from what was guessed and what was seen. */
static uint64_t
learn_count_rate(uint64_t guessed, double seen, bool is_idle)
{
	if (seen > (double)guessed)
		return seen < (double)COUNT_RATE_MAX ? (uint64_t)seen : COUNT_RATE_MAX;
	if (is_idle || seen * LEARNING_STEP > (double)guessed)
		return guessed;
	return (uint64_t)(2 * seen) > guessed / LEARNING_STEP ? (uint64_t)(2 * seen) : guessed / LEARNING_STEP;
}

void
budget_learn(struct budget *budget, const struct event *events, const struct budget_observation *seen)
{
	const bool is_idle = seen->busy_ns < seen->cpu_ns / IDLE_SHARE;
	uint64_t daemon_ppm;

	if (seen->cpu_ns == 0 || seen->busy_ns == 0)
		return;
	daemon_ppm = (uint64_t)((double)seen->daemon_ns / (double)seen->cpu_ns * 1e6);
	budget->daemon_ppm = daemon_ppm > reserved_ppm(budget, events) ? daemon_ppm : 0;
	for (size_t i = 0; i < budget->count; i++) {
		struct budget_event *event = &budget->events[i];
		double count = (double)seen->samples[i] * (double)events[i].period;

		if (events[i].available && events[i].chosen && !event->is_exact)
			event->count_rate =
				learn_count_rate(event->count_rate, count * 1e9 / (double)seen->busy_ns, is_idle);
	}
}

/* ---- planning ---- */

/* What a sample takes from the limit. */
static uint64_t
sample_ns(const struct budget *budget, size_t event)
{
	const uint64_t cost_ns = budget->events[event].cost_ns;

	return cost_ns + (budget->daemon_ppm ? 0 : overhead_daemon_sample_ns(cost_ns));
}

/* What an event takes from the limit, in a second when its rate is given. */
static uint64_t
load_ns(const struct budget *budget, const struct event *events, size_t event)
{
	return sample_ns(budget, event) * (events[event].chosen ? 1 : events[event].rate);
}

/* Does a CPU that counts another event, which takes more, not count this? */
static bool
is_instead_of(const struct budget *budget, const struct event *events, size_t event)
{
	const uint64_t own_ns = load_ns(budget, events, event);

	for (size_t i = 0; i < budget->count; i++) {
		if (!events[i].available || events[i].chosen != events[event].chosen ||
		    !event_is_other_kind(&events[i], &events[event]))
			continue;
		if (load_ns(budget, events, i) > own_ns || (load_ns(budget, events, i) == own_ns && i < event))
			return true;
	}
	return false;
}

static uint64_t
subtract(uint64_t from, uint64_t what)
{
	return what < from ? from - what : 0;
}

/* The rate of all chosen events: what the others and the daemon leave, in equal parts. 0 when none is chosen. */
static uint64_t
chosen_rate(const struct budget *budget, const struct event *events)
{
	const uint64_t limit_ns = budget->limit_ppm * 1000; /* in a second of one CPU */
	uint64_t spare_ns = limit_ns, spare_rate = budget->max_rate;
	uint64_t cost_ns = 0, chosen = 0, rate;

	spare_ns = subtract(spare_ns, budget->daemon_ppm * 1000);
	spare_ns = subtract(spare_ns, budget->stacks_rate *
	                                      (budget->stacks_cost_ns + (budget->daemon_ppm ? 0 : OVERHEAD_STACK_NS)));
	for (size_t i = 0; i < budget->count; i++) {
		if (!events[i].available || is_instead_of(budget, events, i))
			continue;
		if (events[i].chosen) {
			cost_ns += sample_ns(budget, i);
			chosen++;
		} else {
			spare_ns = subtract(spare_ns, load_ns(budget, events, i));
			spare_rate = subtract(spare_rate, events[i].rate);
		}
	}
	if (chosen == 0)
		return 0;
	if (spare_ns < limit_ns / BUDGET_LEAST_SHARE)
		spare_ns = limit_ns / BUDGET_LEAST_SHARE;
	rate = spare_ns / cost_ns;
	if (rate > spare_rate / chosen)
		rate = spare_rate / chosen;
	return rate ? rate : 1;
}

bool
budget_plan(struct budget *budget, uint64_t rate_limit, struct event *events)
{
	struct event changed[EVENTS_MAX];
	uint64_t rate, before, difference;
	bool differs = false;

	for (size_t i = 0; i < budget->count; i++) { /* the rate that a fixed period means, where it is known */
		const uint64_t count_rate = budget->events[i].count_rate, period = events[i].period;

		if (events[i].available && !events[i].chosen && period && budget->events[i].is_exact)
			events[i].rate = (count_rate + period / 2) / period;
	}
	memcpy(changed, events, budget->count * sizeof(*events));
	rate = chosen_rate(budget, events);
	if (rate > rate_limit)
		rate = rate_limit;
	for (size_t i = 0; i < budget->count; i++) {
		if (!changed[i].available || !changed[i].chosen)
			continue;
		event_set_rate(&changed[i], rate, budget->events[i].count_rate);
		before = events[i].period;
		difference = changed[i].period > before ? changed[i].period - before : before - changed[i].period;
		differs |= difference > before / (100 / CHANGE_PERCENT);
	}
	if (differs || !budget->planned)
		memcpy(events, changed, budget->count * sizeof(*events));
	budget->planned = true;
	return differs;
}

/* ---- watching ---- */

enum budget_verdict
budget_check(struct budget_watch *watch, double percent, double limit_percent, uint64_t elapsed_ns)
{
	watch->review_ns += elapsed_ns;
	if (percent > BUDGET_SLACK * limit_percent)
		watch->over++;
	else
		watch->over = 0;
	if (watch->over == BUDGET_PATIENCE) {
		watch->over = 0;
		watch->review_ns = 0;
		return BUDGET_SLOW_DOWN;
	}
	if (watch->review_ns < BUDGET_REVIEW_NS)
		return BUDGET_KEEP;
	watch->review_ns = 0;
	return BUDGET_REVIEW;
}
