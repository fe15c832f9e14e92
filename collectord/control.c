#include "collectord/control.h"

#include <errno.h>
#include <limits.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/local_socket.h"

struct client {
	struct control *control;
	struct bufferevent *stream; /* NULL: the place is free */
	uint64_t id;
	struct peer peer;
	bool waits;   /* for a reply */
	bool leaving; /* to be closed when the reply is out */
};

struct control {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *again; /* the end of a pause */
	struct peer_rules rules;
	control_handler *handler;
	void *context;
	const struct log *log;
	char *path;
	uint64_t next_id;
	struct client clients[CONTROL_CLIENTS_MAX];
};

json_t *
control_success(void)
{
	return json_pack("{s:b}", "ok", 1);
}

json_t *
control_failure(const char *sentence)
{
	json_t *text = json_string(sentence);

	/* what is not UTF-8 is no JSON string; the sentence quotes what came from outside */
	return json_pack("{s:b,s:o}", "ok", 0, "error", text ? text : json_string("the request failed"));
}

/* Without memory for it, in a moment. */
static void
listen_again(struct control *control)
{
	static const struct timeval pause = {.tv_sec = 1};

	if (evconnlistener_enable(control->listener))
		event_add(control->again, &pause);
}

static void
client_close(struct client *client)
{
	struct control *control = client->control;

	bufferevent_free(client->stream);
	memset(client, 0, sizeof(*client));
	listen_again(control); /* there is a place again */
}

static bool
client_has_unread_reply(const struct client *client)
{
	return evbuffer_get_length(bufferevent_get_output(client->stream)) > 0;
}

static void
send_reply(struct client *client, json_t *reply)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);
	char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	int added = evbuffer_add_printf(output, "%s\n",
	                                text ? text : "{\"ok\":false,\"error\":\"dcpid has no memory left\"}");

	free(text);
	json_decref(reply);
	client->waits = false;
	if (added < 0)
		client_close(client); /* better than an answer that never comes */
}

static void
refuse(struct client *client, const char *sentence)
{
	send_reply(client, control_failure(sentence));
}

static void
serve_line(struct client *client, const char *line, size_t length)
{
	struct control *control = client->control;
	struct request request;
	char why[256];

	if (request_parse(line, length, &request, why, sizeof(why)) ||
	    peer_check(&control->rules, &client->peer, request.command, why, sizeof(why))) {
		refuse(client, why);
		return;
	}
	client->waits = true;
	control->handler(control->context, client->id, &request);
}

/*
 * One request; on_written() goes on with the next. Until then nothing is read: a client that waits for us is not idle,
 * and one that does not read its replies must not make them pile up in our memory.
 */
static void
serve(struct client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);
	size_t length;
	char *line;

	if (client->waits || client->leaving || client_has_unread_reply(client))
		return;
	line = evbuffer_readln(input, &length, EVBUFFER_EOL_LF);
	if (!line && evbuffer_get_length(input) < REQUEST_SIZE_MAX)
		return;
	bufferevent_disable(client->stream, EV_READ);
	if (line) {
		serve_line(client, line, length);
		free(line);
	} else {
		client->leaving = true;
		refuse(client, "the request is too long");
	}
}

static void
on_readable(struct bufferevent *stream, void *context)
{
	(void)stream;
	serve(context);
}

static void
on_written(struct bufferevent *stream, void *context)
{
	struct client *client = context;

	if (client->leaving) {
		client_close(client);
		return;
	}
	if (bufferevent_enable(stream, EV_READ))
		client_close(client);
	else
		serve(client);
}

static void
on_end(struct bufferevent *stream, short what, void *context)
{
	struct client *client = context;

	/* who says no more may still listen */
	(void)stream;
	if ((what & BEV_EVENT_EOF) && (client->waits || client_has_unread_reply(client)))
		client->leaving = true;
	else
		client_close(client);
}

static void
admit(struct client *client, struct control *control, evutil_socket_t fd)
{
	static const struct timeval idle = {.tv_sec = CONTROL_IDLE_S};
	struct peer peer;
	int err;

	err = peer_read(fd, &control->rules, &peer);
	if (err) {
		log_write(control->log, LOG_LEVEL_WARNING, "control socket: cannot tell who connects: %s",
		          error_text(err));
		close(fd);
		return;
	}
	client->stream = bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client->stream) {
		close(fd);
		return;
	}
	client->control = control;
	client->peer = peer;
	client->id = control->next_id++;
	bufferevent_setcb(client->stream, on_readable, on_written, on_end, client);
	/* no watermark: libevent crashes when it has no memory for one; serve() bounds what is read */
	bufferevent_set_timeouts(client->stream, &idle, &idle);
	if (bufferevent_enable(client->stream, EV_READ | EV_WRITE))
		client_close(client);
}

static struct client *
find_place(struct control *control)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (!control->clients[i].stream)
			return &control->clients[i];
	return NULL;
}

static void
on_connect(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length, void *context)
{
	struct control *control = context;
	struct client *client;

	(void)address;
	(void)length;
	client = find_place(control);
	if (client)
		admit(client, control, fd);
	else
		close(fd); /* not reached as long as libevent minds what follows */
	if (!find_place(control))
		evconnlistener_disable(listener); /* the kernel keeps those that come now, until client_close() */
}

static void
on_pause_end(evutil_socket_t fd, short what, void *context)
{
	struct control *control = context;

	(void)fd;
	(void)what;
	listen_again(control);
}

/* No descriptor is left, most likely. The client stays in the queue; asking for it again at once would be all we do. */
static void
on_accept_error(struct evconnlistener *listener, void *context)
{
	static const struct timeval pause = {.tv_sec = 1};
	struct control *control = context;

	log_write(control->log, LOG_LEVEL_WARNING, "control socket: cannot let a client in: %s", strerror(errno));
	evconnlistener_disable(listener);
	event_add(control->again, &pause);
}

int
control_check_free(const char *path, char *why, size_t size)
{
	pid_t owner = local_socket_owner(path);

	if (owner == 0)
		return 0;
	if (owner > 0)
		snprintf(why, size, "%s: another dcpid listens there (process %d)", path, (int)owner);
	else
		snprintf(why, size, "%s: somebody listens there who does not answer", path);
	return -EADDRINUSE;
}

static int
cannot_listen(const char *path, int err, char *why, size_t size)
{
	if (err == -EADDRINUSE && control_check_free(path, why, size))
		return err;
	if (err == -EEXIST)
		snprintf(why, size, "%s: exists and is not a socket", path);
	else
		snprintf(why, size, "%s: cannot make the control socket: %s", path, error_text(err));
	return err;
}

/* The service manager makes /run/dcpid; who starts us by hand does not. Only the last part of the path is made. */
static int
make_directory(const char *path)
{
	char directory[PATH_MAX];
	char *slash;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash || slash == directory)
		return -ENOENT;
	*slash = '\0';
	return mkdir(directory, 0750) ? -errno : 0;
}

int
control_open(struct event_base *base, const char *path, control_handler *handler, void *context, const struct log *log,
             struct control **control, char *why, size_t size)
{
	struct control *made = calloc(1, sizeof(*made));
	int fd;

	*control = NULL;
	if (!made)
		return cannot_listen(path, -ENOMEM, why, size);
	made->base = base;
	made->handler = handler;
	made->context = context;
	made->log = log;
	made->next_id = 1;
	peer_rules_init(&made->rules);
	fd = local_socket_listen(path, 0660, CONTROL_QUEUE);
	if (fd == -ENOENT && make_directory(path) == 0)
		fd = local_socket_listen(path, 0660, CONTROL_QUEUE);
	if (fd < 0) {
		control_close(made);
		return cannot_listen(path, fd, why, size);
	}
	made->path = strdup(path);
	made->listener = evconnlistener_new(base, on_connect, made,
	                                    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_DISABLED, 0, fd);
	made->again = event_new(base, -1, 0, on_pause_end, made);
	/* evconnlistener_new() would not say that it cannot be enabled */
	if (!made->listener || !made->path || !made->again || evconnlistener_enable(made->listener)) {
		if (!made->listener)
			close(fd);
		control_close(made);
		return cannot_listen(path, -ENOMEM, why, size);
	}
	evconnlistener_set_error_cb(made->listener, on_accept_error);
	*control = made;
	return 0;
}

/* Send what libevent has not sent, as much of it as the kernel takes at once: a reply to "quit" is short. */
static void
send_rest(struct client *client)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);

	evbuffer_unfreeze(output, 1); /* its beginning is the bufferevent's own, which ends here */
	if (evbuffer_get_length(output) && evbuffer_write(output, bufferevent_getfd(client->stream)) < 0)
		log_write(client->control->log, LOG_LEVEL_DEBUG, "control socket: %s", strerror(errno));
}

void
control_close(struct control *control)
{
	if (!control)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (!client->stream)
			continue;
		send_rest(client);
		client_close(client);
	}
	if (control->again)
		event_free(control->again);
	if (control->listener)
		evconnlistener_free(control->listener);
	if (control->path)
		unlink(control->path);
	free(control->path);
	free(control);
}

void
control_reply(struct control *control, uint64_t id, json_t *reply)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (!client->stream || client->id != id || !client->waits)
			continue;
		send_reply(client, reply);
		return;
	}
	json_decref(reply);
}
