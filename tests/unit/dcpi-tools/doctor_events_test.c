#include "tests/unit/test.h"

#include "tests/unit/dcpi-tools/doctor.h"

static void
refuse_everything(struct scene *scene, const struct answer *answer)
{
	scene->kernel.answers = answer;
	scene->kernel.count = 1;
}

static void
a_machine_with_counters_counts_everything(void **state)
{
	static const struct answer all = {.type = ANY, .config = ANY, .precise = ANY, .result = 0};
	struct scene *scene = *state;

	refuse_everything(scene, &all);
	assert_true(examine_events(&scene->around, &scene->findings));
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
	struct scene *scene = *state;

	assert_false(examine_events(&scene->around, &scene->findings));
	assert_found(scene, SEVERITY_WARNING, "pmu", "cpu-clock, a timer, stands in for cycles: no hardware", NULL);
	assert_found(scene, SEVERITY_OK, "events",
	             "counts cpu-clock, page-faults, context-switches; not cycles, instructions", NULL);
}

static void
a_virtual_machine_is_to_be_given_a_pmu(void **state)
{
	struct scene *scene = *state;

	scene_write(scene, "cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n");
	examine_events(&scene->around, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "pmu", "stands in", "pmu=on");
}

static void
counters_that_someone_holds_are_to_be_given_back(void **state)
{
	static const struct answer busy = {PERF_TYPE_HARDWARE, ANY, ANY, .result = -EBUSY};
	struct scene *scene = *state;

	refuse_everything(scene, &busy);
	examine_events(&scene->around, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "pmu", "someone else holds", "end the other profiler");
}

static void
root_whom_a_container_refuses_everything_has_a_problem(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EPERM};
	struct scene *scene = *state;

	refuse_everything(scene, &refused);
	scene_write(scene, "sys/kernel/perf_event_paranoid", "-1\n");
	assert_false(examine_events(&scene->around, &scene->findings));
	assert_found(scene, SEVERITY_PROBLEM, "events", "seccomp", "--cap-add PERFMON");
}

static void
a_paranoid_kernel_has_a_sysctl(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EACCES};
	struct scene *scene = *state;

	refuse_everything(scene, &refused);
	scene_write(scene, "sys/kernel/perf_event_paranoid", "4\n");
	examine_events(&scene->around, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "events", "kernel.perf_event_paranoid is 4",
	             "sysctl kernel.perf_event_paranoid=0");
}

static void
a_kernel_without_perf_events_is_a_problem(void **state)
{
	static const struct answer none = {.type = ANY, .config = ANY, .precise = ANY, .result = -ENOSYS};
	struct scene *scene = *state;

	refuse_everything(scene, &none);
	examine_events(&scene->around, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "events", "CONFIG_PERF_EVENTS", NULL);
}

static void
a_user_who_may_not_ask_is_told_who_may(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EACCES};
	struct scene *scene = *state;

	refuse_everything(scene, &refused);
	scene->around.uid = 1000;
	examine_events(&scene->around, &scene->findings);
	assert_found(scene, SEVERITY_NOTE, "events", "only root may ask", "sudo dcpictl doctor");
}

static void
a_user_who_may_not_ask_learns_what_dcpid_was_granted(void **state)
{
	static const struct answer refused = {.type = ANY, .config = ANY, .precise = ANY, .result = -EACCES};
	struct scene *scene = *state;

	refuse_everything(scene, &refused);
	scene->around.uid = 1000;
	scene_status(scene, "{\"events\":[{\"name\":\"cpu-clock\",\"requested\":\"cycles\",\"available\":true,"
	                    "\"note\":\"no PMU\"},{\"name\":\"page-faults\",\"requested\":\"page-faults\","
	                    "\"available\":true,\"note\":\"\"},{\"name\":\"cache-misses\",\"requested\":"
	                    "\"cache-misses\",\"available\":false,\"note\":\"no PMU\"}]}");
	assert_false(examine_events(&scene->around, &scene->findings));
	assert_found(scene, SEVERITY_WARNING, "pmu", "cpu-clock, a timer, stands in for cycles: no PMU", NULL);
	assert_found(scene, SEVERITY_OK, "events", "dcpid counts cpu-clock, page-faults", NULL);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
