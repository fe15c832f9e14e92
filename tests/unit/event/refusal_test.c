#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "event/refusal.h"
#include "tests/unit/event/fake_tree.h"

static const char *
explain(void **state, int err)
{
	static char why[1024];
	const struct fake_tree *tree = *state;
	struct event_environment environment = {.sysfs = tree->root, .procfs = tree->root, .cpu = 3};

	refusal_explain(&environment, err, why, sizeof(why));
	return why;
}

static void
a_paranoid_kernel_is_named_with_its_value_and_the_command(void **state)
{
	fake_tree_write(*state, "sys/kernel/perf_event_paranoid", "2\n");
	assert_string_equal(
		explain(state, -EACCES),
		"the kernel refuses to sample all processes (perf_event_open: Permission denied): "
		"kernel.perf_event_paranoid is 2 and must be 0 or less, or the process needs CAP_PERFMON: run it "
		"as root or as the service, or type: sysctl kernel.perf_event_paranoid=0");
}

static void
a_value_of_patched_kernels_names_their_capability(void **state)
{
	fake_tree_write(*state, "sys/kernel/perf_event_paranoid", "4\n");
	assert_non_null(strstr(explain(state, -EACCES), "kernel.perf_event_paranoid is 4 and must be 0 or less"));
	assert_non_null(strstr(explain(state, -EACCES), "CAP_SYS_ADMIN"));
}

static void
a_kernel_that_is_not_paranoid_points_elsewhere(void **state)
{
	const char *why;

	fake_tree_write(*state, "sys/kernel/perf_event_paranoid", "-1\n");
	why = explain(state, -EPERM);
	assert_non_null(
		strstr(why, "(perf_event_open: Operation not permitted) though kernel.perf_event_paranoid is -1"));
	assert_non_null(strstr(why, "seccomp"));
	assert_null(strstr(why, "type: sysctl"));
}

static void
a_value_that_cannot_be_read_is_said_to_be_unknown(void **state)
{
	const char *why = explain(state, -EACCES);

	assert_non_null(strstr(why, "sys/kernel/perf_event_paranoid cannot be read (No such file or directory)"));
	assert_non_null(strstr(why, "CAP_PERFMON"));
}

static void
lockdown_is_named_only_when_active(void **state)
{
	fake_tree_write(*state, "sys/kernel/perf_event_paranoid", "2\n");
	fake_tree_write(*state, "kernel/security/lockdown", "[none] integrity confidentiality\n");
	assert_null(strstr(explain(state, -EACCES), "lockdown"));
	fake_tree_write(*state, "kernel/security/lockdown", "none integrity [confidentiality]\n");
	assert_non_null(strstr(explain(state, -EACCES), "kernel lockdown is [confidentiality], too"));
	fake_tree_write(*state, "sys/kernel/perf_event_paranoid", "-1\n");
	assert_non_null(strstr(explain(state, -EACCES), "kernel lockdown is [confidentiality], too"));
}

static void
a_lack_of_means_says_which(void **state)
{
	assert_non_null(strstr(explain(state, -EMFILE), "LimitNOFILE="));
	assert_string_equal(explain(state, -ENODEV), "CPU 3 is offline (perf_event_open: No such device)");
	assert_non_null(strstr(explain(state, -ENOSYS), "CONFIG_PERF_EVENTS"));
	assert_string_equal(explain(state, -ENOMEM), "perf_event_open: Cannot allocate memory");
}

static void
means_rights_and_events_are_told_apart(void **state)
{
	(void)state;
	assert_true(refusal_is_shortage(-EMFILE) && refusal_is_shortage(-ENFILE) && refusal_is_shortage(-ENOMEM) &&
	            refusal_is_shortage(-ENOSYS));
	assert_true(refusal_is_permission(-EACCES) && refusal_is_permission(-EPERM));
	assert_false(refusal_is_shortage(-ENOENT) || refusal_is_permission(-ENOENT) || refusal_is_shortage(-EACCES));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_tree_setup, fake_tree_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_paranoid_kernel_is_named_with_its_value_and_the_command),
		TEST(a_value_of_patched_kernels_names_their_capability),
		TEST(a_kernel_that_is_not_paranoid_points_elsewhere),
		TEST(a_value_that_cannot_be_read_is_said_to_be_unknown),
		TEST(lockdown_is_named_only_when_active),
		TEST(a_lack_of_means_says_which),
		cmocka_unit_test(means_rights_and_events_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
