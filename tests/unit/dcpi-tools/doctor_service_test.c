#include "tests/unit/test.h"

#include "tests/unit/dcpi-tools/doctor.h"

static void
a_service_that_is_not_running_is_to_be_started(void **state)
{
	struct doctor_scene *scene = *state;

	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "service", "not running", "systemctl start dcpid");
}

static void
a_daemon_by_hand_is_started_by_hand(void **state)
{
	struct doctor_scene *scene = *state;

	scene->environment.is_service = false;
	scene->environment.directory = "/tmp/db";
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "service", "not running", "dcpid --foreground --db /tmp/db");
}

static void
of_a_service_that_failed_the_log_is_to_be_read(void **state)
{
	struct doctor_scene *scene = *state;

	snprintf(scene->environment.service_state, sizeof(scene->environment.service_state), "failed");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "service", "failed", "journalctl -u dcpid");
}

static void
a_user_outside_of_the_group_is_told_how_to_join_it(void **state)
{
	struct doctor_scene *scene = *state;

	scene->environment.uid = 1000;
	scene->environment.has_group = true;
	scene->environment.status_error = -EACCES;
	snprintf(scene->environment.user, sizeof(scene->environment.user), "jane");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "access", "user jane may not talk to dcpid: not in group dcpi",
	             "usermod -aG dcpi jane");
}

static void
a_user_who_joined_the_group_has_to_log_in_again(void **state)
{
	struct doctor_scene *scene = *state;

	scene->environment.has_group = scene->environment.is_listed = true;
	scene->environment.status_error = -EACCES;
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "access", "older than the membership", "newgrp dcpi");
}

static void
a_daemon_that_does_not_answer_is_a_problem(void **state)
{
	struct doctor_scene *scene = *state;

	scene->environment.status_error = -ETIMEDOUT;
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "service", "has not answered", "journalctl");
}

static void
a_daemon_that_is_well_gives_one_finding(void **state)
{
	struct doctor_scene *scene = *state;

	scene_status(scene, "{\"version\":\"0.1.0\",\"pid\":812,\"epoch\":{\"id\":3},\"seconds\":100,"
	                    "\"trouble\":[],\"tally\":{\"full\":false},\"sideband_lost\":0,"
	                    "\"overhead\":{\"limit_percent\":1,\"measured_percent\":1.1},"
	                    "\"events\":[{\"name\":\"cycles\",\"samples\":100000,\"lost\":100,\"throttled\":9,"
	                    "\"running_percent\":100,\"unknown\":{\"guest\":999}}]}");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_int_equal(scene->findings.count, 1);
	assert_found(scene, SEVERITY_OK, "service", "dcpid 0.1.0 collects (process 812, epoch 3)", NULL);
}

/* 400 of 100,000 are 0.4 %; 2,000 of 99,600 are 2.0 %; more than one throttling in 10 s; half of the time. */
static void
what_is_missing_from_the_samples_is_a_warning(void **state)
{
	struct doctor_scene *scene = *state;

	scene_status(scene, "{\"seconds\":100,\"rings\":{\"sample_bytes\":262144,\"sideband_bytes\":524288},"
	                    "\"sideband_lost\":4,\"events\":[{\"name\":\"cycles\",\"samples\":99600,\"lost\":400,"
	                    "\"dropped\":6,\"throttled\":11,\"running_percent\":50,"
	                    "\"unknown\":{\"guest\":100,\"kernel-hidden\":1900}}]}");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "lost", "0.40 % of the samples of cycles", "ring_kib = 1024;");
	assert_found(scene, SEVERITY_WARNING, "dropped", "6 samples of cycles", "journalctl");
	assert_found(scene, SEVERITY_WARNING, "throttled", "11 times", "less often");
	assert_found(scene, SEVERITY_WARNING, "multiplexed", "50 % of the time", "leave events out");
	assert_found(scene, SEVERITY_WARNING, "unknown", "2.0 % of the samples", "kptr_restrict=1");
	assert_found(scene, SEVERITY_WARNING, "records", "4 records", "sideband_ring_kib = 1024;");
}

static void
a_database_that_cannot_be_written_is_a_problem(void **state)
{
	struct doctor_scene *scene = *state;

	scene_status(scene, "{\"seconds\":100,\"trouble\":[\"cannot write: No space left on device; 5 kept\","
	                    "\"memory for counts is full\"]}");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "trouble", "No space left on device; 5 kept", "df -h /var/lib/dcpi");
	assert_int_equal(findings_count(&scene->findings, SEVERITY_PROBLEM), 2);
	assert_string_equal(scene->findings.list[2].text, "memory for counts is full");
}

static void
a_database_at_its_limit_is_to_be_given_more(void **state)
{
	struct doctor_scene *scene = *state;

	scene_status(scene, "{\"seconds\":100,\"trouble\":[\"cannot write: the database has reached its size limit; "
	                    "size_limit_mib in dcpid.conf raises it; 5 kept\"]}");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "trouble", "size limit", "larger size_limit_mib");
}

static void
captured_names_that_find_no_room_are_a_warning(void **state)
{
	struct doctor_scene *scene = *state;

	scene_status(scene, "{\"seconds\":100,\"capture\":{\"bytes\":268435456,\"limit\":268435456,\"full\":true,"
	                    "\"kernel\":true}}");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "capture", "limit of 256 MiB", "larger capture_limit_mib");
}

static void
it_is_said_what_is_captured(void **state)
{
	struct doctor_scene *scene = *state;

	scene_status(scene, "{\"seconds\":100,\"capture\":{\"bytes\":5242880,\"limit\":268435456,\"full\":false,"
	                    "\"kernel\":false}}");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_OK, "capture", "5.0 of 256 MiB; the kernel's code is not", NULL);
}

static void
sampling_that_costs_more_than_allowed_is_a_warning(void **state)
{
	struct doctor_scene *scene = *state;

	scene_status(scene, "{\"seconds\":100,\"overhead\":{\"limit_percent\":1,\"measured_percent\":1.6}}");
	doctor_check_service(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "cost", "1.60 % of the machine; 1.00 %", "dcpictl reload");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_service_that_is_not_running_is_to_be_started),
		SCENE_TEST(a_daemon_by_hand_is_started_by_hand),
		SCENE_TEST(of_a_service_that_failed_the_log_is_to_be_read),
		SCENE_TEST(a_user_outside_of_the_group_is_told_how_to_join_it),
		SCENE_TEST(a_user_who_joined_the_group_has_to_log_in_again),
		SCENE_TEST(a_daemon_that_does_not_answer_is_a_problem),
		SCENE_TEST(a_daemon_that_is_well_gives_one_finding),
		SCENE_TEST(what_is_missing_from_the_samples_is_a_warning),
		SCENE_TEST(a_database_that_cannot_be_written_is_a_problem),
		SCENE_TEST(a_database_at_its_limit_is_to_be_given_more),
		SCENE_TEST(captured_names_that_find_no_room_are_a_warning),
		SCENE_TEST(it_is_said_what_is_captured),
		SCENE_TEST(sampling_that_costs_more_than_allowed_is_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
