/*
 * lru.h - operations on all ways of a set at once: find a tag, find the least recently used way
 *
 * The exact order of up to eight ways is a matrix of 64 bits, a byte (row) for each way: bit n of it is set if way n
 * was used before this way. A use sets the row of a way and clears its column; the row of the least recently used way
 * is 0. For more ways, the order is a byte for each way: how many ways were used after it. Level 1 has a stamp for each
 * way instead (hit_filter.h).
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_MODEL_LRU_H
#define DCPI_EMULATOR_MODEL_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LRU_WAYS 8 /* of 64 bits */
#define LRU_LOWS UINT64_C(0x0101010101010101)
#define LRU_TOPS UINT64_C(0x8080808080808080)

#define LRU_BYTES 16   /* bytes of an order in bytes, at least */
#define LRU_NEVER 0x7f /* in slots that are no way */

/* Mask of the order bits of ways 0 to ways - 1; lru_used() also sets bits above them. */
static inline uint64_t
lru_present(unsigned ways)
{
	return LRU_LOWS * ((1u << ways) - 1);
}

/* Order of an unused set: way 0 is the first victim. */
static inline uint64_t
lru_first(unsigned ways)
{
	uint64_t order = 0;

	for (unsigned i = 0; i < ways; i++)
		order |= (uint64_t)((1u << i) - 1) << i * 8;
	return order;
}

static inline __attribute__((always_inline)) uint64_t
lru_used(uint64_t order, uint32_t way)
{
	return (order | UINT64_C(0xff) << way * 8) & ~(LRU_LOWS << way);
}

/* As if the way had been used before all others. */
static inline uint64_t
lru_unused(uint64_t order, uint32_t way)
{
	return (order & ~(UINT64_C(0xff) << way * 8)) | (LRU_LOWS << way & ~(UINT64_C(1) << (way * 9)));
}

/* `present`: lru_present(). */
static inline __attribute__((always_inline)) uint32_t
lru_oldest(uint64_t order, uint64_t present)
{
	const uint64_t rows = order & present;
#ifdef __SSE2__
	const __m128i empty = _mm_cmpeq_epi8(_mm_cvtsi64_si128((int64_t)rows), _mm_setzero_si128());

	return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(empty));
#else
	const uint64_t empty = (rows - LRU_LOWS) & ~rows & LRU_TOPS; /* its lowest bit: of the first byte that is 0 */

	return (uint32_t)__builtin_ctzll(empty) / 8;
#endif
}

/* `bytes`: LRU_BYTES, 24 or 32; two halves of 16 that may have bytes in common. */
static inline void
lru_bytes_use(uint8_t *ages, unsigned bytes, uint32_t way)
{
#ifdef __SSE2__
	const __m128i age = _mm_set1_epi8((char)ages[way]);
	__m128i *low = (__m128i *)(void *)ages, *high = (__m128i *)(void *)(ages + bytes - LRU_BYTES);
	const __m128i first = _mm_loadu_si128(low), last = _mm_loadu_si128(high);

	_mm_storeu_si128(low, _mm_sub_epi8(first, _mm_cmpgt_epi8(age, first)));
	_mm_storeu_si128(high, _mm_sub_epi8(last, _mm_cmpgt_epi8(age, last)));
#else
	const uint8_t age = ages[way];

	for (unsigned i = 0; i < bytes; i++)
		ages[i] = (uint8_t)(ages[i] + (ages[i] < age));
#endif
	ages[way] = 0;
}

/* As if the way had been used before all others. */
static inline void
lru_bytes_age(uint8_t *ages, unsigned ways, uint32_t way)
{
	const uint8_t age = ages[way];

	for (unsigned i = 0; i < ways; i++)
		ages[i] = (uint8_t)(ages[i] - (ages[i] > age));
	ages[way] = (uint8_t)(ways - 1);
}

static inline uint32_t
lru_bytes_oldest(const uint8_t *ages, unsigned bytes, unsigned ways)
{
#ifdef __SSE2__
	const __m128i oldest = _mm_set1_epi8((char)(ways - 1));
	const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)ages);
	const __m128i last = _mm_loadu_si128((const __m128i *)(const void *)(ages + bytes - LRU_BYTES));

	return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(first, oldest)) |
	                               (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(last, oldest))
	                                       << (bytes - LRU_BYTES));
#else
	uint32_t way = 0;

	while (way < bytes && ages[way] != ways - 1)
		way++;
	return way;
#endif
}

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

/* In eight tags: the lowest set bit is the first that equals `tag`; 0: none. `tags`: aligned to 16 bytes. */
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

/* Bit n: tags[n] equals `tag`. `slots`: a multiple of four, at most 32. `tags`: aligned to 16 bytes. */
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

/* Whether any of the tags equals `tag`. */
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
/* The stamps of two ways, with the numbers of the ways in the lower bits. */
static inline __attribute__((always_inline)) __m128d
lru_two_stamps(const uint64_t *stamps, unsigned way, size_t stride)
{
	const uint64_t *first = stamps + way * stride;
	const __m128i one = _mm_loadl_epi64((const __m128i *)(const void *)first);
	const __m128 two = _mm_loadh_pi(_mm_castsi128_ps(one), (const __m64 *)(const void *)(first + stride));

	return _mm_or_pd(_mm_castps_pd(two), _mm_castsi128_pd(_mm_set_epi64x(way + 1, way)));
}
#endif

/*
 * The way with the least stamp; stamps are `stride` words apart. `ways`: a multiple of four, at most 32. Stamps are
 * multiples of 32, from 2^52 on and less than 2^62: interpreted as floating point numbers they are in the order of the
 * integers.
 */
static inline __attribute__((always_inline)) uint32_t
lru_oldest_stamp(const uint64_t *stamps, unsigned ways, size_t stride)
{
#ifdef __SSE2__
	__m128d oldest = _mm_min_pd(lru_two_stamps(stamps, 0, stride), lru_two_stamps(stamps, 2, stride));

	for (unsigned i = 4; i < ways; i += 4)
		oldest = _mm_min_pd(
			oldest, _mm_min_pd(lru_two_stamps(stamps, i, stride), lru_two_stamps(stamps, i + 2, stride)));
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
