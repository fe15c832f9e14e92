/* Tests of locality/scores.h: sequences whose scores are known, and reuse distances beside a slow, obvious model. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

#include "locality/scores.h"

#define BASE  UINT64_C(0x7f0000000000)
#define CLOSE 1e-9

static int
set_up(void **state)
{
	struct locality_window *window = locality_window_new();

	*state = window;
	if (window)
		locality_window_begin(window, true);
	return window ? 0 : -1;
}

static int
tear_down(void **state)
{
	locality_window_free(*state);
	return 0;
}

static void
assert_near(double found, double expected, double by)
{
	if (fabs(found - expected) > by)
		fail_msg("%g is not %g", found, expected);
}

static void
neighbours_are_as_spatial_as_can_be(void **state)
{
	struct locality_score score = {0};

	for (unsigned i = 0; i < 10000; i++)
		for (unsigned array = 0; array < 3; array++)
			locality_window_add(*state, BASE + array * UINT64_C(1000000) + 8 * i, &score);
	assert_int_equal(score.references, 30000);
	assert_near(locality_spatial(&score), 1, 0.001);
	assert_near(locality_temporal(&score), 0, CLOSE);
}

/* Elements of 4 bytes are neighbours, too; of 24 bytes, three words apart. */
static void
strides_are_in_words(void **state)
{
	struct locality_score small = {0}, large = {0};

	for (unsigned i = 0; i < 10000; i++)
		locality_window_add(*state, BASE + 4 * i, &small);
	assert_near(locality_spatial(&small), 1, 0.001);
	locality_window_begin(*state, true);
	for (unsigned i = 0; i < 10000; i++)
		locality_window_add(*state, BASE + 24 * i, &large);
	assert_near(locality_spatial(&large), 1.0 / 3, 0.001);
}

static void
the_nearest_of_32_addresses_counts(void **state)
{
	struct locality_score score = {0}, last = {0};

	locality_window_add(*state, BASE, &score);
	for (unsigned i = 1; i < 32; i++)
		locality_window_add(*state, BASE + i * 1000000, &score);
	locality_window_add(*state, BASE + 16, &last); /* the first is 32 before it */
	assert_near(locality_spatial(&last), 0.5, CLOSE);
	last = (struct locality_score){0};
	for (unsigned i = 1; i < 33; i++)
		locality_window_add(*state, BASE + i * 2000000, &score);
	locality_window_add(*state, BASE + 16, &last);
	assert_true(locality_spatial(&last) < 0.001);
}

static void
one_address_again_and_again_is_temporal_alone(void **state)
{
	struct locality_score score = {0};

	locality_window_add(*state, BASE, &score);
	score = (struct locality_score){0};
	for (unsigned i = 0; i < 1000; i++)
		locality_window_add(*state, BASE, &score);
	assert_near(locality_spatial(&score), 0, CLOSE);
	assert_near(locality_temporal(&score), 1, CLOSE);
}

/* 2^i < distance <= 2^(i+1): the bounds of each bucket. */
static void
reuse_counts_by_powers_of_two(void **state)
{
	for (unsigned i = 0; i <= LOCALITY_REUSE_BITS; i++) {
		for (uint32_t distance = (1U << i) + 1; distance <= 2U << i; distance += (1U << i) - (i == 0 ? 0 : 1)) {
			struct locality_score score = {0}, other = {0};
			const double expected =
				i < LOCALITY_REUSE_BITS ? (double)(LOCALITY_REUSE_BITS - i) / LOCALITY_REUSE_BITS : 0;

			locality_window_begin(*state, true);
			locality_window_add(*state, BASE, &other);
			for (uint32_t k = 1; k <= distance; k++)
				locality_window_add(*state, BASE + 8 * k, &other);
			locality_window_add(*state, BASE, &score);
			assert_near(locality_temporal(&score), expected, CLOSE);
		}
	}
}

/* ---- beside an obvious model ---- */

#define MOST 300

struct reuse_list {
	uint64_t addresses[MOST];
	unsigned count;
};

/* How many others since; MOST: it is new. The list has the last one first. */
static unsigned
refer_obviously(struct reuse_list *list, uint64_t address)
{
	unsigned at = 0;

	while (at < list->count && list->addresses[at] != address)
		at++;
	for (unsigned i = at < list->count ? at : list->count++; i > 0; i--)
		list->addresses[i] = list->addresses[i - 1];
	list->addresses[0] = address;
	return at < list->count && list->addresses[0] == address ? at : MOST;
}

/* So many references that all slots are used several times. */
static void
distances_are_those_of_a_list(void **state)
{
	struct reuse_list list = {.count = 0};
	uint64_t seed = 1;

	for (unsigned i = 0; i < 1300000; i++) {
		struct locality_score score = {0};
		unsigned before = list.count, distance, bucket = 0;
		double expected;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		distance =
			refer_obviously(&list, BASE + (seed >> 33) % (MOST - 1) * (1 + (seed >> 60)) * 8 % (MOST * 8));
		locality_window_add(*state, list.addresses[0], &score);
		while (2U << bucket < distance)
			bucket++;
		expected = list.count > before ? 0 : (double)(LOCALITY_REUSE_BITS - bucket) / LOCALITY_REUSE_BITS;
		if (fabs(locality_temporal(&score) - expected) > CLOSE)
			fail_msg("reference %u: distance %u, %g is not %g", i, distance, locality_temporal(&score),
			         expected);
	}
}

/* In a loop over more than is considered, nothing is reused; over as much as that, all is, as late as possible. */
static void
what_is_too_long_ago_is_forgotten(void **state)
{
	const double last = 1.0 / LOCALITY_REUSE_BITS;

	for (uint32_t count = LOCALITY_REUSE_MAX; count <= LOCALITY_REUSE_MAX + 2; count++) {
		struct locality_score score = {0};

		locality_window_begin(*state, true);
		for (unsigned round = 0; round < 3; round++) {
			score = (struct locality_score){0};
			for (uint32_t i = 0; i < count; i++)
				locality_window_add(*state, BASE + 8 * i, &score);
		}
		assert_near(locality_temporal(&score), count <= LOCALITY_REUSE_MAX + 1 ? last : 0, CLOSE);
	}
}

static void
without_what_was_before_reuse_is_judged_late(void **state)
{
	struct locality_score score = {0};

	locality_window_begin(*state, false);
	for (uint32_t i = 0; i <= LOCALITY_REUSE_MAX; i++)
		locality_window_add(*state, BASE + 8 * i, &score);
	assert_int_equal(score.judged, 0);
	assert_true(locality_temporal(&score) < 0);
	for (uint32_t i = 0; i < 100; i++)
		locality_window_add(*state, BASE - 8 - 8 * i, &score);
	assert_int_equal(score.judged, 100);
	assert_near(locality_temporal(&score), 0, CLOSE);
}

/* A program that refers to few addresses never has so many that all are known. */
static void
reuse_of_few_addresses_is_judged_after_many_references(void **state)
{
	struct locality_score score = {0};

	locality_window_begin(*state, false);
	for (uint32_t i = 0; i < LOCALITY_WARM_REFERENCES; i++)
		locality_window_add(*state, BASE + UINT64_C(8) * (i % 1024), &score);
	assert_int_equal(score.judged, 0);
	for (uint32_t i = 0; i < 1024; i++)
		locality_window_add(*state, BASE + UINT64_C(8) * i, &score);
	assert_int_equal(score.judged, 1024);
	assert_near(locality_temporal(&score), 7.0 / LOCALITY_REUSE_BITS, CLOSE); /* 1,023 others: 9 is the bucket */
}

static void
what_passes_has_a_stride_alone(void **state)
{
	struct locality_score score = {0};

	for (unsigned i = 0; i < 100; i++)
		locality_window_pass(*state, BASE + UINT64_C(16) * i, &score);
	assert_int_equal(score.references, 100);
	assert_int_equal(score.judged, 0);
	assert_near(locality_spatial(&score), 0.495, CLOSE);
}

static void
wide_accesses_have_words(void **state)
{
	(void)state;
	assert_int_equal(locality_words(0), 1);
	assert_int_equal(locality_words(1), 1);
	assert_int_equal(locality_words(8), 1);
	assert_int_equal(locality_words(9), 2);
	assert_int_equal(locality_words(32), 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(neighbours_are_as_spatial_as_can_be),
		TEST(strides_are_in_words),
		TEST(the_nearest_of_32_addresses_counts),
		TEST(one_address_again_and_again_is_temporal_alone),
		TEST(reuse_counts_by_powers_of_two),
		TEST(distances_are_those_of_a_list),
		TEST(what_is_too_long_ago_is_forgotten),
		TEST(without_what_was_before_reuse_is_judged_late),
		TEST(reuse_of_few_addresses_is_judged_after_many_references),
		TEST(what_passes_has_a_stride_alone),
		TEST(wide_accesses_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
