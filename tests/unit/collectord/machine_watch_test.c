#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine_watch.h"
#include "tests/unit/event/fake_tree.h"

static int
make_tree(void **state)
{
	fake_tree_setup(state);
	fake_tree_write(*state, "devices/system/cpu/online", "0-3\n");
	fake_tree_write(*state, "kernel/uevent_seqnum", "812\n");
	fake_tree_write(*state, "sys/kernel/perf_event_max_sample_rate", "100000\n");
	return 0;
}

/* That the machine runs on as it is, its clocks included, is no change. */
static struct machine_watch *
watch_tree(const struct fake_tree *tree)
{
	struct machine_watch *watch = machine_watch_new(tree->root, tree->root);

	assert_non_null(watch);
	assert_int_equal(machine_watch_poll(watch), 0);
	return watch;
}

static void
a_machine_that_stays_the_same_has_not_changed(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	for (int i = 0; i < 1000; i++)
		assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static void
another_list_of_cpus_is_told_once(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	fake_tree_write(*state, "devices/system/cpu/online", "0,2-3\n");
	assert_int_equal(machine_watch_poll(watch), MACHINE_CPUS);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static void
a_cpu_that_came_back_before_anybody_looked_is_suspected(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	fake_tree_write(*state, "kernel/uevent_seqnum", "814\n");
	assert_int_equal(machine_watch_poll(watch), MACHINE_CPUS);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static void
a_lowered_rate_limit_is_told_and_known(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	assert_int_equal(machine_watch_rate_limit(watch), 100000);
	fake_tree_write(*state, "sys/kernel/perf_event_max_sample_rate", "79000\n");
	assert_int_equal(machine_watch_poll(watch), MACHINE_RATE_LIMIT);
	assert_int_equal(machine_watch_rate_limit(watch), 79000);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

static bool
is_readable(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return poll(&polled, 1, 0) > 0;
}

/* To set it to what it is, is to set it. */
static void
a_clock_that_is_set_rings_once(void **state)
{
	struct machine_watch *watch = watch_tree(*state);
	struct timespec now;

	assert_true(machine_watch_descriptor(watch) >= 0);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	if (clock_settime(CLOCK_REALTIME, &now)) {
		machine_watch_free(watch);
		skip_because("not allowed to set the clock");
	}
	assert_true(is_readable(machine_watch_descriptor(watch)));
	assert_int_equal(machine_watch_poll(watch), 0); /* not by so much that it matters */
	assert_false(is_readable(machine_watch_descriptor(watch)));
	machine_watch_free(watch);
}

static void
a_machine_without_these_files_never_changes(void **state)
{
	struct machine_watch *watch = machine_watch_new("/nonexistent", "/nonexistent");

	(void)state;
	assert_non_null(watch);
	assert_int_equal(machine_watch_poll(watch), 0);
	assert_int_equal(machine_watch_rate_limit(watch), 0);
	machine_watch_free(watch);
}

/* Root may have the kernel say again that a device went online; the kernel then says it to all. */
static bool
have_said(const char *what)
{
	int fd = open("/sys/devices/system/cpu/cpu0/uevent", O_WRONLY | O_CLOEXEC);
	bool said = fd >= 0 && write(fd, what, strlen(what)) > 0;

	if (fd >= 0)
		close(fd);
	return said;
}

static bool
may_listen_to_kernel(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	bool may = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

	if (fd >= 0)
		close(fd);
	return may;
}

static bool
becomes_readable(const struct machine_watch *watch)
{
	struct pollfd fd = {.fd = machine_watch_descriptor(watch), .events = POLLIN};

	return poll(&fd, 1, 100) == 1;
}

static void
a_device_that_went_online_rings_once(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	if (!may_listen_to_kernel() || !have_said("online")) {
		machine_watch_free(watch);
		skip_because("the kernel may not be listened to, or asked");
	}
	assert_true(becomes_readable(watch));
	machine_watch_poll(watch);
	assert_false(becomes_readable(watch));
	machine_watch_free(watch);
}

static void
a_device_that_only_changed_does_not_ring(void **state)
{
	struct machine_watch *watch = watch_tree(*state);

	if (!may_listen_to_kernel() || !have_said("change")) {
		machine_watch_free(watch);
		skip_because("the kernel may not be listened to, or asked");
	}
	assert_false(becomes_readable(watch));
	machine_watch_free(watch);
}

/* What cannot be opened has a negative descriptor, and is cleared for nothing. */
static void
a_watch_without_descriptors_is_polled_all_the_same(void **state)
{
	struct rlimit limit, none;
	struct machine_watch *watch;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	watch = machine_watch_new("/sys", "/proc");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_non_null(watch);
	assert_true(machine_watch_descriptor(watch) < 0);
	assert_int_equal(machine_watch_poll(watch), 0);
	machine_watch_free(watch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_machine_that_stays_the_same_has_not_changed, make_tree,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(another_list_of_cpus_is_told_once, make_tree, fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_cpu_that_came_back_before_anybody_looked_is_suspected, make_tree,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_lowered_rate_limit_is_told_and_known, make_tree, fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_clock_that_is_set_rings_once, make_tree, fake_tree_teardown),
		cmocka_unit_test(a_machine_without_these_files_never_changes),
		cmocka_unit_test_setup_teardown(a_device_that_went_online_rings_once, make_tree, fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_device_that_only_changed_does_not_ring, make_tree,
	                                        fake_tree_teardown),
		cmocka_unit_test(a_watch_without_descriptors_is_polled_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
