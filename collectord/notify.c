#include "collectord/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

struct notify {
	int fd; /* -1: there is no service manager */
	struct sockaddr_un address;
	socklen_t address_length;
	uint64_t watchdog_ns;
};

static int
set_address(struct notify *notify, const char *socket_name)
{
	size_t length = strlen(socket_name);

	if ((*socket_name != '/' && *socket_name != '@') || length < 2 || length >= sizeof(notify->address.sun_path))
		return -EINVAL;
	notify->address.sun_family = AF_UNIX;
	memcpy(notify->address.sun_path, socket_name, length + 1);
	notify->address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	if (*socket_name == '@')
		notify->address.sun_path[0] = '\0'; /* abstract: the length ends the name, not a NUL */
	else
		notify->address_length++;
	return 0;
}

static uint64_t
watchdog_interval(const struct notify_environment *environment)
{
	uint64_t usec;
	char *end;

	if (environment->watchdog_pid && strtol(environment->watchdog_pid, NULL, 10) != (long)getpid())
		return 0;
	if (!environment->watchdog_usec)
		return 0;
	errno = 0;
	usec = strtoull(environment->watchdog_usec, &end, 10);
	if (errno || *end || end == environment->watchdog_usec || usec > UINT64_MAX / 1000)
		return 0;
	return usec * 1000;
}

struct notify *
notify_new(const struct notify_environment *environment)
{
	struct notify *notify = calloc(1, sizeof(*notify));
	int err = 0;

	if (!notify)
		return NULL;
	notify->fd = -1;
	if (!environment->socket)
		return notify;
	notify->watchdog_ns = watchdog_interval(environment);
	err = set_address(notify, environment->socket);
	if (!err) {
		notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		err = notify->fd < 0 ? -errno : 0;
	}
	if (err) {
		notify_free(notify);
		errno = -err;
		return NULL;
	}
	return notify;
}

void
notify_free(struct notify *notify)
{
	if (!notify)
		return;
	if (notify->fd >= 0)
		close(notify->fd);
	free(notify);
}

uint64_t
notify_watchdog_ns(const struct notify *notify)
{
	return notify->watchdog_ns;
}

uint64_t
notify_feeding_ns(const struct notify *notify, uint64_t longest_ns)
{
	const uint64_t half_ns = notify_watchdog_ns(notify) / 2;

	return half_ns > 0 && half_ns < longest_ns ? half_ns : longest_ns;
}

static int
send_message(struct notify *notify, const char *message)
{
	ssize_t sent;

	if (notify->fd < 0)
		return 0;
	sent = TEMP_FAILURE_RETRY(sendto(notify->fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
	                                 (const struct sockaddr *)&notify->address, notify->address_length));
	return sent < 0 ? -errno : 0;
}

/* `state` and a STATUS= line; a newline in `status` would end it, and what follows would be an assignment. */
static int
send_state(struct notify *notify, const char *state, const char *status)
{
	char message[512];

	snprintf(message, sizeof(message), "%sSTATUS=%s", state, status);
	for (char *at = message + strlen(state); *at; at++)
		if (*at == '\n')
			*at = ' ';
	return send_message(notify, message);
}

int
notify_ready(struct notify *notify, const char *status)
{
	return send_state(notify, "READY=1\n", status);
}

int
notify_reloading(struct notify *notify)
{
	char message[128];

	snprintf(message, sizeof(message),
	         "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=reloading the configuration", monotonic_ns() / 1000);
	return send_message(notify, message);
}

int
notify_stopping(struct notify *notify, const char *status)
{
	return send_state(notify, "STOPPING=1\n", status);
}

int
notify_status(struct notify *notify, const char *status)
{
	return send_state(notify, "", status);
}

int
notify_watchdog(struct notify *notify)
{
	return send_message(notify, "WATCHDOG=1");
}
