#include "tests/unit/test.h"

#include <stdint.h>

#include "base/workspace.h"

static void
arrays_are_zeroed_and_apart(void **state)
{
	struct workspace space = {0};
	uint64_t *one = workspace_array(&space, 3, sizeof(*one)), *other = workspace_array(&space, 2, sizeof(*other));

	(void)state;
	assert_false(space.has_failed);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(one[i], 0);
		one[i] = UINT64_MAX;
	}
	assert_int_equal(other[0], 0);
	assert_int_equal(other[1], 0);
	assert_int_equal((uintptr_t)one % _Alignof(max_align_t), 0);
	workspace_free(&space);
}

static void
an_array_of_nothing_is_none_that_failed(void **state)
{
	struct workspace space = {0};

	(void)state;
	assert_non_null(workspace_array(&space, 0, 8));
	assert_false(space.has_failed);
	workspace_free(&space);
	workspace_free(&space);
}

static void
one_array_that_is_too_large_is_remembered(void **state)
{
	struct workspace space = {0};

	(void)state;
	assert_null(workspace_array(&space, SIZE_MAX / 4, 8));
	assert_null(workspace_array(&space, SIZE_MAX, 1));
	assert_non_null(workspace_array(&space, 1, 8));
	assert_true(space.has_failed);
	workspace_free(&space);
	assert_true(space.has_failed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_are_zeroed_and_apart),
		cmocka_unit_test(an_array_of_nothing_is_none_that_failed),
		cmocka_unit_test(one_array_that_is_too_large_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
