/*
 * doctor.h - made-up surroundings for the checks of `dcpictl doctor`
 *
 * /sys, /proc, dpkg's and apt's folders are one temporary tree; the kernel is scripted. Whoever asks is root, and the
 * service's dcpid does not run.
 */
#ifndef DCPI_TESTS_DOCTOR_H
#define DCPI_TESTS_DOCTOR_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/ctl/doctor/doctor.h"
#include "tests/unit/event/fake_tree.h"
#include "tests/unit/event/scripted_kernel.h"

struct doctor_scene {
	struct fake_tree tree;
	struct scripted_kernel kernel;
	struct doctor_environment environment;
	struct ctl_findings findings;
};

static inline int
make_scene(void **state)
{
	struct doctor_scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	fake_tree_init(&scene->tree);
	scene->environment = (struct doctor_environment){
		.kernel = {.open = scripted_open,
	                   .open_context = &scene->kernel,
	                   .sysfs = scene->tree.root,
	                   .procfs = scene->tree.root},
		.dpkg_query = "/nowhere/dpkg-query",
		.apt_lists = scene->tree.root,
		.directory = PROFILE_DIRECTORY,
		.is_service = true,
		.user = "root",
		.status_error = -ENOENT,
	};
	*state = scene;
	return 0;
}

static inline int
free_scene(void **state)
{
	struct doctor_scene *scene = *state;

	findings_fini(&scene->findings);
	json_decref(scene->environment.status);
	fake_tree_fini(&scene->tree);
	free(scene);
	return 0;
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, make_scene, free_scene)

/* dcpid runs, and says `json`. */
static inline void
scene_status(struct doctor_scene *scene, const char *json)
{
	scene->environment.status = json_loads(json, 0, NULL);
	assert_non_null(scene->environment.status);
}

static inline void
scene_write(struct doctor_scene *scene, const char *path, const char *content)
{
	fake_tree_write(&scene->tree, path, content);
}

static inline const struct ctl_finding *
finding_of(const struct doctor_scene *scene, const char *check)
{
	for (size_t i = 0; i < scene->findings.count; i++)
		if (strcmp(scene->findings.list[i].check, check) == 0)
			return &scene->findings.list[i];
	return NULL;
}

/* `check` found this: a piece of its text, and of what mends it (NULL: nothing does). */
static inline void
assert_found(const struct doctor_scene *scene, enum severity severity, const char *check, const char *text,
             const char *mend)
{
	const struct ctl_finding *finding = finding_of(scene, check);

	if (!finding)
		fail_msg("%s found nothing", check);
	assert_int_equal(finding->severity, severity);
	if (!strstr(finding->text, text))
		fail_msg("'%s' is not in '%s'", text, finding->text);
	if (!mend)
		assert_null(finding->remedy);
	else if (!finding->remedy || !strstr(finding->remedy, mend))
		fail_msg("'%s' is not in '%s'", mend, finding->remedy ? finding->remedy : "(nothing)");
}

#endif
