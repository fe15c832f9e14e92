#include "dcpi-tools/common/control_exchange.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/local_socket.h"

#define REPLY_MAX      (1 << 20) /* bytes */
#define MILLISECOND_NS 1000000

/* Is it the process `owner` that listens? */
static bool
is_owned_by(int fd, pid_t owner)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == owner;
}

static int
send_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t sent = TEMP_FAILURE_RETRY(send(fd, text, length, MSG_NOSIGNAL));

		if (sent < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		text += sent;
		length -= (size_t)sent;
	}
	return 0;
}

static int
send_request(int fd, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	int err;

	if (!text)
		return -ENOMEM;
	err = send_all(fd, text, strlen(text));
	free(text);
	return err ? err : send_all(fd, "\n", 1);
}

/* Read up to a newline, until `deadline_ns` of the monotonic clock. */
static int
receive_line(int fd, uint64_t deadline_ns, struct byte_writer *line)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	char piece[4096];

	while (line->size <= REPLY_MAX) {
		const uint64_t now_ns = monotonic_ns();
		const char *end;
		ssize_t got;

		if (now_ns >= deadline_ns)
			return -ETIMEDOUT;
		if (poll(&readable, 1, (int)((deadline_ns - now_ns + MILLISECOND_NS - 1) / MILLISECOND_NS)) <= 0)
			continue; /* the time is over, or a signal came */
		got = TEMP_FAILURE_RETRY(recv(fd, piece, sizeof(piece), 0));
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ECONNRESET;
		end = memchr(piece, '\n', (size_t)got);
		write_bytes(line, piece, end ? (size_t)(end - piece) : (size_t)got);
		if (line->failed)
			return -ENOMEM;
		if (end)
			return 0;
	}
	return -EPROTO;
}

/* C0 and C1 control characters and DEL; jansson has seen to it that it is UTF-8. */
static bool
has_controls(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
			return true;
	return false;
}

/* As deep as jansson reads. */
static bool
is_fit_to_show(const json_t *value)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_string(value))
		return !has_controls(json_string_value(value));
	json_array_foreach (value, i, part)
		if (!is_fit_to_show(part))
			return false;
	json_object_foreach ((json_t *)value, key, part)
		if (has_controls(key) || !is_fit_to_show(part))
			return false;
	return true;
}

static int
receive_reply(int fd, uint64_t deadline_ns, json_t **reply)
{
	struct byte_writer line = BYTE_WRITER_INIT;
	int err = receive_line(fd, deadline_ns, &line);

	if (!err)
		*reply = json_loadb((const char *)line.data, line.size, JSON_REJECT_DUPLICATES, NULL);
	writer_fini(&line);
	if (!err && (!json_is_object(*reply) || !is_fit_to_show(*reply))) {
		json_decref(*reply);
		*reply = NULL;
		err = -EPROTO;
	}
	return err;
}

int
control_exchange(const struct control_peer *peer, json_t *request, json_t **reply)
{
	int err, fd;

	*reply = NULL;
	if (!request)
		return -ENOMEM;
	fd = local_socket_connect(peer->path, peer->connect_s);
	if (fd < 0) {
		json_decref(request);
		return fd;
	}
	err = peer->owner && !is_owned_by(fd, peer->owner) ? -ENOENT : send_request(fd, request);
	json_decref(request);
	/* a dcpid that refuses at once may have answered before it read the request */
	if (!err || err == -EPIPE)
		err = receive_reply(fd, monotonic_ns() + (uint64_t)peer->answer_s * SECOND_NS, reply);
	close(fd);
	return err;
}
