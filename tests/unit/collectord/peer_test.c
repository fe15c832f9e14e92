#include "collectord/peer.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/local_socket.h"
#include "tests/unit/test.h"

#define DCPI_UID 990
#define DCPI_GID 991

static const struct peer_rules service = {
	.uid = DCPI_UID,
	.gid = DCPI_GID,
	.user = "user dcpi",
	.group = "group dcpi",
};
static char why[256];

static int
check(uid_t uid, bool in_group, enum command command)
{
	const struct peer peer = {.uid = uid, .in_group = in_group};

	return peer_check(&service, &peer, command, why, sizeof(why));
}

static void
root_and_the_own_user_may_do_everything(void **state)
{
	(void)state;
	for (int command = 0; command < COMMANDS; command++) {
		assert_int_equal(check(0, false, (enum command)command), 0);
		assert_int_equal(check(DCPI_UID, false, (enum command)command), 0);
	}
}

static void
the_group_may_look_flush_and_begin_epochs(void **state)
{
	(void)state;
	assert_int_equal(check(1000, true, COMMAND_STATUS), 0);
	assert_int_equal(check(1000, true, COMMAND_FLUSH), 0);
	assert_int_equal(check(1000, true, COMMAND_EPOCH), 0);
	assert_int_equal(check(1000, true, COMMAND_RELOAD), -EACCES);
	assert_string_equal(why, "reload is for root and user dcpi only");
	assert_int_equal(check(1000, true, COMMAND_QUIT), -EACCES);
	assert_string_equal(why, "quit is for root and user dcpi only");
	assert_int_equal(check(1000, true, COMMAND_COMPACT), -EACCES);
}

static void
others_may_nothing(void **state)
{
	(void)state;
	for (int command = 0; command < COMMANDS; command++)
		assert_int_equal(check(1000, false, (enum command)command), -EACCES);
	check(1000, false, COMMAND_STATUS);
	assert_string_equal(why, "status is for root, user dcpi and members of group dcpi");
}

static void
root_is_not_named_twice(void **state)
{
	const struct peer_rules rules = {.user = "user root", .group = "group root"};
	const struct peer peer = {.uid = 1000, .in_group = false};

	(void)state;
	assert_int_equal(peer_check(&rules, &peer, COMMAND_QUIT, why, sizeof(why)), -EACCES);
	assert_string_equal(why, "quit is for root only");
	assert_int_equal(peer_check(&rules, &peer, COMMAND_FLUSH, why, sizeof(why)), -EACCES);
	assert_string_equal(why, "flush is for root and members of group root");
}

/* Connect as user 4712 with the given groups, and let the kernel say who that was. */
static void
read_peer_of(gid_t primary, gid_t supplementary, struct peer *peer)
{
	char directory[] = "/tmp/dcpi-peer.XXXXXX", path[64];
	int listener, fd, status;
	pid_t child;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
	assert_int_equal(chmod(directory, 0755), 0);
	listener = local_socket_listen(path, 0666, 1);
	assert_true(listener >= 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (setgroups(1, &supplementary) || setgid(primary) || setuid(4712))
			_exit(1);
		_exit(local_socket_connect(path, 1) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(peer_read(fd, &service, peer), 0);
	close(fd);
	close(listener);
	unlink(path);
	rmdir(directory);
}

static void
the_kernel_says_who_connects(void **state)
{
	struct peer peer;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can become others");
	read_peer_of(4713, 4714, &peer);
	assert_int_equal(peer.uid, 4712);
	assert_false(peer.in_group);
	read_peer_of(DCPI_GID, 4714, &peer);
	assert_true(peer.in_group);
	read_peer_of(4713, DCPI_GID, &peer);
	assert_true(peer.in_group);
}

static void
the_rules_name_the_own_user_and_group(void **state)
{
	struct peer_rules rules;

	(void)state;
	peer_rules_init(&rules);
	assert_int_equal(rules.uid, geteuid());
	assert_int_equal(rules.gid, getegid());
	assert_memory_equal(rules.user, "user ", 5);
	assert_memory_equal(rules.group, "group ", 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_the_own_user_may_do_everything),
		cmocka_unit_test(the_group_may_look_flush_and_begin_epochs),
		cmocka_unit_test(others_may_nothing),
		cmocka_unit_test(root_is_not_named_twice),
		cmocka_unit_test(the_kernel_says_who_connects),
		cmocka_unit_test(the_rules_name_the_own_user_and_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
