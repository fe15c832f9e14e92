/*
 * trial.h - how the caches of a machine serve a nest of loops, in an order of its iterations
 *
 * The references go through the emulator's model of one core of the machine, as those of a program do: its caches, TLBs
 * and prefetchers, empty at the beginning.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_TRIAL_H
#define DCPI_TOOLS_LOC_TRIAL_H

#include "locality/nest.h"
#include "locality/record_read.h"
#include "machine/machine.h"

#define LOC_TRIAL_MAX (UINT64_C(1) << 24) /* references that are tried of a nest: those that come first */

/* Of all references of the nest: what was counted of those that were tried, by their share. */
struct loc_trial {
	uint64_t missed[MACHINE_LEVELS_MAX]; /* accesses that were no hit in each level */
	uint64_t cycles;                     /* that they take beyond a hit of level 1, if none waits for another */
	bool is_part;                        /* not all were tried */
};

/* 0, or -ENOMEM. */
int loc_try(const struct machine *machine, const struct locality_record *record, const struct locality_nest *nest,
            const struct locality_order *order, struct loc_trial *trial);

#endif
