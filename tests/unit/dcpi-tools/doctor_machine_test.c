/* Checks of dcpi-tools/ctl/doctor/machine.c. */
#include "tests/unit/test.h"

#include "tests/unit/dcpi-tools/doctor.h"

static void
refuse_everything(struct doctor_scene *scene, const struct answer *answer)
{
	scene->kernel.answers = answer;
	scene->kernel.count = 1;
}

static void
a_machine_with_counters_counts_everything(void **state)
{
	static const struct answer all = {.type = ANY, .config = ANY, .precise = ANY, .result = 0};
	struct doctor_scene *scene = *state;

	refuse_everything(scene, &all);
	assert_true(doctor_check_events(&scene->environment, &scene->findings));
	assert_int_equal(scene->findings.count, 1);
	assert_found(scene, SEVERITY_OK, "events",
	             "this machine counts cycles, instructions, cache-references, cache-misses, branch-misses, "
	             "cpu-clock, page-faults, context-switches",
	             NULL);
	assert_null(strstr(scene->findings.list[0].text, "not"));
}

static void
without_counters_a_clock_stands_in(void **state)
{
	struct doctor_scene *scene = *state;

	assert_false(doctor_check_events(&scene->environment, &scene->findings));
	assert_found(scene, SEVERITY_WARNING, "pmu", "cpu-clock, a timer, stands in for cycles: no hardware", NULL);
	assert_found(scene, SEVERITY_OK, "events",
	             "counts cpu-clock, page-faults, context-switches; not cycles, instructions", NULL);
}

static void
a_virtual_machine_is_to_be_given_a_pmu(void **state)
{
	struct doctor_scene *scene = *state;

	scene_write(scene, "cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n");
	doctor_check_events(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "pmu", "stands in", "pmu=on");
}

static void
counters_that_someone_holds_are_to_be_given_back(void **state)
{
	static const struct answer busy = {PERF_TYPE_HARDWARE, ANY, ANY, .result = -EBUSY};
	struct doctor_scene *scene = *state;

	refuse_everything(scene, &busy);
	doctor_check_events(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "pmu", "someone else holds", "end the other profiler");
}

static void
root_whom_a_container_refuses_everything_has_a_problem(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EPERM};
	struct doctor_scene *scene = *state;

	refuse_everything(scene, &refused);
	scene_write(scene, "sys/kernel/perf_event_paranoid", "-1\n");
	assert_false(doctor_check_events(&scene->environment, &scene->findings));
	assert_found(scene, SEVERITY_PROBLEM, "events", "seccomp", "--cap-add PERFMON");
}

static void
a_paranoid_kernel_has_a_sysctl(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EACCES};
	struct doctor_scene *scene = *state;

	refuse_everything(scene, &refused);
	scene_write(scene, "sys/kernel/perf_event_paranoid", "4\n");
	doctor_check_events(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "events", "kernel.perf_event_paranoid is 4",
	             "sysctl kernel.perf_event_paranoid=0");
}

static void
a_kernel_without_perf_events_is_a_problem(void **state)
{
	static const struct answer none = {.type = ANY, .config = ANY, .precise = ANY, .result = -ENOSYS};
	struct doctor_scene *scene = *state;

	refuse_everything(scene, &none);
	doctor_check_events(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "events", "CONFIG_PERF_EVENTS", NULL);
}

static void
a_user_who_may_not_ask_is_told_who_may(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EACCES};
	struct doctor_scene *scene = *state;

	refuse_everything(scene, &refused);
	scene->environment.uid = 1000;
	doctor_check_events(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_NOTE, "events", "only root may ask", "sudo dcpictl doctor");
}

static void
a_user_who_may_not_ask_learns_what_dcpid_was_granted(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EACCES};
	struct doctor_scene *scene = *state;

	refuse_everything(scene, &refused);
	scene->environment.uid = 1000;
	scene_status(scene, "{\"events\":[{\"name\":\"cpu-clock\",\"requested\":\"cycles\",\"available\":true,"
	                    "\"note\":\"no PMU\"},{\"name\":\"page-faults\",\"requested\":\"page-faults\","
	                    "\"available\":true,\"note\":\"\"},{\"name\":\"cache-misses\",\"requested\":"
	                    "\"cache-misses\",\"available\":false,\"note\":\"no PMU\"}]}");
	assert_false(doctor_check_events(&scene->environment, &scene->findings));
	assert_found(scene, SEVERITY_WARNING, "pmu", "cpu-clock, a timer, stands in for cycles: no PMU", NULL);
	assert_found(scene, SEVERITY_OK, "events", "dcpid counts cpu-clock, page-faults", NULL);
}

static void
link_to(struct doctor_scene *scene, const char *path, const char *target)
{
	char full[PATH_MAX];

	scene_write(scene, path, ""); /* the folders above it */
	snprintf(full, sizeof(full), "%s/%s", scene->tree.root, path);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink(target, full), 0);
}

static void
root_of_the_machine_may_everything(void **state)
{
	struct doctor_scene *scene = *state;

	scene_write(scene, "self/status", "Name:\tdcpictl\nCapEff:\t000001ffffffffff\n");
	link_to(scene, "self/ns/pid", "pid:[4026531836]");
	doctor_check_rights(&scene->environment, &scene->findings);
	assert_int_equal(scene->findings.count, 0);
}

/* a80425fb: what docker gives root; it has none of PERFMON (38), SYS_PTRACE (19), SYS_ADMIN (21). */
static void
root_of_a_container_lacks_capabilities(void **state)
{
	struct doctor_scene *scene = *state;

	scene_write(scene, "self/status", "CapEff:\t00000000a80425fb\n");
	doctor_check_rights(&scene->environment, &scene->findings);
	assert_int_equal(scene->findings.count, 2);
	assert_found(scene, SEVERITY_PROBLEM, "capabilities", "CAP_PERFMON", "--cap-add PERFMON");
	assert_non_null(strstr(scene->findings.list[1].text, "CAP_SYS_PTRACE"));
}

static void
other_users_have_the_service_for_that(void **state)
{
	struct doctor_scene *scene = *state;

	scene->environment.uid = 1000;
	scene_write(scene, "self/status", "CapEff:\t0000000000000000\n");
	doctor_check_rights(&scene->environment, &scene->findings);
	assert_int_equal(scene->findings.count, 0);
}

static void
processes_outside_of_a_pid_namespace_stay_unknown(void **state)
{
	struct doctor_scene *scene = *state;

	link_to(scene, "self/ns/pid", "pid:[4026532201]");
	doctor_check_rights(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "pid-namespace", "sees its own processes only", "--pid=host");
}

static void
who_else_has_perf_events_open_is_named(void **state)
{
	struct doctor_scene *scene = *state;

	scene_write(scene, "812/comm", "dcpid\n");
	link_to(scene, "812/fd/5", "anon_inode:[perf_event]");
	scene_write(scene, "900/comm", "pe\033rf\n");
	link_to(scene, "900/fd/3", "anon_inode:[perf_event]");
	link_to(scene, "900/fd/4", "anon_inode:[perf_event]");
	link_to(scene, "900/fd/0", "/dev/null");
	scene_write(scene, "901/comm", "cat\n");
	link_to(scene, "901/fd/3", "anon_inode:[eventfd]");
	scene_status(scene, "{\"pid\":812}");
	doctor_check_profilers(&scene->environment, true, &scene->findings);
	assert_int_equal(scene->findings.count, 1);
	assert_found(scene, SEVERITY_WARNING, "profilers",
	             "pe\\x1brf (process 900) has 2 perf events open: it may share", "kill -INT 900");
}

static void
without_counters_there_is_nothing_to_share(void **state)
{
	struct doctor_scene *scene = *state;

	scene_write(scene, "900/comm", "perf\n");
	link_to(scene, "900/fd/3", "anon_inode:[perf_event]");
	doctor_check_profilers(&scene->environment, false, &scene->findings);
	assert_int_equal(scene->findings.count, 0);
}

/* A kernel in whose settings nothing is in the way. */
static void
write_good_settings(struct doctor_scene *scene)
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
	struct doctor_scene *scene = *state;

	write_good_settings(scene);
	doctor_check_kernel(&scene->environment, true, &scene->findings);
	assert_int_equal(findings_count(&scene->findings, SEVERITY_OK), scene->findings.count);
	assert_found(scene, SEVERITY_OK, "perf-event-paranoid", "is 2: root and the service", NULL);
	assert_found(scene, SEVERITY_OK, "kptr-restrict", "is 1", NULL);
	assert_found(scene, SEVERITY_OK, "sample-rate", "is 100000; 5200 samples/s are wanted", NULL);
}

static void
a_kernel_without_the_setting_for_perf_events_is_a_problem(void **state)
{
	struct doctor_scene *scene = *state;

	doctor_check_kernel(&scene->environment, false, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "perf-event-paranoid", "no perf events", "CONFIG_PERF_EVENTS");
}

static void
hidden_kernel_names_have_a_sysctl(void **state)
{
	struct doctor_scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/kptr_restrict", "2\n");
	doctor_check_kernel(&scene->environment, false, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "kptr-restrict", "is 2", "sysctl kernel.kptr_restrict=1");
}

static void
zeros_for_addresses_are_noticed_by_root_only(void **state)
{
	struct doctor_scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "kallsyms", "0000000000000000 T _stext\n");
	scene->environment.uid = 1000; /* who sees zeros anyway */
	doctor_check_kernel(&scene->environment, false, &scene->findings);
	assert_null(finding_of(scene, "kallsyms"));
	scene->environment.uid = 0;
	doctor_check_kernel(&scene->environment, false, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "kallsyms", "CAP_SYSLOG is missing", "--cap-add SYSLOG");
}

static void
the_nmi_watchdog_matters_where_there_are_counters(void **state)
{
	struct doctor_scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/nmi_watchdog", "1\n");
	doctor_check_kernel(&scene->environment, false, &scene->findings);
	assert_null(finding_of(scene, "nmi-watchdog"));
	doctor_check_kernel(&scene->environment, true, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "nmi-watchdog", "holds a hardware counter",
	             "sysctl kernel.nmi_watchdog=0");
}

static void
a_sample_rate_below_what_is_wanted_is_a_warning(void **state)
{
	struct doctor_scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/perf_event_max_sample_rate", "5000\n");
	doctor_check_kernel(&scene->environment, true, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "sample-rate", "is 5000, and 5200 samples/s are wanted",
	             "sysctl kernel.perf_event_max_sample_rate=100000");
}

static void
a_lowered_sample_rate_is_enough_for_a_daemon_that_wants_less(void **state)
{
	struct doctor_scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "sys/kernel/perf_event_max_sample_rate", "5000\n");
	scene_status(scene, "{\"events\":[{\"rate\":242},{\"rate\":0}]}");
	doctor_check_kernel(&scene->environment, true, &scene->findings);
	assert_found(scene, SEVERITY_OK, "sample-rate", "is 5000 (lowered); 242 samples/s are wanted", NULL);
}

static void
lockdown_is_said_and_not_in_the_way(void **state)
{
	struct doctor_scene *scene = *state;

	write_good_settings(scene);
	scene_write(scene, "kernel/security/lockdown", "none [integrity] confidentiality\n");
	doctor_check_kernel(&scene->environment, true, &scene->findings);
	assert_found(scene, SEVERITY_OK, "lockdown", "kernel lockdown is integrity:", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_machine_with_counters_counts_everything),
		SCENE_TEST(without_counters_a_clock_stands_in),
		SCENE_TEST(a_virtual_machine_is_to_be_given_a_pmu),
		SCENE_TEST(counters_that_someone_holds_are_to_be_given_back),
		SCENE_TEST(root_whom_a_container_refuses_everything_has_a_problem),
		SCENE_TEST(a_paranoid_kernel_has_a_sysctl),
		SCENE_TEST(a_kernel_without_perf_events_is_a_problem),
		SCENE_TEST(a_user_who_may_not_ask_is_told_who_may),
		SCENE_TEST(a_user_who_may_not_ask_learns_what_dcpid_was_granted),
		SCENE_TEST(root_of_the_machine_may_everything),
		SCENE_TEST(root_of_a_container_lacks_capabilities),
		SCENE_TEST(other_users_have_the_service_for_that),
		SCENE_TEST(processes_outside_of_a_pid_namespace_stay_unknown),
		SCENE_TEST(who_else_has_perf_events_open_is_named),
		SCENE_TEST(without_counters_there_is_nothing_to_share),
		SCENE_TEST(settings_that_are_right_are_said),
		SCENE_TEST(a_kernel_without_the_setting_for_perf_events_is_a_problem),
		SCENE_TEST(hidden_kernel_names_have_a_sysctl),
		SCENE_TEST(zeros_for_addresses_are_noticed_by_root_only),
		SCENE_TEST(the_nmi_watchdog_matters_where_there_are_counters),
		SCENE_TEST(a_sample_rate_below_what_is_wanted_is_a_warning),
		SCENE_TEST(a_lowered_sample_rate_is_enough_for_a_daemon_that_wants_less),
		SCENE_TEST(lockdown_is_said_and_not_in_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
