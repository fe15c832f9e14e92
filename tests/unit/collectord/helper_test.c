#include "tests/unit/test.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectord/helper.h"

static const struct helper nobody; /* was left behind */

static void
a_device_that_did_not_answer_is_silent_and_others_are_not(void **state)
{
	struct silent_devices devices = {0};

	(void)state;
	assert_false(helper_devices_have(&devices, 0, 0));
	assert_true(helper_devices_add(&devices, 0, 42, &nobody));
	assert_true(helper_devices_have(&devices, 0, 42));
	assert_false(helper_devices_have(&devices, 42, 0));
	assert_false(helper_devices_add(&devices, 0, 42, &nobody)); /* that is known */
}

static void
after_a_minute_it_is_asked_again(void **state)
{
	struct silent_devices devices = {0};

	(void)state;
	assert_true(helper_devices_add(&devices, 8, 1, &nobody));
	assert_true(devices.latest[0].until_ns > monotonic_ns() + 59 * SECOND_NS);
	devices.latest[0].until_ns = monotonic_ns();
	assert_false(helper_devices_have(&devices, 8, 1));
	assert_true(helper_devices_add(&devices, 8, 1, &nobody));
	assert_true(helper_devices_have(&devices, 8, 1));
}

/* Not even SIGKILL ends a child that waits for some file systems: here, one that has not been sent any. */
static void
for_as_long_as_a_child_waits_it_is_not_asked_again(void **state)
{
	struct silent_devices devices = {0};
	struct helper helper = {.socket = -1, .stuck_count = 1};

	(void)state;
	helper.stuck[0] = fork();
	assert_true(helper.stuck[0] >= 0);
	if (helper.stuck[0] == 0)
		for (;;)
			pause();
	assert_true(helper_devices_add(&devices, 8, 1, &helper));
	devices.latest[0].until_ns = monotonic_ns();
	helper_devices_renew(&devices, &helper);
	assert_true(helper_devices_have(&devices, 8, 1));
	assert_int_equal(kill(helper.stuck[0], SIGKILL), 0);
	while (helper_is_stuck(&helper, helper.stuck[0]))
		usleep(1000);
	devices.latest[0].until_ns = monotonic_ns();
	helper_devices_renew(&devices, &helper);
	assert_false(helper_devices_have(&devices, 8, 1));
}

static void
the_latest_are_remembered(void **state)
{
	struct silent_devices devices = {0};

	(void)state;
	for (uint32_t i = 0; i <= SILENT_DEVICES_MAX; i++)
		assert_true(helper_devices_add(&devices, 0, i, &nobody));
	assert_false(helper_devices_have(&devices, 0, 0));
	for (uint32_t i = 1; i <= SILENT_DEVICES_MAX; i++)
		assert_true(helper_devices_have(&devices, 0, i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_did_not_answer_is_silent_and_others_are_not),
		cmocka_unit_test(after_a_minute_it_is_asked_again),
		cmocka_unit_test(for_as_long_as_a_child_waits_it_is_not_asked_again),
		cmocka_unit_test(the_latest_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
