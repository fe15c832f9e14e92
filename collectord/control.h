/*
 * control.h - the socket that dcpictl talks to
 *
 * One JSON object a line in each direction. A client's next request is read when the reply to the one before has been
 * read; a reply may come late (after a flush), and a client that has left by then is no error. A client that is silent
 * for CONTROL_IDLE_S seconds, or does not read its reply, is disconnected.
 * No user locks another out: CONTROL_SERVED_MAX clients of one are served at a time, and more of them wait until one of
 * these leaves. Of users other than root and the daemon's, CONTROL_USER_MAX may be there; more are refused. When
 * CONTROL_CLIENTS_MAX of all users are there, CONTROL_QUEUE wait in the kernel.
 * Thread rule: the event loop's thread.
 */
#ifndef DCPI_COLLECTORD_CONTROL_H
#define DCPI_COLLECTORD_CONTROL_H

#include <event2/event.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/peer.h"
#include "control/request.h"

#define CONTROL_CLIENTS_MAX 64
#define CONTROL_USER_MAX    32
#define CONTROL_SERVED_MAX  16
#define CONTROL_QUEUE       128
#define CONTROL_IDLE_S      5

struct control;

/*
 * A request whose sender may make it; `process` is the one to be labelled, if that is what is asked for. Answer
 * `client` now or later by control_reply().
 */
typedef void control_handler(void *context, uint64_t client, const struct control_request *request,
                             const struct peer_process *process);

/* 0; -EADDRINUSE with a sentence in `why` when another process listens at `path`. */
int control_check_free(const char *path, char *why, size_t size);

/* Listen at `path`. 0 with *control set, or -errno with a sentence in `why`. `base` and `log` are borrowed. */
int control_open(struct event_base *base, const char *path, control_handler *handler, void *context,
                 const struct log *log, struct control **control, char *why, size_t size);
void
control_close(struct control *control); /* sends what is written but not sent, removes the socket. NULL is allowed */

/* Listen anew when the socket was deleted, with its directory or without, and the directory is there. */
void control_check_socket(struct control *control);

/* Send `reply` and release it; NULL, for want of memory, becomes an error. */
void control_reply(struct control *control, uint64_t client, json_t *reply);

json_t *control_success(void);                 /* {"ok":true} */
json_t *control_failure(const char *sentence); /* {"ok":false,"error":"..."} */

#endif
