#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cpu_list.h"

static void
assert_refused(const char *text)
{
	uint32_t *cpus;

	assert_int_equal(cpu_list_parse(text, &cpus), -EINVAL);
	assert_null(cpus);
}

static void
single_numbers_and_ranges_are_listed(void **state)
{
	static const uint32_t expected[] = {0, 1, 2, 3, 8, 10, 11};
	uint32_t *cpus;

	(void)state;
	assert_int_equal(cpu_list_parse("0-3,8,10-11\n", &cpus), 7);
	assert_memory_equal(cpus, expected, sizeof(expected));
	free(cpus);
}

static void
one_cpu_is_a_list(void **state)
{
	uint32_t *cpus;

	(void)state;
	assert_int_equal(cpu_list_parse("0", &cpus), 1);
	assert_int_equal(cpus[0], 0);
	free(cpus);
}

static void
what_is_no_list_is_refused(void **state)
{
	(void)state;
	assert_refused("");
	assert_refused("\n");
	assert_refused("1,");
	assert_refused("1-");
	assert_refused("3-1");
	assert_refused("-1");
	assert_refused("0-3x");
	assert_refused("65536");
	assert_refused("99999999999999999999");
	assert_refused("0-65535,0-65535");
}

static void
the_running_machine_has_as_many_as_sysconf_says(void **state)
{
	uint32_t *cpus;
	int count = cpu_list_read("/sys/devices/system/cpu/online", &cpus);

	(void)state;
	if (count == -ENOENT)
		skip_because("no /sys/devices/system/cpu/online here");
	assert_int_equal(count, sysconf(_SC_NPROCESSORS_ONLN));
	free(cpus);
}

static void
assert_formatted(const uint32_t *cpus, size_t count, size_t size, const char *expected)
{
	char text[64];

	cpu_list_format(cpus, count, text, size);
	assert_string_equal(text, expected);
}

static void
a_list_is_written_as_the_kernel_writes_it(void **state)
{
	static const uint32_t sparse[] = {0, 2, 5, 6, 7}, pair[] = {63, 64};

	(void)state;
	assert_formatted(sparse, 5, 64, "0,2,5-7");
	assert_formatted(sparse, 1, 64, "0");
	assert_formatted(sparse, 0, 64, "");
	assert_formatted(pair, 2, 64, "63-64");
}

static void
a_list_that_does_not_fit_is_cut_behind_a_whole_number(void **state)
{
	static const uint32_t cpus[] = {10, 12, 14};

	(void)state;
	assert_formatted(cpus, 3, 9, "10,12,14");
	assert_formatted(cpus, 3, 8, "10,12");
	assert_formatted(cpus, 3, 1, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_numbers_and_ranges_are_listed),
		cmocka_unit_test(one_cpu_is_a_list),
		cmocka_unit_test(what_is_no_list_is_refused),
		cmocka_unit_test(a_list_is_written_as_the_kernel_writes_it),
		cmocka_unit_test(a_list_that_does_not_fit_is_cut_behind_a_whole_number),
		cmocka_unit_test(the_running_machine_has_as_many_as_sysconf_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
