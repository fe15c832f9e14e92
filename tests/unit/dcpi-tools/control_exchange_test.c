#include "dcpi-tools/common/control_exchange.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/local_socket.h"
#include "tests/unit/test.h"

/* A daemon in a child process that answers one request with `reply` as it is, or repeats it until nobody listens. */
struct reply_server {
	char directory[64];
	char path[128];
	pid_t pid;
	int listener;
};

static int
make_server(void **state)
{
	struct reply_server *server = calloc(1, sizeof(*server));

	snprintf(server->directory, sizeof(server->directory), "/tmp/dcpi-exchange.XXXXXX");
	if (!mkdtemp(server->directory))
		return -1;
	snprintf(server->path, sizeof(server->path), "%s/control", server->directory);
	server->listener = local_socket_listen(server->path, 0600, 1);
	*state = server;
	return server->listener < 0;
}

static int
end_server(void **state)
{
	struct reply_server *server = *state;

	if (server->pid)
		waitpid(server->pid, NULL, 0);
	close(server->listener);
	unlink(server->path);
	rmdir(server->directory);
	free(server);
	return 0;
}

static void
serve_with_pauses(struct reply_server *server, const char *reply, bool again, useconds_t pause_us)
{
	char request[256];
	int fd;

	server->pid = fork();
	if (server->pid)
		return;
	do
		fd = accept(server->listener, NULL, NULL);
	while (fd < 0 && errno == EAGAIN && usleep(1000) == 0);
	if (recv(fd, request, sizeof(request), 0) <= 0)
		_exit(1);
	while (send(fd, reply, strlen(reply), MSG_NOSIGNAL) > 0 && again)
		usleep(pause_us);
	_exit(0);
}

static void
serve(struct reply_server *server, const char *reply, bool again)
{
	serve_with_pauses(server, reply, again, 0);
}

static int
ask(const struct reply_server *server, json_t **reply)
{
	const struct control_peer peer = {.path = server->path, .connect_s = 60, .answer_s = 60};

	return control_exchange(&peer, json_pack("{s:s}", "command", "status"), reply);
}

static void
a_reply_is_an_object_on_a_line(void **state)
{
	struct reply_server *server = *state;
	json_t *reply;

	serve(server, "{\"ok\":true,\"epoch\":7}\nmore", false);
	assert_int_equal(ask(server, &reply), 0);
	assert_true(json_is_true(json_object_get(reply, "ok")));
	assert_int_equal(json_integer_value(json_object_get(reply, "epoch")), 7);
	json_decref(reply);
}

static void
a_reply_that_is_no_object_is_refused(void **state)
{
	struct reply_server *server = *state;
	json_t *reply;

	serve(server, "[1]\n", false);
	assert_int_equal(ask(server, &reply), -EPROTO);
	assert_null(reply);
}

/* Escape, its C1 form, DEL: in a value, deep down, and in a name. */
static void
a_reply_that_would_drive_a_terminal_is_refused(void **state)
{
	static const char *const replies[] = {
		"{\"error\":\"\\u001b[2J\"}\n",
		"{\"status\":{\"trouble\":[\"a\",\"b\\u009b31m\"]}}\n",
		"{\"events\":[{\"unknown\":{\"no\\u007f\":1}}]}\n",
	};
	struct reply_server *server = *state;
	json_t *reply;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		serve(server, replies[i], false);
		assert_int_equal(ask(server, &reply), -EPROTO);
		assert_null(reply);
		waitpid(server->pid, NULL, 0);
		server->pid = 0;
	}
	serve(server, "{\"label\":\"\\u00a0\\u00e9\\\\x1b\"}\n", false);
	assert_int_equal(ask(server, &reply), 0);
	assert_string_equal(json_string_value(json_object_get(reply, "label")), "\xc2\xa0\xc3\xa9\\x1b");
	json_decref(reply);
}

static void
a_reply_that_breaks_off_is_told(void **state)
{
	struct reply_server *server = *state;
	json_t *reply;

	serve(server, "{\"ok\":", false);
	assert_int_equal(ask(server, &reply), -ECONNRESET);
}

static void
a_reply_without_an_end_is_given_up(void **state)
{
	struct reply_server *server = *state;
	json_t *reply;

	serve(server, "                                                                                ", true);
	assert_int_equal(ask(server, &reply), -EPROTO);
}

/* Also one that sends something again and again: the time is that of the whole reply. */
static void
a_reply_that_does_not_end_in_time_is_not_waited_for(void **state)
{
	struct reply_server *server = *state;
	const struct control_peer peer = {.path = server->path, .connect_s = 60, .answer_s = 1};
	json_t *reply;

	serve_with_pauses(server, " ", true, 100000);
	assert_int_equal(control_exchange(&peer, json_pack("{s:s}", "command", "status"), &reply), -ETIMEDOUT);
	assert_null(reply);
}

static void
another_process_than_the_owner_is_not_asked(void **state)
{
	struct reply_server *server = *state;
	struct control_peer peer = {.path = server->path, .connect_s = 60, .answer_s = 60};
	json_t *reply;

	serve(server, "{\"ok\":true}\n", false);
	peer.owner = getpid(); /* which called listen(): the child has its socket */
	assert_int_equal(control_exchange(&peer, json_pack("{s:s}", "command", "status"), &reply), 0);
	json_decref(reply);
	peer.owner = 1;
	assert_int_equal(control_exchange(&peer, json_pack("{s:s}", "command", "status"), &reply), -ENOENT);
	assert_null(reply);
}

static void
nobody_there_is_told_from_nothing_there(void **state)
{
	struct reply_server *server = *state;
	json_t *reply;

	close(server->listener);
	assert_int_equal(ask(server, &reply), -ECONNREFUSED);
	unlink(server->path);
	assert_int_equal(ask(server, &reply), -ENOENT);
	server->listener = -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_reply_is_an_object_on_a_line, make_server, end_server),
		cmocka_unit_test_setup_teardown(a_reply_that_is_no_object_is_refused, make_server, end_server),
		cmocka_unit_test_setup_teardown(a_reply_that_would_drive_a_terminal_is_refused, make_server,
	                                        end_server),
		cmocka_unit_test_setup_teardown(a_reply_that_breaks_off_is_told, make_server, end_server),
		cmocka_unit_test_setup_teardown(a_reply_without_an_end_is_given_up, make_server, end_server),
		cmocka_unit_test_setup_teardown(a_reply_that_does_not_end_in_time_is_not_waited_for, make_server,
	                                        end_server),
		cmocka_unit_test_setup_teardown(another_process_than_the_owner_is_not_asked, make_server, end_server),
		cmocka_unit_test_setup_teardown(nobody_there_is_told_from_nothing_there, make_server, end_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
