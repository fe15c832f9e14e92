/*
 * tags.h - all ways of a set at once: which has a tag, whose stamp is the oldest
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_MODEL_TAGS_H
#define DCPI_EMULATOR_MODEL_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define TAG_NONE UINT32_MAX

#ifdef __SSE2__
static inline __attribute__((always_inline)) __m128i
tags_match_four(const uint32_t *tags, __m128i wanted)
{
	return _mm_cmpeq_epi32(_mm_load_si128((const __m128i *)(const void *)tags), wanted);
}

static inline __attribute__((always_inline)) __m128i
tags_match_eight(const uint32_t *tags, __m128i wanted)
{
	return _mm_packs_epi32(tags_match_four(tags, wanted), tags_match_four(tags + 4, wanted));
}
#endif

/* Of eight: the lowest bit is the first that is `tag`; 0: none is. `tags`: at a multiple of 16 bytes. */
static inline __attribute__((always_inline)) uint32_t
tags_find_of_eight(const uint32_t *tags, uint32_t tag)
{
#ifdef __SSE2__
	const __m128i matches = tags_match_eight(tags, _mm_set1_epi32((int)tag));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(matches, matches)); /* twice, which does not matter */
#else
	uint32_t matches = 0;

	for (unsigned i = 0; i < 8; i++)
		matches |= (uint32_t)(tags[i] == tag) << i;
	return matches;
#endif
}

/* Bit n: tags[n] is `tag`. `slots`: a multiple of four, at most 32. `tags`: at a multiple of 16 bytes. */
static inline __attribute__((always_inline)) uint32_t
tags_match(const uint32_t *tags, uint32_t tag, unsigned slots)
{
	uint32_t matches = 0;

#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi32((int)tag);
	unsigned i = 0;

	if (slots == 8)
		return (uint32_t)_mm_movemask_epi8(
			_mm_packs_epi16(tags_match_eight(tags, wanted), _mm_setzero_si128()));
	for (; i + 16 <= slots; i += 16)
		matches |= (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(tags_match_eight(tags + i, wanted),
		                                                       tags_match_eight(tags + i + 8, wanted)))
		           << i;
	for (; i < slots; i += 4)
		matches |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(tags_match_four(tags + i, wanted))) << i;
#else
	for (unsigned i = 0; i < slots; i++)
		matches |= (uint32_t)(tags[i] == tag) << i;
#endif
	return matches;
}

/* Whether any of them is. */
static inline __attribute__((always_inline)) bool
tags_has(const uint32_t *tags, uint32_t tag, unsigned slots)
{
#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi32((int)tag);
	__m128i found = tags_match_four(tags, wanted);

	for (unsigned i = 4; i < slots; i += 4)
		found = _mm_or_si128(found, tags_match_four(tags + i, wanted));
	return _mm_movemask_epi8(found) != 0;
#else
	return tags_match(tags, tag, slots) != 0;
#endif
}

#ifdef __SSE2__
/* Stamps of two ways, with their numbers. */
static inline __attribute__((always_inline)) __m128d
stamps_of_two(const uint64_t *stamps, unsigned way, size_t stride)
{
	const uint64_t *first = stamps + way * stride;
	const __m128i one = _mm_loadl_epi64((const __m128i *)(const void *)first);
	const __m128 two = _mm_loadh_pi(_mm_castsi128_ps(one), (const __m64 *)(const void *)(first + stride));

	return _mm_or_pd(_mm_castps_pd(two), _mm_castsi128_pd(_mm_set_epi64x(way + 1, way)));
}
#endif

/*
 * The way whose stamp, each `stride` words from the last, is the least. `ways`: a multiple of four, at most 32.
 * Stamps are multiples of 32, from 2^52 on and less than 2^62: as floating point numbers they are in the same order.
 */
static inline __attribute__((always_inline)) uint32_t
stamps_oldest(const uint64_t *stamps, unsigned ways, size_t stride)
{
#ifdef __SSE2__
	__m128d oldest = _mm_min_pd(stamps_of_two(stamps, 0, stride), stamps_of_two(stamps, 2, stride));

	for (unsigned i = 4; i < ways; i += 4)
		oldest = _mm_min_pd(oldest,
		                    _mm_min_pd(stamps_of_two(stamps, i, stride), stamps_of_two(stamps, i + 2, stride)));
	oldest = _mm_min_sd(oldest, _mm_castsi128_pd(_mm_shuffle_epi32(_mm_castpd_si128(oldest), 0xee)));
	return (uint32_t)_mm_cvtsi128_si32(_mm_castpd_si128(oldest)) % 32;
#else
	uint32_t oldest = 0;

	for (unsigned i = 1; i < ways; i++)
		oldest = stamps[i * stride] < stamps[oldest * stride] ? i : oldest;
	return oldest;
#endif
}

#endif
