#include "dcpi-tools/emu/calibrate/chase.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

/* Follow all links from the first on: each place of `stride` bytes must be visited once, and the last leads back. */
static void
assert_one_cycle(const struct chase *chase, size_t stride)
{
	bool *visited = calloc(chase->count, sizeof(*visited));
	const uint8_t *at = chase->bytes;

	assert_non_null(visited);
	for (size_t i = 0; i < chase->count; i++) {
		const size_t place = (size_t)(at - chase->bytes) / stride;

		assert_true(place < chase->count);
		assert_false(visited[place]);
		visited[place] = true;
		at = *(void *const *)at;
	}
	assert_ptr_equal(at, chase->bytes);
	free(visited);
}

static void
a_chase_goes_through_each_line_once(void **state)
{
	struct chase chase;

	(void)state;
	assert_int_equal(chase_init(&chase, 65536, CHASE_LINE), 0);
	assert_int_equal(chase.count, 1024);
	assert_one_cycle(&chase, CHASE_LINE);
	chase_fini(&chase);
}

/* So that pages do not meet in one set of a cache. */
static void
a_chase_through_pages_is_at_another_line_of_each(void **state)
{
	struct chase chase;
	const uint8_t *at;

	(void)state;
	assert_int_equal(chase_init(&chase, (size_t)100 * 4096, 4096), 0);
	assert_int_equal(chase.count, 100);
	assert_one_cycle(&chase, 4096);
	at = chase.bytes;
	for (size_t i = 0; i < chase.count; i++) {
		const size_t offset = (size_t)(at - chase.bytes);

		assert_int_equal(offset % 4096, offset / 4096 % 64 * CHASE_LINE);
		at = *(void *const *)at;
	}
	chase_fini(&chase);
}

static void
a_walk_goes_on_where_the_last_one_ended(void **state)
{
	struct chase chase;
	void *second;

	(void)state;
	assert_int_equal(chase_init(&chase, 4096, CHASE_LINE), 0);
	(void)chase_walk_ns(&chase, 1);
	second = chase.at;
	assert_ptr_equal(second, *(void **)chase.bytes);
	(void)chase_walk_ns(&chase, 63);
	assert_ptr_equal(chase.at, chase.bytes);
	second = chase.chains[1];
	(void)chase_walk_chains_ns(&chase, 2, 1);
	assert_ptr_equal(chase.chains[1], *(void **)second);
	(void)chase_walk_chains_ns(&chase, 2, 63);
	assert_ptr_equal(chase.chains[1], second);
	chase_fini(&chase);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chase_goes_through_each_line_once),
		cmocka_unit_test(a_chase_through_pages_is_at_another_line_of_each),
		cmocka_unit_test(a_walk_goes_on_where_the_last_one_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
