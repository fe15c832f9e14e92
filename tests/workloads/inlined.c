/*
 * inlined.c - a known tree of procedures, some of which the compiler inlines
 *
 * inlined SECONDS: runs for that long. Of the time, by what calls what; those in brackets are inlined:
 *
 *   main
 *     pack
 *       [digest]       10 % itself
 *         [mix]        30 %
 *         unpack       20 % itself
 *           [digest]   10 % itself
 *             [mix]    30 %
 *
 * So digest is twice in most stacks, as a procedure that calls itself is.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define STEPS_OF_TENTH 20000
#define INLINED        static inline __attribute__((always_inline))

static volatile uint64_t result;

static double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A chain that no compiler shortens: each step needs the one before. */
#define WORK(value, tenths)                                                                                            \
	for (unsigned int step = 0; step < (tenths)*STEPS_OF_TENTH; step++) {                                          \
		(value) ^= (value) << 13;                                                                              \
		(value) ^= (value) >> 7;                                                                               \
		(value) ^= (value) << 17;                                                                              \
	}

static uint64_t unpack(uint64_t value);

INLINED uint64_t
mix(uint64_t value)
{
	WORK(value, 3)
	return value;
}

/* NOLINTNEXTLINE(misc-no-recursion): it is, in the source only */
INLINED uint64_t
digest(uint64_t value, bool is_outer)
{
	WORK(value, 1)
	value = mix(value);
	return is_outer ? unpack(value) + 1 : value;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static __attribute__((noinline, noclone)) uint64_t
unpack(uint64_t value)
{
	WORK(value, 2)
	return digest(value, false) + 1;
}

static __attribute__((noinline, noclone)) uint64_t
pack(uint64_t value)
{
	return digest(value, true) + 1; /* no tail call: its frame stays */
}

int
main(int argc, char **argv)
{
	const double end = seconds_now() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	uint64_t value = 88172645463325252ULL;

	while (seconds_now() < end)
		value = pack(value);
	result = value;
	return 0;
}
