/* Rates, from costs: see budget.h. */
#include "collectord/budget.h"

#include <string.h>

#include "profile/overhead.h"

#define CHANGE_PERCENT 10
#define LEAST_SHARE    4 /* of the limit, one in so many is for samples, whatever the daemon itself uses */
#define LEARNING_STEP  4 /* a guess that is so many times too high is corrected, by so much at once */
#define COUNT_RATE_MAX UINT64_C(1000000000000)
#define IDLE_SHARE     5 /* a machine that was busy for less than one in so many ns says nothing */

void
budget_init(struct budget *budget, const struct config *config)
{
	*budget = (struct budget){
		.limit_ppm = config->overhead_limit_ppm,
		.max_rate = config->max_rate,
	};
}

/* The share of the machine that dcpid may use by what is reckoned for each sample. */
static uint64_t
reserved_ppm(const struct event *events, size_t count)
{
	uint64_t rate = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t other = 0; /* of the same event on another kind of core: a CPU takes samples of one of them */

		for (size_t j = 0; j < i; j++)
			if (events[j].available && event_is_other_kind(&events[i], &events[j]))
				other = events[j].rate > other ? events[j].rate : other;
		if (events[i].available && events[i].rate > other)
			rate += events[i].rate - other;
	}
	return rate * OVERHEAD_DAEMON_SAMPLE_NS / 1000;
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
	budget->daemon_ppm = daemon_ppm > reserved_ppm(events, budget->count) ? daemon_ppm : 0;
	for (size_t i = 0; i < budget->count; i++) {
		struct budget_event *event = &budget->events[i];
		double count = (double)seen->samples[i] * (double)events[i].period;

		if (events[i].available && events[i].chosen && !event->is_sure)
			event->count_rate =
				learn_count_rate(event->count_rate, count * 1e9 / (double)seen->busy_ns, is_idle);
	}
}

/* What a sample takes from the limit. */
static uint64_t
sample_ns(const struct budget *budget, size_t event)
{
	return budget->events[event].cost_ns + (budget->daemon_ppm ? 0 : OVERHEAD_DAEMON_SAMPLE_NS);
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
	if (spare_ns < limit_ns / LEAST_SHARE)
		spare_ns = limit_ns / LEAST_SHARE;
	rate = spare_ns / cost_ns;
	if (rate > spare_rate / chosen)
		rate = spare_rate / chosen;
	return rate ? rate : 1;
}

static bool
differ_much(uint64_t a, uint64_t b)
{
	uint64_t difference = a > b ? a - b : b - a;

	return difference > b / (100 / CHANGE_PERCENT);
}

/* The rate that a fixed period means, where it can be told. */
static void
tell_rate(const struct budget_event *planned, struct event *event)
{
	if (event->available && !event->chosen && event->period && planned->is_sure)
		event->rate = (planned->count_rate + event->period / 2) / event->period;
}

bool
budget_plan(struct budget *budget, uint64_t rate_limit, struct event *events)
{
	struct event changed[EVENTS_MAX];
	bool differs = false;
	uint64_t rate;

	for (size_t i = 0; i < budget->count; i++)
		tell_rate(&budget->events[i], &events[i]);
	memcpy(changed, events, budget->count * sizeof(*events));
	rate = chosen_rate(budget, events);
	if (rate > rate_limit)
		rate = rate_limit;
	for (size_t i = 0; i < budget->count; i++) {
		if (!changed[i].available || !changed[i].chosen)
			continue;
		event_set_rate(&changed[i], rate, budget->events[i].count_rate);
		differs |= differ_much(changed[i].period, events[i].period);
	}
	if (differs || !budget->planned)
		memcpy(events, changed, budget->count * sizeof(*events));
	budget->planned = true;
	return differs;
}
