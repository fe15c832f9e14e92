/*
 * control.h - the socket that dcpictl talks to
 *
 * In each direction, one line is one JSON object. A client's next request is read when the client has read the reply to
 * the previous one. A reply may come late (after a flush); if the client has left by then, this is no error. A client
 * that is silent for CONTROL_IDLE_S seconds, or does not read its reply, is disconnected.
 * No user can keep others from being served. CONTROL_SERVED_MAX clients of one user are served at a time; more wait
 * until one of these leaves. A user other than root and the daemon's may have CONTROL_USER_MAX clients; more are
 * refused. When there are CONTROL_CLIENTS_MAX clients of all users, CONTROL_QUEUE more wait in the kernel.
 * Thread rule: the event loop's thread; functions of peers are stateless, but for control_peer_rules_init(), which asks
 * the user database.
 */
#ifndef DCPI_COLLECTORD_CONTROL_H
#define DCPI_COLLECTORD_CONTROL_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"
#include "control/request.h"

#define CONTROL_CLIENTS_MAX 64
#define CONTROL_USER_MAX    32
#define CONTROL_SERVED_MAX  16
#define CONTROL_QUEUE       128
#define CONTROL_IDLE_S      5

/* ---- the process at the other end of a connection, and the commands that it may give ---- */

#define PEER_NAME_SIZE  64
#define PEER_GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */

/* Whose daemon it is. Names are looked up once: a client must not make the daemon wait for a user database. */
struct peer_rules {
	uid_t uid;
	gid_t gid;
	char user[PEER_NAME_SIZE]; /* "user dcpi" */
	char group[PEER_NAME_SIZE];
};

struct peer {
	uid_t uid;
	bool in_group;        /* the daemon's group is its primary or one of its supplementary groups */
	uint32_t pid;         /* 0: it lives in a pid namespace that is not seen from here */
	int pidfd;            /* of the process that connected; -1: this kernel (before Linux 6.5) does not give it */
	uint64_t start_ticks; /* without one, when the process of that pid began (struct proc_stat); 0: it had gone */
};

void control_peer_rules_init(struct peer_rules *rules); /* the effective user and group of this process */

/* Ask the kernel for the process that connected `fd`. 0, for control_peer_fini(), or -errno. */
int control_peer_read(int fd, const struct peer_rules *rules, struct peer *peer);
void control_peer_fini(struct peer *peer);

/*
 * May `peer` give `command`? root and the daemon's user may give all, members of its group those that are not
 * owner_only, and label processes of their own. 0; -EACCES with a sentence in `why` that names those who may.
 */
int control_peer_check(const struct peer_rules *rules, const struct peer *peer, enum command command, char *why,
                       size_t size);

/*
 * What members of the group may still ask for that costs a write to the disk: PEER_BURST flushes and epochs, and one a
 * second from then on, all members together. All zero: nothing is spent yet.
 */
#define PEER_BURST 20
struct peer_allowance {
	uint64_t spent_until_ns; /* CLOCK_MONOTONIC: when all of it is there again */
};

/*
 * 0, also for root and the daemon's user, and for commands that are not is_limited; -EBUSY with a sentence that says
 * how long to wait.
 */
int control_peer_spend(const struct peer_rules *rules, const struct peer *peer, enum command command,
                       struct peer_allowance *allowance, uint64_t now_ns, char *why, size_t size);

/* A process that its owner wants to be labelled. */
struct peer_process {
	uint32_t pid;
	uint64_t time_ns; /* CLOCK_MONOTONIC; then it was this process that had the pid */
};

/*
 * Which process does `peer` want to be labelled? The one at the other end of the connection itself (request->pid is 0),
 * not another that has its pid by now; or another one of its user, of any user if the peer is root or the daemon's. 0;
 * -ESRCH or -EACCES with a sentence in `why`.
 */
int control_peer_find_process(const struct peer_rules *rules, const struct peer *peer,
                              const struct control_request *request, struct peer_process *process, char *why,
                              size_t size);

/* ---- the socket ---- */

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
