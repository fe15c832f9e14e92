/*
 * guest_deadline.h - when a system call that waits ends by itself
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_DEADLINE_H
#define DCPI_EMULATOR_GUEST_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/clock/clock.h"
#include "emulator/clock/guest_calls.h"
#include "emulator/clock/guest_time.h"

/* Where the guest says so: a time in its memory. */
struct guest_deadline {
	uint64_t cycles;  /* of the target; SKEW_NONE: never */
	uint64_t address; /* of the struct timespec, or timeval; 0: it is no memory */
	int clock_id;     /* with is_absolute: whose time it is */
	bool is_absolute;
};

void guest_deadline_find(const struct guest_time *time, enum guest_call kind, const struct clock_call *call,
                         uint64_t now, struct guest_deadline *deadline);

#endif
