#include "tests/unit/test.h"

#include <signal.h>

#include "base/error.h"
#include "tests/unit/dcpi-tools/doctor.h"

static void
find_two(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	findings_add(findings, SEVERITY_OK, "first", "one of %s", environment->directory);
	findings_add(findings, SEVERITY_WARNING, "second", "two");
	findings_remedy(findings, "true");
}

/* As a guard does. */
static void
end_as_damaged(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	(void)environment;
	findings_add(findings, SEVERITY_OK, "first", "never seen");
	_exit(STATUS_DAMAGED);
}

static void
be_killed(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	(void)environment;
	(void)findings;
	raise(SIGKILL);
}

static void
what_the_child_found_is_found(void **state)
{
	struct doctor_scene *scene = *state;

	doctor_check_in_child(&scene->environment, find_two, &scene->findings);
	assert_int_equal(scene->findings.count, 2);
	assert_found(scene, SEVERITY_OK, "first", "one of /var/lib/dcpi", NULL);
	assert_found(scene, SEVERITY_WARNING, "second", "two", "true");
}

static void
a_fault_over_a_damaged_database_is_a_finding_among_others(void **state)
{
	struct doctor_scene *scene = *state;

	findings_add(&scene->findings, SEVERITY_OK, "before", "kept");
	doctor_check_in_child(&scene->environment, end_as_damaged, &scene->findings);
	assert_int_equal(scene->findings.count, 2);
	assert_found(scene, SEVERITY_OK, "before", "kept", NULL);
	assert_found(scene, SEVERITY_PROBLEM, "database", "damaged", "salvage");
}

static void
so_is_a_child_that_was_killed(void **state)
{
	struct doctor_scene *scene = *state;

	doctor_check_in_child(&scene->environment, be_killed, &scene->findings);
	assert_int_equal(scene->findings.count, 1);
	assert_found(scene, SEVERITY_PROBLEM, "database", "damaged", "salvage");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(what_the_child_found_is_found),
		SCENE_TEST(a_fault_over_a_damaged_database_is_a_finding_among_others),
		SCENE_TEST(so_is_a_child_that_was_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
