#include "collectord/control_internal.h"

#include <errno.h>
#include <limits.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/local_socket.h"

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

void
control_listen_again(struct control *control)
{
	static const struct timeval pause = {.tv_sec = 1};

	if (evconnlistener_enable(control->listener))
		event_add(control->again, &pause);
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
		client_admit(client, control, fd);
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
	control_listen_again(control);
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

/* Takes `fd`; NULL for want of memory. */
static struct evconnlistener *
listener_new(struct control *control, int fd)
{
	struct evconnlistener *listener =
		evconnlistener_new(control->base, on_connect, control,
	                           LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_DISABLED, 0, fd);

	if (!listener) {
		close(fd);
		return NULL;
	}
	if (evconnlistener_enable(listener)) { /* evconnlistener_new() would not say that it cannot be */
		evconnlistener_free(listener);
		return NULL;
	}
	evconnlistener_set_error_cb(listener, on_accept_error);
	return listener;
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
	made->listener = listener_new(made, fd);
	made->again = event_new(base, -1, 0, on_pause_end, made);
	if (!made->listener || !made->path || !made->again) {
		control_close(made);
		return cannot_listen(path, -ENOMEM, why, size);
	}
	*control = made;
	return 0;
}

void
control_look(struct control *control)
{
	struct evconnlistener *listener;
	struct stat stat;
	int fd;

	if (lstat(control->path, &stat) == 0 || errno != ENOENT)
		return;
	fd = local_socket_listen(control->path, 0660, CONTROL_QUEUE); /* -ENOENT while its directory is not there */
	if (fd < 0)
		return;
	listener = listener_new(control, fd);
	if (!listener)
		return;
	evconnlistener_free(control->listener);
	control->listener = listener;
	log_write(control->log, LOG_LEVEL_NOTICE, "%s: the control socket was gone, and is made again", control->path);
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
		client_send_rest(client);
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
		client_reply(client, reply);
		return;
	}
	json_decref(reply);
}
