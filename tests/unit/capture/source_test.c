/*
 * Whose files dcpi-capture opens: those that the user of the process could read by path. Processes of another user have
 * a file mapped here, as one that was opened for them has.
 */
#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/build_id.h"
#include "tests/unit/test.h"

#define SOMEBODY 60123 /* user and group of the process */
#define TEAM     60124 /* a further group of it */
#define SIZE     4096

struct source_site {
	char root[32], folder[64], file[96];
	int procfs;
	pid_t process;
	uint64_t start;
};

static int
make_site(void **state)
{
	static struct source_site site;
	int fd;

	site = (struct source_site){.root = "/tmp/source_test.XXXXXX"};
	if (!mkdtemp(site.root) || chmod(site.root, 0755) < 0)
		return -1;
	snprintf(site.folder, sizeof(site.folder), "%s/folder", site.root);
	snprintf(site.file, sizeof(site.file), "%s/program", site.folder);
	if (mkdir(site.folder, 0755) < 0)
		return -1;
	fd = open(site.file, O_WRONLY | O_CREAT | O_EXCL, 0755);
	if (fd < 0 || ftruncate(fd, SIZE) < 0 || chmod(site.folder, 0755) < 0 || chmod(site.file, 0755) < 0)
		return -1;
	close(fd);
	site.procfs = open("/proc", O_RDONLY | O_DIRECTORY);
	*state = &site;
	return 0;
}

static int
end_site(void **state)
{
	struct source_site *site = *state;

	if (site->process > 0) {
		kill(site->process, SIGKILL);
		waitpid(site->process, NULL, 0);
	}
	close(site->procfs);
	unlink(site->file);
	rmdir(site->folder);
	return rmdir(site->root);
}

/* Start a process of `user` that has the file mapped. */
static void
map_as(struct source_site *site, uid_t user, bool is_in_team)
{
	const gid_t team = TEAM;
	int fd, ready[2];
	void *at;
	char byte;

	if (geteuid() != 0)
		skip_because("only root can be another user");
	fd = open(site->file, O_RDONLY);
	at = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	assert_int_equal(pipe(ready), 0);
	site->start = (uint64_t)(uintptr_t)at;
	site->process = fork();
	if (site->process == 0) {
		if (user != 0 && (setgroups(is_in_team, &team) < 0 || setresgid(user, user, user) < 0 ||
		                  setresuid(user, user, user) < 0))
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	munmap(at, SIZE);
}

/* Of the file that the process has mapped, which was at `path`: 0, or why it is not opened. */
static int
open_source(const struct source_site *site, const struct stat *status)
{
	const struct capture_request request = {
		.image = {.kind = IMAGE_USER,
	                  .path = site->file,
	                  .device_major = major(status->st_dev),
	                  .device_minor = minor(status->st_dev),
	                  .inode = status->st_ino},
		.pid = (uint32_t)site->process,
		.start = site->start,
		.end = site->start + SIZE,
	};
	struct capture_source source;
	const int err = capture_source_open(site->procfs, &request, &source);

	if (!err)
		close(source.main);
	return err;
}

static int
open_mapped(const struct source_site *site)
{
	struct stat status;

	assert_int_equal(stat(site->file, &status), 0);
	return open_source(site, &status);
}

static void
a_file_that_its_user_can_read_is_opened(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	assert_int_equal(open_mapped(site), 0);
}

static void
a_file_behind_a_directory_that_is_closed_to_its_user_is_not_opened(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	chmod(site->folder, 0700);
	assert_int_equal(open_mapped(site), -EACCES);
	chmod(site->folder, 0711); /* to pass is enough */
	assert_int_equal(open_mapped(site), 0);
}

static void
each_directory_on_the_way_counts(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	chmod(site->root, 0700);
	assert_int_equal(open_mapped(site), -EACCES);
}

static void
the_home_of_its_user_is_open_to_its_user(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	chmod(site->folder, 0700);
	assert_int_equal(chown(site->folder, SOMEBODY, SOMEBODY), 0);
	assert_int_equal(open_mapped(site), 0);
}

static void
a_file_that_may_be_executed_and_not_read_is_not_opened(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	chmod(site->file, 0711);
	assert_int_equal(open_mapped(site), -EACCES);
}

static void
further_groups_of_the_process_count(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, true);
	chmod(site->folder, 0750);
	chmod(site->file, 0750);
	assert_int_equal(chown(site->folder, 0, TEAM), 0);
	assert_int_equal(chown(site->file, 0, TEAM), 0);
	assert_int_equal(open_mapped(site), 0);
	assert_int_equal(chown(site->file, 0, TEAM + 1), 0);
	assert_int_equal(open_mapped(site), -EACCES);
}

/* As in the kernel: what the group may do is no matter for the owner. */
static void
an_owner_who_shut_himself_out_is_out(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	assert_int_equal(chown(site->file, SOMEBODY, SOMEBODY), 0);
	chmod(site->file, 0077);
	assert_int_equal(open_mapped(site), -EACCES);
}

static void
a_deleted_file_is_judged_by_itself_and_by_what_is_there_of_its_path(void **state)
{
	struct source_site *site = *state;
	struct stat status;

	map_as(site, SOMEBODY, false);
	assert_int_equal(stat(site->file, &status), 0);
	unlink(site->file);
	assert_int_equal(open_source(site, &status), 0);
	chmod(site->folder, 0700);
	assert_int_equal(open_source(site, &status), -EACCES);
	rmdir(site->folder);
	assert_int_equal(open_source(site, &status), 0);
}

static void
a_deleted_file_that_its_user_could_not_read_is_not_opened(void **state)
{
	struct source_site *site = *state;
	struct stat status;

	map_as(site, SOMEBODY, false);
	chmod(site->file, 0700);
	assert_int_equal(stat(site->file, &status), 0);
	unlink(site->file);
	assert_int_equal(open_source(site, &status), -EACCES);
}

static void
root_may_have_mapped_anything(void **state)
{
	struct source_site *site = *state;

	map_as(site, 0, false);
	assert_int_equal(chown(site->folder, SOMEBODY, SOMEBODY), 0);
	chmod(site->folder, 0700);
	chmod(site->file, 0700);
	assert_int_equal(open_mapped(site), 0);
}

/* Nobody knows its user: its path is tried with our own rights. */
static void
a_file_of_a_process_that_has_ended_is_found_by_path(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	kill(site->process, SIGKILL);
	waitpid(site->process, NULL, 0);
	assert_int_equal(open_mapped(site), 0);
	site->process = 0;
}

static void
a_status_without_a_user_opens_nothing(void **state)
{
	struct source_site *site = *state;
	char folder[64], file[80];
	int fd;

	snprintf(folder, sizeof(folder), "%s/77", site->root);
	snprintf(file, sizeof(file), "%s/status", folder);
	assert_int_equal(mkdir(folder, 0755), 0);
	fd = open(file, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, "Name:\tx\nUid:\t0\t0\n", 17), 17);
	close(fd);
	close(site->procfs);
	site->procfs = open(site->root, O_RDONLY | O_DIRECTORY);
	site->process = 77;
	assert_int_equal(open_mapped(site), -EBADMSG);
	site->process = 0;
	unlink(file);
	rmdir(folder);
}

/* The build-id of /usr/bin/sleep, which `path` is said to have. 1 when it is root's file that is opened, 0 when not. */
static int
open_named(const struct source_site *site, const char *path)
{
	struct capture_request request = {
		.image = {.kind = IMAGE_USER, .path = path},
		.pid = (uint32_t)site->process,
		.start = site->start,
		.end = site->start + SIZE,
	};
	const int sleep = open("/usr/bin/sleep", O_RDONLY);
	struct stat roots, opened;
	struct capture_source source;

	request.image.build_id_size = (uint8_t)build_id_from_file(sleep, request.image.build_id);
	assert_int_equal(fstat(sleep, &roots), 0);
	close(sleep);
	assert_int_equal(capture_source_open(site->procfs, &request, &source), 0);
	assert_int_equal(fstat(source.main, &opened), 0);
	close(source.main);
	assert_int_equal(source.is_roots, roots.st_dev == opened.st_dev && roots.st_ino == opened.st_ino);
	return source.is_roots;
}

/* A process may have a file mapped that has the build-id of root's. */
static void
roots_file_at_the_path_is_preferred_to_what_is_mapped(void **state)
{
	struct source_site *site = *state;
	char command[256];

	snprintf(command, sizeof(command), "cp /usr/bin/sleep %s", site->file);
	assert_int_equal(system(command), 0);
	map_as(site, SOMEBODY, false);
	assert_int_equal(open_named(site, "/usr/bin/sleep"), 1);
	assert_int_equal(open_named(site, site->file), 0); /* in /tmp anybody may put something */
}

/* Whether /usr/bin/sleep is opened as root's for a mapping of the inode of `mapped`, of which no build-id is known. */
static bool
is_opened_as_roots(const struct source_site *site, const char *mapped)
{
	struct capture_request request = {
		.image = {.kind = IMAGE_USER, .path = "/usr/bin/sleep"},
		.pid = (uint32_t)site->process,
		.start = site->start,
		.end = site->start + SIZE,
	};
	struct capture_source source;
	struct stat status;

	assert_int_equal(stat(mapped, &status), 0);
	request.image.device_major = major(status.st_dev);
	request.image.device_minor = minor(status.st_dev);
	request.image.inode = status.st_ino;
	assert_int_equal(capture_source_open(site->procfs, &request, &source), 0);
	close(source.main);
	return source.is_roots;
}

static void
without_a_build_id_the_inode_tells_which_file_is_roots(void **state)
{
	struct source_site *site = *state;

	map_as(site, SOMEBODY, false);
	assert_true(is_opened_as_roots(site, "/usr/bin/sleep"));
	assert_false(is_opened_as_roots(site, site->file));
}

#define test(function) cmocka_unit_test_setup_teardown(function, make_site, end_site)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_file_that_its_user_can_read_is_opened),
		test(a_file_behind_a_directory_that_is_closed_to_its_user_is_not_opened),
		test(each_directory_on_the_way_counts),
		test(the_home_of_its_user_is_open_to_its_user),
		test(a_file_that_may_be_executed_and_not_read_is_not_opened),
		test(further_groups_of_the_process_count),
		test(an_owner_who_shut_himself_out_is_out),
		test(a_deleted_file_is_judged_by_itself_and_by_what_is_there_of_its_path),
		test(a_deleted_file_that_its_user_could_not_read_is_not_opened),
		test(root_may_have_mapped_anything),
		test(a_file_of_a_process_that_has_ended_is_found_by_path),
		test(a_status_without_a_user_opens_nothing),
		test(roots_file_at_the_path_is_preferred_to_what_is_mapped),
		test(without_a_build_id_the_inode_tells_which_file_is_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
