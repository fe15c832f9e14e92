/* Tests of memory/object_map.h: beside a list that is slow and obvious. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/object_map.h"

#define PLACES 4096 /* of 16 bytes each, where random objects lie */
#define STEP   16

/* By place: the object that has it; NULL: none. */
struct object_map_reference {
	struct object objects[PLACES];
	struct object *places[PLACES];
	unsigned next, count, ended;
};

struct object_map_stage {
	struct object_map *map;
	struct object_map_reference reference;
	unsigned ended;
};

static int
set_up(void **state)
{
	struct object_map_stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->map = object_map_new(NULL);
	assert_non_null(stage->map);
	*state = stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct object_map_stage *stage = *state;

	object_map_free(stage->map);
	free(stage);
	return 0;
}

static void
count_ended(void *context, const struct object *object)
{
	struct object_map_stage *stage = context;

	assert_true(object->size > 0);
	stage->ended++;
}

static int
add(struct object_map_stage *stage, uint64_t address, uint64_t size)
{
	return object_map_add(stage->map, &(struct object){.address = address, .size = size, .site = 1}, count_ended,
	                      stage);
}

static void
an_object_is_found_by_each_of_its_bytes(void **state)
{
	struct object_map_stage *stage = *state;
	const struct object *object;

	assert_null(object_map_find(stage->map, 0));
	assert_int_equal(add(stage, 1000, 100), 0);
	assert_int_equal(add(stage, 1100, 1), 0);
	assert_null(object_map_find(stage->map, 999));
	object = object_map_find(stage->map, 1099);
	assert_non_null(object);
	assert_int_equal(object->address, 1000);
	assert_int_equal(object_map_find(stage->map, 1100)->address, 1100);
	assert_null(object_map_find(stage->map, 1101));
	assert_null(object_map_find(stage->map, UINT64_MAX));
	assert_int_equal(object_map_count(stage->map), 2);
}

static void
a_new_object_ends_those_whose_place_it_takes(void **state)
{
	struct object_map_stage *stage = *state;
	struct object ended;

	assert_int_equal(add(stage, 1000, 100), 0);
	assert_int_equal(add(stage, 1200, 100), 0);
	assert_int_equal(add(stage, 1400, 100), 0);
	assert_int_equal(add(stage, 1099, 302), 0); /* the last byte of one, all of another, the first of the third */
	assert_int_equal(stage->ended, 3);
	assert_int_equal(object_map_count(stage->map), 1);
	assert_int_equal(object_map_end(stage->map, 1100, &ended), -ENOENT);
	assert_int_equal(object_map_end(stage->map, 1099, &ended), 0);
	assert_int_equal(ended.size, 302);
	assert_int_equal(object_map_count(stage->map), 0);
	assert_int_equal(object_map_end(stage->map, 1099, &ended), -ENOENT);
}

static void
a_cut_leaves_what_is_outside(void **state)
{
	struct object_map_stage *stage = *state;

	assert_int_equal(add(stage, 1000, 1000), 0);
	assert_int_equal(object_map_cut(stage->map, 1200, 100, count_ended, stage), 0);
	assert_int_equal(object_map_count(stage->map), 2);
	assert_int_equal(object_map_find(stage->map, 1199)->size, 200);
	assert_null(object_map_find(stage->map, 1200));
	assert_null(object_map_find(stage->map, 1299));
	assert_int_equal(object_map_find(stage->map, 1300)->size, 700);
	assert_int_equal(stage->ended, 0);
	assert_int_equal(object_map_cut(stage->map, 1100, 300, count_ended, stage), 0);
	assert_int_equal(object_map_find(stage->map, 1000)->size, 100);
	assert_int_equal(object_map_find(stage->map, 1999)->address, 1400);
	assert_int_equal(stage->ended, 1); /* the one whose beginning went */
	assert_int_equal(object_map_cut(stage->map, 0, 5000, count_ended, stage), 0);
	assert_int_equal(object_map_cut(stage->map, 5000, UINT64_MAX, count_ended, stage), 0);
	assert_int_equal(stage->ended, 3);
	assert_int_equal(object_map_count(stage->map), 0);
}

static void
an_object_that_grows_takes_the_place_of_others(void **state)
{
	struct object_map_stage *stage = *state;

	assert_int_equal(object_map_resize(stage->map, 1000, 10, count_ended, stage), -ENOENT);
	assert_int_equal(add(stage, 1000, 10), 0);
	assert_int_equal(add(stage, 1050, 10), 0);
	assert_int_equal(object_map_resize(stage->map, 1000, 50, count_ended, stage), 0);
	assert_int_equal(stage->ended, 0);
	assert_int_equal(object_map_resize(stage->map, 1000, 51, count_ended, stage), 0);
	assert_int_equal(stage->ended, 1);
	assert_int_equal(object_map_find(stage->map, 1050)->address, 1000);
}

/* ---- beside a list ---- */

static uint32_t
random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*seed >> 33) % limit);
}

static void
reference_end(struct object_map_reference *reference, struct object *object)
{
	for (uint64_t at = object->address / STEP; at < (object->address + object->size) / STEP; at++)
		reference->places[at] = NULL;
	object->size = 0;
	reference->count--;
	reference->ended++;
}

static void
reference_add(struct object_map_reference *reference, uint64_t address, uint64_t size)
{
	struct object *object;

	for (uint64_t at = address / STEP; at < (address + size) / STEP; at++) {
		if (reference->places[at])
			reference_end(reference, reference->places[at]);
	}
	do
		object = &reference->objects[reference->next++ % PLACES];
	while (object->size);
	*object = (struct object){.address = address, .size = size};
	for (uint64_t at = address / STEP; at < (address + size) / STEP; at++)
		reference->places[at] = object;
	reference->count++;
}

static void
check_all(const struct object_map_stage *stage)
{
	for (uint64_t at = 0; at < PLACES; at++) {
		const struct object *object = object_map_find(stage->map, at * STEP + 3);
		const struct object *expected = stage->reference.places[at];

		assert_int_equal(object != NULL, expected != NULL);
		if (object) {
			assert_int_equal(object->address, expected->address);
			assert_int_equal(object->size, expected->size);
		}
	}
	assert_int_equal(object_map_count(stage->map), stage->reference.count);
}

static void
it_is_what_a_list_would_be(void **state)
{
	struct object_map_stage *stage = *state;
	struct object_map_reference *reference = &stage->reference;
	uint64_t seed = 3;

	for (unsigned i = 0; i < 400000; i++) {
		const unsigned kind = random_below(&seed, 100);
		/* it fills, and then is emptied */
		const unsigned ends = i / 40000 % 2 ? 60 : 35;
		const uint64_t address = (uint64_t)random_below(&seed, PLACES - 8) * STEP;
		const uint64_t size = (uint64_t)(1 + random_below(&seed, kind == 99 ? 8 : 2)) * STEP;
		struct object ended;

		if (kind >= ends) {
			reference_add(reference, address, size);
			assert_int_equal(add(stage, address, size), 0);
		} else if (reference->places[address / STEP]) {
			const uint64_t first = reference->places[address / STEP]->address;

			reference_end(reference, reference->places[address / STEP]);
			reference->ended--;
			assert_int_equal(object_map_end(stage->map, first, &ended), 0);
			assert_int_equal(ended.address, first);
		}
		if (i % 20000 == 0)
			check_all(stage);
	}
	check_all(stage);
	assert_int_equal(stage->ended, reference->ended);
}

static void
count_ascending(void *context, const struct object *object)
{
	uint64_t *last = context;

	assert_true(object->address >= *last);
	*last = object->address + object->size;
}

/* Each number below 2^20 once, as if at random: each step can be undone. */
static uint64_t
shuffled(uint64_t number)
{
	const uint64_t mask = (1 << 20) - 1;

	number = (number ^ number >> 10) * 0x9e3779b1 & mask;
	number = (number ^ number >> 11) * 0x85ebca6b & mask;
	return number ^ number >> 9;
}

/* Ten million take too long here (40.9 and 58.7 bytes each); a million says as much. */
static void
a_million_objects_take_64_bytes_each_at_most(void **state)
{
	struct object_map_stage *stage = *state;
	const uint32_t count = 1000000;
	uint64_t last = 0;

	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(add(stage, 0x1000 + i * 32, 24), 0);
	assert_true(object_map_bytes(stage->map) < count * UINT64_C(42));
	object_map_each(stage->map, count_ascending, &last);
	assert_int_equal(object_map_cut(stage->map, 0, UINT64_C(1) << 60, NULL, NULL), 0);
	assert_int_equal(object_map_count(stage->map), 0);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(add(stage, 0x1000 + shuffled(i) * 32, 24), 0);
	assert_int_equal(stage->ended, 0);
	assert_int_equal(object_map_count(stage->map), count);
	assert_true(object_map_bytes(stage->map) < count * UINT64_C(64));
	last = 0;
	object_map_each(stage->map, count_ascending, &last);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_object_is_found_by_each_of_its_bytes),
		CASE(a_new_object_ends_those_whose_place_it_takes),
		CASE(a_cut_leaves_what_is_outside),
		CASE(an_object_that_grows_takes_the_place_of_others),
		CASE(it_is_what_a_list_would_be),
		CASE(a_million_objects_take_64_bytes_each_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
