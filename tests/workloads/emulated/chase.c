/*
 * chase - each address comes out of memory
 *
 * chase BYTES STRIDE TURNS [time]: a ring through all multiples of STRIDE below BYTES, in an order that no prefetcher
 * guesses. What is timed comes after one turn through the whole ring.
 */
#include "emulated.h"

char *chase(char *place, size_t turns);

/* A ring of `count` places, `stride` bytes apart: Sattolo's shuffle leaves one cycle. */
static void
ring_make(char *memory, size_t count, size_t stride)
{
	uint64_t random = 88172645463325252;
	size_t *order = get_memory(count * sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = count - 1; i > 0; i--) {
		const size_t other = next_random(&random) % i, kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < count; i++)
		*(char **)(memory + i * stride) = memory + order[i] * stride;
	munmap(order, count * sizeof(*order));
}

__attribute__((noinline)) char *
chase(char *place, size_t turns)
{
	for (size_t i = 0; i < turns; i++) {
		place = *(char **)place;
		__asm__ volatile("" : "+r"(place));
	}
	return place;
}

int
main(int argc, char **argv)
{
	const bool timed = asked_for_time(&argc, argv);
	const size_t bytes = argument(argc, argv, 1, (size_t)1 << 20), stride = argument(argc, argv, 2, 64),
		     turns = argument(argc, argv, 3, 100000), count = bytes / stride;
	char *memory, *place;
	double begin, seconds;

	if (stride < sizeof(char *) || stride % sizeof(char *) || count < 2) {
		fputs("usage: chase BYTES STRIDE TURNS [time]\n", stderr);
		return 2;
	}
	memory = get_memory(bytes);
	ring_make(memory, count, stride);
	place = chase(memory, count);
	begin = now_s();
	place = chase(place, turns);
	seconds = now_s() - begin;
	printf("%zu\n", (size_t)(place - memory));
	if (timed)
		fprintf(stderr, "%.6f ns\n", seconds * 1e9 / (double)turns);
	return 0;
}
