#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "emulator/model/memory_path.h"

#define WINDOW_LINES    4 /* that a window has room for at least */
#define SHIFT_LEAST     5 /* of its cycles */
#define SHIFT_MOST      20
#define WINDOWS_LEAST   (UINT64_C(1) << 13)
#define WINDOWS_MOST    (UINT64_C(1) << 18)
#define QUANTA          4 /* that windows are remembered for */
#define AVERAGE_CYCLES  16384.0
#define UNBOUNDED_TRUST (UINT64_C(1) << 22) /* cycles, when clocks may differ by anything */
#define NS_PER_US       1000.0

static uint32_t
cycles_of(const struct machine *machine, double ns)
{
	return (uint32_t)lround(ns * machine->clock_mhz / NS_PER_US);
}

/* Linear between the points of the machine's curve; before the first and past the last, that point's value. */
static double
latency_at(const struct machine *machine, double bandwidth)
{
	const struct machine_load *loads = machine->loads;
	unsigned i = 0;

	while (i < machine->load_count && loads[i].bandwidth_gb_s < bandwidth)
		i++;
	if (i == 0)
		return loads[0].latency_ns;
	if (i == machine->load_count)
		return loads[i - 1].latency_ns;
	return loads[i - 1].latency_ns + (loads[i].latency_ns - loads[i - 1].latency_ns) *
	                                         (bandwidth - loads[i - 1].bandwidth_gb_s) /
	                                         (loads[i].bandwidth_gb_s - loads[i - 1].bandwidth_gb_s);
}

void
load_curve_init(struct load_curve *curve, const struct machine *machine)
{
	double limit = machine->loads[machine->load_count - 1].bandwidth_gb_s;

	curve->lines_per_cycle = limit * NS_PER_US / machine->clock_mhz / machine->line_bytes;
	curve->least_cycles = cycles_of(machine, latency_at(machine, 0));
	for (unsigned i = 0; i <= MEMORY_PATH_LOADS; i++) {
		uint32_t cycles = cycles_of(machine, latency_at(machine, limit * i / MEMORY_PATH_LOADS));

		curve->more_cycles[i] = cycles > curve->least_cycles ? cycles - curve->least_cycles : 0;
	}
}

int
memory_path_init(struct memory_path *path, double lines_per_cycle, unsigned core_count, uint64_t quantum_cycles)
{
	*path = (struct memory_path){.core_count = core_count, .window_shift = SHIFT_LEAST};
	path->stale_cycles =
		quantum_cycles ? quantum_cycles * 2 + MEMORY_PATH_PUBLISH_CYCLES * UINT64_C(8) : UNBOUNDED_TRUST;
	while (path->window_shift < SHIFT_MOST &&
	       lines_per_cycle * (double)(UINT64_C(1) << path->window_shift) < WINDOW_LINES)
		path->window_shift++;
	path->window_lines_q16 = (uint64_t)(lines_per_cycle * (double)(UINT64_C(1) << (path->window_shift + 16)));
	path->window_mask = WINDOWS_LEAST - 1;
	while (path->window_mask + 1 < WINDOWS_MOST &&
	       (!quantum_cycles || path->window_mask << path->window_shift < quantum_cycles * QUANTA))
		path->window_mask = path->window_mask * 2 + 1;
	path->reach = path->window_lines_q16 ? path->window_mask / 2 : 0;
	path->windows = calloc(path->window_mask + 1, sizeof(*path->windows));
	path->reports = calloc(core_count, sizeof(*path->reports));
	if (path->windows && path->reports)
		return 0;
	memory_path_fini(path);
	return -ENOMEM;
}

void
memory_path_fini(struct memory_path *path)
{
	free(path->windows);
	free(path->reports);
	path->windows = NULL;
	path->reports = NULL;
}

void
memory_path_user_init(struct memory_path_user *user, struct memory_path *path, unsigned core)
{
	*user = (struct memory_path_user){.path = path, .core = core, .next_publish = MEMORY_PATH_PUBLISH_CYCLES};
}

void
memory_path_user_continue(struct memory_path_user *user, uint64_t now)
{
	if (user->next_publish > now + MEMORY_PATH_PUBLISH_CYCLES)
		user->next_publish = now + MEMORY_PATH_PUBLISH_CYCLES;
}

/* Lines that window `number` has room for: one more or less, so that their mean is right. */
static inline uint64_t
memory_path_capacity(const struct memory_path *path, uint64_t number)
{
	return ((number * path->window_lines_q16 & UINT16_MAX) + path->window_lines_q16) >> 16;
}

/* What window `number` is with a line more, when it was `there`; `there` itself: newer ones have its place. 0: it is
 * full. */
static inline uint64_t
memory_path_with_one_more(const struct memory_path *path, uint64_t number, uint64_t there)
{
	const uint64_t empty = number << MEMORY_PATH_LINES_BITS;

	if (there < empty)
		return empty + 1;
	if (there - empty < memory_path_capacity(path, number))
		return there + 1;
	return (there - empty) >> MEMORY_PATH_LINES_BITS ? there : 0;
}

/* Whether the line found room in window `number`. `is_shared`: path->is_shared. Alone, the host need not wait for all
 * that went before. */
static inline bool
memory_path_take(struct memory_path *path, uint64_t number, const bool is_shared)
{
	uint64_t *window = &path->windows[number & path->window_mask];
	uint64_t there = __atomic_load_n(window, __ATOMIC_RELAXED),
		 then = memory_path_with_one_more(path, number, there);

	if (!is_shared && then)
		*window = then;
	while (is_shared && then &&
	       !__atomic_compare_exchange_n(window, &there, then, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		then = memory_path_with_one_more(path, number, there);
	return then != 0;
}

uint64_t
memory_path_transfer(struct memory_path_user *user, uint64_t now)
{
	struct memory_path *path = user->path;
	const uint64_t window = now >> path->window_shift, last = window + path->reach;
	uint64_t number = window;

	if (!path->window_lines_q16)
		return 0;
	if (user->first_full <= window && window <= user->first_free)
		number = user->first_free;
	else
		user->first_full = window;
	while (number < last && !memory_path_take(path, number, path->is_shared))
		number++;
	user->first_free = number;
	return number == window ? 0 : (number << path->window_shift) - now;
}

static double
load_of(const struct memory_path *path, uint64_t now)
{
	double load = 0;

	for (unsigned i = 0; i < path->core_count; i++) {
		const struct memory_path_report *report = &path->reports[i];
		uint64_t published = __atomic_load_n(&report->published, __ATOMIC_RELAXED);
		double rate;

		if (!published || published + path->stale_cycles < now)
			continue;
		__atomic_load(&report->rate, &rate, __ATOMIC_RELAXED);
		load += rate;
	}
	return load;
}

void
memory_path_publish(struct memory_path_user *user, uint64_t now, const struct load_curve *curve)
{
	struct memory_path *path = user->path;
	struct memory_path_report *report = &path->reports[user->core];
	const double cycles = (double)(now - (user->next_publish - MEMORY_PATH_PUBLISH_CYCLES));
	const double lines = (double)(user->lines - user->published_lines);
	double load;

	user->average += (lines / cycles - user->average) * cycles / (cycles + AVERAGE_CYCLES);
	user->next_publish = now + MEMORY_PATH_PUBLISH_CYCLES;
	user->published_lines = user->lines;
	__atomic_store(&report->rate, &user->average, __ATOMIC_RELAXED);
	__atomic_store_n(&report->published, now, __ATOMIC_RELAXED);
	load = load_of(path, now) / curve->lines_per_cycle * MEMORY_PATH_LOADS;
	user->load_cycles = curve->more_cycles[load < MEMORY_PATH_LOADS ? (unsigned)load : MEMORY_PATH_LOADS];
}
