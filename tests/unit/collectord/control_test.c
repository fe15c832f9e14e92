#include <errno.h>

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/local_socket.h"
#include "collectord/control.h"
#include "collectord/loop.h"
#include "process/proc.h"

#include "tests/unit/test.h"

/* A daemon of which only the socket is real: it answers status and epoch at once, and the others when told to. */
struct service {
	struct event_base *loop;
	struct control *control;
	char directory[64];
	char path[128];
	unsigned requests;
	uint64_t waiting; /* the client that asked last for something that takes time */
	struct control_request last;
	struct peer_process last_process;
};

static void
serve(void *context, uint64_t client, const struct control_request *request, const struct peer_process *process)
{
	struct service *service = context;

	service->requests++;
	service->last = *request;
	service->last_process = *process;
	if (request->command == COMMAND_STATUS || request->command == COMMAND_EPOCH)
		control_reply(service->control, client, control_success());
	else
		service->waiting = client;
}

static int
start_service(void **state)
{
	struct service *service = calloc(1, sizeof(*service));
	char why[256] = "";

	snprintf(service->directory, sizeof(service->directory), "/tmp/dcpi-control.XXXXXX");
	if (!mkdtemp(service->directory))
		return -1;
	snprintf(service->path, sizeof(service->path), "%s/control", service->directory);
	service->loop = loop_new();
	if (control_open(service->loop, service->path, serve, service, NULL, &service->control, why, sizeof(why))) {
		print_error("%s\n", why);
		return -1;
	}
	*state = service;
	return 0;
}

static int
stop_service(void **state)
{
	struct service *service = *state;

	control_close(service->control);
	loop_free(service->loop);
	rmdir(service->directory);
	free(service);
	return 0;
}

/* Let the loop do what can be done without waiting for more. */
static void
turn(struct service *service)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(service->loop, EVLOOP_NONBLOCK);
}

static int
connect_client(struct service *service)
{
	int fd = local_socket_connect(service->path, 1);

	assert_true(fd >= 0);
	return fd;
}

static void
say(struct service *service, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	turn(service);
}

static void
assert_heard(int fd, const char *expected)
{
	char text[4096];
	ssize_t length = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[length > 0 ? length : 0] = '\0';
	assert_string_equal(text, expected);
}

static void
assert_closed(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

#define SERVICE_TEST(name) cmocka_unit_test_setup_teardown(name, start_service, stop_service)

static void
a_seventeenth_client_waits_for_a_place(void **state)
{
	struct service *service = *state;
	int fds[CONTROL_SERVED_MAX], fd;

	for (int i = 0; i < CONTROL_SERVED_MAX; i++) {
		fds[i] = connect_client(service);
		turn(service);
	}
	fd = connect_client(service);
	say(service, fd, "{\"command\":\"status\"}\n");
	assert_heard(fd, "");
	close(fds[7]);
	turn(service);
	assert_heard(fd, "{\"ok\":true}\n");
	close(fd);
	for (int i = 0; i < CONTROL_SERVED_MAX; i++)
		if (i != 7)
			close(fds[i]);
}

/* Connect as another user of the daemon's group. */
static int
connect_as(struct service *service, uid_t user)
{
	int fd;

	assert_int_equal(chmod(service->directory, 0755), 0);
	assert_int_equal(chmod(service->path, 0666), 0);
	assert_int_equal(seteuid(user), 0);
	fd = connect_client(service);
	assert_int_equal(seteuid(0), 0);
	turn(service);
	return fd;
}

static void
silent_clients_of_a_user_lock_no_other_out(void **state)
{
	struct service *service = *state;
	int fds[CONTROL_USER_MAX], fd;

	if (geteuid() != 0)
		skip_because("only root can be another user");
	for (int i = 0; i < CONTROL_USER_MAX; i++)
		fds[i] = connect_as(service, 60123);
	fd = connect_as(service, 60124);
	say(service, fd, "{\"command\":\"status\"}\n");
	assert_heard(fd, "{\"ok\":true}\n");
	close(fd);
	fd = connect_client(service);
	say(service, fd, "{\"command\":\"status\"}\n");
	assert_heard(fd, "{\"ok\":true}\n");
	close(fd);
	for (int i = 0; i < CONTROL_USER_MAX; i++)
		close(fds[i]);
}

static void
too_many_connections_of_a_member_are_refused_and_those_of_root_wait(void **state)
{
	struct service *service = *state;
	int fds[CONTROL_USER_MAX + 1], fd;

	if (geteuid() != 0)
		skip_because("only root can be another user");
	for (int i = 0; i < CONTROL_USER_MAX; i++)
		fds[i] = connect_as(service, 60123);
	fd = connect_as(service, 60123);
	assert_heard(fd, "{\"ok\":false,\"error\":\"too many connections of one user: wait until some of them have "
	                 "ended\"}\n");
	assert_closed(fd);
	close(fd);
	for (int i = 0; i < CONTROL_USER_MAX; i++)
		close(fds[i]);
	turn(service);
	for (int i = 0; i < CONTROL_USER_MAX + 1; i++) {
		fds[i] = connect_client(service);
		turn(service);
	}
	assert_heard(fds[CONTROL_USER_MAX], "");
	for (int i = 0; i < CONTROL_USER_MAX; i++)
		close(fds[i]);
	say(service, fds[CONTROL_USER_MAX], "{\"command\":\"status\"}\n");
	turn(service);
	turn(service);
	assert_heard(fds[CONTROL_USER_MAX], "{\"ok\":true}\n");
	close(fds[CONTROL_USER_MAX]);
}

static void
count_message(void *context, enum log_level level, const char *message)
{
	unsigned *messages = context;

	assert_int_equal(level, LOG_LEVEL_WARNING);
	assert_string_equal(message, "control socket: cannot let a client in: Too many open files");
	++*messages;
}

/* Otherwise the daemon does nothing but ask for the next client and be refused. */
static void
without_descriptors_a_client_waits_and_is_not_asked_for_all_the_time(void **state)
{
	struct service *service = *state;
	unsigned messages = 0;
	const struct log log = {.hook = count_message, .context = &messages, .limit = LOG_LEVEL_INFO};
	struct rlimit before, none = {0};
	char path[192], why[256];
	struct control *second;
	int fd;

	snprintf(path, sizeof(path), "%s/second", service->directory);
	assert_int_equal(control_open(service->loop, path, serve, service, &log, &second, why, sizeof(why)), 0);
	fd = local_socket_connect(path, 1);
	assert_true(fd >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	turn(service);
	turn(service);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(messages, 1);
	assert_int_equal(send(fd, "[\n", 2, MSG_NOSIGNAL), 2);
	usleep(1100000);
	turn(service);
	assert_heard(fd, "{\"ok\":false,\"error\":\"the request is not a JSON object: "
	                 "']' expected near end of file\"}\n");
	close(fd);
	control_close(second);
}

static void
who_asks_for_a_label_is_the_process_that_connected(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":\"label\",\"label\":\"run1\"}\n");
	assert_int_equal(service->requests, 1);
	assert_int_equal(service->last_process.pid, getpid());
	assert_string_equal(service->last.label, "run1");
	control_reply(service->control, service->waiting, control_success());
	turn(service);
	assert_heard(fd, "{\"ok\":true}\n");
	say(service, fd, "{\"command\":\"label\",\"label\":\"run1\",\"pid\":2147483647}\n");
	assert_int_equal(service->requests, 1);
	assert_heard(fd, "{\"ok\":false,\"error\":\"there is no process 2147483647\"}\n");
	close(fd);
}

static void
the_socket_is_for_user_and_group(void **state)
{
	struct service *service = *state;
	struct stat status;

	assert_int_equal(stat(service->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0660);
}

static void
a_socket_in_use_is_refused_with_its_owner(void **state)
{
	struct service *service = *state;
	struct control *second;
	char why[256], expected[256];

	assert_int_equal(control_open(service->loop, service->path, serve, NULL, NULL, &second, why, sizeof(why)),
	                 -EADDRINUSE);
	assert_null(second);
	snprintf(expected, sizeof(expected), "%s: another dcpid listens there (process %d)", service->path,
	         (int)getpid());
	assert_string_equal(why, expected);
}

static void
the_directory_of_the_socket_is_made(void **state)
{
	struct service *service = *state;
	char path[192], why[256];
	struct control *second;
	struct stat status;

	snprintf(path, sizeof(path), "%s/made/control", service->directory);
	assert_int_equal(control_open(service->loop, path, serve, NULL, NULL, &second, why, sizeof(why)), 0);
	assert_int_equal(stat(path, &status), 0);
	control_close(second);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/not/made/control", service->directory);
	assert_int_equal(control_open(service->loop, path, serve, NULL, NULL, &second, why, sizeof(why)), -ENOENT);
}

static void
a_request_is_answered_by_a_line(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":\"epoch\",\"label\":\"x\"}\n");
	assert_heard(fd, "{\"ok\":true}\n");
	assert_int_equal(service->last.command, COMMAND_EPOCH);
	assert_string_equal(service->last.label, "x");
	close(fd);
}

static void
a_request_in_pieces_is_put_together(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":");
	assert_heard(fd, "");
	say(service, fd, "\"status\"}");
	assert_heard(fd, "");
	say(service, fd, "\n");
	assert_heard(fd, "{\"ok\":true}\n");
	close(fd);
}

static void
nonsense_is_refused_and_the_connection_goes_on(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":\"fulsh\"}\n");
	assert_heard(fd, "{\"ok\":false,\"error\":\"there is no command fulsh (did you mean flush?)\"}\n");
	assert_int_equal(service->requests, 0);
	say(service, fd, "{\"command\":\"status\"}\n");
	assert_heard(fd, "{\"ok\":true}\n");
	close(fd);
}

static void
a_reply_may_come_late_and_keeps_the_next_request_waiting(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":\"flush\"}\n{\"command\":\"status\"}\n");
	assert_heard(fd, "");
	assert_int_equal(service->requests, 1);
	control_reply(service->control, service->waiting, control_failure("no \"room\""));
	turn(service);
	assert_heard(fd, "{\"ok\":false,\"error\":\"no \\\"room\\\"\"}\n{\"ok\":true}\n");
	assert_int_equal(service->requests, 2);
	close(fd);
}

static void
who_says_no_more_still_gets_the_reply(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	assert_int_equal(send(fd, "{\"command\":\"status\"}\n", 21, 0), 21);
	shutdown(fd, SHUT_WR);
	turn(service);
	assert_heard(fd, "{\"ok\":true}\n");
	assert_closed(fd);
	close(fd);
}

static void
a_reply_to_a_client_that_left_is_dropped(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":\"flush\"}\n");
	close(fd);
	turn(service);
	control_reply(service->control, service->waiting, control_success());
	turn(service);
	control_reply(service->control, service->waiting, control_success());
	control_reply(service->control, 4711, control_success());
}

static void
want_of_memory_is_an_error_too(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":\"flush\"}\n");
	control_reply(service->control, service->waiting, NULL);
	turn(service);
	assert_heard(fd, "{\"ok\":false,\"error\":\"dcpid has no memory left\"}\n");
	close(fd);
}

static void
a_line_without_an_end_is_refused_and_the_client_sent_away(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);
	char text[REQUEST_SIZE_MAX + 1];

	memset(text, ' ', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	say(service, fd, text);
	assert_heard(fd, "{\"ok\":false,\"error\":\"the request is too long\"}\n");
	assert_closed(fd);
	close(fd);
}

/* Its replies would pile up in the daemon's memory. */
static void
a_client_that_does_not_read_is_not_served_on(void **state)
{
	static const char request[] = "{\"command\":\"status\"}\n";
	struct service *service = *state;
	int fd = connect_client(service);
	unsigned sent = 0, served;

	while (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
		assert_true(++sent < 100000);
		if (sent % 100 == 0)
			turn(service);
	}
	assert_int_equal(errno, EAGAIN);
	turn(service);
	served = service->requests;
	assert_true(served < sent);
	/* When it reads, the rest is answered. */
	for (unsigned heard = 0; heard < sent;) {
		char text[4096];
		ssize_t length = recv(fd, text, sizeof(text), MSG_DONTWAIT);

		for (ssize_t i = 0; i < length; i++)
			heard += text[i] == '\n';
		turn(service);
	}
	assert_int_equal(service->requests, sent);
	close(fd);
}

static void
what_is_written_when_it_ends_is_still_sent(void **state)
{
	struct service *service = *state;
	int fd = connect_client(service);

	say(service, fd, "{\"command\":\"quit\"}\n");
	control_reply(service->control, service->waiting, control_success());
	control_close(service->control); /* without another turn of the loop */
	service->control = NULL;
	assert_heard(fd, "{\"ok\":true}\n");
	assert_int_equal(access(service->path, F_OK), -1);
	close(fd);
}

#define DCPI_UID 990
#define DCPI_GID 991

static const struct peer_rules rules = {
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

	return control_peer_check(&rules, &peer, command, why, sizeof(why));
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
	const struct peer_rules of_root = {.user = "user root", .group = "group root"};
	const struct peer peer = {.uid = 1000, .in_group = false};

	(void)state;
	assert_int_equal(control_peer_check(&of_root, &peer, COMMAND_QUIT, why, sizeof(why)), -EACCES);
	assert_string_equal(why, "quit is for root only");
	assert_int_equal(control_peer_check(&of_root, &peer, COMMAND_FLUSH, why, sizeof(why)), -EACCES);
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
		assert_int_equal(control_peer_spend(&rules, &member, i % 2 ? COMMAND_FLUSH : COMMAND_EPOCH, &allowance,
		                                    now_ns, why, sizeof(why)),
		                 0);
	assert_int_equal(control_peer_spend(&rules, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)),
	                 -EBUSY);
	assert_non_null(strstr(why, "wait 1 s"));
	assert_int_equal(control_peer_spend(&rules, &member, COMMAND_STATUS, &allowance, now_ns, why, sizeof(why)), 0);
	assert_int_equal(control_peer_spend(&rules, &root, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), 0);
	for (int i = 0; i < 3; i++) {
		now_ns += SECOND_NS;
		assert_int_equal(
			control_peer_spend(&rules, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), 0);
		assert_int_equal(
			control_peer_spend(&rules, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)),
			-EBUSY);
	}
	now_ns += 1000 * SECOND_NS; /* no more than a burst is saved up */
	for (int i = 0; i < PEER_BURST; i++)
		assert_int_equal(
			control_peer_spend(&rules, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)), 0);
	assert_int_equal(control_peer_spend(&rules, &member, COMMAND_FLUSH, &allowance, now_ns, why, sizeof(why)),
	                 -EBUSY);
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
	assert_int_equal(control_peer_read(fd, &rules, peer), 0);
	control_peer_fini(peer);
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
	struct peer_rules own;

	(void)state;
	control_peer_rules_init(&own);
	assert_int_equal(own.uid, geteuid());
	assert_int_equal(own.gid, getegid());
	assert_memory_equal(own.user, "user ", 5);
	assert_memory_equal(own.group, "group ", 6);
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
	assert_int_equal(control_peer_read(other->fd, &rules, &other->peer), 0);
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
	control_peer_fini(&other->peer);
	close(other->fd);
}

static int
find(const struct peer *peer, uint32_t pid, struct peer_process *process)
{
	const struct control_request request = {.command = COMMAND_LABEL, .label = "run1", .pid = pid};

	return control_peer_find_process(&rules, peer, &request, process, why, sizeof(why));
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
	control_peer_fini(&other.peer);
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
	control_peer_fini(&other.peer);
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
		SERVICE_TEST(a_seventeenth_client_waits_for_a_place),
		SERVICE_TEST(silent_clients_of_a_user_lock_no_other_out),
		SERVICE_TEST(too_many_connections_of_a_member_are_refused_and_those_of_root_wait),
		SERVICE_TEST(without_descriptors_a_client_waits_and_is_not_asked_for_all_the_time),
		SERVICE_TEST(who_asks_for_a_label_is_the_process_that_connected),
		SERVICE_TEST(the_socket_is_for_user_and_group),
		SERVICE_TEST(a_socket_in_use_is_refused_with_its_owner),
		SERVICE_TEST(the_directory_of_the_socket_is_made),
		SERVICE_TEST(a_request_is_answered_by_a_line),
		SERVICE_TEST(a_request_in_pieces_is_put_together),
		SERVICE_TEST(nonsense_is_refused_and_the_connection_goes_on),
		SERVICE_TEST(a_reply_may_come_late_and_keeps_the_next_request_waiting),
		SERVICE_TEST(who_says_no_more_still_gets_the_reply),
		SERVICE_TEST(a_reply_to_a_client_that_left_is_dropped),
		SERVICE_TEST(want_of_memory_is_an_error_too),
		SERVICE_TEST(a_line_without_an_end_is_refused_and_the_client_sent_away),
		SERVICE_TEST(a_client_that_does_not_read_is_not_served_on),
		SERVICE_TEST(what_is_written_when_it_ends_is_still_sent),
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

	signal(SIGPIPE, SIG_IGN); /* as dcpid does: clients leave when they like */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
