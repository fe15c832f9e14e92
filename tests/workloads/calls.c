/*
 * calls.c - a known tree of calls
 *
 * calls SECONDS [DEPTH]: runs for that long. Of the time, by what calls what:
 *
 *   main
 *     parse          20 % itself
 *       scan         30 %
 *     build
 *       scan         10 %
 *       descend      40 % in four calls within each other, 10 % each; with a DEPTH, in so many
 *
 * The procedures do the same work a different number of times, so the shares follow from the code. All take longer or
 * shorter in each round: rounds of one length would keep step with a sampler. It is compiled with frame pointers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define STEPS_LEAST  8000
#define STEPS_SPREAD 24000

static volatile uint64_t result;
static unsigned int steps_of_tenth; /* of the round */
static void *volatile frame;

/* Without that, a procedure that calls nothing has no frame pointer, whatever the compiler's options. */
#define KEEP_FRAME() (frame = __builtin_frame_address(0))

static double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A chain that no compiler shortens: each step needs the one before. */
static inline __attribute__((always_inline)) uint64_t
mix(uint64_t value, unsigned int tenths)
{
	for (unsigned int i = 0; i < tenths * steps_of_tenth; i++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
	}
	return value;
}

static __attribute__((noinline, noclone)) uint64_t
scan(uint64_t value, unsigned int tenths)
{
	KEEP_FRAME();
	return mix(value, tenths);
}

static __attribute__((noinline, noclone)) uint64_t
parse(uint64_t value)
{
	return scan(mix(value, 2), 3) + 1; /* no tail call: its frame stays */
}

/* NOLINTNEXTLINE(misc-no-recursion): so that a procedure is several times in a stack */
static __attribute__((noinline, noclone)) uint64_t
descend(uint64_t value, int depth)
{
	KEEP_FRAME();
	value = mix(value, 1);
	return depth > 1 ? descend(value, depth - 1) + 1 : value;
}

static __attribute__((noinline, noclone)) uint64_t
build(uint64_t value, int depth)
{
	value = scan(value, 1);
	return descend(value, depth) + 1;
}

int
main(int argc, char **argv)
{
	const double end = seconds_now() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	const int depth = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 4;
	uint64_t value = 88172645463325252ULL;

	while (seconds_now() < end) {
		steps_of_tenth = STEPS_LEAST + (unsigned int)(value % STEPS_SPREAD);
		value = parse(value);
		value = build(value, depth);
	}
	result = value;
	return 0;
}
