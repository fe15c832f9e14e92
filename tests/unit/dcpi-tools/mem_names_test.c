/* Tests of dcpi-tools/mem/names.h on the variables of this test. */
#include "dcpi-tools/mem/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

/* Behind the first of the two are bytes that no symbol has. */
static _Alignas(256) volatile char variables_of_test[2][8] = {{1}};
static _Alignas(256) volatile char others_of_test[8] = {2};

struct names_fixture {
	struct memory_profile profile;
	struct names *names;
	struct process_map *map;
};

static int
setup(void **state)
{
	static struct names_fixture fixture;

	*state = &fixture;
	if (memory_profile_init(&fixture.profile))
		return -1;
	fixture.names = names_new(&fixture.profile);
	fixture.map = process_map_new((uint32_t)getpid());
	return process_map_refresh(fixture.map, 0);
}

static int
teardown(void **state)
{
	struct names_fixture *fixture = *state;

	process_map_free(fixture->map);
	names_free(fixture->names);
	memory_profile_fini(&fixture->profile);
	return 0;
}

static struct memory_region
region_at(const struct names_fixture *fixture, const volatile char *at)
{
	struct memory_region region;

	names_region(fixture->names, fixture->map, (uint64_t)(uintptr_t)at, &region);
	assert_int_equal(region.kind, MEMORY_STATIC);
	assert_in_range((uint64_t)(uintptr_t)at - region.address, 0, region.size - 1);
	return region;
}

static void
a_variable_has_its_name_and_bounds(void **state)
{
	const struct names_fixture *fixture = *state;
	const struct memory_region region = region_at(fixture, &variables_of_test[1][3]);

	assert_string_equal(memory_profile_text(&fixture->profile, region.name), "variables_of_test");
	assert_true(region.address == (uint64_t)(uintptr_t)variables_of_test);
	assert_int_equal(region.size, sizeof(variables_of_test));
}

/* Else what is asked for there would have the variables, too, from then on. */
static void
data_between_variables_ends_at_them(void **state)
{
	const uint64_t one = (uint64_t)(uintptr_t)variables_of_test, other = (uint64_t)(uintptr_t)others_of_test;
	const volatile char *lower = one < other ? variables_of_test[0] : others_of_test;
	const struct memory_region region = region_at(*state, lower + 100);

	assert_false(region.address < one + sizeof(variables_of_test) && region.address + region.size > one);
	assert_false(region.address < other + sizeof(others_of_test) && region.address + region.size > other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_variable_has_its_name_and_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(data_between_variables_ends_at_them, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
