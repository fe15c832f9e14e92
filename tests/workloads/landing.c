/*
 * landing - a program one procedure of which depends on where its arrays land
 *
 * landing MILLISECONDS [steady]
 *
 * Eleven procedures do the same work in each run, little by little and in turn, each about MILLISECONDS on a CPU of
 * 2020. That of walk_lines() is to walk through lines of two arrays, each of which fills half of the sets of a cache of
 * the first level, seven ways deep. One array is the program's, one lies on the stack, which the kernel begins
 * somewhere else in each run: where the two share sets, 14 lines want into 8 or 12 ways, and a step takes three times
 * as long. With `steady` they share none. Printed is how many of 32 sets they share.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE  64
#define PAGE  4096
#define PAGES 7
#define LINES 32 /* of each page: half of it */
#define ALL   (2 * PAGES * LINES)
#define ROUND 307000

typedef uint64_t work(uint64_t value, uint64_t turns);

struct line {
	struct line *next;
	uint64_t visits;
	uint8_t rest[LINE - 16];
};

static uint8_t table[PAGES * PAGE] __attribute__((aligned(PAGE)));

static struct line *__attribute__((noinline)) walk_lines(struct line *at, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++) {
		at->visits++;
		at = at->next;
	}
	return at;
}

/* Chains that no compiler shortens: each step needs the one before. */
#define CHAIN(name, step, per_turn)                                                                                    \
	static uint64_t __attribute__((noipa)) name(uint64_t value, uint64_t turns)                                    \
	{                                                                                                              \
		for (uint64_t i = 0; i < turns * (per_turn) / 4; i++) {                                                \
			step;                                                                                          \
			__asm__ volatile("" : "+r"(value));                                                            \
		}                                                                                                      \
		return value;                                                                                          \
	}

CHAIN(multiply, value = value * 0x9e3779b97f4a7c15 + 1, 6)
CHAIN(add_up, value += i ^ value >> 1, 8)
CHAIN(rotate, value = (value << 13 | value >> 51) - i, 8)
CHAIN(mix, value = (value ^ value >> 7) + (value << 3), 8)
CHAIN(divide, value = UINT64_MAX / (value | 1) + i, 1)
CHAIN(square, value = value * value + 3, 6)
CHAIN(subtract, value = i - (value ^ 5) - (value >> 9), 8)
CHAIN(scramble, value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9, 5)
CHAIN(fold, value = value * 0x94d049bb133111eb ^ value >> 31, 6)
CHAIN(cube, value = value * value * value + 1, 3)

/* All lines of both arrays, or one page of one, in a ring, in an order that no prefetcher guesses. */
static struct line *
link_lines(uint8_t *own, bool steady)
{
	struct line *all[ALL];
	uint64_t random = 1;
	size_t count = 0;

	for (size_t page = 0; page < (steady ? 1 : PAGES); page++) {
		for (size_t line = 0; line < LINES; line++) {
			all[count++] = (struct line *)(table + page * PAGE + line * LINE);
			if (!steady)
				all[count++] = (struct line *)(own + page * PAGE + line * LINE);
		}
	}
	for (size_t i = count - 1; i > 0; i--) {
		struct line *other;
		size_t j;

		random = random * 6364136223846793005u + 1442695040888963407u;
		j = (random >> 33) % (i + 1);
		other = all[i];
		all[i] = all[j];
		all[j] = other;
	}
	for (size_t i = 0; i < count; i++)
		all[i]->next = all[(i + 1) % count];
	return all[0];
}

int
main(int argc, char **argv)
{
	static work *const works[] = {multiply, add_up, rotate, mix, divide, square, subtract, scramble, fold, cube};
	uint8_t room[(PAGES + 2) * PAGE];
	const uint64_t turns = argc > 1 ? strtoull(argv[1], NULL, 10) * 400000 : 0;
	const uintptr_t place = ((uintptr_t)room + LINE - 1) / LINE * LINE;
	const uint64_t round =
		turns < ROUND ? turns : ROUND; /* no constant: whoever makes a copy for it gives it another name */
	uint64_t value = turns;
	struct line *at;

	memset(room, 0, sizeof(room));
	at = link_lines((uint8_t *)place, argc > 2 && strcmp(argv[2], "steady") == 0);
	printf("%d\n", abs((int)(place % PAGE / LINE) - LINES));
	for (uint64_t done = 0; done < turns; done += ROUND) {
		at = walk_lines(at, round);
		for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
			value = works[i](value, round);
	}
	return value + (uintptr_t)at == 0;
}
