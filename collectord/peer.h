/*
 * peer.h - the process at the other end of a control connection, and the commands that it may give
 *
 * Thread rule: stateless, but for peer_rules_init(), which asks the user database.
 */
#ifndef DCPI_COLLECTORD_PEER_H
#define DCPI_COLLECTORD_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "control/request.h"

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

void peer_rules_init(struct peer_rules *rules); /* the effective user and group of this process */

/* Ask the kernel for the process that connected `fd`. 0, for peer_fini(), or -errno. */
int peer_read(int fd, const struct peer_rules *rules, struct peer *peer);
void peer_fini(struct peer *peer);

/*
 * May `peer` give `command`? root and the daemon's user may give all, members of its group those that are not
 * owner_only, and label processes of their own. 0; -EACCES with a sentence in `why` that names those who may.
 */
int peer_check(const struct peer_rules *rules, const struct peer *peer, enum command command, char *why, size_t size);

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
int peer_spend(const struct peer_rules *rules, const struct peer *peer, enum command command,
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
int peer_find_process(const struct peer_rules *rules, const struct peer *peer, const struct control_request *request,
                      struct peer_process *process, char *why, size_t size);

#endif
