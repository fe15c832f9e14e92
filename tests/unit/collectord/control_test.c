#include "tests/unit/collectord/control_service.h"

#include <sys/resource.h>
#include <sys/stat.h>

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
	assert_int_equal(control_open(loop_base(service->loop), path, serve, service, &log, &second, why, sizeof(why)),
	                 0);
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

	assert_int_equal(
		control_open(loop_base(service->loop), service->path, serve, NULL, NULL, &second, why, sizeof(why)),
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
	assert_int_equal(control_open(loop_base(service->loop), path, serve, NULL, NULL, &second, why, sizeof(why)), 0);
	assert_int_equal(stat(path, &status), 0);
	control_close(second);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/not/made/control", service->directory);
	assert_int_equal(control_open(loop_base(service->loop), path, serve, NULL, NULL, &second, why, sizeof(why)),
	                 -ENOENT);
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
	};

	signal(SIGPIPE, SIG_IGN); /* as dcpid does: clients leave when they like */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
