#include "tests/unit/test.h"

#include <string.h>

#include "base/error.h"
#include "event/pmu.h"
#include "tests/unit/event/fake_tree.h"

static char why[512];

static int
setup(void **state)
{
	fake_tree_setup(state);
	fake_tree_add_cpu_pmu(*state);
	fake_tree_write(*state, DEVICES "/software/type", "1\n");
	return 0;
}

static int
encode(void **state, const char *name, struct event_encoding *encoding)
{
	const struct fake_tree *tree = *state;

	return event_encode(tree->root, name, encoding, why, sizeof(why));
}

static void
names_raw_numbers_and_pmu_fields_are_encoded(void **state)
{
	struct event_encoding encoding;

	assert_int_equal(encode(state, "LLC-load-misses", &encoding), 0);
	assert_int_equal(encoding.type, PERF_TYPE_HW_CACHE);
	assert_int_equal(encoding.config, 0x10002);
	assert_int_equal(encode(state, "r01c2", &encoding), 0);
	assert_int_equal(encoding.type, PERF_TYPE_RAW);
	assert_int_equal(encoding.config, 0x1c2);
	assert_string_equal(encoding.unit, "events");
	assert_int_equal(encode(state, "cpu/event=0xc0/", &encoding), 0);
	assert_int_equal(encoding.type, 4);
	assert_int_equal(encoding.config, 0xc0);
	assert_string_equal(encoding.unit, "events");
}

static void
raw_numbers_fill_64_bits_and_no_more(void **state)
{
	struct event_encoding encoding;

	assert_int_equal(encode(state, "rFFffFFffFFffFFff", &encoding), 0);
	assert_int_equal(encoding.config, UINT64_MAX);
	assert_int_equal(encode(state, "r10000000000000000", &encoding), -DCPI_ENOEVENT);
	assert_int_equal(encode(state, "r", &encoding), -DCPI_ENOEVENT);
	assert_int_equal(encode(state, "r1g", &encoding), -DCPI_ENOEVENT);
	assert_int_equal(encode(state, "r0x1", &encoding), -DCPI_ENOEVENT);
}

static void
a_clock_named_through_its_pmu_counts_time(void **state)
{
	struct event_encoding encoding;

	assert_int_equal(encode(state, "software/config=1/", &encoding), 0);
	assert_string_equal(encoding.unit, "ns");
	assert_true(event_is_clock(&encoding));
	assert_int_equal(encode(state, "software/config=2/", &encoding), 0);
	assert_string_equal(encoding.unit, "events");
	assert_false(event_is_clock(&encoding));
}

static void
modifiers_do_not_change_the_encoding(void **state)
{
	struct event_encoding plain, modified;

	assert_int_equal(encode(state, "cycles", &plain), 0);
	assert_int_equal(encode(state, "cpu-cycles:ukppp", &modified), 0);
	assert_memory_equal(&plain, &modified, sizeof(plain));
	assert_int_equal(encode(state, "cycles:z", &modified), -DCPI_ENOEVENT);
}

static void
a_near_miss_is_told_what_was_meant(void **state)
{
	struct event_encoding encoding;

	assert_int_equal(encode(state, "cache-mises", &encoding), -DCPI_ENOEVENT);
	assert_string_equal(why, "there is no event \"cache-mises\"; did you mean \"cache-misses\"?");
	assert_int_equal(encode(state, "xyzzy", &encoding), -DCPI_ENOEVENT);
	assert_non_null(strstr(why, "perf list shows them"));
}

static void
a_sum_is_of_the_event_whose_whole_name_it_has(void **state)
{
	const struct event cycles = {.name = "cycles"}, shorter = {.name = "cycle"}, longer = {.name = "cycles.sum"};
	const struct event namesake = {.name = "cycles.sum", .encoding.type = PERF_TYPE_RAW};
	struct event sum;

	(void)state;
	assert_true(event_sum_of(&cycles, &sum));
	assert_true(event_is_sum_of(&sum, &cycles));
	assert_false(event_is_sum_of(&sum, &shorter));
	assert_false(event_is_sum_of(&sum, &longer));
	assert_false(event_is_sum_of(&sum, &sum));
	assert_false(event_is_sum_of(&cycles, &cycles));
	assert_false(event_is_sum_of(&namesake, &cycles)); /* an event of its own that is called so */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tree_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_raw_numbers_and_pmu_fields_are_encoded),
		TEST(raw_numbers_fill_64_bits_and_no_more),
		TEST(a_clock_named_through_its_pmu_counts_time),
		TEST(modifiers_do_not_change_the_encoding),
		TEST(a_near_miss_is_told_what_was_meant),
		cmocka_unit_test(a_sum_is_of_the_event_whose_whole_name_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
