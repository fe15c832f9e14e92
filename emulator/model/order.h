/*
 * order.h - in which order the ways of a set were used, exactly
 *
 * Of up to eight ways it is 64 bits, a byte for each way: bit n of it says that way n was used before this one. A use
 * sets a row and clears a column; whose byte is 0 was used the longest ago. Of more ways it is a byte for each: how
 * many were used after it.
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_MODEL_ORDER_H
#define DCPI_EMULATOR_MODEL_ORDER_H

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ORDER_WAYS 8 /* of 64 bits */
#define ORDER_LOWS UINT64_C(0x0101010101010101)
#define ORDER_TOPS UINT64_C(0x8080808080808080)

#define ORDER_BYTES 16   /* at least, where it is in bytes */
#define ORDER_NEVER 0x7f /* where there is no way */

/* What a use of each of eight ways sets, and what it leaves. */
struct order_uses {
	uint64_t rows[ORDER_WAYS], others[ORDER_WAYS];
};
extern const struct order_uses order_uses;

/* The same of one way. */
struct order_use {
	uint64_t row, others;
};

static inline struct order_use
order_use_of(uint32_t way)
{
	return (struct order_use){order_uses.rows[way], order_uses.others[way]};
}

/* The bits of `ways` ways; a use sets others, too. */
static inline uint64_t
order_present(unsigned ways)
{
	return ORDER_LOWS * ((1u << ways) - 1);
}

/* Nothing was used yet: the first way goes first. */
static inline uint64_t
order_first(unsigned ways)
{
	uint64_t order = 0;

	for (unsigned i = 0; i < ways; i++)
		order |= (uint64_t)((1u << i) - 1) << i * 8;
	return order;
}

static inline __attribute__((always_inline)) uint64_t
order_used(uint64_t order, uint32_t way)
{
	return (order | order_uses.rows[way]) & order_uses.others[way];
}

/* `present`: order_present(). */
static inline __attribute__((always_inline)) uint32_t
order_oldest(uint64_t order, uint64_t present)
{
	const uint64_t rows = order & present;
#ifdef __SSE2__
	const __m128i empty = _mm_cmpeq_epi8(_mm_cvtsi64_si128((int64_t)rows), _mm_setzero_si128());

	return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(empty));
#else
	const uint64_t empty =
		(rows - ORDER_LOWS) & ~rows & ORDER_TOPS; /* its lowest bit: of the first byte that is 0 */

	return (uint32_t)__builtin_ctzll(empty) / 8;
#endif
}

/* `bytes`: ORDER_BYTES, 24 or 32; two halves of 16 that may have bytes in common. */
static inline void
order_bytes_use(uint8_t *ages, unsigned bytes, uint32_t way)
{
#ifdef __SSE2__
	const __m128i age = _mm_set1_epi8((char)ages[way]);
	__m128i *low = (__m128i *)(void *)ages, *high = (__m128i *)(void *)(ages + bytes - ORDER_BYTES);
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

static inline uint32_t
order_bytes_oldest(const uint8_t *ages, unsigned bytes, unsigned ways)
{
#ifdef __SSE2__
	const __m128i oldest = _mm_set1_epi8((char)(ways - 1));
	const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)ages);
	const __m128i last = _mm_loadu_si128((const __m128i *)(const void *)(ages + bytes - ORDER_BYTES));

	return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(first, oldest)) |
	                               (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(last, oldest))
	                                       << (bytes - ORDER_BYTES));
#else
	uint32_t way = 0;

	while (way < bytes && ages[way] != ways - 1)
		way++;
	return way;
#endif
}

#endif
