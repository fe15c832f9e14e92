/* Which user can have made a file that carries a build-id: process/mapped_file.h. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/mapped_file.h"

#define SOMEBODY 60123

/* A folder that only root may write, /run being so, and a file in it. */
struct mapped_file_site {
	char folder[64], file[96];
	int procfs;
};

static int
setup(void **state)
{
	static struct mapped_file_site site;
	int fd;

	site = (struct mapped_file_site){.folder = "/run/mapped_file_test.XXXXXX",
	                                 .procfs = open("/proc", O_RDONLY | O_DIRECTORY)};
	*state = &site;
	if (geteuid() != 0)
		return site.procfs < 0;
	if (!mkdtemp(site.folder) || chmod(site.folder, 0755) < 0)
		return -1;
	snprintf(site.file, sizeof(site.file), "%s/program", site.folder);
	fd = open(site.file, O_WRONLY | O_CREAT | O_EXCL, 0755);
	close(fd);
	return fd < 0;
}

static int
teardown(void **state)
{
	const struct mapped_file_site *site = *state;

	close(site->procfs);
	if (geteuid() != 0)
		return 0;
	unlink(site->file);
	return rmdir(site->folder);
}

/* 0, or why it is not root's. */
static int
open_roots(const struct mapped_file_site *site, const char *path)
{
	const int fd = mapped_file_open_roots(site->procfs, path);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void
need_root(void)
{
	if (geteuid() != 0)
		skip_because("only root can give files away");
}

static void
what_packages_installed_is_roots(void **state)
{
	assert_int_equal(open_roots(*state, "/usr/bin/sleep"), 0);
}

static void
what_lies_where_all_may_write_is_not(void **state)
{
	char name[] = "/tmp/file_owner_test.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(open_roots(*state, name), -EPERM);
	unlink(name);
	assert_int_equal(open_roots(*state, "/tmp/there is no such file"), -EPERM);
}

static void
a_file_of_another_or_that_others_may_write_is_not(void **state)
{
	const struct mapped_file_site *site = *state;

	need_root();
	assert_int_equal(open_roots(site, site->file), 0);
	assert_int_equal(chmod(site->file, 0757), 0);
	assert_int_equal(open_roots(site, site->file), -EPERM);
	assert_int_equal(chmod(site->file, 0775), 0);
	assert_int_equal(open_roots(site, site->file), 0); /* the group is root's */
	assert_int_equal(chown(site->file, 0, SOMEBODY), 0);
	assert_int_equal(open_roots(site, site->file), -EPERM);
	assert_int_equal(chown(site->file, SOMEBODY, 0), 0);
	assert_int_equal(chmod(site->file, 0755), 0);
	assert_int_equal(open_roots(site, site->file), -EPERM);
}

/* Who may write to a folder on the way can put another there. */
static void
each_folder_on_the_way_counts(void **state)
{
	const struct mapped_file_site *site = *state;

	need_root();
	assert_int_equal(chown(site->folder, SOMEBODY, 0), 0);
	assert_int_equal(open_roots(site, site->file), -EPERM);
	assert_int_equal(chown(site->folder, 0, 0), 0);
	assert_int_equal(chmod(site->folder, 01777), 0);
	assert_int_equal(open_roots(site, site->file), -EPERM);
	assert_int_equal(chmod(site->folder, 0755), 0);
	assert_int_equal(open_roots(site, site->file), 0);
}

static void
a_link_is_not_followed(void **state)
{
	const struct mapped_file_site *site = *state;
	char link[96];

	need_root();
	snprintf(link, sizeof(link), "%s/link", site->folder);
	assert_int_equal(symlink("/usr/bin", link), 0);
	snprintf(link, sizeof(link), "%s/link/sleep", site->folder);
	assert_true(open_roots(site, link) < 0);
	snprintf(link, sizeof(link), "%s/link", site->folder);
	unlink(link);
}

/* The same path in a container, or before an upgrade, is another file. */
static void
another_file_than_that_of_the_path_is_not(void **state)
{
	const struct mapped_file_site *site = *state;
	const int sleep = open("/usr/bin/sleep", O_RDONLY), other = open("/usr/bin/env", O_RDONLY);

	assert_true(sleep >= 0 && other >= 0);
	assert_true(mapped_file_is_roots(site->procfs, "/usr/bin/sleep", sleep));
	assert_false(mapped_file_is_roots(site->procfs, "/usr/bin/sleep", other));
	assert_false(mapped_file_is_roots(site->procfs, "sleep", sleep));
	close(sleep);
	close(other);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_packages_installed_is_roots),
		CASE(what_lies_where_all_may_write_is_not),
		CASE(a_file_of_another_or_that_others_may_write_is_not),
		CASE(each_folder_on_the_way_counts),
		CASE(a_link_is_not_followed),
		CASE(another_file_than_that_of_the_path_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
