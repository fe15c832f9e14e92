/* Tests of emulator/model/remedy.h: what accesses find when an object has a remedy. */
#include "emulator/model/remedy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define NODES  4
#define PAGE   4096
#define OBJECT UINT64_C(0x7f0000100000)
#define SIZE   (16 * PAGE)

static int
setup(void **state)
{
	*state = remedies_new(NODES, 12, 6);
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	remedies_free(*state);
	return 0;
}

static void
without_a_remedy_all_is_as_it_was(void **state)
{
	assert_int_equal(remedies_node(*state, OBJECT, 2, 1), 1);
	assert_true(remedies_address(*state, OBJECT + 8) == OBJECT + 8);
}

static void
pages_are_interleaved_within_the_object_alone(void **state)
{
	unsigned counts[NODES] = {0};

	remedies_set(*state, OBJECT, SIZE, OBJECT_REMEDY_INTERLEAVE);
	for (uint64_t at = 0; at < SIZE; at += PAGE)
		counts[remedies_node(*state, OBJECT + at, 0, 0)]++;
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(counts[i], SIZE / PAGE / NODES);
	assert_int_equal(remedies_node(*state, OBJECT - 1, 3, 0), 0);
	assert_int_equal(remedies_node(*state, OBJECT + SIZE, 3, 0), 0);
}

static void
copies_are_local_to_all(void **state)
{
	remedies_set(*state, OBJECT, SIZE, OBJECT_REMEDY_REPLICATE);
	for (unsigned node = 0; node < NODES; node++)
		assert_int_equal(remedies_node(*state, OBJECT + 100, node, 0), node);
}

/* Filled on node 0, then used on node 2: the page is there from then on, whoever looks at it later. */
static void
a_page_stays_with_its_first_user(void **state)
{
	remedies_set(*state, OBJECT, SIZE, OBJECT_REMEDY_LOCAL);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(remedies_node(*state, OBJECT, 0, 0), 0);
	assert_int_equal(remedies_node(*state, OBJECT + 8, 2, 0), 2);
	assert_int_equal(remedies_node(*state, OBJECT, 3, 0), 2);
	assert_int_equal(remedies_node(*state, OBJECT, 0, 0), 2);
	assert_int_equal(remedies_node(*state, OBJECT + PAGE, 0, 0), 0); /* another page */
}

static void
a_page_follows_who_uses_it_in_a_row(void **state)
{
	unsigned node = 0;

	remedies_set(*state, OBJECT, SIZE, OBJECT_REMEDY_MIGRATE);
	assert_int_equal(remedies_node(*state, OBJECT, 0, 0), 0);
	for (unsigned i = 0; i < 20; i++) { /* in turns: it stays */
		assert_int_equal(remedies_node(*state, OBJECT, 1, 0), 0);
		assert_int_equal(remedies_node(*state, OBJECT, 2, 0), 0);
	}
	for (unsigned i = 0; i < 20; i++)
		node = remedies_node(*state, OBJECT, 1, 0);
	assert_int_equal(node, 1);
	for (unsigned i = 0; i < 20; i++)
		node = remedies_node(*state, OBJECT, 3, 0);
	assert_int_equal(node, 3);
}

static void
words_get_lines_of_their_own(void **state)
{
	remedies_set(*state, OBJECT, 64, OBJECT_REMEDY_SPREAD);
	for (unsigned i = 1; i < 8; i++) {
		const uint64_t before = remedies_address(*state, OBJECT + 8 * i - 8);

		assert_int_equal(remedies_address(*state, OBJECT + 8 * i) - before, 64);
		assert_int_equal(remedies_address(*state, OBJECT + 8 * i - 5) - before, 3);
	}
	assert_true(remedies_address(*state, OBJECT + 64) == OBJECT + 64);
}

/* As many objects as there may be: their words have no line in common, and those of small ones are not far apart. */
static void
words_of_many_objects_get_lines_of_their_own(void **state)
{
	uint64_t before = remedies_address(*state, OBJECT);

	for (unsigned i = 0; i < 1000; i++) {
		const uint64_t object = OBJECT + i * 128;

		remedies_set(*state, object, 12, OBJECT_REMEDY_SPREAD);
		if (i)
			assert_in_range(remedies_address(*state, object) - before, 64, 4096);
		before = remedies_address(*state, object + 8);
	}
}

/* All but some of the addresses that words may get are used up: the object is left as it is. */
static void
an_object_too_large_for_lines_of_words_is_left(void **state)
{
	assert_false(remedies_set(*state, OBJECT, UINT64_C(1) << 40, OBJECT_REMEDY_SPREAD));
	assert_true(remedies_address(*state, OBJECT + 8) == OBJECT + 8);
	remedies_set(*state, OBJECT, UINT64_C(1) << 61, OBJECT_REMEDY_SPREAD);
	assert_true(remedies_address(*state, OBJECT + 8) == OBJECT + 8);
	remedies_set(*state, OBJECT, 64, OBJECT_REMEDY_SPREAD);
	assert_true(remedies_address(*state, OBJECT + 8) != OBJECT + 8);
}

static void
an_object_that_ends_has_no_remedy_any_more(void **state)
{
	remedies_set(*state, OBJECT, SIZE, OBJECT_REMEDY_INTERLEAVE);
	remedies_set(*state, OBJECT + SIZE, SIZE, OBJECT_REMEDY_REPLICATE);
	remedies_set(*state, OBJECT + PAGE, 0, OBJECT_REMEDY_NONE); /* none begins there */
	assert_int_equal(remedies_node(*state, OBJECT + PAGE, 2, 3) == 3, 0);
	remedies_set(*state, OBJECT, 0, OBJECT_REMEDY_NONE);
	assert_int_equal(remedies_node(*state, OBJECT + PAGE, 2, 3), 3);
	assert_int_equal(remedies_node(*state, OBJECT + SIZE, 2, 3), 2);
}

/* The end of an object was missed: the next one in its memory takes its place. */
static void
a_new_object_takes_the_place_of_those_before(void **state)
{
	for (unsigned i = 0; i < 100; i++)
		remedies_set(*state, OBJECT + i * 64, 64, OBJECT_REMEDY_LOCAL);
	remedies_set(*state, OBJECT + 32, 98 * 64, OBJECT_REMEDY_REPLICATE);
	for (unsigned i = 1; i < 98; i++)
		assert_int_equal(remedies_node(*state, OBJECT + i * 64, 3, 0), 3);
	assert_int_equal(remedies_node(*state, OBJECT + 99 * 64, 0, 0), 0);
}

/* More than there is room for: those before keep theirs. */
static void
there_is_an_end_to_them(void **state)
{
	for (uint64_t i = 0; i < 65536; i++)
		assert_true(remedies_set(*state, OBJECT + i * 64, 64, OBJECT_REMEDY_REPLICATE));
	assert_false(remedies_set(*state, OBJECT + UINT64_C(65536) * 64, 64, OBJECT_REMEDY_REPLICATE));
	assert_int_equal(remedies_node(*state, OBJECT, 3, 0), 3);
	assert_int_equal(remedies_node(*state, OBJECT + UINT64_C(65535) * 64, 3, 0), 3);
	assert_int_equal(remedies_node(*state, OBJECT + UINT64_C(65536) * 64, 3, 0), 0);
}

/* What munmap() takes away: the objects that are there as a whole, not those of which a part is. */
static void
pages_that_are_taken_away_have_no_remedy(void **state)
{
	for (unsigned i = 0; i < 6; i++)
		remedies_set(*state, OBJECT + i * PAGE + 64, PAGE, OBJECT_REMEDY_REPLICATE);
	remedies_set(*state, OBJECT + PAGE, 3 * PAGE, OBJECT_REMEDY_NONE);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(remedies_node(*state, OBJECT + i * PAGE + 64, 3, 0), i < 1 || i > 2 ? 3 : 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_remedy_all_is_as_it_was),
		TEST(pages_are_interleaved_within_the_object_alone),
		TEST(copies_are_local_to_all),
		TEST(a_page_stays_with_its_first_user),
		TEST(a_page_follows_who_uses_it_in_a_row),
		TEST(words_get_lines_of_their_own),
		TEST(words_of_many_objects_get_lines_of_their_own),
		TEST(an_object_too_large_for_lines_of_words_is_left),
		TEST(an_object_that_ends_has_no_remedy_any_more),
		TEST(a_new_object_takes_the_place_of_those_before),
		TEST(there_is_an_end_to_them),
		TEST(pages_that_are_taken_away_have_no_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
