/* Tests of emulator/block/arena.h. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/block/arena.h"

static void
what_is_taken_is_zero_aligned_and_apart(void **state)
{
	struct arena arena = {NULL};
	unsigned char *before = NULL;

	(void)state;
	for (size_t i = 1; i < 2000; i++) {
		const size_t alignment = (size_t)1 << i % 8;
		unsigned char *taken = arena_take(&arena, i, alignment);

		assert_non_null(taken);
		assert_int_equal((uintptr_t)taken % alignment, 0);
		for (size_t k = 0; k < i; k++)
			assert_int_equal(taken[k], 0);
		memset(taken, 0xff, i);
		if (before) /* a block that was there keeps its contents */
			assert_int_equal(before[i - 2], 0xff);
		before = taken;
	}
	arena_fini(&arena);
}

static void
more_than_a_chunk_can_be_taken(void **state)
{
	struct arena arena = {NULL};
	unsigned char *small = arena_take(&arena, 8, 8), *large = arena_take(&arena, 3000000, 64);

	(void)state;
	assert_non_null(small);
	assert_non_null(large);
	memset(large, 0xff, 3000000);
	assert_int_equal(small[7], 0);
	assert_non_null(arena_take(&arena, 8, 8));
	arena_fini(&arena);
	assert_null(arena.chunk);
}

static void
too_much_is_refused(void **state)
{
	struct arena arena = {NULL};

	(void)state;
	assert_null(arena_take(&arena, SIZE_MAX - 8, 8));
	assert_non_null(arena_take(&arena, 8, 8));
	arena_fini(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_is_zero_aligned_and_apart),
		cmocka_unit_test(more_than_a_chunk_can_be_taken),
		cmocka_unit_test(too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
