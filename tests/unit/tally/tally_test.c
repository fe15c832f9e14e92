#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>

#include "tally/tally.h"

static struct sample_key
key(uint16_t event, uint32_t image, uint32_t context, uint64_t offset)
{
	return (struct sample_key){.event = event, .image = image, .context = context, .offset = offset};
}

static void
samples_of_one_key_add_up(void **state)
{
	struct tally *tally = tally_new(10);
	struct sample_key one = key(1, 2, 3, 0x1234);
	const struct tally_entry *entries;
	size_t count;

	(void)state;
	assert_int_equal(tally_add(tally, &one, 1), 0);
	assert_int_equal(tally_add(tally, &one, 41), 0);
	assert_int_equal(tally_size(tally), 1);
	entries = tally_sort(tally, &count);
	assert_int_equal(count, 1);
	assert_int_equal(entries[0].event, 1);
	assert_int_equal(entries[0].image, 2);
	assert_int_equal(entries[0].context, 3);
	assert_int_equal(entries[0].offset, 0x1234);
	assert_int_equal(entries[0].count, 42);
	tally_free(tally);
}

static void
keys_that_differ_in_one_field_are_kept_apart(void **state)
{
	struct tally *tally = tally_new(10);
	struct sample_key keys[] = {key(0, 0, 0, 0), key(1, 0, 0, 0), key(0, 1, 0, 0), key(0, 0, 1, 0),
	                            key(0, 0, 0, 1)};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(tally_add(tally, &keys[i], 1), 0);
	assert_int_equal(tally_size(tally), 5);
	tally_free(tally);
}

/* Every limit around the points where the table grows: exactly `limit` keys fit, one more does not. */
static void
exactly_the_limit_fits(void **state)
{
	(void)state;
	for (size_t limit = 1; limit < 4000; limit += limit < 16 ? 1 : 97) {
		struct tally *tally = tally_new(limit);
		struct sample_key last = key(0, 7, 7, limit), again = key(0, 7, 7, 0);

		for (size_t i = 0; i < limit; i++) {
			struct sample_key next = key(0, 7, 7, i);

			assert_int_equal(tally_add(tally, &next, 1), 0);
		}
		assert_int_equal(tally_add(tally, &last, 1), -ENOSPC);
		assert_int_equal(tally_add(tally, &again, 1), 0);
		assert_int_equal(tally_size(tally), limit);
		assert_int_equal(tally_limit(tally), limit);
		tally_free(tally);
	}
}

static void
a_full_tally_drops_nothing(void **state)
{
	struct tally *tally = tally_new(50);
	const struct tally_entry *entries;
	uint64_t added = 0, refused = 0, found = 0;
	size_t count;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		struct sample_key next = key(0, 0, 0, i * 16 % 1600);

		if (tally_add(tally, &next, i) == 0)
			added += i;
		else
			refused += i;
	}
	entries = tally_sort(tally, &count);
	assert_int_equal(count, 50);
	for (size_t i = 0; i < count; i++)
		found += entries[i].count;
	assert_int_equal(added + refused, 4999 * 5000 / 2);
	assert_int_equal(found, added);
	tally_free(tally);
}

static void
a_limit_of_nothing_is_refused(void **state)
{
	(void)state;
	errno = 0;
	assert_null(tally_new(0));
	assert_int_equal(errno, EINVAL);
	assert_null(tally_new(SIZE_MAX));
}

static void
a_count_of_nothing_makes_no_entry(void **state)
{
	struct tally *tally = tally_new(10);
	struct sample_key one = key(0, 0, 0, 0);

	(void)state;
	assert_int_equal(tally_add(tally, &one, 0), 0);
	assert_int_equal(tally_size(tally), 0);
	tally_free(tally);
}

static void
a_count_at_its_end_stays_there(void **state)
{
	struct tally *tally = tally_new(10);
	struct sample_key one = key(0, 0, 0, 0);
	size_t count;

	(void)state;
	assert_int_equal(tally_add(tally, &one, UINT64_MAX), 0);
	assert_int_equal(tally_add(tally, &one, 2), 0);
	assert_true(tally_sort(tally, &count)[0].count == UINT64_MAX);
	tally_free(tally);
}

static void
a_cleared_tally_is_empty_and_keeps_its_memory(void **state)
{
	struct tally *tally = tally_new(5000);
	size_t memory, count;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		struct sample_key next = key(0, 0, 0, i);

		assert_int_equal(tally_add(tally, &next, 1), 0);
	}
	memory = tally_memory(tally);
	tally_sort(tally, &count);
	tally_clear(tally);
	assert_int_equal(tally_size(tally), 0);
	assert_int_equal(tally_memory(tally), memory);
	for (uint64_t i = 0; i < 5000; i++) {
		struct sample_key next = key(1, 1, 1, i);

		assert_int_equal(tally_add(tally, &next, 1), 0);
	}
	assert_int_equal(tally_size(tally), 5000);
	tally_free(tally);
}

static void
fill(struct tally *tally, uint64_t keys)
{
	for (uint64_t i = 0; i < keys; i++) {
		struct sample_key next = key(0, 0, 0, i);

		assert_int_equal(tally_add(tally, &next, 1), 0);
	}
}

/* Room for 100 keys, which is what a tally begins with, is 1024 slots. */
static void
memory_of_a_peak_is_given_back_when_few_keys_come_again(void **state)
{
	struct tally *tally = tally_new(200000);
	const size_t first = tally_memory(tally);
	size_t count;

	(void)state;
	fill(tally, 200000);
	assert_true(tally_memory(tally) > 100 * first);
	for (int round = 0; round < 20; round++) {
		tally_clear(tally);
		fill(tally, 60);
		tally_sort(tally, &count);
		assert_int_equal(count, 60);
	}
	assert_int_equal(tally_memory(tally), first);
	tally_clear(tally);
	fill(tally, 200000);
	assert_int_equal(tally_size(tally), 200000);
	tally_free(tally);
}

static bool memory_ends;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *
__wrap_calloc(size_t count, size_t size)
{
	return memory_ends ? NULL : __real_calloc(count, size);
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *
__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return memory_ends ? NULL : __real_aligned_alloc(alignment, size);
}

/* It begins with 1024 slots, three quarters of which are used. */
static void
a_tally_that_cannot_grow_says_so_and_goes_on_with_what_it_knows(void **state)
{
	struct tally *tally = tally_new(5000);
	struct sample_key known = key(0, 0, 0, 5), next = key(0, 0, 0, 768);
	const struct tally_entry *entries;
	size_t count;

	(void)state;
	fill(tally, 768);
	memory_ends = true;
	assert_int_equal(tally_add(tally, &next, 1), -ENOMEM);
	assert_int_equal(tally_add(tally, &known, 2), 0);
	assert_int_equal(tally_add(tally, &next, 1), -ENOMEM);
	memory_ends = false;
	assert_int_equal(tally_size(tally), 768);
	assert_int_equal(tally_add(tally, &next, 1), 0);
	entries = tally_sort(tally, &count);
	assert_int_equal(count, 769);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(entries[i].offset, i);
		assert_int_equal(entries[i].count, i == 5 ? 3 : 1);
	}
	tally_free(tally);
}

/* Half of what a peak took cannot be had, to give the whole back. */
static void
a_tally_that_cannot_shrink_stays_as_it_is(void **state)
{
	struct tally *tally = tally_new(200000);
	size_t peak;

	(void)state;
	fill(tally, 200000);
	peak = tally_memory(tally);
	tally_clear(tally);
	fill(tally, 60);
	memory_ends = true;
	tally_clear(tally);
	memory_ends = false;
	assert_int_equal(tally_memory(tally), peak);
	fill(tally, 200000);
	assert_int_equal(tally_size(tally), 200000);
	tally_free(tally);
}

static void
memory_follows_the_keys_not_the_limit(void **state)
{
	struct tally *tally = tally_new(1u << 24);

	(void)state;
	assert_true(tally_memory(tally) < 64 * 1024);
	tally_free(tally);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_one_key_add_up),
		cmocka_unit_test(keys_that_differ_in_one_field_are_kept_apart),
		cmocka_unit_test(exactly_the_limit_fits),
		cmocka_unit_test(a_full_tally_drops_nothing),
		cmocka_unit_test(a_limit_of_nothing_is_refused),
		cmocka_unit_test(a_count_of_nothing_makes_no_entry),
		cmocka_unit_test(a_count_at_its_end_stays_there),
		cmocka_unit_test(a_cleared_tally_is_empty_and_keeps_its_memory),
		cmocka_unit_test(memory_of_a_peak_is_given_back_when_few_keys_come_again),
		cmocka_unit_test(memory_follows_the_keys_not_the_limit),
		cmocka_unit_test(a_tally_that_cannot_grow_says_so_and_goes_on_with_what_it_knows),
		cmocka_unit_test(a_tally_that_cannot_shrink_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
