#include "emulator/clock/guest_random.h"

#include <string.h>

/* SplitMix64: Steele, Lea and Flood, OOPSLA'14. */
static uint64_t
mix(uint64_t state)
{
	state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
	return state ^ (state >> 31);
}

static uint64_t
next(struct guest_random *random)
{
	random->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(random->state);
}

void
guest_random_init(struct guest_random *random, uint64_t seed, uint64_t when, unsigned vcpu)
{
	random->state = mix(seed) ^ mix(when + 1) ^ mix((uint64_t)vcpu << 32 | 1);
}

void
guest_random_fill(struct guest_random *random, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	while (size > 0) {
		const uint64_t word = next(random);
		const size_t part = size < sizeof(word) ? size : sizeof(word);

		memcpy(to, &word, part);
		to += part;
		size -= part;
	}
}
