#include "tests/unit/test.h"

#include "tests/unit/dcpi-tools/doctor.h"

static void
link_to(struct scene *scene, const char *path, const char *target)
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
	struct scene *scene = *state;

	scene_write(scene, "self/status", "Name:\tdcpictl\nCapEff:\t000001ffffffffff\n");
	link_to(scene, "self/ns/pid", "pid:[4026531836]");
	examine_rights(&scene->around, &scene->findings);
	assert_int_equal(scene->findings.count, 0);
}

/* a80425fb: what docker gives root; it has none of PERFMON (38), SYS_PTRACE (19), SYS_ADMIN (21). */
static void
root_of_a_container_lacks_capabilities(void **state)
{
	struct scene *scene = *state;

	scene_write(scene, "self/status", "CapEff:\t00000000a80425fb\n");
	examine_rights(&scene->around, &scene->findings);
	assert_int_equal(scene->findings.count, 2);
	assert_found(scene, SEVERITY_PROBLEM, "capabilities", "CAP_PERFMON", "--cap-add PERFMON");
	assert_non_null(strstr(scene->findings.list[1].text, "CAP_SYS_PTRACE"));
}

static void
other_users_have_the_service_for_that(void **state)
{
	struct scene *scene = *state;

	scene->around.uid = 1000;
	scene_write(scene, "self/status", "CapEff:\t0000000000000000\n");
	examine_rights(&scene->around, &scene->findings);
	assert_int_equal(scene->findings.count, 0);
}

static void
processes_outside_of_a_pid_namespace_stay_unknown(void **state)
{
	struct scene *scene = *state;

	link_to(scene, "self/ns/pid", "pid:[4026532201]");
	examine_rights(&scene->around, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "pid-namespace", "sees its own processes only", "--pid=host");
}

static void
who_else_has_perf_events_open_is_named(void **state)
{
	struct scene *scene = *state;

	scene_write(scene, "812/comm", "dcpid\n");
	link_to(scene, "812/fd/5", "anon_inode:[perf_event]");
	scene_write(scene, "900/comm", "pe\033rf\n");
	link_to(scene, "900/fd/3", "anon_inode:[perf_event]");
	link_to(scene, "900/fd/4", "anon_inode:[perf_event]");
	link_to(scene, "900/fd/0", "/dev/null");
	scene_write(scene, "901/comm", "cat\n");
	link_to(scene, "901/fd/3", "anon_inode:[eventfd]");
	scene_status(scene, "{\"pid\":812}");
	examine_profilers(&scene->around, true, &scene->findings);
	assert_int_equal(scene->findings.count, 1);
	assert_found(scene, SEVERITY_WARNING, "profilers",
	             "pe\\x1brf (process 900) has 2 perf events open: it may share", "kill -INT 900");
}

static void
without_counters_there_is_nothing_to_share(void **state)
{
	struct scene *scene = *state;

	scene_write(scene, "900/comm", "perf\n");
	link_to(scene, "900/fd/3", "anon_inode:[perf_event]");
	examine_profilers(&scene->around, false, &scene->findings);
	assert_int_equal(scene->findings.count, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(root_of_the_machine_may_everything),
		SCENE_TEST(root_of_a_container_lacks_capabilities),
		SCENE_TEST(other_users_have_the_service_for_that),
		SCENE_TEST(processes_outside_of_a_pid_namespace_stay_unknown),
		SCENE_TEST(who_else_has_perf_events_open_is_named),
		SCENE_TEST(without_counters_there_is_nothing_to_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
