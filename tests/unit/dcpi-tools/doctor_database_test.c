#include "tests/unit/test.h"

#include "base/error.h"
#include "tests/unit/dcpi-tools/doctor.h"

/* An empty database in the scene's tree. */
static void
make_database(struct doctor_scene *scene, char directory[PATH_MAX])
{
	const struct profile_options options = {.write = true};
	struct profile *profile;

	snprintf(directory, PATH_MAX, "%s/db", scene->tree.root);
	assert_int_equal(profile_open(directory, &options, &profile), 0);
	profile_close(profile);
	scene->environment.directory = directory;
	scene->environment.is_service = false;
}

static void
a_database_that_is_not_there_is_noted(void **state)
{
	struct doctor_scene *scene = *state;

	scene->environment.directory = "/nowhere/db";
	doctor_check_database(&scene->environment, &scene->findings);
	assert_int_equal(scene->findings.count, 1);
	assert_found(scene, SEVERITY_NOTE, "database", "/nowhere/db: there is no database yet", NULL);
}

static void
an_empty_database_can_be_read_and_has_no_samples(void **state)
{
	struct doctor_scene *scene = *state;
	char directory[PATH_MAX];

	make_database(scene, directory);
	doctor_check_database(&scene->environment, &scene->findings);
	assert_int_equal(scene->findings.count, 2);
	assert_found(scene, SEVERITY_OK, "database", "epochs: 0, slices: 0", NULL);
	assert_found(scene, SEVERITY_NOTE, "symbols", "no samples yet", NULL);
}

static void
a_damaged_database_is_to_be_checked(void **state)
{
	struct doctor_scene *scene = *state;
	char directory[PATH_MAX], noise[8192];

	make_database(scene, directory);
	memset(noise, 'x', sizeof(noise));
	noise[sizeof(noise) - 1] = '\0';
	scene_write(scene, "db/data.mdb", noise);
	doctor_check_database(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_PROBLEM, "database", "damaged", "salvage --to");
}

/* No disk has the 4 EiB that this database may grow to. */
static void
a_disk_that_is_too_small_for_the_limit_is_a_warning(void **state)
{
	struct doctor_scene *scene = *state;
	char directory[PATH_MAX];

	make_database(scene, directory);
	scene_status(scene, "{\"database\":{\"limit\":4611686018427387904}}");
	doctor_check_database(&scene->environment, &scene->findings);
	assert_found(scene, SEVERITY_WARNING, "disk", "may grow by", "size_limit_mib = ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_database_that_is_not_there_is_noted),
		SCENE_TEST(an_empty_database_can_be_read_and_has_no_samples),
		SCENE_TEST(a_damaged_database_is_to_be_checked),
		SCENE_TEST(a_disk_that_is_too_small_for_the_limit_is_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
