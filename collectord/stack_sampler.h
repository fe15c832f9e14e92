/*
 * stack_sampler.h - call stacks: a sparse event of its own on each CPU, and from its samples to nodes
 *
 * A sample has the addresses of its frames in the kernel, which the kernel unwinds, the registers of user mode and a
 * copy of the top of the user's stack; call_stack.h finds the frames of user mode. Such samples are a thousand times as
 * large as others, so they have a ring of their own.
 * The event is the first one of cycles or a clock, on a CPU of another kind the one that counts there; its period is
 * fixed. A clock goes on while its CPU is idle: there it has a multiple of the period, and a sample counts as so many.
 * Thread rule: the event loop's.
 */
#ifndef DCPI_COLLECTORD_STACK_SAMPLER_H
#define DCPI_COLLECTORD_STACK_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/config.h"
#include "collectord/held_stacks.h"
#include "collectord/unwind_tables.h"
#include "event/event.h"
#include "process/attribution.h"
#include "process/image_table.h"
#include "process/stack_table.h"
#include "stream/record.h"
#include "tally/tally.h"

#define STACK_SWITCHES_MAX      8 /* of a CPU between idle and busy, since the last record that was drained */
#define STACK_SAMPLER_NODES_MAX ((size_t)1 << 20) /* of a session, which ends long before: 16 MiB */

struct stack_sampler {
	struct event event;    /* as it is in the epoch; without a name: stacks are not sampled */
	struct event counted;  /* as it is opened */
	size_t base;           /* the number of the event that is counted, of those that were resolved */
	uint64_t idle_periods; /* of the period, what an idle CPU's has; 1: it is not longer */
	struct record_layout layout;
	bool user, kernel;
	size_t depth;
	uint16_t kernel_depth; /* frames in the kernel, at most */
	enum unwind_machine machine;
	struct stack_table *stacks;       /* of the session */
	struct unwind_tables *tables;     /* borrowed. NULL: there are none */
	const struct image_table *images; /* of which `image` is a number */
	uint32_t image;                   /* that stands for all stacks */
	struct chain_frames *frames;      /* room for one stack */
	struct held_stacks held;          /* that wait for tables */
	bool holds_none;                  /* what is taken does not wait: it is to be counted now */
};

/*
 * Choose what is counted, of `count` events that were resolved, and whose rates were not chosen yet. Stacks are not
 * sampled when the configuration has rate 0, or when no event fits, which is logged. 0 or -ENOMEM.
 */
int stack_sampler_init(struct stack_sampler *sampler, const struct config *config, const struct event *events,
                       size_t count, const struct event_environment *environment, const struct log *log);
void stack_sampler_fini(struct stack_sampler *sampler); /* a zeroed one is allowed */

static inline bool
stack_sampler_is_on(const struct stack_sampler *sampler)
{
	return sampler->event.name[0] != '\0';
}

/*
 * Set what a sample costs, from what one of the event without stacks does, and the period of an event that counts
 * `count_rate` a second of a busy CPU, about. The rate becomes lower when stacks would take more than a quarter of
 * `limit_ppm` of a CPU's time, which is logged.
 */
void stack_sampler_plan(struct stack_sampler *sampler, uint64_t sample_cost_ns, uint64_t count_rate, uint64_t limit_ppm,
                        const struct log *log);

/*
 * How the event is opened, on a CPU that counts it as `encoding`. Returns the bytes of its ring, a power of two, which
 * becomes readable when it is half full.
 */
size_t stack_sampler_attr(struct stack_sampler *sampler, const struct event_encoding *encoding,
                          const struct event_features *features, struct perf_event_attr *attr);

/* The period, on a CPU that is idle or not. */
uint64_t stack_sampler_period(const struct stack_sampler *sampler, bool is_idle);

/*
 * When a CPU's period was set, CLOCK_MONOTONIC. Records of a clock do not tell: Linux writes the period that the
 * counter was opened with into all of them, whatever PERF_EVENT_IOC_PERIOD has set (seen in 6.18).
 */
struct stack_periods {
	struct {
		uint64_t since_ns;
		bool is_idle;
	} switches[STACK_SWITCHES_MAX]; /* the last ones; number i is at i % STACK_SWITCHES_MAX */
	size_t count;
};

/* From `time_ns` on, which does not descend, the CPU's period is that of an idle one or not. */
void stack_periods_switch(struct stack_periods *periods, uint64_t time_ns, bool is_idle);

/* How many samples of a busy CPU one that was taken at `time_ns` stands for: at least 1. */
uint64_t stack_sampler_weight(const struct stack_sampler *sampler, const struct stack_periods *periods,
                              uint64_t time_ns);

#define STACK_IS_HELD 1 /* the sample is counted later */

/*
 * Attribute a sample that stands for `weight` of them: *cause as attribution_sample() gives it, or 0 with key->image,
 * ->offset and ->context. 0, STACK_IS_HELD, -ENOSPC when a table is full, or -ENOMEM.
 */
int stack_sampler_attribute(struct stack_sampler *sampler, struct attribution *attribution, struct image_table *images,
                            const struct record *record, uint64_t weight, struct sample_key *key, int *cause);

/* stack_sampler_attribute() for a sample that was held, which may have to wait for another table now. */
int stack_sampler_attribute_held(struct stack_sampler *sampler, struct attribution *attribution,
                                 struct image_table *images, struct held_stack *held, struct sample_key *key,
                                 int *cause);

/* Begin a new session: the old one's stacks, the caller's now, in *stacks. 0, or -ENOMEM: the old ones go on. */
int stack_sampler_reset(struct stack_sampler *sampler, struct stack_table **stacks);

#endif
