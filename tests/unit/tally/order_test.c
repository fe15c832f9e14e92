#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tally/tally.h"

/* The rule of the header, written down once more in the plainest way. */
static bool
in_order(const struct tally_entry *a, const struct tally_entry *b)
{
	if (a->event != b->event)
		return a->event < b->event;
	if (a->image != b->image)
		return a->image < b->image;
	if (a->context != b->context)
		return a->context < b->context;
	return a->offset < b->offset;
}

static void
event_comes_before_image_before_context_before_offset(void **state)
{
	struct tally_entry entries[] = {
		{.event = 1, .image = 0, .context = 0, .offset = 0, .count = 5},
		{.event = 0, .image = 1, .context = 0, .offset = 0, .count = 4},
		{.event = 0, .image = 0, .context = 1, .offset = 0, .count = 3},
		{.event = 0, .image = 0, .context = 0, .offset = UINT64_MAX, .count = 2},
		{.event = 0, .image = 0, .context = 0, .offset = 0, .count = 1},
	};

	(void)state;
	tally_entries_sort(entries, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(entries[i].count, i + 1);
}

/* xorshift64*: a fixed seed, so that every run draws equal numbers. */
static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(2685821657736338717);
}

static void
assert_sorts(size_t count, uint32_t events, uint32_t images, uint32_t contexts, uint64_t offset_mask)
{
	struct tally_entry *entries = calloc(count, sizeof(*entries));
	uint64_t seed = 1, sum = 0, product = 0;

	for (size_t i = 0; i < count; i++) {
		entries[i].event = (uint16_t)(next_random(&seed) % events);
		entries[i].image = (uint32_t)(next_random(&seed) % images);
		entries[i].context = (uint32_t)(next_random(&seed) % contexts);
		entries[i].offset = (next_random(&seed) & offset_mask & ~UINT64_C(0xfffff)) | i; /* distinct */
		entries[i].count = i + 1;
		sum += entries[i].offset;
		product += entries[i].offset * entries[i].count;
	}
	tally_entries_sort(entries, count);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			assert_true(in_order(&entries[i - 1], &entries[i]));
		sum -= entries[i].offset;
		product -= entries[i].offset * entries[i].count;
	}
	assert_int_equal(sum, 0); /* nothing lost, nothing twice, counts still with their keys */
	assert_int_equal(product, 0);
	free(entries);
}

static void
many_entries_are_sorted_whole(void **state)
{
	(void)state;
	assert_sorts(100000, 3, 1000, 1000, UINT64_MAX);
	assert_sorts(100000, 1, 1, 1, 0xffffff);
	assert_sorts(100000, 65536, UINT32_MAX, UINT32_MAX, UINT64_MAX);
}

static void
few_entries_are_sorted_too(void **state)
{
	(void)state;
	for (size_t count = 0; count < 100; count++)
		assert_sorts(count, 2, 3, 3, UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_comes_before_image_before_context_before_offset),
		cmocka_unit_test(many_entries_are_sorted_whole),
		cmocka_unit_test(few_entries_are_sorted_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
