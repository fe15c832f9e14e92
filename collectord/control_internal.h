/*
 * control_internal.h - what control.c and control_client.c share
 */
#ifndef DCPI_COLLECTORD_CONTROL_INTERNAL_H
#define DCPI_COLLECTORD_CONTROL_INTERNAL_H

#include <stdbool.h>

#include "collectord/control.h"

struct client {
	struct control *control;
	struct bufferevent *stream; /* NULL: the place is free */
	uint64_t id;
	struct peer peer;
	bool is_held; /* nothing is read of it before another client of its user leaves */
	bool waits;   /* for a reply */
	bool leaving; /* to be closed when the reply is out */
};

struct control {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *again; /* the end of a pause */
	struct peer_rules rules;
	struct peer_allowance allowance;
	control_handler *handler;
	void *context;
	const struct log *log;
	char *path;
	uint64_t next_id;
	struct client clients[CONTROL_CLIENTS_MAX];
};

/* ---- control.c ---- */

/* Let clients in again. Without memory for it, in a moment. */
void control_listen_again(struct control *control);

/* ---- control_client.c ---- */

/* Give a free place to who connected by `fd`, which is closed when that fails; or tell them that they are too many. */
void client_admit(struct client *client, struct control *control, evutil_socket_t fd);

/* Send a reply, which is given away; NULL, for want of memory, becomes an error. */
void client_reply(struct client *client, json_t *reply);

/* Send what libevent has not sent, as much of it as the kernel takes at once: a reply to "quit" is short. */
void client_send_rest(struct client *client);

void client_close(struct client *client);

#endif
