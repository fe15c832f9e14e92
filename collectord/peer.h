/*
 * peer.h - who is at the other end of a control connection, and what they may ask for
 *
 * Thread rule: stateless, but for peer_rules_init(), which asks the user database.
 */
#ifndef DCPI_COLLECTORD_PEER_H
#define DCPI_COLLECTORD_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collectord/request.h"

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
	bool in_group; /* the daemon's group is its primary or one of its supplementary groups */
};

void peer_rules_init(struct peer_rules *rules); /* the effective user and group of this process */

/* Ask the kernel who connected `fd`. 0 or -errno. */
int peer_read(int fd, const struct peer_rules *rules, struct peer *peer);

/*
 * May `peer` give `command`? root and the daemon's user may do everything, members of its group may look, flush and
 * begin epochs. 0; -EACCES with a sentence in `why` that says who may.
 */
int peer_check(const struct peer_rules *rules, const struct peer *peer, enum command command, char *why, size_t size);

#endif
