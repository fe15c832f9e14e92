/* What is said with one client. */
#include "collectord/control_internal.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/machine.h"

/* Clients of a user, or those of them that are served. */
static size_t
count_clients(const struct control *control, uid_t uid, bool served_only)
{
	size_t count = 0;

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		const struct client *client = &control->clients[i];

		count += client->stream && client->peer.uid == uid && !(served_only && client->is_held);
	}
	return count;
}

/* The client of a user that has waited longest; NULL: none waits. */
static struct client *
find_held(struct control *control, uid_t uid)
{
	struct client *oldest = NULL;

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (client->stream && client->is_held && client->peer.uid == uid &&
		    (!oldest || client->id < oldest->id))
			oldest = client;
	}
	return oldest;
}

static int
begin_serving(struct client *client)
{
	client->is_held = false;
	return bufferevent_enable(client->stream, EV_READ | EV_WRITE);
}

static void
release(struct client *client)
{
	bufferevent_free(client->stream);
	peer_fini(&client->peer);
	memset(client, 0, sizeof(*client));
}

void
client_close(struct client *client)
{
	struct control *control = client->control;
	const uid_t uid = client->peer.uid;
	struct client *next;

	release(client);
	while (count_clients(control, uid, true) < CONTROL_SERVED_MAX && (next = find_held(control, uid)))
		if (begin_serving(next))
			release(next);
	control_listen_again(control); /* there is a place again */
}

static bool
client_has_unread_reply(const struct client *client)
{
	return evbuffer_get_length(bufferevent_get_output(client->stream)) > 0;
}

void
client_reply(struct client *client, json_t *reply)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);
	char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
	int added;

	/* the answer may have taken longer than a client has to read it: its time begins now */
	(void)event_base_update_cache_time(client->control->base);
	added = evbuffer_add_printf(output, "%s\n",
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
	client_reply(client, control_failure(sentence));
}

static void
serve_line(struct client *client, const char *line, size_t length)
{
	struct control *control = client->control;
	struct peer_process process = {0};
	struct request request;
	char why[256];

	if (request_parse(line, length, &request, why, sizeof(why)) ||
	    peer_check(&control->rules, &client->peer, request.command, why, sizeof(why)) ||
	    peer_spend(&control->rules, &client->peer, request.command, &control->allowance,
	               machine_clock_ns(CLOCK_MONOTONIC), why, sizeof(why)) ||
	    (request.command == COMMAND_LABEL &&
	     peer_find_process(&control->rules, &client->peer, &request, &process, why, sizeof(why)))) {
		refuse(client, why);
		return;
	}
	client->waits = true;
	control->handler(control->context, client->id, &request, &process);
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

/* Users who may do everything are never too many: they wait as long as there is room. */
static bool
is_one_too_many(const struct client *client)
{
	const struct control *control = client->control;
	const uid_t uid = client->peer.uid;

	return uid != 0 && uid != control->rules.uid && count_clients(control, uid, false) > CONTROL_USER_MAX;
}

void
client_admit(struct client *client, struct control *control, evutil_socket_t fd)
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
		peer_fini(&peer);
		close(fd);
		return;
	}
	client->control = control;
	client->peer = peer;
	client->id = control->next_id++;
	bufferevent_setcb(client->stream, on_readable, on_written, on_end, client);
	/* no watermark: libevent crashes when it has no memory for one; serve() bounds what is read */
	bufferevent_set_timeouts(client->stream, &idle, &idle);
	if (is_one_too_many(client)) {
		client->leaving = true;
		if (bufferevent_enable(client->stream, EV_WRITE))
			client_close(client);
		else
			refuse(client, "too many connections of one user: wait until some of them have ended");
	} else if (count_clients(control, peer.uid, true) > CONTROL_SERVED_MAX) {
		client->is_held = true;
	} else if (begin_serving(client)) {
		client_close(client);
	}
}

void
client_send_rest(struct client *client)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);

	evbuffer_unfreeze(output, 1); /* its beginning is the bufferevent's own, which ends here */
	if (evbuffer_get_length(output) && evbuffer_write(output, bufferevent_getfd(client->stream)) < 0)
		log_write(client->control->log, LOG_LEVEL_DEBUG, "control socket: %s", strerror(errno));
}
