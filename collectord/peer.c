#include "collectord/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectord/machine.h"
#include "process/proc_text.h"

#define PROCFS "/proc"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
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

/* A pid identifies the process that connected only as long as that process lives. */
static void
read_process(int fd, pid_t pid, struct peer *peer)
{
	socklen_t length = sizeof(peer->pidfd);
	struct proc_stat birth;

	peer->pid = pid > 0 ? (uint32_t)pid : 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &length) == 0)
		return;
	peer->pidfd = -1;
	if (peer->pid && proc_stat_read(PROCFS, peer->pid, &birth) == 0)
		peer->start_ticks = birth.start_ticks;
}

int
peer_read(int fd, const struct peer_rules *rules, struct peer *peer)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);
	int err;

	memset(peer, 0, sizeof(*peer));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return -errno;
	peer->uid = credentials.uid;
	peer->in_group = credentials.gid == rules->gid;
	err = peer->in_group ? 0 : read_membership(fd, rules->gid, &peer->in_group);
	if (!err)
		read_process(fd, credentials.pid, peer);
	return err;
}

void
peer_fini(struct peer *peer)
{
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	peer->pidfd = -1;
}

static bool
is_owner(const struct peer_rules *rules, const struct peer *peer)
{
	return peer->uid == 0 || peer->uid == rules->uid;
}

int
peer_check(const struct peer_rules *rules, const struct peer *peer, enum command command, char *why, size_t size)
{
	const struct command_entry *entry = command_entry(command);
	const bool has_user = rules->uid != 0;

	if (is_owner(rules, peer) || (peer->in_group && !entry->owner_only))
		return 0;
	if (entry->owner_only)
		snprintf(why, size, "%s is for root%s%s only", entry->name, has_user ? " and " : "",
		         has_user ? rules->user : "");
	else
		snprintf(why, size, "%s is for root%s%s and members of %s", entry->name, has_user ? ", " : "",
		         has_user ? rules->user : "", rules->group);
	return -EACCES;
}

int
peer_spend(const struct peer_rules *rules, const struct peer *peer, enum command command,
           struct peer_allowance *allowance, uint64_t now_ns, char *why, size_t size)
{
	const uint64_t from_ns = allowance->spent_until_ns > now_ns ? allowance->spent_until_ns : now_ns;

	if (is_owner(rules, peer) || !command_entry(command)->is_limited)
		return 0;
	if (from_ns - now_ns > (PEER_BURST - 1) * SECOND_NS) {
		snprintf(why, size, "members of %s asked for too many flushes and epochs: wait %" PRIu64 " s",
		         rules->group, (from_ns - now_ns - (PEER_BURST - 1) * SECOND_NS + SECOND_NS - 1) / SECOND_NS);
		return -EBUSY;
	}
	allowance->spent_until_ns = from_ns + SECOND_NS;
	return 0;
}

/* The owner of /proc/PID: root, for a process that its own user may not look into. 0 or -errno. */
static int
read_owner(uint32_t pid, uid_t *owner)
{
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), PROCFS "/%" PRIu32, pid);
	if (stat(path, &status) != 0)
		return -errno;
	*owner = status.st_uid;
	return 0;
}

/* Has the process that connected gone, and its pid perhaps been given to another? */
static bool
has_gone(const struct peer_rules *rules, const struct peer *peer)
{
	struct pollfd poll_fd = {.fd = peer->pidfd, .events = POLLIN};
	struct proc_stat birth;
	uid_t owner = (uid_t)-1;

	if (peer->pidfd >= 0)
		return poll(&poll_fd, 1, 0) != 0;
	if (proc_stat_read(PROCFS, peer->pid, &birth) || birth.start_ticks != peer->start_ticks ||
	    read_owner(peer->pid, &owner))
		return true;
	return owner != peer->uid && !is_owner(rules, peer);
}

int
peer_find_process(const struct peer_rules *rules, const struct peer *peer, const struct control_request *request,
                  struct peer_process *process, char *why, size_t size)
{
	uid_t owner = (uid_t)-1;

	process->time_ns = machine_clock_ns(CLOCK_MONOTONIC); /* before it is looked at: it lives afterwards */
	process->pid = request->pid;
	if (request->pid == 0) { /* the process that asks */
		if (peer->pid == 0) {
			snprintf(why, size, "the process that asks lives in a pid namespace that dcpid does not see");
			return -ESRCH;
		}
		if (has_gone(rules, peer)) {
			snprintf(why, size, "the process that asks has ended");
			return -ESRCH;
		}
		process->pid = peer->pid;
		return 0;
	}
	if (read_owner(request->pid, &owner)) {
		snprintf(why, size, "there is no process %" PRIu32, request->pid);
		return -ESRCH;
	}
	if (owner == peer->uid || is_owner(rules, peer))
		return 0;
	snprintf(why, size, "process %" PRIu32 " is another user's", request->pid);
	return -EACCES;
}
