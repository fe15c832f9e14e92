#include "base/array.h"
#include "tests/unit/test.h"

struct numbered {
	const char *name;
	uint32_t number;
	struct {
		uint64_t offset;
	} place;
};

static const struct numbered ascending[] = {
	{"a", 2, {UINT64_C(0x100000000)}},
	{"b", 4, {UINT64_C(0x100000002)}},
	{"c", 4, {UINT64_C(0x100000002)}},
	{"d", 7, {UINT64_MAX}},
};

static void
the_lower_bound_is_the_first_that_is_not_below(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, number, 0), 0);
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, number, 3), 1);
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, number, 4), 1);
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, number, 5), 3);
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, number, 8), 4);
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, place.offset, 2), 0);
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, place.offset, UINT64_C(0x100000001)), 1);
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, place.offset, UINT64_MAX), 3);
}

/* What is looked for may be wider than what is there. */
static void
a_number_of_64_bits_is_above_all_of_32(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_LOWER_BOUND(ascending, 4, number, UINT64_C(0x100000000)), 4);
}

/* Blocks of an image are kept as their numbers alone. */
static void
numbers_alone_have_a_lower_bound(void **state)
{
	static const uint32_t numbers[] = {2, 4, 4, 7};

	(void)state;
	assert_int_equal(array_lower_bound_u32(numbers, 4, 0), 0);
	assert_int_equal(array_lower_bound_u32(numbers, 4, 4), 1);
	assert_int_equal(array_lower_bound_u32(numbers, 4, 5), 3);
	assert_int_equal(array_lower_bound_u32(numbers, 4, 8), 4);
	assert_int_equal(array_lower_bound_u32(numbers, 4, UINT64_C(0x100000002)), 4);
	assert_int_equal(array_lower_bound_u32(NULL, 0, 1), 0);
}

static void
nothing_has_no_element_that_is_not_below(void **state)
{
	const struct numbered *none = NULL;

	(void)state;
	assert_int_equal(ARRAY_LOWER_BOUND(none, 0, number, 1), 0);
}

static void
what_is_appended_stays_where_others_follow(void **state)
{
	struct numbered *list = NULL;
	size_t count = 0, capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct numbered *added = ARRAY_APPEND(list, count, capacity);

		assert_non_null(added);
		*added = (struct numbered){.number = i};
		assert_int_equal(count, i + 1);
		assert_true(capacity >= count);
	}
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(list[i].number, i);
	free(list);
}

static void
wide_numbers_are_ordered_by_all_of_their_bits(void **state)
{
	uint64_t numbers[] = {UINT64_MAX, 0, UINT64_C(0x100000000), 1};

	(void)state;
	qsort(numbers, ARRAY_COUNT(numbers), sizeof(*numbers), array_compare_u64);
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[1], 1);
	assert_int_equal(numbers[2], UINT64_C(0x100000000));
	assert_int_equal(numbers[3], UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lower_bound_is_the_first_that_is_not_below),
		cmocka_unit_test(a_number_of_64_bits_is_above_all_of_32),
		cmocka_unit_test(numbers_alone_have_a_lower_bound),
		cmocka_unit_test(nothing_has_no_element_that_is_not_below),
		cmocka_unit_test(what_is_appended_stays_where_others_follow),
		cmocka_unit_test(wide_numbers_are_ordered_by_all_of_their_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
