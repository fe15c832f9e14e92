#include "tests/unit/image/nm_fixture.h"

#include <unistd.h>

/* Split the debug file of a new program off into `debug_folder`, where a link finds it. */
static struct image
build_linked(const struct folder *folder, const char *debug_folder, char path[PATH_MAX], char twin[PATH_MAX])
{
	build_program(folder, "", path, twin);
	assert_true(run_in(folder,
	                   "mkdir -p %s && objcopy --only-keep-debug program %s/link.debug && strip program && "
	                   "objcopy --add-gnu-debuglink=%s/link.debug program",
	                   debug_folder, debug_folder, debug_folder));
	return image_of(path);
}

static void
a_debug_file_is_found_by_its_link(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], twin[PATH_MAX], below_root[PATH_MAX];
	const char *const folders[] = {".", ".debug", below_root};
	struct image image;

	need_binutils();
	snprintf(below_root, sizeof(below_root), "debug%s", folder->path);
	for (size_t i = 0; i < 3; i++) {
		image = build_linked(folder, folders[i], path, twin);
		assert_true(compare_with_nm(folder, &image, twin, false) > 3);
	}
}

static void
a_debug_file_that_differs_from_its_link_is_not_used(void **state)
{
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;

	need_binutils();
	image = build_linked(*state, ".debug", path, twin);
	assert_true(run_in(*state, "printf x >> .debug/link.debug"));
	assert_int_equal(compare_with_nm(*state, &image, twin, true), 0);
}

static void
a_debug_file_is_found_by_build_id(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], twin[PATH_MAX], hex[41];
	struct image image;

	need_binutils();
	image = build_program(folder, "", path, twin);
	for (size_t i = 0; i < 20; i++)
		snprintf(hex + 2 * i, 3, "%02x", image.build_id[i]);
	assert_true(run_in(folder,
	                   "mkdir -p debug/.build-id/%.2s && objcopy --only-keep-debug program "
	                   "debug/.build-id/%.2s/%s.debug && strip program",
	                   hex, hex, hex + 2));
	assert_true(compare_with_nm(folder, &image, twin, false) > 3);
	assert_true(run_in(folder, "rm program"));
	assert_true(compare_with_nm(folder, &image, twin, false) > 3);
}

static void
count_line(void *context, const char *line)
{
	(void)line;
	++*(size_t *)context;
}

/* elfutils asks a server through libdebuginfod, which it loads when it first looks for a debug file. */
static void
no_server_is_asked_for_a_debug_file(void **state)
{
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;
	size_t loaded = 0;

	need_binutils();
	image = build_program(*state, "", path, twin);
	assert_true(run_in(*state, "strip program"));
	assert_int_equal(setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9/", 1), 0);
	compare_with_nm(*state, &image, twin, true);
	assert_int_equal(unsetenv("DEBUGINFOD_URLS"), 0);
	each_line(count_line, &loaded, "awk '/libdebuginfod|libcurl/' /proc/%d/maps", getpid());
	assert_int_equal(loaded, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_debug_file_is_found_by_its_link),
		cmocka_unit_test(a_debug_file_that_differs_from_its_link_is_not_used),
		cmocka_unit_test(a_debug_file_is_found_by_build_id),
		cmocka_unit_test(no_server_is_asked_for_a_debug_file),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
