#include "event/event.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/small_file.h"
#include "event/names.h"
#include "event/pmu.h"
#include "event/refusal.h"
#include "event/vendor.h"

#define STACK_LIMIT      127 /* frames of a call chain, unless kernel.perf_event_max_stack was changed */
#define RAW_DIGITS_MAX   16
#define CLOCK_PERIOD_MIN 10000 /* ns; the kernel makes shorter ones so long, and says nothing */
#define NO_TYPE          UINT32_MAX
#define RATE_DEFAULT     100 /* where neither the user nor the environment names one */
#define PERIOD_PRIME_MAX UINT64_C(1000000000)
#define CLOCK_DETUNING   31 /* thousandths; see clock_set_rate() */
#define STEPS_MIN        9  /* the shortest period that IBS can have, 144 */

/* ---- names ---- */

bool
event_is_clock(const struct event_encoding *encoding)
{
	return encoding->type == PERF_TYPE_SOFTWARE &&
	       (encoding->config == PERF_COUNT_SW_CPU_CLOCK || encoding->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool
event_is_cycles(const struct event_encoding *encoding)
{
	return encoding->type == PERF_TYPE_HARDWARE && (uint32_t)encoding->config == PERF_COUNT_HW_CPU_CYCLES;
}

/* Is it an event of our own whose name ends so? */
static bool
is_derived(const struct event *event, const char *suffix)
{
	const size_t length = strlen(event->name), suffix_length = strlen(suffix);

	return event->encoding.type == EVENT_TYPE_DCPIX && length > suffix_length &&
	       strcmp(event->name + length - suffix_length, suffix) == 0;
}

bool
event_is_sum(const struct event *event)
{
	return is_derived(event, EVENT_SUM_SUFFIX);
}

bool
event_is_stacks(const struct event *event)
{
	return is_derived(event, EVENT_STACKS_SUFFIX);
}

bool
event_stacks_of(const struct event *samples, struct event *stacks)
{
	*stacks = *samples;
	stacks->encoding.type = EVENT_TYPE_DCPIX;
	stacks->note[0] = '\0';
	if (snprintf(stacks->name, sizeof(stacks->name), "%s" EVENT_STACKS_SUFFIX, samples->name) >=
	    (int)sizeof(stacks->name))
		return false;
	memcpy(stacks->requested, stacks->name, sizeof(stacks->requested));
	return true;
}

/* Is its name that of `samples` with this suffix? */
static bool
is_derived_from(const struct event *event, const struct event *samples, const char *suffix)
{
	const size_t length = strlen(samples->name);

	return is_derived(event, suffix) && strncmp(event->name, samples->name, length) == 0 &&
	       strcmp(event->name + length, suffix) == 0;
}

bool
event_is_sum_of(const struct event *sum, const struct event *samples)
{
	return is_derived_from(sum, samples, EVENT_SUM_SUFFIX);
}

bool
event_is_stacks_of(const struct event *stacks, const struct event *samples)
{
	return is_derived_from(stacks, samples, EVENT_STACKS_SUFFIX);
}

bool
event_sum_of(const struct event *samples, struct event *sum)
{
	*sum = (struct event){.encoding = {.type = EVENT_TYPE_DCPIX},
	                      .period = 1,
	                      .available = samples->available,
	                      .user = samples->user,
	                      .kernel = samples->kernel};
	snprintf(sum->requested, sizeof(sum->requested), "%s", samples->name);
	snprintf(sum->note, sizeof(sum->note),
	         "the events that samples stand for beyond their number times the period");
	memcpy(sum->encoding.unit, samples->encoding.unit, sizeof(sum->encoding.unit));
	return snprintf(sum->name, sizeof(sum->name), "%s" EVENT_SUM_SUFFIX, samples->name) < (int)sizeof(sum->name);
}

/* rNNNN: the bits that the PMU's own manual gives. */
static bool
encode_raw(const char *name, struct event_encoding *encoding)
{
	size_t digits = strspn(name + 1, "0123456789abcdefABCDEF");

	if (name[0] != 'r' || digits == 0 || digits > RAW_DIGITS_MAX || name[1 + digits])
		return false;
	memset(encoding, 0, sizeof(*encoding));
	encoding->type = PERF_TYPE_RAW;
	encoding->config = strtoull(name + 1, NULL, 16);
	return true;
}

static int
refuse_name(const char *name, bool knows_vendor_names, char *why, size_t size)
{
	struct event_suggestion suggestion;
	const char *nearest;

	event_suggestion_init(&suggestion, name);
	event_names_suggest(&suggestion);
	nearest = event_suggestion_get(&suggestion);
	if (nearest)
		snprintf(why, size, "there is no event \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		snprintf(why, size,
		         "there is no event \"%s\": events are cycles, cache-misses, cpu-clock, page-faults and the "
		         "like "
		         "(perf list shows them), rNNNN, or pmu/field=value,.../%s",
		         name, knows_vendor_names ? "" : "; the CPU vendor's names need libpfm4");
	return -DCPI_ENOEVENT;
}

/* As event_encode(), for a name without modifiers; `canonical` becomes the one of its names that everybody uses. */
static int
encode_bare(const char *sysfs, const char *bare, struct event_encoding *encoding, char canonical[EVENT_NAME_SIZE],
            char *why, size_t size)
{
	int err = 0;

	if (event_name_find(bare, encoding, canonical))
		return 0;
	snprintf(canonical, EVENT_NAME_SIZE, "%s", bare);
	if (strchr(bare, '/')) {
		err = pmu_event_encode(sysfs, bare, encoding, why, size);
	} else if (!encode_raw(bare, encoding)) {
		err = vendor_event_encode(bare, encoding);
		if (err)
			err = refuse_name(bare, err == -ENOENT, why, size);
	}
	if (!err && !encoding->unit[0])
		event_encoding_set_unit(encoding, event_is_clock(encoding) ? "ns" : "events");
	return err;
}

int
event_encode(const char *sysfs, const char *name, struct event_encoding *encoding, char *why, size_t size)
{
	struct event_modifiers modifiers;
	char canonical[EVENT_NAME_SIZE];
	char bare[EVENT_NAME_SIZE];
	int err;

	err = event_modifiers_split(name, bare, &modifiers, why, size);
	if (err)
		return err;
	return encode_bare(sysfs, bare, encoding, canonical, why, size);
}

/* ---- attributes ---- */

int
event_open_system(void *context, struct perf_event_attr *attr, int cpu)
{
	long fd;

	(void)context;
	do
		fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* What both kinds share: one clock for all, and an id in every record that says which event it is from. */
static void
attr_init(struct perf_event_attr *attr, const struct event_features *features)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr->sample_id_all = 1;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
	if (features->read_lost)
		attr->read_format |= PERF_FORMAT_LOST;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->disabled = 1;
}

void
event_sample_attr(const struct event *event, const struct event_features *features, struct perf_event_attr *attr)
{
	attr_init(attr, features);
	attr->type = event->encoding.type;
	attr->config = event->encoding.config;
	attr->config1 = event->encoding.config1;
	attr->config2 = event->encoding.config2;
	attr->freq = event->period == 0;
	if (attr->freq)
		attr->sample_freq = event->rate;
	else
		attr->sample_period = event->period;
	attr->sample_type |= PERF_SAMPLE_IP;
	if (features->cgroup)
		attr->sample_type |= PERF_SAMPLE_CGROUP;
	/* No flag is set that need not be: AMD's IBS, for one, refuses a precise event with any of them. */
	attr->exclude_user = !event->user;
	attr->exclude_kernel = !event->kernel;
	attr->exclude_hv = !event->user || !event->kernel;
	attr->exclude_idle = event_is_clock(&event->encoding) && !event->idle;
	attr->precise_ip = event->precise;
}

void
event_sideband_attr(const struct event_features *features, struct perf_event_attr *attr)
{
	attr_init(attr, features);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	/*
	 * Never attr->build_id: once one listener has it, Linux marks the records of those that it serves after it,
	 * `perf record COMMAND` for one, as having a build-id, too, and they trip over it.
	 */
	attr->cgroup = features->cgroup;
	attr->ksymbol = features->ksymbol;
}

/* Ask with `one` feature only: kernels refuse an attribute they do not know as a whole. */
static int
ask_for(const struct event_environment *environment, const struct event_features *one, bool *known)
{
	struct perf_event_attr attr;
	int err;

	event_sideband_attr(one, &attr);
	if (one->cgroup)
		attr.sample_type |= PERF_SAMPLE_CGROUP;
	err = refusal_probe(environment, &attr);
	*known = err == 0;
	return refusal_is_shortage(err) ? err : 0;
}

int
event_features_probe(const struct event_environment *environment, struct event_features *features)
{
	const struct event_features none = {0};
	struct perf_event_attr attr;
	int err;

	*features = none;
	event_sideband_attr(&none, &attr);
	err = refusal_probe(environment, &attr);
	if (err)
		return err;
	err = ask_for(environment, &(struct event_features){.cgroup = true}, &features->cgroup);
	if (err)
		return err;
	err = ask_for(environment, &(struct event_features){.ksymbol = true}, &features->ksymbol);
	if (err)
		return err;
	return ask_for(environment, &(struct event_features){.read_lost = true}, &features->read_lost);
}

/* ---- how an event can be counted here ---- */

static int
refuse(char *why, size_t size, const char *name, const char *reason, int err)
{
	snprintf(why, size, "%s: %s", name, reason);
	return err;
}

static void event_set_note(struct event *event, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
event_set_note(struct event *event, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(event->note, sizeof(event->note), format, arguments);
	va_end(arguments);
}

/* A name says so when only one mode is counted, as perf's do. */
static void
event_set_name(struct event *event, const char *canonical)
{
	const char *suffix = event->user && event->kernel ? "" : event->user ? ":u" : ":k";

	snprintf(event->name, sizeof(event->name), "%s%s", canonical, suffix);
}

/*
 * Sample a clock `rate` times a second: a clock's period is time, so the kernel need not look for it.
 * A clock in step with the scheduler's tick (100, 250, 300 or 1000 times a second) meets the processes that the tick
 * begins or ends: at 250 of both, some were seen a half too often or too little. With a period that is 3.1 % longer,
 * the samples of any common rate are spread over each of those ticks as evenly as if they were taken at random.
 * Dithering by 3 % never gets back to the rate that was asked for.
 */
static void
clock_set_rate(struct event *event, uint64_t rate)
{
	event->period = SECOND_NS / rate;
	event->period += event->period * CLOCK_DETUNING / 1000;
	if (event->period < CLOCK_PERIOD_MIN)
		event->period = CLOCK_PERIOD_MIN;
	event->rate = (SECOND_NS + event->period / 2) / event->period;
}

static void
clock_set_period(struct event *event)
{
	if (!event->period) {
		clock_set_rate(event, event->rate);
	} else if (event->period < CLOCK_PERIOD_MIN) {
		event_set_note(event, "the kernel takes a sample every %d ns at most; every %llu were asked for",
		               CLOCK_PERIOD_MIN, (unsigned long long)event->period);
		event->period = CLOCK_PERIOD_MIN;
	}
}

static bool
is_prime(uint64_t number)
{
	if (number % 2 == 0)
		return number == 2;
	for (uint64_t divisor = 3; divisor * divisor <= number; divisor += 2)
		if (number % divisor == 0)
			return false;
	return number > 1;
}

uint64_t
event_period_near(const struct event *event, uint64_t period)
{
	const uint64_t step = event->period_step;
	uint64_t steps;

	if (step == 0)
		return period;
	steps = period / step + (period % step >= step / 2);
	return (steps < STEPS_MIN ? STEPS_MIN : steps) * step;
}

void
event_set_idle_rate(struct event *sum, uint64_t rate)
{
	struct event clock = {.rate = rate};

	clock_set_rate(&clock, rate);
	sum->encoding.config = clock.period;
}

void
event_set_rate(struct event *event, uint64_t rate, uint64_t count_rate)
{
	const uint64_t step = event->period_step ? event->period_step : 1;
	uint64_t steps;

	if (rate == 0)
		rate = 1;
	if (event_is_clock(&event->encoding)) {
		clock_set_rate(event, rate);
		return;
	}
	/* A prime keeps samples out of step with loops. Above PERIOD_PRIME_MAX finding one takes too long, and samples
	 * are rare. */
	steps = count_rate / rate / step;
	while (steps < PERIOD_PRIME_MAX && !is_prime(steps))
		steps++;
	event->period = event_period_near(event, steps * step);
	event->rate = (count_rate + event->period / 2) / event->period;
}

/* The encoding and the canonical name of `bare`; a PMU that is not here leaves an encoding that nothing can open. */
static int
event_init_encoding(struct event *event, const char *sysfs, const char *bare, char canonical[EVENT_NAME_SIZE],
                    char *why, size_t size)
{
	char reason[EVENT_NAME_SIZE + EVENT_NOTE_SIZE] = "";
	int err = encode_bare(sysfs, bare, &event->encoding, canonical, reason, sizeof(reason));

	if (err != -ENODEV) {
		if (err)
			snprintf(why, size, "%s", reason);
		return err;
	}
	event_set_note(event, "%s", reason + strlen(bare) + strlen(": ")); /* the event is named beside its note */
	event->encoding = (struct event_encoding){.type = NO_TYPE, .unit = "events"};
	return 0;
}

/* The attributes as configured, before the kernel was asked. */
static int
event_init(struct event *event, const struct event_environment *environment, const struct event_spec *spec, char *why,
           size_t size)
{
	struct event_modifiers modifiers;
	char canonical[EVENT_NAME_SIZE];
	char bare[EVENT_NAME_SIZE];
	int err;

	memset(event, 0, sizeof(*event));
	err = event_modifiers_split(spec->name, bare, &modifiers, why, size);
	if (err)
		return err;
	err = event_init_encoding(event, environment->sysfs, bare, canonical, why, size);
	if (err)
		return err;
	snprintf(event->requested, sizeof(event->requested), "%s", spec->name);
	event->user = spec->user && (modifiers.user || !modifiers.kernel);
	event->kernel = spec->kernel && (modifiers.kernel || !modifiers.user);
	event->idle = spec->idle && !modifiers.no_idle;
	event->precise = modifiers.has_precise ? modifiers.precise : spec->precise;
	event->period = spec->period;
	event->rate = spec->period ? 0 : spec->rate;
	if (!event->period && !event->rate) {
		event->rate = environment->default_rate;
		event->chosen = true;
	}
	if (!event->user && !event->kernel)
		return refuse(why, size, spec->name, "neither user mode nor kernel mode is to be counted", -EINVAL);
	if (!event->period && !event->rate)
		return refuse(why, size, spec->name, "neither a period nor a rate is given", -EINVAL);
	if (event->precise > EVENT_PRECISE_MAX)
		event->precise = EVENT_PRECISE_MAX;
	if (strlen(canonical) + strlen(":u") >= sizeof(event->name))
		return refuse(why, size, spec->name, "the name is too long", -DCPI_ENOEVENT);
	event_set_name(event, canonical);
	return 0;
}

static int
try_open(const struct event_environment *environment, const struct event *event)
{
	const struct event_features none = {0};
	struct perf_event_attr attr;

	event_sample_attr(event, &none, &attr);
	return refusal_probe(environment, &attr);
}

/* Is it this event that is refused, or every one? 0, or how the event that counts nothing is refused. */
static int
try_open_any(const struct event_environment *environment)
{
	const struct event_features none = {0};
	struct perf_event_attr attr;

	event_sideband_attr(&none, &attr);
	return refusal_probe(environment, &attr);
}

uint64_t
event_rate_limit(const char *procfs)
{
	int64_t limit;

	if (small_file_read_number(&limit, "%s/sys/kernel/perf_event_max_sample_rate", procfs) || limit <= 0)
		return UINT64_MAX;
	return (uint64_t)limit;
}

uint64_t
event_stack_limit(const char *procfs)
{
	int64_t limit;

	if (small_file_read_number(&limit, "%s/sys/kernel/perf_event_max_stack", procfs) || limit < 0)
		return STACK_LIMIT;
	return (uint64_t)limit;
}

bool
event_limit_rate(struct event *event, uint64_t limit)
{
	const uint64_t wanted = event->wanted_rate ? event->wanted_rate : event->rate;
	const uint64_t rate = wanted < limit ? wanted : limit;

	if (event->period || event->rate == rate)
		return false;
	event->wanted_rate = wanted;
	event->rate = rate;
	event_set_note(event, "%s", "");
	if (rate < wanted)
		event_set_note(event,
		               "kernel.perf_event_max_sample_rate allows %llu samples a second, %llu were asked for",
		               (unsigned long long)limit, (unsigned long long)wanted);
	return true;
}

/* From the highest precise_ip down: the kernel's answer names no level that it would grant. */
static int
try_precise_levels(const struct event_environment *environment, struct event *event)
{
	const uint64_t period = event->period;
	int err;

	for (;;) {
		event->period_step = pmu_period_step(environment->sysfs, event);
		event->period = period ? event_period_near(event, period) : 0;
		err = try_open(environment, event);
		if (!err || refusal_is_shortage(err) || event->precise == 0)
			return err;
		event->precise--;
	}
}

/* The kernel refuses a frequency above its limit, which it lowers by itself when interrupts take long: also now. */
static int
try_within_limit(const struct event_environment *environment, struct event *event)
{
	const uint8_t precise = event->precise;
	int err;

	event_limit_rate(event, event_rate_limit(environment->procfs));
	err = try_precise_levels(environment, event);
	while (err == -EINVAL && event_limit_rate(event, event_rate_limit(environment->procfs))) {
		event->precise = precise;
		err = try_precise_levels(environment, event);
	}
	return err;
}

/*
 * A kernel that does not know the PMU's type in a generic event finds the right PMU by the CPU that it is opened on.
 * True when there was one to forget.
 */
static bool
forget_kind(struct event *event)
{
	if (!event_is_generic(&event->encoding) || event->encoding.config <= UINT32_MAX)
		return false;
	event->encoding.config &= UINT32_MAX;
	return true;
}

/* Make the event one of the CPU clock, which counts time where a PMU would count cycles. */
static void
event_become_clock(struct event *event, uint64_t rate)
{
	event->encoding = (struct event_encoding){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.unit = "ns",
	};
	event->precise = 0;
	event->period_step = 0;
	event_set_name(event, "cpu-clock");
	clock_set_rate(event, rate);
}

static int
stand_in(const struct event_environment *environment, const struct event_spec *spec, const char *reason,
         struct event *event)
{
	uint64_t rate = environment->default_rate ? environment->default_rate : RATE_DEFAULT;
	int err;

	/* A period of cycles means nothing to a clock. */
	event->chosen = spec->period || !spec->rate;
	event_become_clock(event, event->chosen ? rate : spec->rate);
	err = try_open(environment, event);
	if (err)
		return err;
	event_set_note(event, "%s", reason);
	event->available = true;
	return 0;
}

/* `err` keeps the event from being opened: put something in its place, say that nothing can be, or fail for good. */
static int
give_way(const struct event_environment *environment, const struct event_spec *spec, int err, struct event *event,
         char *why, size_t size)
{
	char reason[EVENT_NOTE_SIZE];
	int any = 0;

	if (refusal_is_shortage(err))
		any = err;
	else if (refusal_is_permission(err) || err == -ENODEV)
		any = try_open_any(environment);
	if (any) {
		refusal_explain(environment, any, why, size);
		return any;
	}
	refusal_describe(environment, event, err, reason, sizeof(reason));
	if (event_is_cycles(&event->encoding)) {
		err = stand_in(environment, spec, reason, event);
		if (err)
			refusal_explain(environment, err, why, size);
		return err;
	}
	event->precise = 0;
	event_set_note(event, "%s", reason);
	return 0;
}

int
event_resolve(const struct event_environment *anywhere, const struct event_spec *spec, struct event *event, char *why,
              size_t size)
{
	struct event_environment on_cpu = *anywhere;
	const struct event_environment *const environment = &on_cpu;
	int err;

	if (size > 0)
		why[0] = '\0';
	err = event_init(event, environment, spec, why, size);
	if (err)
		return err;
	/* Software events take precise_ip and mean nothing by it. */
	if (event->encoding.type == PERF_TYPE_SOFTWARE || event->encoding.type == NO_TYPE ||
	    !pmu_knows_precise(environment->sysfs))
		event->precise = 0;
	if (event->encoding.type == NO_TYPE)
		return 0;
	on_cpu.cpu = event_cpu(environment->sysfs, event->name, environment->cpu);
	if (event_is_clock(&event->encoding))
		clock_set_period(event);
	err = try_within_limit(environment, event);
	if (err && forget_kind(event))
		err = try_within_limit(environment, event);
	if (err)
		return give_way(environment, spec, err, event, why, size);
	if (spec->period && event->period != spec->period && event->period_step)
		event_set_note(event, "IBS counts in steps of %u: a sample every %llu, every %llu was asked for",
		               (unsigned)event->period_step, (unsigned long long)event->period,
		               (unsigned long long)spec->period);
	event->available = true;
	return 0;
}

bool
event_is_other_kind(const struct event *event, const struct event *other)
{
	return strchr(event->name, '/') && strchr(other->name, '/') && strcmp(event->name, other->name) != 0 &&
	       strcmp(event->requested, other->requested) == 0;
}

/* What is to become one event for each kind. */
struct core_request {
	const struct event_environment *environment;
	const struct event_spec *spec;
	char canonical[EVENT_NAME_SIZE];
	const char *modifiers; /* ":u" */
	char *why;
	size_t size;
};

/* The event of `kind`: cycles:u becomes cpu_core/cycles/:u. As event_resolve(). */
static int
resolve_on_core(const struct core_request *request, const struct pmu_core *core, struct event *event)
{
	struct event_spec spec = *request->spec;
	int err;

	if (snprintf(spec.name, sizeof(spec.name), "%s/%s/%s", core->pmu, request->canonical, request->modifiers) >=
	    (int)sizeof(spec.name))
		return -ENAMETOOLONG;
	err = event_resolve(request->environment, &spec, event, request->why, request->size);
	snprintf(event->requested, sizeof(event->requested), "%s", request->spec->name);
	return err;
}

/* One event for each kind. How many; 0 when one cannot be counted as what it is: then all are better asked for as one.
 */
static int
resolve_each(const struct core_request *request, size_t max, struct event *events)
{
	struct pmu_core cores[PMU_CORES_MAX];
	size_t count = pmu_cores(request->environment->sysfs, cores);

	if (count < 2 || count > max)
		return 0;
	for (size_t i = 0; i < count; i++) {
		int err = resolve_on_core(request, &cores[i], &events[i]);

		if (err)
			return err == -ENAMETOOLONG ? 0 : err;
		if (events[i].available && !strchr(events[i].name, '/'))
			return 0; /* a timer stands in for it */
	}
	return (int)count;
}

int
event_resolve_kinds(const struct event_environment *environment, const struct event_spec *spec, struct event *events,
                    size_t max, char *why, size_t size)
{
	struct core_request request = {.environment = environment, .spec = spec, .why = why, .size = size};
	struct event_modifiers modifiers;
	struct event_encoding encoding;
	char bare[EVENT_NAME_SIZE];
	int result;

	if (max == 0) {
		snprintf(why, size, "%s: there are more than %d events", spec->name, EVENTS_MAX);
		return -E2BIG;
	}
	result = event_modifiers_split(spec->name, bare, &modifiers, why, size);
	if (result)
		return result;
	request.modifiers = spec->name + strlen(bare);
	if (event_name_find(bare, &encoding, request.canonical) && event_is_generic(&encoding))
		result = resolve_each(&request, max, events);
	if (result)
		return result;
	result = event_resolve(environment, spec, &events[0], why, size);
	return result ? result : 1;
}
