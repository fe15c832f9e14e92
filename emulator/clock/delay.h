/*
 * delay.h - delay threads so that the host's time follows the target's
 *
 * With a real delay, a thread that has reached time t of the target continues when the host's time is
 *
 *   origin + dilation * t
 *
 * The time by which a thread is early is its debt. The debt grows while the thread runs, because the emulator spends
 * almost no time on stalls; it is spent before anything that other threads can see. The dilation is given, or it is
 * measured: the host's time divided by the target's, for the first instructions by their static schedule; this is the
 * emulator's own slow-down. When the emulator cannot keep up, the origin moves. All processes of a run have one origin
 * and one dilation (run_clock.h).
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_DELAY_H
#define DCPI_EMULATOR_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/clock/guest_time.h"
#include "emulator/clock/run_clock.h"
#include "emulator/setup.h"

#define DELAY_LEAST_NS 300      /* smallest debt that is spent; a smaller one is kept */
#define DELAY_LATE_NS  50000000 /* how late the emulator may be before the origin moves */

/* The slow-down is measured in the target's time: after the first WARM, over MEASURE; */
#define DELAY_WARM_NS    200000
#define DELAY_MEASURE_NS 2000000
/* a thread that has reached LONG, because it waits for memory, measures only over ENOUGH. */
#define DELAY_LONG_NS   10000000
#define DELAY_ENOUGH_NS 20000

struct delay;

/* NULL and errno: ENOMEM. With DELAY_NONE nothing is ever delayed. `time` and `run_clock` are used until the end. */
struct delay *delay_new(const struct setup *setup, const struct guest_time *time, struct run_clock *run_clock);
void delay_free(struct delay *delay);

/* A thread is at `now`, cycles: spend its debt. Returns how many ns that was. */
uint64_t delay_settle(struct delay *delay, uint64_t now);

/*
 * Until the slow-down is known, delay_is_measuring() is true, and threads call delay_measure(): since its last call,
 * the thread, now at `now`, has executed `cycles` of static schedule in `host_ns` of the host's time.
 */
bool delay_is_measuring(const struct delay *delay);
void delay_measure(struct delay *delay, uint64_t now, uint64_t cycles, uint64_t host_ns);

/* How long one turn of a busy loop takes, in ns: the least of several measurements. Takes a few milliseconds. */
double delay_spin_calibrate(void);

/*
 * Spend `ns` on the host. The thread sleeps for most of a long span, so that others have the processor; the rest is a
 * busy loop. Spans that are shorter than reading the clock are measured in turns of the loop.
 */
void delay_spin(uint64_t ns, double ns_per_turn);

#endif
