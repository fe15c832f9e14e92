#include "tests/unit/test.h"

#include <errno.h>
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
	fake_tree_write(*state, DEVICES "/uncore_imc/type", "23\n");
	return 0;
}

static struct event_encoding
encode(void **state, const char *name)
{
	const struct fake_tree *tree = *state;
	struct event_encoding encoding;

	assert_int_equal(pmu_event_encode(tree->root, name, &encoding, why, sizeof(why)), 0);
	return encoding;
}

static void
assert_refused(void **state, const char *name, const char *reason)
{
	const struct fake_tree *tree = *state;
	struct event_encoding encoding;

	assert_int_equal(pmu_event_encode(tree->root, name, &encoding, why, sizeof(why)), -DCPI_ENOEVENT);
	assert_ptr_equal(strstr(why, name), why);
	assert_string_equal(why + strlen(name) + strlen(": "), reason);
}

static void
fields_are_put_where_their_formats_say(void **state)
{
	struct event_encoding encoding = encode(state, "cpu/event=0x3c,umask=2,edge/");

	assert_int_equal(encoding.type, 4);
	assert_int_equal(encoding.config, 0x4023c);
	assert_int_equal(encoding.config1, 0);
	assert_int_equal(encode(state, "cpu/ldlat=30/").config1, 30);
	assert_int_equal(encode(state, "cpu/all=0xffffffffffffffff/").config2, UINT64_MAX);
}

static void
a_field_in_two_ranges_is_spread_lowest_bits_first(void **state)
{
	assert_int_equal(encode(state, "cpu/wide=0xa5c/").config, 0xa0000005c);
}

static void
a_field_without_a_value_is_one(void **state)
{
	assert_int_equal(encode(state, "cpu/edge/").config, 1 << 18);
}

static void
a_ready_made_event_stands_for_its_fields(void **state)
{
	struct event_encoding encoding = encode(state, "cpu/mem-loads/");

	assert_int_equal(encoding.config, 0x1cd);
	assert_int_equal(encoding.config1, 3);
}

static void
a_later_field_replaces_that_of_the_event(void **state)
{
	struct event_encoding encoding = encode(state, "cpu/mem-loads,ldlat=100/");

	assert_int_equal(encoding.config, 0x1cd);
	assert_int_equal(encoding.config1, 100);
}

static void
a_well_known_event_is_found_under_its_other_name(void **state)
{
	assert_int_equal(encode(state, "cpu/cycles/").config, 0x3c);
}

static void
whole_configs_can_be_given(void **state)
{
	struct event_encoding encoding = encode(state, "cpu/config=0x1234,config1=7,config2=8/");

	assert_int_equal(encoding.config, 0x1234);
	assert_int_equal(encoding.config1, 7);
	assert_int_equal(encoding.config2, 8);
}

static void
a_pmu_without_fields_can_be_named_alone(void **state)
{
	struct event_encoding encoding = encode(state, "uncore_imc//");

	assert_int_equal(encoding.type, 23);
	assert_int_equal(encoding.config, 0);
}

static void
a_value_too_large_for_its_field_is_refused_with_the_range(void **state)
{
	assert_int_equal(encode(state, "cpu/umask=255/").config, 0xff00);
	assert_refused(state, "cpu/umask=256/", "the field \"umask\" takes 0 to 0xff, not 0x100");
	assert_refused(state, "cpu/edge=2/", "the field \"edge\" takes 0 to 0x1, not 0x2");
}

static void
values_are_decimal_or_hexadecimal_numbers(void **state)
{
	static const char *const wrong[] = {"", "x", "-1", "0x", "1x", "0x1g", " 1", "99999999999999999999", "?"};
	char name[EVENT_NAME_SIZE];

	assert_int_equal(encode(state, "cpu/event=60/").config, 0x3c);
	assert_int_equal(encode(state, "cpu/event=0X3C/").config, 0x3c);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct fake_tree *tree = *state;
		struct event_encoding encoding;

		snprintf(name, sizeof(name), "cpu/event=%s/", wrong[i]);
		assert_int_equal(pmu_event_encode(tree->root, name, &encoding, why, sizeof(why)), -DCPI_ENOEVENT);
		assert_non_null(strstr(why, "is no value for the field \"event\""));
	}
}

static void
a_field_that_is_not_there_gets_a_suggestion(void **state)
{
	assert_refused(state, "cpu/evnt=1/", "the PMU has no field or event \"evnt\"; did you mean \"event\"?");
	assert_refused(state, "cpu/mem-load/",
	               "the PMU has no field or event \"mem-load\"; did you mean \"mem-loads\"?");
}

static void
a_pmu_that_is_not_there_says_so(void **state)
{
	const struct fake_tree *tree = *state;
	struct event_encoding encoding;

	assert_refused(state, "cpi/event=1/", "this machine has no PMU \"cpi\"; did you mean \"cpu\"?");
	assert_int_equal(pmu_event_encode(tree->root, "arm_spe/x/", &encoding, why, sizeof(why)), -ENODEV);
	assert_non_null(strstr(why, "this machine has no PMU \"arm_spe\""));
}

static void
formats_of_the_future_are_refused_by_name(void **state)
{
	assert_refused(state, "cpu/future=1/", "the field \"future\" lies in config3, which is not supported");
	assert_refused(state, "cpu/strange=1/",
	               "the kernel describes the field \"strange\" as \"attr:precise\", which dcpi does not know");
}

static void
an_event_that_names_itself_ends(void **state)
{
	assert_refused(state, "cpu/loop/", "the PMU has no field or event \"loop\"; did you mean \"loop\"?");
}

static void
no_name_leads_out_of_its_folder(void **state)
{
	static const char *const wrong[] = {
		"../event=1/", "cpu/../type/",        "./x/",   "cpu/../=1/",
		"/x/",         "cpu/mem-loads.unit/", "cpu/,/", "cpu/event=1,/",
	};
	const struct fake_tree *tree = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct event_encoding encoding;

		assert_int_equal(pmu_event_encode(tree->root, wrong[i], &encoding, why, sizeof(why)), -DCPI_ENOEVENT);
	}
}

static void
a_name_without_its_last_slash_is_refused(void **state)
{
	assert_refused(state, "cpu/event=1", "an event of a PMU is written pmu/field=value,.../");
	assert_refused(state, "cpu/", "an event of a PMU is written pmu/field=value,.../");
}

static void
a_damaged_type_is_an_error_of_reading(void **state)
{
	const struct fake_tree *tree = *state;
	struct event_encoding encoding;

	fake_tree_write(tree, DEVICES "/cpu/type", "nonsense\n");
	assert_int_equal(pmu_event_encode(tree->root, "cpu/event=1/", &encoding, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, DEVICES "/cpu/type: Invalid argument"));
}

static void
formats_are_parsed_to_the_bit(void **state)
{
	unsigned config;
	uint64_t bits;

	(void)state;
	assert_int_equal(pmu_format_parse("config:0-7,32-35", &config, &bits), 0);
	assert_int_equal(config, 0);
	assert_int_equal(bits, 0xf000000ff);
	assert_int_equal(pmu_format_parse("config1:63", &config, &bits), 0);
	assert_int_equal(config, 1);
	assert_int_equal(bits, UINT64_C(1) << 63);
	assert_int_equal(pmu_format_parse("config2:0-63", &config, &bits), 0);
	assert_int_equal(bits, UINT64_MAX);
}

static void
malformed_formats_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"config",
		"config:",
		"config:64",
		"config:7-0",
		"config:0-64",
		"config:1,",
		"config:1;2",
		"conf:1",
		"config12:1",
		"config:-1",
		"config:0-",
		"config:99999999999999999999",
		"config 1",
	};
	unsigned config;
	uint64_t bits;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(pmu_format_parse(wrong[i], &config, &bits), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tree_teardown)

static void
a_pmu_that_tells_its_levels_may_be_asked(void **state)
{
	struct fake_tree *tree = *state;

	fake_tree_write(tree, DEVICES "/software/type", "1\n");
	fake_tree_write(tree, DEVICES "/cpu_core/caps/max_precise", "3\n");
	assert_true(pmu_knows_precise(tree->root));
}

/* Zero is told where the levels are another PMU's work: AMD hands precise events on to IBS. */
static void
what_level_it_tells_does_not_matter(void **state)
{
	struct fake_tree *tree = *state;

	fake_tree_write(tree, DEVICES "/cpu/caps/max_precise", "0\n");
	assert_true(pmu_knows_precise(tree->root));
}

/* As linux 6.1 has it on arm64: the PMU takes every precise_ip, and counts as with none. */
static void
a_pmu_that_tells_none_is_not_asked(void **state)
{
	struct fake_tree *tree = *state;

	fake_tree_write(tree, DEVICES "/software/type", "1\n");
	fake_tree_write(tree, DEVICES "/armv8_pmuv3/type", "8\n");
	fake_tree_write(tree, DEVICES "/armv8_pmuv3/caps/slots", "0x00000000\n");
	assert_false(pmu_knows_precise(tree->root));
}

static void
without_sysfs_it_may_be_asked(void **state)
{
	struct fake_tree *tree = *state;

	assert_true(pmu_knows_precise(tree->root));
	fake_tree_write(tree, DEVICES "/cpu/type", "4\n");
	assert_false(pmu_knows_precise(tree->root));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fields_are_put_where_their_formats_say),
		TEST(a_field_in_two_ranges_is_spread_lowest_bits_first),
		TEST(a_field_without_a_value_is_one),
		TEST(a_ready_made_event_stands_for_its_fields),
		TEST(a_later_field_replaces_that_of_the_event),
		TEST(a_well_known_event_is_found_under_its_other_name),
		TEST(whole_configs_can_be_given),
		TEST(a_pmu_without_fields_can_be_named_alone),
		TEST(a_value_too_large_for_its_field_is_refused_with_the_range),
		TEST(values_are_decimal_or_hexadecimal_numbers),
		TEST(a_field_that_is_not_there_gets_a_suggestion),
		TEST(a_pmu_that_is_not_there_says_so),
		TEST(formats_of_the_future_are_refused_by_name),
		TEST(an_event_that_names_itself_ends),
		TEST(no_name_leads_out_of_its_folder),
		TEST(a_name_without_its_last_slash_is_refused),
		TEST(a_damaged_type_is_an_error_of_reading),
		cmocka_unit_test(formats_are_parsed_to_the_bit),
		cmocka_unit_test(malformed_formats_are_refused),
		cmocka_unit_test_setup_teardown(a_pmu_that_tells_its_levels_may_be_asked, fake_tree_setup,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(what_level_it_tells_does_not_matter, fake_tree_setup,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_pmu_that_tells_none_is_not_asked, fake_tree_setup,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(without_sysfs_it_may_be_asked, fake_tree_setup, fake_tree_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
