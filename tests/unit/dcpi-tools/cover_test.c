/* Tests of dcpi-tools/loc/cover.h: beside all references of a nest, one by one. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/loc/cover.h"

#define BASE  UINT64_C(0x7f0000000000)
#define ROOM  (UINT32_C(1) << 20)
#define ENDED (UINT64_MAX / 2)

struct cover_fixture {
	struct line_set covered, one_by_one;
	uint64_t seed;
};

static struct line_keys *
make_keys(void)
{
	return calloc(1, sizeof(struct line_keys) + ROOM * sizeof(uint64_t));
}

static int
set_up(void **state)
{
	struct cover_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture->seed = 1;
	line_set_init(&fixture->covered, make_keys(), ROOM);
	line_set_init(&fixture->one_by_one, make_keys(), ROOM);
	return 0;
}

static int
tear_down(void **state)
{
	struct cover_fixture *fixture = *state;

	free(fixture->covered.kept);
	free(fixture->one_by_one.kept);
	line_set_fini(&fixture->covered);
	line_set_fini(&fixture->one_by_one);
	free(fixture);
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

static int
add_address(void *context, const struct locality_part *part, uint64_t address)
{
	struct cover_fixture *fixture = context;

	(void)part;
	line_set_add(&fixture->one_by_one, 7, address, 8);
	return 0;
}

static void
assert_same(struct cover_fixture *fixture)
{
	struct line_keys *a = fixture->covered.kept, *b = fixture->one_by_one.kept;

	assert_int_equal(a->count, b->count);
	qsort(a->keys, a->count, sizeof(a->keys[0]), compare);
	qsort(b->keys, b->count, sizeof(b->keys[0]), compare);
	assert_memory_equal(a->keys, b->keys, a->count * sizeof(a->keys[0]));
}

/* Both ways, from the beginning. */
static void
cover_both_ways(struct cover_fixture *fixture, struct locality_nest *nest, struct locality_part *part)
{
	struct locality_order order;
	uint64_t left = 1000000;
	struct line_keys *covered = fixture->covered.kept, *one_by_one = fixture->one_by_one.kept;

	line_set_fini(&fixture->covered);
	line_set_fini(&fixture->one_by_one);
	line_set_init(&fixture->covered, covered, ROOM);
	line_set_init(&fixture->one_by_one, one_by_one, ROOM);
	nest->parts = part;
	nest->count = 1;
	cover_part(nest, part, 8, &fixture->covered, 7, &left);
	assert_true(left > 0);
	order = locality_order_of(nest);
	assert_int_equal(locality_order_replay(nest, &order, ENDED, add_address, fixture), 0);
	assert_same(fixture);
}

static uint64_t
next_random(struct cover_fixture *fixture, uint64_t below)
{
	fixture->seed = fixture->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (fixture->seed >> 33) % below;
}

static void
lines_are_those_of_all_references(void **state)
{
	static const int64_t steps[] = {0, 8, -8, 16, 24, 48, 64, -64, 72, 100, 640, -1600, 4096};
	struct cover_fixture *fixture = *state;

	for (unsigned round = 0; round < 300; round++) {
		struct locality_nest nest = {.levels = 1 + (uint32_t)next_random(fixture, LOCALITY_LEVELS)};
		struct locality_part part = {.level = nest.levels - 1, .base = BASE + 8 * next_random(fixture, 100)};

		for (uint32_t i = 0; i < nest.levels; i++) {
			nest.loops[i] = LOCALITY_NO_LOOP;
			nest.iterations[i] = 1 + next_random(fixture, 9);
			part.steps[i] = steps[next_random(fixture, sizeof(steps) / sizeof(steps[0]))];
		}
		cover_both_ways(fixture, &nest, &part);
	}
}

static void
a_loop_that_does_not_run_has_none(void **state)
{
	struct cover_fixture *fixture = *state;
	struct locality_nest nest = {.levels = 2, .iterations = {5, 0}};
	struct locality_part part = {.level = 1, .base = BASE, .steps = {8, 8}};
	uint64_t left = 100;

	cover_part(&nest, &part, 8, &fixture->covered, 0, &left);
	assert_int_equal(fixture->covered.kept->count, 0);
	assert_int_equal(left, 100);
}

/* Numbers from a damaged record. */
static void
what_is_too_large_ends(void **state)
{
	struct cover_fixture *fixture = *state;
	struct locality_nest nest = {.levels = 2, .iterations = {UINT64_MAX, UINT64_MAX}};
	struct locality_part part = {.level = 1, .base = BASE, .steps = {INT64_MIN, 1}};
	uint64_t left = 100;

	cover_part(&nest, &part, 0, &fixture->covered, 0, &left);
	assert_int_equal(left, 0);
	assert_true(fixture->covered.kept->count <= 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_those_of_all_references),
		TEST(a_loop_that_does_not_run_has_none),
		TEST(what_is_too_large_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
