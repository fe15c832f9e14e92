/*
 * guest_random.h - random numbers that do not change from run to run
 *
 * Each thread has a sequence of its own, so that other threads do not change it. Thread rule: any thread, each with its
 * own sequence.
 */
#ifndef DCPI_EMULATOR_GUEST_RANDOM_H
#define DCPI_EMULATOR_GUEST_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct guest_random {
	uint64_t state;
};

/* `seed` of the run; when the process began, in cycles, and `vcpu` tell its threads' sequences apart. */
void guest_random_init(struct guest_random *random, uint64_t seed, uint64_t when, unsigned vcpu);

void guest_random_fill(struct guest_random *random, void *bytes, size_t size);

#endif
