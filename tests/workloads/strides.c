/*
 * strides - a program of two procedures, one of which walks through memory with a good stride or a bad one
 *
 * strides MILLISECONDS good|bad
 *
 * walk() follows pointers through 32 lines of memory, each on a page of its own: first-level TLBs have 64 entries, and
 * with 64 lines the good stride missed in them, by chance. With the bad stride, 4096 bytes, all lines want into one set
 * of the first-level cache; with the good one, 4160, each has a set of its own, and a step takes a third of the time or
 * less. count() does the same in each run. MILLISECONDS are those that each takes on a CPU of 2020, walk() with
 * the good stride.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE  4096
#define LINES 32
#define ROUND 100000

static uint8_t memory[LINES * (PAGE + 64)] __attribute__((aligned(PAGE)));

static void **__attribute__((noipa)) walk(void **at, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		at = *at;
	return at;
}

static uint64_t __attribute__((noipa)) count(uint64_t value, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		value = value * 0x9e3779b97f4a7c15 + i;
	return value;
}

int
main(int argc, char **argv)
{
	const size_t stride = argc > 2 && strcmp(argv[2], "bad") == 0 ? PAGE : PAGE + 64;
	const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) * 6 : 0;
	void **at = (void **)memory;
	uint64_t value = rounds;

	for (size_t i = 0; i < LINES; i++)
		*(void **)(memory + i * stride) = memory + (i + 1) % LINES * stride;
	for (uint64_t i = 0; i < rounds; i++) {
		at = walk(at, ROUND);
		value = count(value, ROUND);
	}
	return printf("%s\n", value + (uintptr_t)at == 0 ? "?" : "done") < 0;
}
