/*
 * delay.h - the host's time keeps step with the target's
 *
 * With a real delay a thread that has come to time t of the target goes on when the host has come to
 *
 *   origin + dilation * t
 *
 * What it is early is its debt: it grows while the thread runs, as stalls cost the emulator next to nothing, and is
 * spent before anything that others can see. The dilation is given; or it is the host's time for the target's of what
 * the first instructions took by their static schedule, the emulator's own slow-down. One that the emulator cannot keep
 * up with moves the origin. All processes of a run have one pace (family.h).
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_DELAY_H
#define DCPI_EMULATOR_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/clock/family.h"
#include "emulator/clock/guest_time.h"
#include "emulator/setup.h"

#define DELAY_LEAST_NS   300      /* that is spent; less is left for the next time */
#define DELAY_LATE_NS    50000000 /* that the emulator may be late before the origin moves */
#define DELAY_WARM_NS    200000   /* of execution there: before the slow-down is measured */
#define DELAY_MEASURE_NS 2000000  /* and that is measured; */
#define DELAY_LONG_NS    10000000 /* after so long, of whatever, this is enough: */
#define DELAY_ENOUGH_NS  20000

struct delay;

/* NULL and errno: ENOMEM. With DELAY_NONE: a delay that never is. */
struct delay *delay_new(const struct setup *setup, const struct guest_time *time, struct family *family);
void delay_free(struct delay *delay);

/* A thread is at `now`: spend what it owes. How many ns that was. */
uint64_t delay_settle(struct delay *delay, uint64_t now);

/*
 * Until the slow-down is known: a thread that is at `now` has executed `cycles`, by their static schedule, in so many
 * of the host's ns, since it last told. True: it is to be told.
 */
bool delay_is_measuring(const struct delay *delay);
void delay_measure(struct delay *delay, uint64_t now, uint64_t cycles, uint64_t host_ns);

#endif
