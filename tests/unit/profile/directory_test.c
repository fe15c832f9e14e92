#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/directory.h"
#include "tests/remove_tree.h"

/* Numbers as statfs(2) lists them, and Linux' sources where it does not. */
static void
network_file_systems_are_known_by_their_type(void **state)
{
	static const uint32_t network[] = {
		0x6969 /* nfs */,      0xff534d42 /* cifs */, 0xfe534d42 /* smb2 */,
		0x517b /* smb */,      0x01021997 /* 9p */,   0x5346414f /* afs */,
		0x00c36400 /* ceph */, 0x73757245 /* coda */, 0x7461636f /* ocfs2 */,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(network) / sizeof(network[0]); i++)
		assert_true(directory_is_network(network[i]));
}

static void
local_file_systems_are_not_refused(void **state)
{
	static const uint32_t local[] = {
		0xef53 /* ext4 */,        0x58465342 /* xfs */, 0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
		0x794c7630 /* overlay */, 0x2fc12fc1 /* zfs */, 0xf2f52010 /* f2fs */,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		assert_false(directory_is_network(local[i]));
}

struct directory_fixture {
	char path[32];
	int directory;
};

static int
begin(void **state)
{
	struct directory_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	snprintf(fixture->path, sizeof(fixture->path), "/tmp/dcpi-lock-XXXXXX");
	assert_non_null(mkdtemp(fixture->path));
	fixture->directory = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fixture->directory >= 0);
	*state = fixture;
	return 0;
}

static int
end(void **state)
{
	struct directory_fixture *fixture = *state;

	close(fixture->directory);
	remove_tree(fixture->path);
	free(fixture);
	return 0;
}

/* A process has the lock and ends at once; a child of it, whose id is the result, has its descriptors for so long. */
static pid_t
leave_child(const struct directory_fixture *fixture, unsigned microseconds)
{
	int report[2], status;
	pid_t owner, child = 0;

	assert_int_equal(pipe(report), 0);
	owner = fork();
	if (owner == 0) {
		if (directory_lock(fixture->directory) < 0)
			_exit(1);
		child = fork();
		if (child == 0) {
			usleep(microseconds);
			_exit(0);
		}
		_exit(write(report[1], &child, sizeof(child)) == sizeof(child) ? 0 : 2);
	}
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_int_equal(status, 0);
	assert_int_equal(read(report[0], &child, sizeof(child)), sizeof(child));
	close(report[0]);
	close(report[1]);
	return child;
}

static void
the_second_is_told_who_has_it(void **state)
{
	struct directory_fixture *fixture = *state;
	const int lock = directory_lock(fixture->directory);

	assert_true(lock >= 0);
	assert_int_equal(directory_lock(fixture->directory), -DCPI_ERUNNING);
	assert_int_equal(directory_lock_owner(fixture->directory), getpid());
	directory_unlock(lock);
	assert_int_equal(directory_lock_owner(fixture->directory), 0);
}

static void
what_a_child_of_who_is_gone_has_for_a_moment_is_waited_for(void **state)
{
	struct directory_fixture *fixture = *state;
	int lock;

	leave_child(fixture, 100000);
	lock = directory_lock(fixture->directory);
	assert_true(lock >= 0);
	assert_int_equal(directory_lock_owner(fixture->directory), getpid());
	directory_unlock(lock);
}

/* A lock of this process is let go by `unlock`, while a child that was just forked has it for a moment longer. */
static void
check_waiting(struct directory_fixture *fixture, void (*unlock)(int lock))
{
	int lock = directory_lock(fixture->directory), status;
	pid_t child;

	assert_true(lock >= 0);
	child = fork();
	if (child == 0) {
		usleep(100000);
		_exit(0);
	}
	assert_true(child > 0);
	unlock(lock);
	lock = directory_lock(fixture->directory);
	assert_true(lock >= 0);
	directory_unlock(lock);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static void
close_only(int lock)
{
	close(lock); /* as execve(2) does */
}

static void
what_a_child_of_ours_has_for_a_moment_is_waited_for(void **state)
{
	check_waiting(*state, close_only);
}

static void
what_a_child_has_of_a_lock_that_was_unlocked_is_waited_for(void **state)
{
	check_waiting(*state, directory_unlock);
}

static void
but_not_for_long(void **state)
{
	struct directory_fixture *fixture = *state;
	const pid_t child = leave_child(fixture, 60000000);

	assert_int_equal(directory_lock(fixture->directory), -DCPI_ERUNNING);
	kill(child, SIGKILL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(network_file_systems_are_known_by_their_type),
		cmocka_unit_test(local_file_systems_are_not_refused),
		cmocka_unit_test_setup_teardown(the_second_is_told_who_has_it, begin, end),
		cmocka_unit_test_setup_teardown(what_a_child_of_who_is_gone_has_for_a_moment_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(what_a_child_of_ours_has_for_a_moment_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(what_a_child_has_of_a_lock_that_was_unlocked_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(but_not_for_long, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
