/*
 * control_service.h - a daemon of which only the control socket is real
 */
#ifndef DCPI_TESTS_CONTROL_SERVICE_H
#define DCPI_TESTS_CONTROL_SERVICE_H

#include "collectord/control.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/local_socket.h"
#include "collectord/loop.h"
#include "tests/unit/test.h"

/* A daemon of which only the socket is real: it answers status and epoch at once, and the others when told to. */
struct service {
	struct loop *loop;
	struct control *control;
	char directory[64];
	char path[128];
	unsigned requests;
	uint64_t waiting; /* the client that asked last for something that takes time */
	struct request last;
	struct peer_process last_process;
};

static inline void
serve(void *context, uint64_t client, const struct request *request, const struct peer_process *process)
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

static inline int
start_service(void **state)
{
	struct service *service = calloc(1, sizeof(*service));
	char why[256] = "";

	snprintf(service->directory, sizeof(service->directory), "/tmp/dcpi-control.XXXXXX");
	if (!mkdtemp(service->directory))
		return -1;
	snprintf(service->path, sizeof(service->path), "%s/control", service->directory);
	service->loop = loop_new();
	if (control_open(loop_base(service->loop), service->path, serve, service, NULL, &service->control, why,
	                 sizeof(why))) {
		print_error("%s\n", why);
		return -1;
	}
	*state = service;
	return 0;
}

static inline int
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
static inline void
turn(struct service *service)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(loop_base(service->loop), EVLOOP_NONBLOCK);
}

static inline int
connect_client(struct service *service)
{
	int fd = local_socket_connect(service->path, 1);

	assert_true(fd >= 0);
	return fd;
}

static inline void
say(struct service *service, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	turn(service);
}

static inline void
assert_heard(int fd, const char *expected)
{
	char text[4096];
	ssize_t length = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[length > 0 ? length : 0] = '\0';
	assert_string_equal(text, expected);
}

static inline void
assert_closed(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

#define SERVICE_TEST(name) cmocka_unit_test_setup_teardown(name, start_service, stop_service)

#endif
