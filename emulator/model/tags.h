/*
 * tags.h - all ways of a set at once: which has a tag, which was used the longest ago
 *
 * A way's age is a byte, eight to a word: how many ways were used after it. Those past the last way have an age that
 * nothing changes. Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_MODEL_TAGS_H
#define DCPI_EMULATOR_MODEL_TAGS_H

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define TAG_NONE UINT32_MAX

#define AGE_BYTES UINT64_C(0x0101010101010101)
#define AGE_TOPS  UINT64_C(0x8080808080808080)
#define AGE_NEVER 0x7f

/* Bit n: tags[n] is `tag`. `slots`: a multiple of four, at most 32. */
static inline __attribute__((always_inline)) uint32_t
tags_match(const uint32_t *tags, uint32_t tag, unsigned slots)
{
	uint32_t matches = 0;

#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi32((int)tag);

#pragma GCC unroll 4
	for (unsigned i = 0; i < slots; i += 4) {
		__m128i four = _mm_loadu_si128((const __m128i *)(const void *)(tags + i));

		matches |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, wanted))) << i;
	}
#else
	for (unsigned i = 0; i < slots; i++)
		matches |= (uint32_t)(tags[i] == tag) << i;
#endif
	return matches;
}

/* `way` was used: it is the youngest, and who was younger ages by one. */
static inline __attribute__((always_inline)) void
ages_renew(uint64_t *ages, unsigned words, uint32_t way)
{
	const uint64_t before = (ages[way / 8] >> (way % 8 * 8) & 0xff) * AGE_BYTES;

#pragma GCC unroll 2
	for (unsigned i = 0; i < words; i++) {
		uint64_t younger = ~((ages[i] | AGE_TOPS) - before) & AGE_TOPS;

		ages[i] += younger >> 7;
	}
	ages[way / 8] &= ~(UINT64_C(0xff) << (way % 8 * 8));
}

/* The way whose age is ways - 1. */
static inline __attribute__((always_inline)) uint32_t
ages_oldest(const uint64_t *ages, unsigned words, uint32_t ways)
{
	for (unsigned i = 0; i < words; i++) {
		uint64_t differs = ages[i] ^ (ways - 1) * AGE_BYTES;
		uint64_t equal = (differs - AGE_BYTES) & ~differs & AGE_TOPS;

		if (equal)
			return i * 8 + (uint32_t)__builtin_ctzll(equal) / 8;
	}
	return 0; /* never: the ages of the ways are 0 to ways - 1 */
}

#endif
