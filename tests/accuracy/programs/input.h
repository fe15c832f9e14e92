/*
 * input.h - data to work on, the same on every machine and in every run
 *
 * KIND SEED: "text" (words with the frequencies of a language), "log" (lines that are much alike), "binary" (records of
 * numbers that drift). Thread rule: stateless.
 */
#ifndef DCPI_ACCURACY_INPUT_H
#define DCPI_ACCURACY_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct random_numbers {
	uint64_t state;
};

/* 32 bits of a linear congruential generator, the upper ones (Knuth's MMIX constants). */
static inline uint32_t
random_next(struct random_numbers *random)
{
	random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random->state >> 32);
}

static inline uint32_t
random_below(struct random_numbers *random, uint32_t limit)
{
	return (uint32_t)(((uint64_t)random_next(random) * limit) >> 32);
}

static inline void *
input_require(void *memory)
{
	if (memory)
		return memory;
	fputs("out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

#define INPUT_WORDS 4096

static inline void
input_text(uint8_t *data, size_t size, struct random_numbers *random)
{
	char(*words)[12] = input_require(calloc(INPUT_WORDS, sizeof(*words)));
	size_t at = 0;

	for (int i = 0; i < INPUT_WORDS; i++)
		for (uint32_t k = 0, length = 2 + random_below(random, 9); k < length; k++)
			words[i][k] = (char)('a' + random_below(random, 1 + random_below(random, 26)));
	while (at < size) {
		/* Three numbers below one another: small ones are frequent. */
		const uint32_t rank =
			random_below(random, 1 + random_below(random, 1 + random_below(random, INPUT_WORDS)));
		const size_t length = strnlen(words[rank], sizeof(words[rank]));

		for (size_t k = 0; k < length && at < size; k++)
			data[at++] = (uint8_t)words[rank][k];
		if (at < size)
			data[at++] = random_below(random, 12) ? ' ' : '\n';
	}
	free(words);
}

static inline void
input_log(uint8_t *data, size_t size, struct random_numbers *random)
{
	size_t at = 0;
	char line[160];

	for (uint32_t time = 0; at < size; time += random_below(random, 90)) {
		const int length =
			snprintf(line, sizeof(line), "%08u host%u service[%u]: request %08x took %u ms, %s\n", time,
		                 random_below(random, 4), 1000 + random_below(random, 8), random_next(random),
		                 random_below(random, 1 + random_below(random, 900)),
		                 random_below(random, 20) ? "ok" : "failed");

		for (int k = 0; k < length && at < size; k++)
			data[at++] = (uint8_t)line[k];
	}
}

static inline void
input_binary(uint8_t *data, size_t size, struct random_numbers *random)
{
	uint32_t values[4] = {0, 1 << 16, 1 << 24, 7};

	for (size_t at = 0; at < size; at++) {
		if (at % 16 == 0)
			for (int i = 0; i < 4; i++)
				values[i] += random_below(random, 1U << (4 * i + 1));
		data[at] = (uint8_t)(values[at % 16 / 4] >> (at % 4 * 8));
	}
}

/* `size` bytes of a kind; free them. */
static inline uint8_t *
input_make(const char *kind, size_t size, uint64_t seed)
{
	struct random_numbers random = {seed};
	uint8_t *data = input_require(malloc(size));

	if (strcmp(kind, "text") == 0) {
		input_text(data, size, &random);
	} else if (strcmp(kind, "log") == 0) {
		input_log(data, size, &random);
	} else if (strcmp(kind, "binary") == 0) {
		input_binary(data, size, &random);
	} else {
		fprintf(stderr, "no kind of data is called %s\n", kind);
		exit(EXIT_FAILURE);
	}
	return data;
}

/* PROGRAM INPUT TIMES */
struct input_arguments {
	const char *input;
	unsigned long times;
};

static inline struct input_arguments
input_arguments(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s INPUT TIMES\n", argv[0]);
		exit(EXIT_FAILURE);
	}
	return (struct input_arguments){argv[1], strtoul(argv[2], NULL, 10)};
}

#endif
