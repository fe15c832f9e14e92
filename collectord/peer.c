#include "collectord/peer.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif

void
peer_rules_init(struct peer_rules *rules)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group = getgrgid(getegid());

	rules->uid = geteuid();
	rules->gid = getegid();
	if (user)
		snprintf(rules->user, sizeof(rules->user), "user %s", user->pw_name);
	else
		snprintf(rules->user, sizeof(rules->user), "user %u", (unsigned)rules->uid);
	if (group)
		snprintf(rules->group, sizeof(rules->group), "group %s", group->gr_name);
	else
		snprintf(rules->group, sizeof(rules->group), "group %u", (unsigned)rules->gid);
}

static int
read_membership(int fd, gid_t group, bool *member)
{
	socklen_t length = PEER_GROUPS_MAX * sizeof(gid_t);
	gid_t *groups = malloc(length);
	int err = 0;

	if (!groups)
		return -ENOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0)
		err = -errno;
	for (size_t i = 0; !err && i < length / sizeof(gid_t); i++)
		*member |= groups[i] == group;
	free(groups);
	return err;
}

int
peer_read(int fd, const struct peer_rules *rules, struct peer *peer)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return -errno;
	peer->uid = credentials.uid;
	peer->in_group = credentials.gid == rules->gid;
	return peer->in_group ? 0 : read_membership(fd, rules->gid, &peer->in_group);
}

int
peer_check(const struct peer_rules *rules, const struct peer *peer, enum command command, char *why, size_t size)
{
	const bool for_owner = command == COMMAND_RELOAD || command == COMMAND_QUIT || command == COMMAND_COMPACT;
	const bool has_user = rules->uid != 0;

	if (peer->uid == 0 || peer->uid == rules->uid || (peer->in_group && !for_owner))
		return 0;
	if (for_owner)
		snprintf(why, size, "%s is for root%s%s only", command_name(command), has_user ? " and " : "",
		         has_user ? rules->user : "");
	else
		snprintf(why, size, "%s is for root%s%s and members of %s", command_name(command), has_user ? ", " : "",
		         has_user ? rules->user : "", rules->group);
	return -EACCES;
}
