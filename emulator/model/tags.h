/*
 * tags.h - all ways of a set at once: which has a tag, which was used the longest ago
 *
 * A way's age is a byte, eight to a word: how many ways were used after it. Where there is no way it is AGE_NEVER.
 * Thread rule: stateless.
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

#pragma GCC unroll 2
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

/* A word's ages, those that are less than `age` one more. */
static inline uint64_t
ages_younger_renewed(uint64_t ages, uint64_t age)
{
	uint64_t younger = ~((ages | AGE_TOPS) - age * AGE_BYTES) & AGE_TOPS;

	return ages + (younger >> 7);
}

/* The first of a word that is `pattern`'s, each byte of which is the same; 8: none is. */
static inline uint32_t
ages_find(uint64_t ages, uint64_t pattern)
{
	uint64_t differs = ages ^ pattern;
	uint64_t equal = (differs - AGE_BYTES) & ~differs & AGE_TOPS;

	return equal ? (uint32_t)__builtin_ctzll(equal) / 8 : 8;
}

/* `way` was used: it is the youngest, and who was younger ages by one. */
static inline void
ages_renew(uint64_t *ages, unsigned words, uint32_t way)
{
	const uint64_t age = ages[way / 8] >> (way % 8 * 8) & 0xff;

	for (unsigned i = 0; i < words; i++)
		ages[i] = ages_younger_renewed(ages[i], age);
	ages[way / 8] &= ~(UINT64_C(0xff) << (way % 8 * 8));
}

#endif
