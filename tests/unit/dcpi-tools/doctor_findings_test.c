#include "tests/unit/test.h"

#include "dcpi-tools/ctl/doctor/doctor.h"

#include "base/error.h"

static void
the_most_important_comes_first_and_equals_keep_their_order(void **state)
{
	struct ctl_findings findings = {0};

	(void)state;
	findings_add(&findings, SEVERITY_OK, "a", "one");
	findings_add(&findings, SEVERITY_WARNING, "b", "two");
	findings_add(&findings, SEVERITY_OK, "c", "three");
	findings_add(&findings, SEVERITY_PROBLEM, "d", "four");
	findings_add(&findings, SEVERITY_WARNING, "e", "five");
	findings_remedy(&findings, "echo %d", 5);
	findings_add(&findings, SEVERITY_NOTE, "f", "six");
	findings_sort(&findings);
	assert_int_equal(findings.count, 6);
	assert_string_equal(findings.list[0].text, "four");
	assert_string_equal(findings.list[1].text, "two");
	assert_string_equal(findings.list[2].text, "five");
	assert_string_equal(findings.list[2].remedy, "echo 5");
	assert_string_equal(findings.list[3].text, "six");
	assert_string_equal(findings.list[4].text, "one");
	assert_string_equal(findings.list[5].text, "three");
	assert_int_equal(findings_count(&findings, SEVERITY_WARNING), 2);
	findings_fini(&findings);
}

static void
a_warning_that_nothing_mends_is_a_note(void **state)
{
	struct ctl_findings findings = {0};

	(void)state;
	findings_add(&findings, SEVERITY_WARNING, "a", "one");
	findings_add(&findings, SEVERITY_WARNING, "b", "two");
	findings_remedy(&findings, "true");
	findings_add(&findings, SEVERITY_PROBLEM, "c", "three");
	findings_demote(&findings);
	assert_int_equal(findings.list[0].severity, SEVERITY_NOTE);
	assert_int_equal(findings.list[1].severity, SEVERITY_WARNING);
	assert_int_equal(findings.list[2].severity, SEVERITY_PROBLEM);
	findings_fini(&findings);
}

static void
findings_go_through_json_unchanged(void **state)
{
	struct ctl_findings findings = {0}, copy = {0};
	json_t *list;

	(void)state;
	findings_add(&findings, SEVERITY_WARNING, "symbols", "one");
	findings_remedy(&findings, "true");
	findings_image(&findings, "/bin/one", 7, 12.5);
	findings_add(&findings, SEVERITY_OK, "database", "two");
	list = findings_json(&findings);
	assert_int_equal(findings_add_json(&copy, list), 0);
	json_decref(list);
	assert_int_equal(copy.count, 2);
	assert_int_equal(copy.list[0].severity, SEVERITY_WARNING);
	assert_string_equal(copy.list[0].check, "symbols");
	assert_string_equal(copy.list[0].text, "one");
	assert_string_equal(copy.list[0].remedy, "true");
	assert_string_equal(copy.list[0].image, "/bin/one");
	assert_int_equal(copy.list[0].samples, 7);
	assert_true(copy.list[0].percent == 12.5);
	assert_int_equal(copy.list[1].severity, SEVERITY_OK);
	assert_null(copy.list[1].remedy);
	assert_null(copy.list[1].image);
	findings_fini(&findings);
	findings_fini(&copy);
}

static void
what_is_no_finding_is_refused(void **state)
{
	struct ctl_findings findings = {0};
	json_t *list = json_loads("[{\"severity\":\"bad\",\"check\":\"a\",\"text\":\"b\",\"mend\":null}]", 0, NULL);

	(void)state;
	assert_true(findings_add_json(&findings, list) < 0);
	assert_int_equal(findings.count, 0);
	json_decref(list);
}

static void
only_problems_make_the_status_a_failure(void **state)
{
	struct ctl_findings findings = {0};

	(void)state;
	findings_add(&findings, SEVERITY_WARNING, "a", "one");
	assert_int_equal(doctor_status(&findings), STATUS_OK);
	findings_add(&findings, SEVERITY_PROBLEM, "b", "two");
	assert_int_equal(doctor_status(&findings), STATUS_FAILURE);
	findings_fini(&findings);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_important_comes_first_and_equals_keep_their_order),
		cmocka_unit_test(a_warning_that_nothing_mends_is_a_note),
		cmocka_unit_test(findings_go_through_json_unchanged),
		cmocka_unit_test(what_is_no_finding_is_refused),
		cmocka_unit_test(only_problems_make_the_status_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
