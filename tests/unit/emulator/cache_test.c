/* Tests of emulator/model/cache.h. */
#include "tests/unit/test.h"

#include <pthread.h>
#include <string.h>

#include "emulator/model/cache.h"
#include "tests/unit/emulator/reference_cache.h"

#define LINE 64

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static struct cache
new_cache(unsigned sets, unsigned ways, enum machine_replacement replacement)
{
	const struct machine_cache model = {
		.bytes = (uint64_t)sets * ways * LINE, .ways = ways, .cores = 1, .replacement = replacement};
	struct cache cache;

	assert_int_equal(cache_init(&cache, &model, LINE, 7), 0);
	return cache;
}

/* Mostly the lines of a working set somewhat larger than the cache, some near the last, and some from far away. */
static uint64_t
next_line(uint64_t *random, uint64_t before, uint64_t sets, uint64_t lines)
{
	switch (next_random(random) % 8) {
	case 0:
		return (next_random(random) << 14) % (sets * UINT32_MAX);
	case 1:
	case 2:
		return before + 1;
	default:
		return next_random(random) % (lines + lines / 2);
	}
}

static void
compare_with_reference(unsigned sets, unsigned ways, enum machine_replacement replacement, bool locks,
                       unsigned accesses)
{
	struct cache cache = new_cache(sets, ways, replacement);
	struct reference_cache reference = reference_new(sets, ways, replacement == REPLACEMENT_FIFO);
	uint64_t random = sets * 100 + ways, line = 0;

	if (locks)
		cache_begin_to_lock(&cache);
	for (unsigned i = 0; i < accesses; i++) {
		bool writes = next_random(&random) % 3 == 0;
		struct reference_found wanted;
		struct cache_found found;

		line = next_line(&random, line, sets, (uint64_t)sets * ways);
		wanted = reference_access(&reference, line, writes);
		found = cache_access(&cache, line, writes);
		assert_int_equal(found.flags & CACHE_HIT, wanted.hit);
		assert_int_equal(found.victim, wanted.victim);
		assert_int_equal((found.flags & CACHE_WAS_WRITTEN) != 0, wanted.was_written);
	}
	reference_free(&reference);
	cache_fini(&cache);
}

/* Of large numbers, too; threads share it from some time on, or never. */
static void
compare_large_numbers(unsigned sets, unsigned ways, bool is_shared)
{
	struct cache cache = new_cache(sets, ways, REPLACEMENT_LRU);
	struct reference_cache reference = reference_new(sets, ways, false);
	const uint64_t lines = (uint64_t)sets * ways;
	uint64_t random = sets * 100 + ways;

	for (unsigned i = 0; i < 100000; i++) {
		const bool writes = next_random(&random) % 3 == 0;
		const uint64_t line = next_random(&random) % 8
		                              ? next_random(&random) % (lines + lines / 2)
		                              : next_random(&random) % (sets * (uint64_t)(UINT32_MAX - 1));
		struct reference_found wanted;
		struct cache_found found;

		if (i == 30000 && is_shared)
			cache_begin_to_lock(&cache);
		wanted = reference_access(&reference, line, writes);
		found = cache_access(&cache, line, writes);
		assert_int_equal(found.flags & CACHE_HIT, wanted.hit);
		assert_int_equal(found.victim, wanted.victim);
		assert_int_equal((found.flags & CACHE_WAS_WRITTEN) != 0, wanted.was_written);
	}
	reference_free(&reference);
	cache_fini(&cache);
}

static void
a_cache_of_large_numbers_is_the_reference(void **state)
{
	static const unsigned sets[] = {2, 3, 28, 64};

	(void)state;
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		for (unsigned ways = 15; ways <= 20; ways++) {
			compare_large_numbers(sets[i], ways, false);
			compare_large_numbers(sets[i], ways, true);
		}
	}
}

static const unsigned way_counts[] = {1, 2, 3, 4, 5, 8, 11, 12, 16, 20, 24, 31, 32};
static const unsigned set_counts[] = {1, 64, 28, 512, 36864};

static void
lru_is_the_reference_access_for_access(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(way_counts) / sizeof(*way_counts); i++) {
		for (size_t j = 0; j < sizeof(set_counts) / sizeof(*set_counts); j++)
			compare_with_reference(set_counts[j], way_counts[i], REPLACEMENT_LRU, false, 20000);
	}
}

static void
what_locks_is_the_reference_access_for_access(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(way_counts) / sizeof(*way_counts); i++) {
		compare_with_reference(28, way_counts[i], REPLACEMENT_LRU, true, 20000);
		compare_with_reference(64, way_counts[i], REPLACEMENT_FIFO, true, 20000);
	}
}

static void
first_in_first_out_is_the_reference_access_for_access(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(way_counts) / sizeof(*way_counts); i++) {
		for (size_t j = 0; j < sizeof(set_counts) / sizeof(*set_counts); j++)
			compare_with_reference(set_counts[j], way_counts[i], REPLACEMENT_FIFO, false, 20000);
	}
}

/* Each of the ways about as often, and none while there is room: a line is found as long as nothing said that it left.
 */
static void
a_random_victim_may_be_any_way(void **state)
{
	struct cache cache = new_cache(1, 8, REPLACEMENT_RANDOM);
	uint64_t lines[8];
	unsigned left[8] = {0};
	struct cache_found found;

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		lines[i] = i;
		found = cache_access(&cache, i, false);
		assert_int_equal(found.victim, CACHE_NO_LINE);
	}
	for (uint64_t i = 8; i < 8008; i++) {
		bool was_there = false;

		found = cache_access(&cache, i, false);
		assert_false(found.flags & CACHE_HIT);
		for (unsigned way = 0; way < 8; way++) {
			if (lines[way] != found.victim)
				continue;
			left[way]++;
			lines[way] = i;
			was_there = true;
			break;
		}
		assert_true(was_there);
		for (unsigned j = 0; j < 8; j++)
			assert_true(cache_has(&cache, lines[j]));
	}
	for (unsigned i = 0; i < 8; i++)
		assert_in_range(left[i], 850, 1150);
	cache_fini(&cache);
}

static void
a_written_line_is_known_until_it_leaves(void **state)
{
	struct cache cache = new_cache(1, 2, REPLACEMENT_LRU);
	struct cache_found found;

	(void)state;
	found = cache_access(&cache, 1, true);
	found = cache_access(&cache, 2, false);
	found = cache_access(&cache, 3, false);
	assert_int_equal(found.victim, 1);
	assert_true(found.flags & CACHE_WAS_WRITTEN);
	assert_false(cache_mark_written(&cache, 1));
	assert_true(cache_mark_written(&cache, 2));
	found = cache_access(&cache, 4, false);
	assert_int_equal(found.victim, 2);
	assert_true(found.flags & CACHE_WAS_WRITTEN);
	found = cache_access(&cache, 5, false);
	assert_int_equal(found.victim, 3);
	assert_false(found.flags & CACHE_WAS_WRITTEN);
	cache_fini(&cache);
}

/* To ask whether it is there, or to write it back, is no use of a line. All of one set. */
static void
ask_without_access(unsigned sets, unsigned ways, bool locks)
{
	struct cache cache = new_cache(sets, ways, REPLACEMENT_LRU);
	const uint64_t first = sets, next = (ways + UINT64_C(1)) * sets;
	struct cache_found found;

	if (locks)
		cache_begin_to_lock(&cache);
	for (uint64_t line = first; line < next; line += sets)
		found = cache_access(&cache, line, false);
	assert_true(cache_has(&cache, first));
	assert_true(cache_mark_written(&cache, first));
	assert_false(cache_mark_written(&cache, next));
	found = cache_prefetch(&cache, first);
	assert_true(found.flags & CACHE_HIT);
	found = cache_prefetch(&cache, next);
	assert_int_equal(found.victim, first);
	assert_true(found.flags == CACHE_WAS_WRITTEN);
	found = cache_access(&cache, next, false);
	assert_true(found.flags == (CACHE_HIT | CACHE_WAS_PREFETCHED));
	cache_fini(&cache);
}

static void
what_is_no_access_changes_no_order(void **state)
{
	(void)state;
	for (size_t i = 1; i < sizeof(way_counts) / sizeof(*way_counts); i++) {
		ask_without_access(1, way_counts[i], false);
		ask_without_access(1, way_counts[i], true);
		ask_without_access(3, way_counts[i], false);
		ask_without_access(3, way_counts[i], true);
	}
}

static void
a_prefetched_line_is_met_for_the_first_time_once(void **state)
{
	struct cache cache = new_cache(4, 2, REPLACEMENT_LRU);
	struct cache_found found;

	(void)state;
	found = cache_prefetch(&cache, 9);
	assert_false(found.flags & CACHE_HIT);
	found = cache_access(&cache, 9, false);
	assert_true((found.flags & 3) == (CACHE_HIT | CACHE_WAS_PREFETCHED));
	found = cache_access(&cache, 9, false);
	assert_true((found.flags & 3) == CACHE_HIT);
	cache_fini(&cache);
}

static void
a_prefetched_line_that_left_is_forgotten(void **state)
{
	struct cache cache = new_cache(1, 1, REPLACEMENT_LRU);
	struct cache_found found;

	(void)state;
	found = cache_prefetch(&cache, 9);
	found = cache_access(&cache, 10, false);
	assert_int_equal(found.victim, 9);
	found = cache_access(&cache, 10, false);
	assert_false(found.flags & CACHE_WAS_PREFETCHED);
	cache_fini(&cache);
}

#define TURNS 200000

struct anvil {
	struct cache cache;
	unsigned sets;
};

/* The last set. */
static struct cache_found
strike(struct anvil *anvil, uint64_t number, bool writes)
{
	return cache_access(&anvil->cache, number * anvil->sets + anvil->sets - 1, writes);
}

static void *
hammer(void *context)
{
	struct anvil *anvil = context;
	uint64_t random = (uint64_t)(uintptr_t)&random;

	for (unsigned i = 0; i < TURNS; i++) {
		strike(anvil, next_random(&random) % 40, next_random(&random) % 2);
	}
	return NULL;
}

/* Afterwards each line is there once at most: as many leave as the set has ways. */
static void
hammer_together(unsigned sets, unsigned ways)
{
	struct anvil anvil = {new_cache(sets, ways, REPLACEMENT_LRU), sets};
	uint64_t seen = 0;
	pthread_t threads[2];

	cache_begin_to_lock(&anvil.cache);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &anvil), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t i = 0; i < ways; i++) {
		struct cache_found found;

		found = strike(&anvil, 100 + i, false);
		assert_false(found.flags & CACHE_HIT);
		assert_int_equal(found.victim % sets, sets - 1);
		assert_in_range(found.victim / sets, 0, 39);
		assert_int_equal(seen >> (found.victim / sets) & 1, 0);
		seen |= UINT64_C(1) << (found.victim / sets);
	}
	cache_fini(&anvil.cache);
}

static void
threads_that_share_a_set_leave_it_whole(void **state)
{
	(void)state;
	hammer_together(1, 8);
	hammer_together(1, 16);
	hammer_together(1, 20);
	hammer_together(3, 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lru_is_the_reference_access_for_access),
		cmocka_unit_test(a_cache_of_large_numbers_is_the_reference),
		cmocka_unit_test(what_locks_is_the_reference_access_for_access),
		cmocka_unit_test(first_in_first_out_is_the_reference_access_for_access),
		cmocka_unit_test(a_random_victim_may_be_any_way),
		cmocka_unit_test(a_written_line_is_known_until_it_leaves),
		cmocka_unit_test(what_is_no_access_changes_no_order),
		cmocka_unit_test(a_prefetched_line_is_met_for_the_first_time_once),
		cmocka_unit_test(a_prefetched_line_that_left_is_forgotten),
		cmocka_unit_test(threads_that_share_a_set_leave_it_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
