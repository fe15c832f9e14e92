#include "collectord/peer.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/local_socket.h"
#include "process/proc_text.h"
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
the_group_may_look_flush_begin_epochs_and_label(void **state)
{
	(void)state;
	assert_int_equal(check(1000, true, COMMAND_STATUS), 0);
	assert_int_equal(check(1000, true, COMMAND_FLUSH), 0);
	assert_int_equal(check(1000, true, COMMAND_EPOCH), 0);
	assert_int_equal(check(1000, true, COMMAND_LABEL), 0);
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

#define SECOND_NS UINT64_C(1000000000)

static void
members_flush_once_a_second_after_a_burst(void **state)
{
	const struct peer member = {.uid = 1000, .in_group = true}, root = {.uid = 0};
	struct peer_allowance allowance = {0};
	uint64_t now_ns = 1000 * SECOND_NS;

	(void)state;
	for (int i = 0; i < PEER_BURST; i++)
		assert_int_equal(peer_spend(&service, &member, i % 2 ? COMMAND_FLUSH : COMMAND_EPOCH, &allowance,
		                            now_ns, why, sizeof(why)),
		                 0);
	assert_int_equal(peer_spend(&service, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), -EBUSY);
	assert_non_null(strstr(why, "wait 1 s"));
	assert_int_equal(peer_spend(&service, &member, COMMAND_STATUS, &allowance, now_ns, why, sizeof(why)), 0);
	assert_int_equal(peer_spend(&service, &root, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), 0);
	for (int i = 0; i < 3; i++) {
		now_ns += SECOND_NS;
		assert_int_equal(peer_spend(&service, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), 0);
		assert_int_equal(peer_spend(&service, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)),
		                 -EBUSY);
	}
	now_ns += 1000 * SECOND_NS; /* no more than a burst is saved up */
	for (int i = 0; i < PEER_BURST; i++)
		assert_int_equal(peer_spend(&service, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), 0);
	assert_int_equal(peer_spend(&service, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), -EBUSY);
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
	peer_fini(peer);
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

/* What a process that lives behind a connection may label; it has another user's rights if `uid` is not 0. */
struct other {
	pid_t pid;
	int fd; /* the listener's end of its connection */
	struct peer peer;
};

static void
begin_other(struct other *other, uid_t uid)
{
	char directory[] = "/tmp/dcpi-peer.XXXXXX", path[64];
	int listener;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
	assert_int_equal(chmod(directory, 0755), 0);
	listener = local_socket_listen(path, 0666, 1);
	assert_true(listener >= 0);
	other->pid = fork();
	assert_true(other->pid >= 0);
	if (other->pid == 0) {
		if ((uid && setuid(uid)) || prctl(PR_SET_DUMPABLE, 1) || local_socket_connect(path, 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	while ((other->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		assert_int_equal(errno, EAGAIN);
	assert_int_equal(peer_read(other->fd, &service, &other->peer), 0);
	close(listener);
	unlink(path);
	rmdir(directory);
}

static void
end_process(const struct other *other)
{
	kill(other->pid, SIGKILL);
	waitpid(other->pid, NULL, 0);
}

static void
end_other(struct other *other)
{
	end_process(other);
	peer_fini(&other->peer);
	close(other->fd);
}

static int
find(const struct peer *peer, uint32_t pid, struct peer_process *process)
{
	const struct control_request request = {.command = COMMAND_LABEL, .label = "run1", .pid = pid};

	return peer_find_process(&service, peer, &request, process, why, sizeof(why));
}

static void
who_asks_is_the_process_that_connected(void **state)
{
	struct peer_process process;
	struct other other;

	(void)state;
	begin_other(&other, 0);
	assert_int_equal(find(&other.peer, 0, &process), 0);
	assert_int_equal(process.pid, other.pid);
	assert_true(process.time_ns > 0);
	end_other(&other);
}

/* The connection outlives it in other hands, and its pid may be anybody's by then. */
static void
who_has_gone_labels_nobody(void **state)
{
	struct peer_process process;
	struct other other;

	(void)state;
	begin_other(&other, 0);
	end_process(&other);
	assert_int_equal(find(&other.peer, 0, &process), -ESRCH);
	assert_string_equal(why, "the process that asks has ended");
	peer_fini(&other.peer);
	assert_int_equal(find(&other.peer, 0, &process), -ESRCH); /* without a pidfd as well */
	close(other.fd);
}

static void
without_a_pidfd_the_start_tells_who_it_was(void **state)
{
	struct peer_process process;
	struct proc_stat birth;
	struct other other;

	(void)state;
	begin_other(&other, 0);
	peer_fini(&other.peer);
	assert_int_equal(proc_stat_read("/proc", (uint32_t)other.pid, &birth), 0);
	other.peer.start_ticks = birth.start_ticks;
	assert_int_equal(find(&other.peer, 0, &process), 0);
	other.peer.start_ticks--;
	assert_int_equal(find(&other.peer, 0, &process), -ESRCH);
	end_other(&other);
}

static void
a_process_that_is_not_seen_from_here_is_refused(void **state)
{
	const struct peer peer = {.uid = 1000, .pidfd = -1};
	struct peer_process process;

	(void)state;
	assert_int_equal(find(&peer, 0, &process), -ESRCH);
	assert_string_equal(why, "the process that asks lives in a pid namespace that dcpid does not see");
}

static void
others_may_be_labelled_by_their_user_by_root_and_by_dcpids_user(void **state)
{
	struct peer peer = {.uid = 4712, .pidfd = -1};
	struct peer_process process;
	char expected[64];
	struct other other;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can become others");
	begin_other(&other, 4712);
	assert_int_equal(find(&peer, (uint32_t)other.pid, &process), 0);
	assert_int_equal(process.pid, other.pid);
	peer.uid = 4713;
	assert_int_equal(find(&peer, (uint32_t)other.pid, &process), -EACCES);
	snprintf(expected, sizeof(expected), "process %d is another user's", (int)other.pid);
	assert_string_equal(why, expected);
	peer.uid = 0;
	assert_int_equal(find(&peer, (uint32_t)other.pid, &process), 0);
	peer.uid = DCPI_UID;
	assert_int_equal(find(&peer, (uint32_t)other.pid, &process), 0);
	end_other(&other);
	snprintf(expected, sizeof(expected), "there is no process %d", (int)other.pid);
	assert_int_equal(find(&peer, (uint32_t)other.pid, &process), -ESRCH);
	assert_string_equal(why, expected);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_flush_once_a_second_after_a_burst),
		cmocka_unit_test(root_and_the_own_user_may_do_everything),
		cmocka_unit_test(the_group_may_look_flush_begin_epochs_and_label),
		cmocka_unit_test(others_may_nothing),
		cmocka_unit_test(root_is_not_named_twice),
		cmocka_unit_test(the_kernel_says_who_connects),
		cmocka_unit_test(who_asks_is_the_process_that_connected),
		cmocka_unit_test(who_has_gone_labels_nobody),
		cmocka_unit_test(without_a_pidfd_the_start_tells_who_it_was),
		cmocka_unit_test(a_process_that_is_not_seen_from_here_is_refused),
		cmocka_unit_test(others_may_be_labelled_by_their_user_by_root_and_by_dcpids_user),
		cmocka_unit_test(the_rules_name_the_own_user_and_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
