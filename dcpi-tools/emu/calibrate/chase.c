#include "dcpi-tools/emu/calibrate/chase.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

#define HUGE_BYTES (2u << 20)
#define UNROLLED   16

static uint64_t
random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void
shuffle(uint32_t *order, size_t count)
{
	uint64_t state = 1;

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (size_t i = count - 1; i > 0; i--) {
		const size_t other = random_next(&state) % (i + 1);
		const uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

static void *
link_at(const struct chase *chase, size_t number, size_t stride)
{
	return chase->bytes + number * stride + (stride == CHASE_LINE ? 0 : number % 64 * CHASE_LINE);
}

int
chase_init(struct chase *chase, size_t size, size_t stride)
{
	uint32_t *order;

	chase->size = (size + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	chase->count = size / stride;
	chase->bytes = aligned_alloc(HUGE_BYTES, chase->size);
	order = calloc(chase->count, sizeof(*order));
	if (!chase->bytes || !order || chase->count == 0) {
		free(chase->bytes);
		free(order);
		return -ENOMEM;
	}
	(void)madvise(chase->bytes, chase->size, stride == CHASE_LINE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(chase->bytes, 0, chase->size);
	shuffle(order, chase->count);
	for (size_t i = 0; i < chase->count; i++)
		*(void **)link_at(chase, order[i], stride) = link_at(chase, order[(i + 1) % chase->count], stride);
	free(order);
	chase->at = chase->bytes;
	/* the order is random: links that are apart in memory are apart in the cycle */
	for (unsigned i = 0; i < CHASE_CHAINS_MAX; i++)
		chase->chains[i] = link_at(chase, chase->count / CHASE_CHAINS_MAX * i, stride);
	return 0;
}

void
chase_fini(struct chase *chase)
{
	free(chase->bytes);
	chase->bytes = NULL;
}

/* The kernel counts huge pages for the whole process, in which no other memory is as large. */
bool
chase_is_huge(const struct chase *chase)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	unsigned long long kib = 0;
	char line[256];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "AnonHugePages:", 14) == 0)
			kib = strtoull(line + 14, NULL, 10);
	fclose(file);
	return kib * 1024 >= chase->size / 2;
}

uint64_t
chase_walk_ns(struct chase *chase, size_t loads)
{
	void *at = chase->at;
	const uint64_t begin = monotonic_ns();

	for (size_t i = 0; i < loads; i++) {
		at = *(void **)at;
		__asm__ volatile("" : "+r"(at));
	}
	chase->at = at;
	return monotonic_ns() - begin;
}

uint64_t
chase_walk_chains_ns(struct chase *chase, unsigned chains, size_t loads)
{
	void *at[CHASE_CHAINS_MAX];
	uint64_t begin, end;

	memcpy(at, chase->chains, sizeof(at));
	begin = monotonic_ns();
	for (size_t i = 0; i < loads; i++)
		for (unsigned j = 0; j < chains; j++) {
			at[j] = *(void **)at[j];
			__asm__ volatile("" : "+m"(at[j]));
		}
	end = monotonic_ns();
	memcpy(chase->chains, at, sizeof(at));
	return end - begin;
}

uint64_t
chase_additions_ns(size_t additions)
{
	uint64_t sum = 1;
	const uint64_t begin = monotonic_ns();

	for (size_t i = 0; i < additions / UNROLLED; i++) {
#if defined(__x86_64__)
		__asm__ volatile(".rept 16; add %0, %0; .endr" : "+r"(sum));
#else
		__asm__ volatile(".rept 16; add %0, %0, %0; .endr" : "+r"(sum));
#endif
	}
	return monotonic_ns() - begin;
}
