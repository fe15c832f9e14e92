/*
 * The file with symbols is this program itself; what is left of it without them is made by strip.
 */
#include "tests/unit/test.h"

#include "tests/unit/dcpi-tools/doctor.h"
#include "tests/unit/dcpi-tools/fixture.h"
#include "tests/unit/dcpi-tools/self.h"

int function_to_find(int value);

__attribute__((noinline)) int
function_to_find(int value)
{
	return value * 3 + getpid();
}

/* A dpkg-query that knows what `answers` says: "case" branches of a shell, by the path that is asked for. */
static void
scene_dpkg(struct doctor_scene *scene, char program[PATH_MAX], const char *answers)
{
	char script[4096];

	snprintf(script, sizeof(script),
	         "#!/bin/sh\n[ \"$1 $2\" = '--search --' ] || exit 2\nshift 2\nfor path; do\n"
	         "case $path in\n%s\n*) echo none >&2 ;;\nesac\ndone\nexit 1\n",
	         answers);
	scene_write(scene, "dpkg-query", script);
	snprintf(program, PATH_MAX, "%s/dpkg-query", scene->tree.root);
	assert_int_equal(chmod(program, 0700), 0);
	scene->environment.dpkg_query = program;
}

static void
examine(struct doctor_scene *scene, const struct selection_fixture *fixture)
{
	assert_int_equal(doctor_check_selection(&scene->environment, NULL, &fixture->selection, "the last day",
	                                        &scene->findings),
	                 0);
}

static void
names_that_are_there_are_said(void **state)
{
	struct doctor_scene *scene = *state;
	struct selection_fixture fixture;
	struct image self;
	char path[PATH_MAX];
	uint32_t image;

	fixture_init(&fixture);
	assert_int_equal(self_find(&self, path), 0);
	image = fixture_image(&fixture, IMAGE_USER, path, "");
	fixture.images[image] = self;
	fixture_count(&fixture, image, self_offset(function_to_find), 0, 1234);
	examine(scene, &fixture);
	assert_int_equal(scene->findings.count, 1);
	assert_found(scene, SEVERITY_OK, "symbols", "100.0 % of the 1,234 samples", NULL);
}

static void
a_stripped_file_has_a_debug_package(void **state)
{
	struct doctor_scene *scene = *state;
	char self_path[PATH_MAX], path[128], command[2 * PATH_MAX], answer[512], program[PATH_MAX];
	const struct ctl_finding *finding;
	struct selection_fixture fixture;
	struct image self;
	uint32_t image;

	fixture_init(&fixture);
	assert_int_equal(self_find(&self, self_path), 0);
	snprintf(path, sizeof(path), "%s/stripped", scene->tree.root);
	snprintf(command, sizeof(command), "strip -o '%s' '%s'", path, self_path);
	assert_int_equal(system(command), 0);
	snprintf(answer, sizeof(answer), "%s) echo \"thing:amd64: $path\" ;;", path);
	scene_dpkg(scene, program, answer);
	image = fixture_image(&fixture, IMAGE_USER, path, "");
	fixture.images[image] = self;
	fixture.images[image].path = path;
	fixture_count(&fixture, image, self_offset(function_to_find), 0, 30);
	image = fixture_image(&fixture, IMAGE_ANON, "[anon]", "");
	fixture_count(&fixture, image, 0x1000, 0, 10);
	examine(scene, &fixture);
	assert_found(scene, SEVERITY_WARNING, "symbols", "stripped: 30 samples (75.0 %) have no name: it is stripped",
	             "apt install thing-dbgsym");
	finding = finding_of(scene, "symbols");
	assert_string_equal(finding->image, path);
	assert_int_equal(finding->samples, 30);
	assert_true(finding->percent == 75.0);
	assert_found(scene, SEVERITY_NOTE, "debug-archive", "no archive of debug packages", "debian-debug");
}

static void
apt_with_an_archive_of_debug_packages_needs_no_other(void **state)
{
	struct doctor_scene *scene = *state;

	assert_false(package_debug_archive(scene->tree.root));
	scene_write(scene, "host_debian_dists_bookworm_main_binary-amd64_Packages", "");
	assert_false(package_debug_archive(scene->tree.root));
	scene_write(scene, "host_debian-debug_dists_bookworm-debug_main_binary-amd64_Packages", "");
	assert_true(package_debug_archive(scene->tree.root));
}

static void
a_file_that_is_gone_cannot_be_mended(void **state)
{
	struct doctor_scene *scene = *state;
	struct selection_fixture fixture;

	fixture_init(&fixture);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/nowhere/a\033b", "abc"), 0x10, 0, 5);
	examine(scene, &fixture);
	assert_found(scene, SEVERITY_WARNING, "symbols",
	             "/nowhere/a\\x1bb: 5 samples (100.0 %) have no name: the file is "
	             "not here any more",
	             NULL);
}

/* 1 of 1000 is below half a percent; the heaviest comes first. */
static void
what_costs_little_is_not_named(void **state)
{
	struct doctor_scene *scene = *state;
	struct selection_fixture fixture;

	fixture_init(&fixture);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/nowhere/one", "one"), 0x10, 0, 1);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/nowhere/two", "two"), 0x10, 0, 399);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/nowhere/three", "three"), 0x10, 0, 600);
	examine(scene, &fixture);
	assert_int_equal(scene->findings.count, 3);
	assert_string_equal(scene->findings.list[0].image, "/nowhere/three");
	assert_string_equal(scene->findings.list[1].image, "/nowhere/two");
	assert_string_equal(scene->findings.list[2].text,
	                    "0.0 % of the 1,000 samples of the last day have a procedure's name");
}

static void
a_day_without_samples_is_noted(void **state)
{
	struct doctor_scene *scene = *state;
	struct selection_fixture fixture;

	fixture_init(&fixture);
	examine(scene, &fixture);
	assert_found(scene, SEVERITY_NOTE, "symbols", "the last day has no samples", NULL);
}

/* A program's stacks: 900 whole, 60 that end for want of a table, 35 in memory without a file, 5 beyond the copy. */
static void
images_in_which_stacks_end_are_named(void **state)
{
	struct doctor_scene *scene = *state;
	struct selection_fixture fixture;
	uint32_t program, anonymous;

	fixture_init(&fixture);
	program = fixture_image(&fixture, IMAGE_USER, "/bin/program", "p");
	anonymous = fixture_image(&fixture, IMAGE_ANON, "[anon]", "");
	struct stack_node nodes[] = {
		{0},
		{.image = program, .offset = 0x10},
		{.image = program, .offset = 0x20, .caller = 1},
		{.image = STACK_NO_IMAGE, .offset = STACK_END_NO_TABLES},
		{.image = program, .offset = 0x30, .caller = 3},
		{.image = anonymous, .offset = 0x40, .caller = 3},
		{.image = STACK_NO_IMAGE, .offset = STACK_END_COPY},
		{.image = program, .offset = 0x20, .caller = 6},
		{.image = program, .offset = 0x50, .caller = 7},
	};

	fixture.selection.stacks = (struct stack_nodes){.nodes = nodes, .count = 9};
	fixture_count(&fixture, program, 2, 0, 900);
	fixture_count(&fixture, program, 4, 0, 60);
	fixture_count(&fixture, anonymous, 5, 0, 35);
	fixture_count(&fixture, program, 8, 0, 5);
	assert_int_equal(doctor_check_stacks(&fixture.selection, "the last day", &scene->findings), 0);
	assert_int_equal(scene->findings.count, 3);
	assert_int_equal(scene->findings.list[0].severity, SEVERITY_WARNING);
	assert_string_equal(scene->findings.list[0].text,
	                    "/bin/program: 60 call stacks (6.0 %) end in it: there are no unwind tables for the code");
	assert_non_null(scene->findings.list[0].remedy);
	assert_int_equal(scene->findings.list[1].severity, SEVERITY_NOTE);
	assert_string_equal(scene->findings.list[1].text,
	                    "[anon]: 35 call stacks (3.5 %) end in it: there are no unwind tables for the code");
	assert_null(scene->findings.list[1].remedy);
	assert_int_equal(scene->findings.list[2].severity, SEVERITY_OK);
	assert_string_equal(scene->findings.list[2].text,
	                    "90.0 % of the 1,000 call stacks of the last day reach the outermost procedure");
}

static void
without_stacks_nothing_is_said_of_them(void **state)
{
	struct doctor_scene *scene = *state;
	struct selection_fixture fixture;

	fixture_init(&fixture);
	assert_int_equal(doctor_check_stacks(&fixture.selection, "the last day", &scene->findings), 0);
	assert_int_equal(scene->findings.count, 0);
}

static void
a_package_is_found_under_either_name_of_its_folder(void **state)
{
	struct doctor_scene *scene = *state;
	char package[PACKAGE_NAME_SIZE], debug[PACKAGE_NAME_SIZE], program[PATH_MAX];

	scene_dpkg(scene, program,
	           "/lib/x86_64-linux-gnu/libc.so.6) echo \"libc6:amd64: $path\" ;;\n"
	           "/usr/bin/gzip) echo \"diversion by zutils from: $path\"; echo \"gzip, zutils: $path\" ;;\n"
	           "'/usr/bin/g*p') echo \"pattern: $path\" ;;");
	assert_int_equal(package_of(program, "/usr/lib/x86_64-linux-gnu/libc.so.6", package), 0);
	assert_string_equal(package, "libc6");
	package_debug(package, debug);
	assert_string_equal(debug, "libc6-dbg");
	assert_int_equal(package_of(program, "/bin/gzip", package), 0);
	assert_string_equal(package, "gzip");
	package_debug(package, debug);
	assert_string_equal(debug, "gzip-dbgsym");
	assert_int_equal(package_of(program, "/usr/bin/never", package), -ENOENT);
	assert_int_equal(package_of(program, "/usr/bin/g*p", package), -ENOENT);
	assert_int_equal(package_of("/nowhere/dpkg-query", "/usr/bin/gzip", package), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(names_that_are_there_are_said),
		SCENE_TEST(a_stripped_file_has_a_debug_package),
		SCENE_TEST(apt_with_an_archive_of_debug_packages_needs_no_other),
		SCENE_TEST(a_file_that_is_gone_cannot_be_mended),
		SCENE_TEST(what_costs_little_is_not_named),
		SCENE_TEST(a_day_without_samples_is_noted),
		SCENE_TEST(images_in_which_stacks_end_are_named),
		SCENE_TEST(without_stacks_nothing_is_said_of_them),
		SCENE_TEST(a_package_is_found_under_either_name_of_its_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
