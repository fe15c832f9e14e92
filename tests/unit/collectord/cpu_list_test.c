#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectord/cpu_list.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_numbers_and_ranges_are_listed),
		cmocka_unit_test(one_cpu_is_a_list),
		cmocka_unit_test(what_is_no_list_is_refused),
		cmocka_unit_test(the_running_machine_has_as_many_as_sysconf_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
