#include "tests/unit/test.h"

#include "tests/unit/dcpi-tools/doctor.h"

/* A kernel in whose settings nothing is in the way. */
static void
write_good_settings(struct scene *scene)
{
	scene_write(scene, "sys/kernel/perf_event_paranoid", "2\n");
	scene_write(scene, "sys/kernel/kptr_restrict", "1\n");
	scene_write(scene, "sys/kernel/nmi_watchdog", "0\n");
	scene_write(scene, "sys/kernel/perf_event_max_sample_rate", "100000\n");
	scene_write(scene, "sys/kernel/perf_event_mlock_kb", "516\n");
	scene_write(scene, "kallsyms", "ffffffff81000000 T _stext\nffffffff81000040 T next\n");
}

static void
settings_that_are_right_are_said(void **state)
{
	struct scene *scene = *state;

	write_good_settings(scene);
	examine_kernel(&scene->around, true, &scene->findings);
	assert_int_equal(findings_count(&scene->findings, SEVERITY_OK), scene->findings.count);
	assert_found(scene, SEVERITY_OK, "perf-event-paranoid", "is 2: root and the service", NULL);
	assert_found(scene, SEVERITY_OK, "kptr-restrict", "is 1", NULL);
	assert_found(scene, SEVERITY_OK, "sample-rate", "is 100000; 5200 samples/s are wanted", NULL);
}

static void
a_kernel_without_perf_events_is_a_problem(void **state)
{
	struct scene *scene = *state;

	examine_kernel(&scene->around, false, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "perf-event-paranoid", "no perf events", "CONFIG_PERF_EVENTS");
}

static void
hidden_kernel_names_have_a_sysctl(void **state)
{
	struct scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/kptr_restrict", "2\n");
	examine_kernel(&scene->around, false, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "kptr-restrict", "is 2", "sysctl kernel.kptr_restrict=1");
}

static void
zeros_for_addresses_are_noticed_by_root_only(void **state)
{
	struct scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "kallsyms", "0000000000000000 T _stext\n");
	scene->around.uid = 1000; /* who sees zeros anyway */
	examine_kernel(&scene->around, false, &scene->findings);
	assert_null(finding_of(scene, "kallsyms"));
	scene->around.uid = 0;
	examine_kernel(&scene->around, false, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "kallsyms", "CAP_SYSLOG is missing", "--cap-add SYSLOG");
}

static void
the_nmi_watchdog_matters_where_there_are_counters(void **state)
{
	struct scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/nmi_watchdog", "1\n");
	examine_kernel(&scene->around, false, &scene->findings);
	assert_null(finding_of(scene, "nmi-watchdog"));
	examine_kernel(&scene->around, true, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "nmi-watchdog", "holds a hardware counter",
	             "sysctl kernel.nmi_watchdog=0");
}

static void
a_sample_rate_below_what_is_wanted_is_a_warning(void **state)
{
	struct scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/perf_event_max_sample_rate", "5000\n");
	examine_kernel(&scene->around, true, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "sample-rate", "is 5000, and 5200 samples/s are wanted",
	             "sysctl kernel.perf_event_max_sample_rate=100000");
}

static void
a_lowered_sample_rate_is_enough_for_a_daemon_that_wants_less(void **state)
{
	struct scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/perf_event_max_sample_rate", "5000\n");
	scene_status(scene, "{\"events\":[{\"rate\":242},{\"rate\":0}]}");
	examine_kernel(&scene->around, true, &scene->findings);
	assert_found(scene, SEVERITY_OK, "sample-rate", "is 5000 (lowered); 242 samples/s are wanted", NULL);
}

static void
lockdown_is_said_and_not_in_the_way(void **state)
{
	struct scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "kernel/security/lockdown", "none [integrity] confidentiality\n");
	examine_kernel(&scene->around, true, &scene->findings);
	assert_found(scene, SEVERITY_OK, "lockdown", "kernel lockdown is integrity:", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(settings_that_are_right_are_said),
		SCENE_TEST(a_kernel_without_perf_events_is_a_problem),
		SCENE_TEST(hidden_kernel_names_have_a_sysctl),
		SCENE_TEST(zeros_for_addresses_are_noticed_by_root_only),
		SCENE_TEST(the_nmi_watchdog_matters_where_there_are_counters),
		SCENE_TEST(a_sample_rate_below_what_is_wanted_is_a_warning),
		SCENE_TEST(a_lowered_sample_rate_is_enough_for_a_daemon_that_wants_less),
		SCENE_TEST(lockdown_is_said_and_not_in_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
