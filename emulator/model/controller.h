/*
 * controller.h - what memory can move, and how much longer an access takes while it moves much
 *
 * A path is what lines go through: a memory controller, or the link from one node to another. Time is cut into windows,
 * and in each window a path moves so many lines and no more: a line that finds its window full is moved in the next one
 * that has room. That holds whatever the order in which threads come, whose clocks differ by the quantum: windows are
 * remembered for several of it, and what is older finds room.
 *
 * Below that limit latency grows with load, as the machine's curve says. Load is the sum of what each core asks for,
 * each by its own clock and averaged, so that an order of threads plays no part in it either. A core that was not heard
 * of for longer than clocks can differ asks for nothing.
 *
 * Thread rule: a path is for any thread, without a lock; its user is one thread's.
 */
#ifndef DCPI_EMULATOR_MODEL_CONTROLLER_H
#define DCPI_EMULATOR_MODEL_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define PATH_LOADS       256
#define PATH_LINES_BITS  20
#define PATH_TELL_CYCLES 4096
#define PATH_ABREAST     2 /* lines that path_move_abreast() moves at most */

/* What a core last said that it asks for. */
struct path_report {
	uint64_t heard; /* by its clock; 0: never */
	double rate;    /* lines a cycle */
};

/* Cycles that an access takes longer than without load: by load, from 0 to PATH_LOADS for the limit. */
struct load_curve {
	uint32_t least_cycles; /* the latency without load */
	double lines_per_cycle;
	uint32_t more_cycles[PATH_LOADS + 1];
};

struct path {
	uint64_t *windows; /* number of a window << PATH_LINES_BITS | lines in it, at number & window_mask */
	uint64_t window_mask;
	uint64_t window_lines_q16; /* lines that a window has room for, times 2^16; 0: no limit */
	uint64_t reach;            /* windows that a line waits at most; 0: no limit */
	uint64_t newest; /* that a line was moved in, while not shared; UINT64_MAX: it is, or windows are too small */
	uint8_t window_shift; /* of cycles */
	bool is_shared;       /* by threads */
	struct path_report *reports;
	unsigned core_count;
	uint64_t patience_cycles; /* for a core that is not heard of */
};

/* A core's part of a path. */
struct path_user {
	struct path *path;
	unsigned core;
	uint32_t load_cycles;  /* more_cycles[] of the load as it was last seen */
	uint64_t asked, found; /* windows: between them is no room */
	uint64_t lines;        /* that it asked for */
	uint64_t tells;        /* when it tells others again */
	uint64_t told_lines;
	double average; /* lines a cycle */
};

void load_curve_init(struct load_curve *curve, const struct machine *machine);

/* 0 or -ENOMEM. `lines_per_cycle` 0: no limit. `quantum_cycles`: what clocks differ by; 0: by anything. */
int path_init(struct path *path, double lines_per_cycle, unsigned core_count, uint64_t quantum_cycles);
void path_fini(struct path *path);

/* From now on threads share it. Nobody is in it. */
void path_begin_to_share(struct path *path);

void path_user_init(struct path_user *user, struct path *path, unsigned core);

/* Lines that window `number` has room for: one more or less, so that their mean is right. */
static inline uint64_t
path_room_in(const struct path *path, uint64_t number)
{
	return ((number * path->window_lines_q16 & UINT16_MAX) + path->window_lines_q16) >> 16;
}

/* What window `number` is with a line more, when it was `there`; `there` itself: newer ones have its place. 0: it is
 * full. */
static inline __attribute__((always_inline)) uint64_t
path_with_one_more(const struct path *path, uint64_t number, uint64_t there)
{
	const uint64_t empty = number << PATH_LINES_BITS;

	if (there < empty)
		return empty + 1;
	if (there - empty < path_room_in(path, number))
		return there + 1;
	return (there - empty) >> PATH_LINES_BITS ? there : 0;
}

/* Whether the line found room in window `number`. `is_shared`: path->is_shared. Alone, the host need not wait for all
 * that went before. */
static inline __attribute__((always_inline)) bool
path_take(struct path *path, uint64_t number, const bool is_shared)
{
	uint64_t *window = &path->windows[number & path->window_mask];
	uint64_t there = __atomic_load_n(window, __ATOMIC_RELAXED), then = path_with_one_more(path, number, there);

	if (!is_shared && then)
		*window = then;
	while (is_shared && then &&
	       !__atomic_compare_exchange_n(window, &there, then, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		then = path_with_one_more(path, number, there);
	return then != 0;
}

/*
 * Moves `lines` at once, PATH_ABREAST at most, on a path that is not shared, into a window that comes after all in
 * which lines were moved: it is empty, and nobody waits. False: it is none, and nothing is done.
 */
static inline __attribute__((always_inline)) bool
path_move_abreast(struct path_user *user, uint64_t now, const unsigned lines)
{
	struct path *path = user->path;
	const uint64_t window = now >> path->window_shift;

	if (window <= path->newest)
		return false;
	path->windows[window & path->window_mask] = (window << PATH_LINES_BITS) + lines;
	path->newest = window;
	user->asked = window; /* behind `found`: nothing is known to be full */
	return true;
}

/* The same into the window that is the last of those, if it has room for all of them and the line would find it. */
static inline __attribute__((always_inline)) bool
path_move_beside(struct path_user *user, uint64_t now, const unsigned lines)
{
	struct path *path = user->path;
	const uint64_t window = now >> path->window_shift;
	uint64_t *there = &path->windows[window & path->window_mask];

	if (window != path->newest || user->found > window ||
	    *there - (window << PATH_LINES_BITS) + lines > path_room_in(path, window))
		return false;
	*there += lines;
	if (user->found < window)
		user->asked = window;
	return true;
}

/* path_move() where the first window in question has room: whether it has; if not, nothing is done. */
static inline __attribute__((always_inline)) bool
path_move_at_once(struct path_user *user, uint64_t now, uint64_t *wait, const bool is_shared)
{
	struct path *path = user->path;
	const uint64_t window = now >> path->window_shift;
	uint64_t asked = user->asked, number = user->found;

	if (window < asked || window > number) {
		asked = window;
		number = window;
	}
	if (__builtin_expect(number - window >= path->reach || !path_take(path, number, is_shared), 0))
		return false;
	if (!is_shared && number > path->newest)
		path->newest = number;
	user->asked = asked;
	user->found = number;
	*wait = number == window ? 0 : (number << path->window_shift) - now;
	return true;
}

/* And where it has not. */
uint64_t path_move_later(struct path_user *user, uint64_t now);

/*
 * Move a line at `now`, or as soon as there is room: cycles until then. What latency the curve has for the load already
 * is the wait of who has not chanced upon a full window: the longer of the two counts, not both.
 */
static inline uint64_t
path_move(struct path_user *user, uint64_t now)
{
	uint64_t wait;

	return path_move_at_once(user, now, &wait, user->path->is_shared) ? wait : path_move_later(user, now);
}

/* Whether a line that is asked for at `now` makes path_count() tell others. */
static inline bool
path_tells(const struct path_user *user, uint64_t now)
{
	return now >= user->tells;
}

/* Tells others what the core asked for until `now`, and learns what they did: user->load_cycles. */
void path_tell(struct path_user *user, uint64_t now, const struct load_curve *curve);

/* A line more was asked for at `now`; user->load_cycles follows the load. */
static inline void
path_count(struct path_user *user, uint64_t now, const struct load_curve *curve)
{
	user->lines++;
	if (__builtin_expect(path_tells(user, now), 0))
		path_tell(user, now, curve);
}

#endif
