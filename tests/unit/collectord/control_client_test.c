#include "tests/unit/collectord/control_service.h"

#include <errno.h>

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	signal(SIGPIPE, SIG_IGN); /* as dcpid does: clients leave when they like */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
