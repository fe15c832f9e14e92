#include "collectord/stack_sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/machine.h"
#include "process/address_space.h"
#include "profile/overhead.h"
#include "profile/stacks.h"

#define STACK_COPY     61440 /* bytes of a stack that are copied: see docs/design.md */
#define RING_SIZE_MIN  ((size_t)1 << 20)
#define RING_SIZE_MAX  ((size_t)16 << 20)
#define RINGS_SIZE_MAX ((size_t)32 << 20)   /* of all CPUs */
#define KERNEL_DEPTH   127                  /* frames of the kernel that are kept, at most */
#define LIMIT_SHARE    4                    /* of overhead_limit, at most */
#define COPY_COST_NS   6000                 /* of the copy and of the frames in the kernel */
#define CYCLE_RATE     UINT64_C(3000000000) /* where it could not be measured */

static const struct event *
find_base(const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].available &&
		    (event_is_clock(&events[i].encoding) || event_is_cycles(&events[i].encoding)))
			return &events[i];
	return NULL;
}

/* 0, -ENOMEM or an error of resolving, with a sentence. */
static int
choose_event(struct stack_sampler *sampler, const struct config *config, const struct event *base,
             const struct event_environment *environment, char *why, size_t size)
{
	struct event_spec spec = {.rate = config->stacks.rate,
	                          .user = config->stacks.user,
	                          .kernel = config->stacks.kernel,
	                          .idle = base->idle};
	int err;

	snprintf(spec.name, sizeof(spec.name), "%s", base->name);
	err = event_resolve(environment, &spec, &sampler->counted, why, size);
	if (err)
		return err;
	if (!sampler->counted.available || !event_stacks_of(&sampler->counted, &sampler->event)) {
		snprintf(why, size, "%s", sampler->counted.note);
		return -ENOENT;
	}
	/* the registers are those of the interrupt, so its address is wanted, too, not that of a precise sample */
	sampler->counted.precise = 0;
	sampler->event.precise = 0;
	sampler->event.rate = config->stacks.rate;
	sampler->event.chosen = false;
	return 0;
}

static uint64_t
idle_periods_of(const struct config *config, const struct event *counted)
{
	if (!event_is_clock(&counted->encoding) || counted->idle || config->idle_rate == 0)
		return 1;
	return (config->stacks.rate + config->idle_rate - 1) / config->idle_rate;
}

/* Linux opens no event that asks for more frames than its limit (EOVERFLOW). */
static uint16_t
kernel_depth_of(uint64_t depth, uint64_t limit)
{
	if (depth > KERNEL_DEPTH)
		depth = KERNEL_DEPTH;
	return (uint16_t)(depth < limit ? depth : limit);
}

int
stack_sampler_init(struct stack_sampler *sampler, const struct config *config, const struct event *events, size_t count,
                   const struct event_environment *environment, const struct log *log)
{
	const struct event *base;
	char why[EVENT_NOTE_SIZE] = "";
	int err = -ENOENT;

	memset(sampler, 0, sizeof(*sampler));
	if (config->stacks.rate == 0)
		return 0;
	base = find_base(events, count);
	if (base)
		err = choose_event(sampler, config, base, environment, why, sizeof(why));
	if (err == -ENOMEM)
		return err;
	if (err) {
		sampler->event.name[0] = '\0';
		log_write(log, LOG_LEVEL_WARNING, "call stacks are not sampled: %s",
		          !base    ? "none of the events is cycles or a clock"
		          : why[0] ? why
		                   : error_text(err));
		return 0;
	}
	sampler->base = (size_t)(base - events);
	sampler->idle_periods = idle_periods_of(config, &sampler->counted);
	sampler->user = config->stacks.user;
	sampler->kernel = config->stacks.kernel;
	sampler->depth = config->stacks.depth;
	sampler->kernel_depth = kernel_depth_of(sampler->depth, event_stack_limit(environment->procfs));
#ifdef __aarch64__
	sampler->machine = UNWIND_AARCH64;
#else
	sampler->machine = UNWIND_X86_64;
#endif
	sampler->stacks = stack_table_new(STACK_SAMPLER_NODES_MAX);
	sampler->frames = calloc(1, sizeof(*sampler->frames));
	return sampler->stacks && sampler->frames ? 0 : -ENOMEM;
}

void
stack_sampler_fini(struct stack_sampler *sampler)
{
	held_stacks_fini(&sampler->held);
	stack_table_free(sampler->stacks);
	free(sampler->frames);
	memset(sampler, 0, sizeof(*sampler));
}

/* Sample at most `most` stacks a second, and one at least. */
static void
limit_rate(struct stack_sampler *sampler, uint64_t most, const struct log *log)
{
	const uint64_t rate = sampler->event.rate;

	most = most > 0 ? most : 1;
	if (most >= rate)
		return;
	log_write(log, LOG_LEVEL_NOTICE, "overhead_limit allows %" PRIu64 " stacks a second and CPU, not %" PRIu64,
	          most, rate);
	sampler->event.rate = most;
	if (sampler->counted.period) /* of a clock */
		sampler->counted.period = sampler->counted.period / most * rate;
	sampler->idle_periods = (sampler->idle_periods * most + rate - 1) / rate;
}

void
stack_sampler_plan(struct stack_sampler *sampler, uint64_t sample_cost_ns, uint64_t count_rate, uint64_t limit_ppm,
                   const struct log *log)
{
	limit_rate(sampler, limit_ppm * 1000 / LIMIT_SHARE / (sample_cost_ns + COPY_COST_NS + OVERHEAD_STACK_NS), log);
	/* a fixed period: a count is then a number of events */
	if (!sampler->counted.period)
		event_set_rate(&sampler->counted, sampler->event.rate, count_rate ? count_rate : CYCLE_RATE);
	sampler->event.period = sampler->counted.period;
	sampler->event.cost_ns = sample_cost_ns + COPY_COST_NS;
}

/*
 * Room for the samples of more than a second, where there are few CPUs: half of it is not full before the ring of other
 * samples wakes dcpid, twice a second. A record takes as much room as it can, whatever was copied.
 */
static size_t
ring_size_of(const struct stack_sampler *sampler)
{
	const size_t sample = sampler->user ? STACK_COPY : KERNEL_DEPTH * sizeof(uint64_t);
	const size_t cpu_count = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	size_t size = RING_SIZE_MIN;

	while (size < RING_SIZE_MAX && size < sampler->event.rate * sample * 4 / 3 &&
	       2 * size * cpu_count <= RINGS_SIZE_MAX)
		size *= 2;
	return size;
}

uint64_t
stack_sampler_period(const struct stack_sampler *sampler, bool is_idle)
{
	return sampler->counted.period * (is_idle ? sampler->idle_periods : 1);
}

void
stack_periods_switch(struct stack_periods *periods, uint64_t time_ns, bool is_idle)
{
	const size_t place = periods->count++ % STACK_SWITCHES_MAX;

	periods->switches[place].since_ns = time_ns;
	periods->switches[place].is_idle = is_idle;
}

uint64_t
stack_sampler_weight(const struct stack_sampler *sampler, const struct stack_periods *periods, uint64_t time_ns)
{
	size_t number = periods->count, kept = 0;
	bool is_idle = false;

	while (number > 0 && kept++ < STACK_SWITCHES_MAX) {
		const size_t place = --number % STACK_SWITCHES_MAX;

		is_idle = periods->switches[place].is_idle;
		if (periods->switches[place].since_ns <= time_ns)
			break;
	}
	return is_idle ? sampler->idle_periods : 1;
}

size_t
stack_sampler_attr(struct stack_sampler *sampler, const struct event_encoding *encoding,
                   const struct event_features *features, struct perf_event_attr *attr)
{
	const size_t ring_size = ring_size_of(sampler);
	struct event counted = sampler->counted;

	counted.encoding = *encoding;
	event_sample_attr(&counted, features, attr);
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->sample_max_stack = sampler->kernel_depth;
	attr->exclude_callchain_user = 1;
	attr->exclude_callchain_kernel = !sampler->kernel;
	if (sampler->user) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = call_stack_registers(sampler->machine);
		attr->sample_stack_user = STACK_COPY;
	}
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)(ring_size / 2);
	sampler->layout = (struct record_layout){
		.sample_type = attr->sample_type,
		.sample_id_all = attr->sample_id_all,
		.read_format = attr->read_format,
		.sample_regs_user = attr->sample_regs_user,
	};
	return ring_size;
}

static enum unwind_code
find_no_table(void *context, uint32_t number, const struct unwind_table **table)
{
	(void)context;
	(void)number;
	(void)table;
	return UNWIND_CODE_WITHOUT_TABLE;
}

/* Find the frames of a sample. The image whose table is missing, and will be there in a moment, or UINT32_MAX. */
static uint32_t
unwind_sample(struct stack_sampler *sampler, struct attribution *attribution, const struct record *record,
              const struct attribution_moment *moment)
{
	const struct call_stack_tables tables = {
		.machine = sampler->machine,
		.find = sampler->tables ? unwind_tables_find : find_no_table,
		.context = sampler->tables,
		.kernel_depth = sampler->kernel_depth,
	};
	const struct chain_frames *frames = sampler->frames;
	uint32_t last;

	call_stack_find(attribution, &tables, record, sampler->layout.sample_regs_user, sampler->depth, moment,
	                sampler->frames);
	if (!sampler->tables || frames->cause || !frames->is_truncated || frames->end != STACK_END_NO_TABLES ||
	    record->sample.is_32_bit)
		return UINT32_MAX;
	last = frames->nodes[frames->count - 1].image;
	return unwind_tables_await(sampler->tables, last) ? last : UINT32_MAX;
}

static int
intern_frames(struct stack_sampler *sampler, struct image_table *images, struct sample_key *key, int *cause)
{
	const struct image all_stacks = {.kind = IMAGE_STACKS, .path = STACKS_PATH};
	uint32_t node;
	int err;

	*cause = sampler->frames->cause;
	if (*cause)
		return 0;
	if (sampler->images != images) {
		err = image_table_intern(images, &all_stacks, &sampler->image);
		if (err)
			return err;
		sampler->images = images;
	}
	err = chain_frames_intern(sampler->stacks, sampler->frames, &node);
	if (err)
		return err;
	key->image = sampler->image;
	key->offset = node;
	key->context = sampler->frames->context;
	return 0;
}

/* Keep the sample, whose frames up to where a table is missing are at `key`. */
static bool
hold(struct stack_sampler *sampler, struct attribution *attribution, const struct record *record, uint64_t weight,
     uint32_t waits_for, const struct sample_key *key)
{
	const struct attribution_moment moment = {
		.space = attribution_share_space(attribution, record->pid),
		.context = key->context,
	};
	struct held_stack *held = NULL;

	if (!moment.space)
		return false;
	held = held_stacks_add(&sampler->held, record, &moment, machine_clock_ns(CLOCK_MONOTONIC));
	if (!held) {
		address_space_release(moment.space);
		return false;
	}
	held->weight = weight;
	held->waits_for = waits_for;
	held->node = (uint32_t)key->offset;
	held->frames = sampler->frames->count;
	return true;
}

int
stack_sampler_attribute(struct stack_sampler *sampler, struct attribution *attribution, struct image_table *images,
                        const struct record *record, uint64_t weight, struct sample_key *key, int *cause)
{
	const uint32_t waits_for = unwind_sample(sampler, attribution, record, NULL);
	const int err = intern_frames(sampler, images, key, cause);

	if (err || waits_for == UINT32_MAX || sampler->holds_none)
		return err;
	return hold(sampler, attribution, record, weight, waits_for, key) ? STACK_IS_HELD : 0;
}

int
stack_sampler_attribute_held(struct stack_sampler *sampler, struct attribution *attribution, struct image_table *images,
                             struct held_stack *held, struct sample_key *key, int *cause)
{
	const bool may_wait = sampler->tables && machine_clock_ns(CLOCK_MONOTONIC) < held->until_ns;
	uint32_t waits_for;

	if (may_wait && unwind_tables_await(sampler->tables, held->waits_for))
		return STACK_IS_HELD;
	waits_for = unwind_sample(sampler, attribution, &held->record, &held->moment);
	if (may_wait && waits_for != UINT32_MAX) {
		held->waits_for = waits_for;
		return STACK_IS_HELD;
	}
	if (!sampler->frames->cause && sampler->frames->count >= held->frames)
		return intern_frames(sampler, images, key, cause);
	/* what it was then has gone with its process, as code that was made at run time */
	*cause = 0;
	*key = (struct sample_key){.image = sampler->image, .offset = held->node, .context = held->moment.context};
	return 0;
}

int
stack_sampler_reset(struct stack_sampler *sampler, struct stack_table **stacks)
{
	struct stack_table *fresh = stack_table_new(STACK_SAMPLER_NODES_MAX);

	if (!fresh)
		return -ENOMEM;
	*stacks = sampler->stacks;
	sampler->stacks = fresh;
	sampler->images = NULL;
	if (sampler->tables)
		unwind_tables_end_session(sampler->tables);
	return 0;
}
