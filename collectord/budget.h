/*
 * budget.h - how often each event is sampled, from what a sample costs and what the user lets sampling cost
 *
 * budget_measure() measures what a sample of each event costs here. budget_plan() gives one rate to all events whose
 * rate the configuration leaves open (event->chosen): the highest one that keeps all events within the limit while
 * every CPU is busy. Events with a period or rate of their own keep it, and leave less for the others. Call both again
 * for these events when the machine has changed.
 * The planned period is the mean: dither.h varies the period that the kernel gets around it.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_BUDGET_H
#define DCPI_COLLECTORD_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/config.h"
#include "event/event.h"

/* Assumed where a cost cannot be measured: the high end of what is known of such machines. */
#define BUDGET_CLOCK_COST_NS   20000
#define BUDGET_COUNTER_COST_NS 5000

struct budget_event {
	uint64_t cost_ns;    /* processor time of one sample: measured or assumed */
	uint64_t count_rate; /* events in a second of a busy CPU, about; 0: unknown */
	bool is_exact;       /* the count rate is known, not guessed: of a clock, or of cycles */
};

struct budget {
	uint64_t limit_ppm;                   /* of the machine's processor time */
	uint64_t max_rate;                    /* samples per second and CPU, of all events together */
	uint64_t stacks_rate, stacks_cost_ns; /* of call stacks, which are paid for first (stack_sampler.h) */
	uint64_t daemon_ppm; /* that dcpid itself uses; 0: overhead_daemon_sample_ns() a sample is enough */
	bool planned;        /* the events have periods of a plan, which small changes leave alone */
	size_t count;
	struct budget_event events[EVENTS_MAX];
};

void budget_init(struct budget *budget, const struct config *config);

/*
 * Measure what a sample of each of the `count` events costs, and log it (`log` may be NULL). What cannot be
 * measured is assumed, and that is logged; event->cost_ns is then 0. Takes 15 ms for each kind of event, 300 ms at
 * most.
 */
void budget_measure(struct budget *budget, const struct event_features *features, struct event *events, size_t count,
                    const struct log *log);

/* What was seen of sampling with these events over some time. */
struct budget_observation {
	uint64_t cpu_ns;    /* of all CPUs together */
	uint64_t busy_ns;   /* of it, not idle */
	uint64_t daemon_ns; /* of it, used by dcpid */
	uint64_t samples[EVENTS_MAX];
};

/*
 * Learn from it for the next plan: what dcpid uses itself, if that is more than was reckoned with, and how often the
 * chosen events happen whose frequency is not a fact. That is lowered by no more than to a quarter at once, and only
 * from a machine that was not idle.
 */
void budget_learn(struct budget *budget, const struct event *events, const struct budget_observation *seen);

/*
 * Give each chosen event its period and rate; the others with a fixed period get their rate where it is known.
 * `rate_limit` is event_rate_limit(). True when a period changed by more than a tenth:
 * what is sampled from here on belongs to another epoch. Otherwise the events stay as they were.
 */
bool budget_plan(struct budget *budget, uint64_t rate_limit, struct event *events);

/* ---- is the limit kept? ---- */

#define BUDGET_CHECK_NS  UINT64_C(5000000000)   /* the least time between two checks */
#define BUDGET_REVIEW_NS UINT64_C(600000000000) /* between two reviews */
#define BUDGET_PATIENCE  3
#define BUDGET_SLACK     1.2 /* what is more than so many times the limit is too much */

enum budget_verdict {
	BUDGET_KEEP,
	BUDGET_SLOW_DOWN, /* it cost too much at each of the last BUDGET_PATIENCE checks */
	BUDGET_REVIEW,    /* choose the rates again, from what was seen since the last review */
};

struct budget_watch {
	unsigned over;      /* checks in a row at which it cost too much */
	uint64_t review_ns; /* since the last review */
};

/*
 * Check what sampling cost in the last `elapsed_ns`: shares of the machine, in percent. Sampling may exceed its limit
 * for a moment: a flush writes the kernel's names, or very many processes begin. Only an excess at BUDGET_PATIENCE
 * checks in a row makes sampling slower. Whether it could be faster, or an event that turned out to be rare more often,
 * is a question for the rare review, as each change begins an epoch.
 */
enum budget_verdict budget_check(struct budget_watch *watch, double percent, double limit_percent, uint64_t elapsed_ns);

#endif
