#include "dcpi-tools/ctl/client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/local_socket.h"
#include "control/request.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

static int
send_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t sent = TEMP_FAILURE_RETRY(send(fd, text, length, MSG_NOSIGNAL));

		if (sent < 0)
			return -errno;
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

/* Read up to a newline. */
static int
receive_line(int fd, struct byte_writer *line)
{
	char piece[4096];

	while (line->size <= CLIENT_REPLY_MAX) {
		ssize_t got = TEMP_FAILURE_RETRY(recv(fd, piece, sizeof(piece), 0));
		const char *end;

		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
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
receive_reply(int fd, json_t **reply)
{
	struct byte_writer line = BYTE_WRITER_INIT;
	int err = receive_line(fd, &line);

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
client_exchange(const char *path, json_t *request, time_t seconds, json_t **reply)
{
	const struct timeval patience = {.tv_sec = seconds};
	int err, fd;

	*reply = NULL;
	if (!request)
		return -ENOMEM;
	fd = local_socket_connect(path, CLIENT_SECONDS);
	if (fd < 0) {
		json_decref(request);
		return fd;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	err = send_request(fd, request);
	json_decref(request);
	/* a dcpid that refuses at once may have answered before it read the request */
	if (!err || err == -EPIPE)
		err = receive_reply(fd, reply);
	close(fd);
	return err;
}

/* How long a command may take: dcpid answers when the work is done. */
static time_t
seconds_for(const struct ctl_request *request)
{
	return strcmp(request->command, "compact") == 0 ? CLIENT_COMPACT_SECONDS : CLIENT_SECONDS;
}

int
client_print_no_answer(const struct ctl_request *request, const char *path, int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED) {
		const bool service = strcmp(path, CONFIG_SOCKET) == 0;
		char *directory = text_shown(request->options.directory);

		message_print(path, "dcpid is not running (%s%s)",
		              service ? "systemctl start dcpid" : "dcpid --foreground --db ",
		              service ? "" : (directory ? directory : "?"));
		free(directory);
		return STATUS_FAILURE;
	}
	if (err == -EACCES)
		return message_cannot(path, "talk to dcpid", err, "are you in group dcpi?");
	if (err == -ETIMEDOUT) {
		message_print(path, "dcpid has not answered within %d s (journalctl -u dcpid may say why)",
		              (int)seconds_for(request));
		return STATUS_FAILURE;
	}
	return message_cannot(path, "talk to dcpid", err, NULL);
}

static json_t *
make_request(const struct ctl_request *request)
{
	json_t *object = json_pack("{s:s}", "command", request->command);
	int failed = 0;

	/* a label that is not UTF-8 fails here */
	if (request->label)
		failed |= json_object_set_new(object, "label", json_string(request->label));
	if (request->pid)
		failed |= json_object_set_new(object, "pid", json_integer(request->pid));
	return json_kept(object, failed);
}

int
client_ask(const struct ctl_request *request, char *path, size_t size, json_t **reply)
{
	const char *directory = request->options.directory;
	const time_t seconds = seconds_for(request);
	int err;

	if (request->socket) {
		snprintf(path, size, "%s", request->socket);
		return client_exchange(path, make_request(request), seconds, reply);
	}
	if (strcmp(directory, PROFILE_DIRECTORY) == 0) {
		snprintf(path, size, "%s", CONFIG_SOCKET);
		err = client_exchange(path, make_request(request), seconds, reply);
		if (err != -ENOENT && err != -ECONNREFUSED)
			return err;
		snprintf(path, size, "%s/control", directory);
		err = client_exchange(path, make_request(request), seconds, reply);
		if (err)
			snprintf(path, size, "%s", CONFIG_SOCKET);
		return err;
	}
	snprintf(path, size, "%s/control", directory);
	return client_exchange(path, make_request(request), seconds, reply);
}
